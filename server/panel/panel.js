// The script of all panel pages. The server draws every text; the script moves
// what it has drawn into place, and adds what a page without script cannot:
// times, fields in place, undo, keys and notifications.
const $ = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const page = () => $('main').dataset;
// root is the path of the board: a proxy may serve the panel below another one.
const root = new URL(document.baseURI).pathname;
const parse = (html) => {
  const t = document.createElement('template');
  t.innerHTML = html; // drawn and escaped by the server; the policy forbids inline script
  return t.content.firstElementChild;
};
const make = (tag, props, ...inside) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...inside);
  return e;
};
const glyph = (name) => parse(`<svg class="i" aria-hidden="true"><use href="#g-${name}"/></svg>`);

// --- moving drawn HTML into place

const keyOf = (n) => n.id || n.dataset?.item;
const listOf = (e) => e.id === 'head' ? page().list : e.id.slice(e.id.indexOf('-') + 1);
// stands returns how a list stands, by what is drawn of it.
const stands = ({ dataset: d }) => ({ place: d.place, state: d.state, failed: +(d.failed ?? 0), title: d.title, archived: 'archived' in d });
// What the script has added stays; what both pages have may be as the person left it.
const kept = (n) => n.dataset && 'keep' in n.dataset, own = (n) => n.dataset?.keep === 'own';
const put = (parent, node, before) => {
  if (parent.moveBefore && node.isConnected) parent.moveBefore(node, before);
  else parent.insertBefore(node, before);
};

// morph makes old like fresh and keeps every element that is in both, so that
// focus, selection and open folds stay. A newer element is not made older.
function morph(old, fresh) {
  if (old.nodeType !== 1) { if (old.data !== fresh.data) old.data = fresh.data; return; }
  if (kept(old) || kept(fresh) || old.isEqualNode(fresh) || old !== $('main') && Number(old.dataset.seq) > Number(fresh.dataset.seq)) return;
  if (old.late !== undefined) { old.late = fresh; return; } // a field stands in it
  if (old.matches('time[data-ago], time[data-run]') && old.dateTime === fresh.dateTime) return;
  const seq = old.dataset.seq;
  const was = old.dataset.item && old.className.replace(' fresh', '') + old.querySelector('bdi')?.textContent;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (name !== 'aria-expanded' && name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  morphChildren(old, fresh);
  if (was && was !== old.className + old.querySelector('bdi')?.textContent) old.classList.add('fresh');
  // A lamp beats once: a page that stands still costs no battery.
  if (seq && seq !== old.dataset.seq) for (const lamp of old.querySelectorAll('.beat')) lamp.replaceWith(lamp.cloneNode());
}

function morphChildren(old, fresh) {
  const wanted = [...fresh.childNodes], keys = new Set(wanted.map(keyOf));
  const known = new Map();
  for (const c of [...old.childNodes]) {
    const key = keyOf(c);
    if (!key) continue;
    if (!keys.has(key) && !own(c)) c.remove(); else known.set(key, c);
  }
  let at = old.firstChild;
  for (const f of wanted) {
    while (at && own(at)) at = at.nextSibling;
    const key = keyOf(f), match = known.get(key);
    if (match && match.nodeName === f.nodeName) {
      // Where one element moved back, it steps aside instead of all others.
      if (at && at !== match && at.nextSibling === match && !at.contains(document.activeElement)) { at.remove(); at = match; }
      if (match === at) at = at.nextSibling; else put(old, match, at);
      morph(match, f);
    } else if (!key && at && !keyOf(at) && at.nodeType === f.nodeType && at.nodeName === f.nodeName) {
      const next = at.nextSibling;
      morph(at, f);
      at = next;
    } else {
      const added = document.adoptNode(f);
      if (added.dataset?.item && known.size) added.classList.add('fresh');
      old.insertBefore(added, at);
    }
  }
  while (at) { const next = at.nextSibling; if (!own(at)) at.remove(); at = next; }
}
addEventListener('animationend', (e) => e.target.classList.remove('fresh'));

// steady runs a change of the page and brings the focus back to where it was.
function steady(change) {
  const was = document.activeElement;
  const li = was.closest?.('[id]'), kind = was.className;
  change();
  if (document.activeElement === was || was === document.body) return;
  const back = was.isConnected ? was : li && $(li.id) && (li === was ? $(li.id) : $(li.id).getElementsByClassName(kind)[0] ?? $(li.id));
  back?.focus({ preventScroll: true });
}

// --- pages

let loads = 0, going = 0;
// load shows another address in the place of this one.
async function load(url, how) {
  const mine = ++loads;
  going = mine;
  const { seq } = page();
  let doc;
  try {
    doc = new DOMParser().parseFromString(await (await fetch(url, { signal: AbortSignal.timeout(15000) })).text(), 'text/html');
    await new Promise((go) => setTimeout(go)); // to read a large page and to show it are two short tasks
  } catch { if (how === 'refresh') setTimeout(refresh, 2000); return false; } finally { if (going === mine) going = 0; }
  if (mine !== loads) return false;
  if (how === 'refresh' && page().seq !== seq) { refresh(); return false; } // it may be older than what is shown by now
  // A store that is late has its time, and the person what was read before.
  if (how === 'refresh' && doc.querySelector('main').dataset.later) { setTimeout(refresh, 2000); return false; }
  const list = followed();
  if (how === 'push') history.pushState(0, '', url);
  if (how === 'replace') history.replaceState(0, '', url);
  steady(() => morph(document.body, doc.body));
  name = doc.title;
  arrived();
  if (followed() !== list) follow();
  return true;
}
const here = () => location.pathname + location.search;
// refresh loads the page again when what it shows has moved, soon but not for
// every change of many.
let due = 0, refreshed = 0;
// A day is read from many revisions.
const rest = () => page().view === 'today' ? 3000 : 400;
function refresh() {
  if (due) return;
  due = setTimeout(async () => {
    due = 0;
    if (going) { refresh(); return; } // a page is on its way
    refreshed = Date.now();
    await load(here(), 'refresh');
  }, going ? 50 : Math.max(0, Math.min(refreshed + rest() - Date.now(), rest())));
}

// arrived makes a page that was drawn ready for hands.
function arrived() {
  for (const e of all('[data-place]')) {
    const id = listOf(e);
    if (seen.has(id)) news({ id, ...stands(e) }); // while the connection was lost
    seen.set(id, stands(e));
  }
  for (const b of all('[data-copy]')) b.hidden = !navigator.clipboard;
  $('keys-open').hidden = false;
  if ($('q') !== document.activeElement) $('q').value = new URLSearchParams(location.search).get('q') ?? '';
  for (const s of all('#filters [type=date]')) s.value = s.getAttribute('value');
  fold();
  bell();
  waits();
  tick();
  if ($('status').dataset.state === 'live') state('live', liveText());
  if (page().view === 'history' && !location.search.includes('revision=' + page().revision)) history.replaceState(0, '', location.pathname + '?revision=' + page().revision);
}

// fold hides the leading done items of a list, if they are more than three, all but
// the last of them, unless the person opened them.
let unfolded = false;
function fold() {
  if (page().view !== 'list') { $('fold')?.remove(); return; }
  const items = all('#items > li[data-item]'), open = items.findIndex((li) => !li.matches('.completed, .cancelled'));
  const done = open < 0 ? items.length : open, n = done > 3 ? done - 1 : 0;
  const row = $('fold');
  row.hidden = !n;
  row.lastChild.textContent = `${n} done`;
  $('unfold').ariaLabel = `Show ${n} done`;
  $('unfold').ariaExpanded = unfolded;
  items.forEach((li, i) => { li.hidden = i < n && !unfolded && !li.contains(document.activeElement); });
}

// --- following changes

// How lists stand, as the person was shown or told.
const seen = new Map();
let source, wait = 250, serving = '', lostAt = 0;
// When the server spoke last, and how long it is silent at most.
let heardAt, silence = Infinity;
let newest = Number(page().seq);

function state(name, text) {
  $('status').dataset.state = name;
  document.querySelector('#status .lamp').classList.toggle('off', name !== 'live');
  if ($('status-text').textContent !== text) $('status-text').textContent = text;
  document.body.classList.toggle('stale', name !== 'live');
}
const liveText = () => page().view === 'history' && !location.search.includes('revision=' + parseInt(page().version, 10)) ? 'Old revision' : 'Live';

const followed = () => page().list ?? page().view;
function follow() {
  source?.close();
  const { view, list } = page();
  if (page().later) setTimeout(refresh, 2000);
  if (view === 'none') { state('live', ''); return; }
  source = new EventSource(`panel/events?after=${Math.max(newest, page().seq)}${list ? '&list=' + encodeURIComponent(list) : ''}`);
  heardAt = Date.now();
  const on = (name, act) => source.addEventListener(name, (e) => { heardAt = Date.now(); act(e.data); });
  on('alive', () => 0);
  on('hello', (data) => {
    const { process, version, waits: n, silence: most } = JSON.parse(data);
    const again = lostAt || serving && serving !== process;
    wait = 250;
    silence = most;
    lostAt = 0;
    $('lost')?.remove();
    state('live', liveText());
    $('waits').dataset.n = n;
    flush();
    // Another process may serve another version of the page.
    if (serving && serving !== process && !outbox.length && !document.querySelector('.field')) { location.reload(); return; }
    serving = process;
    const moved = page().view !== 'history' && page().version && page().version !== version;
    if (again || moved) refresh();
    if (!moved || page().view !== 'board') waits(); // else with the lists that the page shows
  });
  on('list', (data) => {
    const d = JSON.parse(data);
    if (!list) newest = Math.max(newest, d.seq);
    if (!d.gone) {
      const id = list ? 'main' : 'row-' + d.id, e = parse(d.pieces[id]);
      d.pieces[id] = e;
      d.now = stands(list ? e.querySelector('#head') : e);
      Object.assign(d, d.now);
    }
    news(d);
    later(d.id, () => list ? showPage(d) : show(d));
  });
  source.onerror = () => lost(Date.now());
}

function lost(at) {
  source.close();
  lostAt ||= at;
  state('lost', 'Not live since ' + new Date(lostAt).toTimeString().slice(0, 5));
  if (Date.now() - lostAt > 2000 && !$('lost')) {
    // The page for signing in is there for who is no more signed in.
    fetch(root).then((r) => r.status === 401 && location.reload(), () => 0);
    const at = make('time', { dateTime: new Date(lostAt).toISOString() });
    at.dataset.ago = '';
    const again = make('button', { className: 'btn end', type: 'button', textContent: 'Try now', onclick: () => { clearTimeout(retry); follow(); } });
    $('main').prepend(make('div', { id: 'lost', className: 'bar lost', role: 'alert' }, make('span', {}, 'This is what stood ', at, '.'), again));
    $('lost').dataset.keep = 'own';
    tick();
  }
  retry = setTimeout(follow, wait);
  wait = Math.min(wait * 2, 2000);
}
let retry;

// later runs a change in the next frame; of several for one list, the last. A
// hidden tab has no frames: there it is run at once.
const pending = new Map();
function later(id, change) {
  if (document.hidden) { change(); return; }
  if (!pending.size) requestAnimationFrame(run);
  pending.set(id, change);
}
function run() {
  const until = performance.now() + 8; // what is left of a frame is for drawing
  steady(() => {
    for (const [id, change] of pending) {
      pending.delete(id);
      change();
      if (performance.now() > until && !document.hidden) break;
    }
  });
  if (pending.size) requestAnimationFrame(run);
}
addEventListener('visibilitychange', () => { if (document.hidden && pending.size) run(); });

// show shows on the board what changed of a list. Where it moves, the board is
// drawn again.
function show(d) {
  say(d.say);
  if (d.gone) {
    for (const kind of ['card-', 'row-']) $(kind + d.id)?.remove();
    refresh();
    return;
  }
  const was = seen.get(d.id);
  seen.set(d.id, d.now);
  for (const [id, piece] of Object.entries(d.pieces)) {
    if ($(id)) morph($(id), piece.id ? piece : parse(piece));
  }
  if (was?.place !== d.place || page().view === 'today') refresh();
}

// showPage shows the list's own page as it changed.
function showPage(d) {
  say(d.say);
  if (d.gone || page().view !== 'list' || page().list !== d.id) { refresh(); return; }
  if (d.seq < page().seq) return;
  morph($('main'), d.pieces.main);
  name = d.title + ' · todo-mcp';
  waits();
  seen.set(d.id, d.now);
  fold();
  tick();
}

// waits says how many lists wait for the person, in the tab's title and icon and on the
// icon of the installed program, too.
let name = document.title;
function waits(n = +$('waits').dataset.n) {
  const link = $('waits'), icon = $('icon');
  link.dataset.n = n;
  link.hidden = !n;
  link.textContent = `${n} ${n === 1 ? 'waits' : 'wait'} for you`;
  document.title = n ? `(${n} ${n === 1 ? 'waits' : 'wait'}) ${name}` : name;
  icon.href = icon.href.replace(/%23(465ff0|d07f00)/, n ? '%23d07f00' : '%23465ff0');
  navigator.setAppBadge?.(n).catch(() => 0); // not every system has badges
}

// say tells screen readers what happens, at most every five seconds.
let saying, saidAt = 0;
function say(text) {
  clearTimeout(saying);
  saying = setTimeout(() => { saidAt = Date.now(); $('say').textContent = text; }, Math.max(0, saidAt + 5000 - Date.now()));
}

// --- time

const ago = (ms) => took(ms).split(' ')[0] + ' ago';
function tick() {
  const now = Date.now(), long = Number(page().longAfter);
  for (const t of all('time[data-ago], time[data-run]')) {
    const since = (lostAt && !t.closest('#lost') ? lostAt : now) - Date.parse(t.dateTime), runs = 'run' in t.dataset;
    if (!runs && since > 12 * 3600e3) continue;
    const text = runs ? took(since) : ago(since);
    if (t.textContent !== text) t.textContent = text;
    if (runs) t.classList.toggle('long', since > long);
  }
}
setInterval(() => {
  if (source && source.readyState !== EventSource.CLOSED && Date.now() - heardAt > silence) lost(heardAt);
  if (!document.hidden) tick();
}, 1000);

// --- edits

// Edits that the server has not answered.
let outbox = [];
const undos = JSON.parse(sessionStorage.undos ?? '[]');

const post = (url, body) => fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body, signal: AbortSignal.timeout(15000) });
// send sends an edit. told.refused is called with what the server says against
// it, told.waits when it does not answer: then the edit is sent again.
async function send(list, edit, told = {}) {
  edit.op ??= String(Math.random()).slice(2) + Date.now();
  let answer;
  try {
    answer = await post(`lists/${encodeURIComponent(list)}/edit`, JSON.stringify(edit));
  } catch { /* no answer */ }
  outbox = outbox.filter((o) => o.edit !== edit);
  if (!answer || answer.status >= 500) {
    const why = answer ? (await answer.json()).error : 'The server does not answer';
    outbox.push({ list, edit, told });
    (told.waits ?? ((text) => toast(text)))(`Not saved yet: ${why}. It is sent when the server is back.`);
    setTimeout(flush, 5000);
    return;
  }
  const got = await answer.json();
  if (!answer.ok) { (told.refused ?? ((text) => toast('Not saved: ' + text)))(got.error); return; }
  told.done?.();
  if (got.changed && told.text) undoable(told.text, [[list, backOf(edit, got)]]);
  told.after?.(got);
}
const backOf = (edit, got) => edit.do === 'delete' ? { do: 'undelete' } : { do: 'undo', from: got.revision - 1, seen: got.revision };
function flush() {
  for (const { list, edit, told } of outbox.splice(0)) send(list, edit, told);
}
addEventListener('beforeunload', (e) => { if (outbox.length) e.preventDefault(); });

function undoable(text, edits) {
  undos.push({ text, edits });
  sessionStorage.undos = JSON.stringify(undos.slice(-50));
  toast(text, true);
}
async function undo() {
  const last = undos.pop();
  sessionStorage.undos = JSON.stringify(undos);
  if (!last) { toast('Nothing to undo'); return; }
  toast('Undone');
  for (const [list, edit] of last.edits) await send(list, { ...edit });
  refresh();
}

// toast says what was done for eight seconds, longer while it is pointed at.
let toasting;
function toast(text, back) {
  const t = $('toast');
  t.hidden = false;
  t.firstElementChild.textContent = text;
  t.lastElementChild.hidden = !back;
  const end = () => { clearTimeout(toasting); toasting = setTimeout(() => { if (t.matches(':hover, :focus-within')) end(); else t.hidden = true; }, 8000); };
  end();
}
$('toast').lastElementChild.onclick = undo;

const short = (text) => text.length > 40 ? text.slice(0, 39) + '…' : text;
const textOf = (li) => li.dataset.text;
const saw = () => Number(page().revision) || 0;
const words = { now: 'Told now:', status: { completed: 'Ticked', pending: 'Back to do', failed: 'Failed' }, remove: 'Deleted', move: 'Moved', block: 'Blocked', text: 'Reworded', archive: 'Archived', unarchive: 'Brought back', delete: 'Deleted', rename: 'Renamed' };

// edit sends an edit of the list on its own page and says what it did.
function edit(li, e, told = {}) {
  const what = e.do === 'status' ? words.status[e.status] : words[e.do];
  return send(page().list, { ...e, id: li.dataset.item, seen: saw() }, { text: `${what} “${short(textOf(li))}”`, ...told });
}

// pressed does what a button says.
function pressed(value) {
  const e = JSON.parse(value), list = page().list, li = e.id && $('i-' + e.id);
  if (e.do === 'status' || e.do === 'move' || e.do === 'now') edit(li, e);
  else if (e.do === 'remove') remove(li);
  else if (e.do === 'back') send(list, { ...e, seen: saw() }, { text: li ? `Brought back “${short(li.querySelector('.back').title)}”` : 'Brought back your order' });
  else if (e.do === 'restore') send(list, e, { text: `Restored revision ${e.revision}`, after: () => load(root + 'lists/' + list, 'push') });
  else if (e.do === 'undo') send(list, e, { text: 'Your changes are undone' });
  else listAction(e.do, list, $('head').dataset.title);
}
function remove(li) {
  const next = li.nextElementSibling?.dataset.item ? li.nextElementSibling : li.previousElementSibling;
  if (li.contains(document.activeElement)) next?.focus();
  edit(li, { do: 'remove' });
}
// listAction archives or deletes a list, or takes it out of the archive.
function listAction(what, list, title) {
  const leave = () => { if (page().list && what !== 'unarchive') load(root, 'push'); else refresh(); };
  send(list, { do: what }, { text: `${words[what]} “${short(title)}”`, after: leave });
}

// each sends an edit of several lists, one after the other, and says what it did to how many.
async function each(lists, edit, text) {
  const backs = [];
  for (const list of lists) {
    await send(list, { ...edit }, { after: (got) => got.changed && backs.push([list, backOf(edit, got)]) });
  }
  if (backs.length) undoable(text(backs.length), backs);
  refresh();
}
const archive = (lists) => each(lists, { do: 'archive' }, (n) => `Archived ${n === 1 ? '1 list' : n + ' lists'}`);
// finish ticks all that is open in a list and in those of its sub-agents.
const finish = ({ open, title }) => each(open.split(' '), { do: 'finish' }, () => `Done: “${short(title)}”`);
// older returns what archives the lists that were left open for long, of those on the page.
const older = () => [['a day', 1], ['a week', 7], ['a month', 30]].flatMap(([text, days]) => {
  const lists = all('#left li[data-place]').filter((li) => Date.parse(li.querySelector('time').dateTime) < Date.now() - days * 86400e3).map(listOf);
  return lists.length ? [['box', `Older than ${text} (${lists.length})`, '', () => archive(lists)]] : [];
});

// --- fields in place

// field puts a field in the place of a text. It stays, with what was typed and
// why, until that is saved.
function field(host, at, { value, label, empty, blank, save, max = 4000 }) {
  if (host.late !== undefined) { host.querySelector('.field').focus(); return; }
  host.late = null;
  const input = make('input', { className: 'field', value, maxLength: max });
  input.ariaLabel = label;
  const note = make('span', { className: 'why bad', role: 'alert' });
  at.hidden = true;
  at.after(input, note);
  input.focus();
  input.select();
  let saving = false, closed = false;
  const close = (focus) => {
    if (closed) return;
    closed = true;
    const late = host.late;
    delete host.late;
    input.remove();
    note.remove();
    at.hidden = false;
    if (late) morph(host, late);
    if (focus) host.focus();
  };
  const commit = (focus) => {
    const text = input.value.trim();
    if (saving || closed) return;
    if (text === value.trim() && !blank && !note.textContent) { close(focus); return; }
    if (!text && empty) { close(focus); empty(); return; }
    saving = true;
    note.textContent = '';
    const open = (why) => { saving = false; note.textContent = why; };
    again(host);
    save(text, { host, done: () => close(focus && document.activeElement === input), refused: (why) => open(`Not saved: ${why}`), waits: open });
  };
  input.onkeydown = (e) => {
    if (e.isComposing) return;
    if (e.key === 'Enter') { e.preventDefault(); commit(true); }
    if (e.key === 'Escape') { again(host); close(true); }
    e.stopPropagation();
  };
  input.onblur = () => {
    if (!input.isConnected || note.textContent) return;
    if (input.value.trim() === value.trim() && !saving) close(); else commit();
  };
}
const reword = (li) => field(li, li.querySelector('bdi'), { value: textOf(li), label: 'Text of the item', empty: () => remove(li),
  save: (text, told) => edit(li, { do: 'text', text }, told) });
function block(li) {
  const why = li.querySelector('.why') ?? li.querySelector('.t').appendChild(make('span', { className: 'why' }));
  const at = why.querySelector('bdi') ?? why.appendChild(make('bdi'));
  field(li, at, { value: '', label: 'Why is it blocked?', blank: true, save: (text, told) => edit(li, { do: 'block', text }, told) });
}
function rename(h, list, title) {
  field(h, h.firstElementChild, { value: title, label: 'Title', max: 200, save: (text, told) => send(list, { do: 'rename', text }, { text: 'Renamed', ...told }) });
}
const renameList = () => { if ($('title')) rename($('title'), page().list, $('head').dataset.title); };
// again forgets an edit that waits, because the same field sends another one.
const again = (host) => { outbox = outbox.filter((o) => o.told.host !== host); };

// With Shift the Enter adds for the end of the turn.
let shifted = false;
addEventListener('submit', (e) => {
  const form = e.target;
  if (form.matches('.search, #who, #filters')) return;
  e.preventDefault();
  if (form.closest('#add')) {
    const input = $('adding'), text = input.value.trim();
    if (!text) return;
    let note = $('add').querySelector('.why');
    note?.remove();
    const says = (why) => { note = form.appendChild(make('span', { className: 'why bad', role: 'alert', textContent: why })); };
    const sent = input.value, after = document.querySelector('.in-turn') && (shifted || $('after').ariaPressed === 'true') || undefined;
    again(input);
    send(page().list, { do: 'add', text, after, seen: saw() }, { text: `Added “${short(text)}”${after ? ', after this turn' : ''}`, host: input, refused: (why) => says('Not saved: ' + why), waits: says,
      done: () => { note?.remove(); if (input.value === sent) input.value = ''; } });
  }
});

// --- menus

const menu = $('main').appendChild(make('div', { id: 'menu', className: 'menu', role: 'menu', popover: 'auto' }));
menu.dataset.keep = 'own';
let opener;
// listEntries returns what a card or row offers to do with its list.
function listEntries(card, list, { title, command, open, archived }) {
  const h = card.querySelector('h3') ?? undefined, away = archived === undefined ? 'archive' : 'unarchive';
  return [
    command && ['copy', 'Copy command', '', () => copyText(command)], open && ['tick', 'Done', '', () => finish(card.dataset)], (command || open) && null,
    h && ['pen', 'Rename', '', () => rename(h, list, title)], ['clock', 'Open history', '', () => { location.href = `lists/${list}?revision=${2 ** 31}`; }],
    ['copy', 'Copy as markdown', '', () => copy(`lists/${list}.md`)], null,
    ['box', away === 'archive' ? 'Archive' : 'Take out of the archive', '', () => listAction(away, list, title)], ['bin', 'Delete', '', () => listAction('delete', list, title)],
  ];
}
function openMenu(from) {
  opener = from;
  const li = from.closest('[data-item]'), card = from.closest('[data-place]');
  const entries = 'older' in from.dataset ? older()
    : card ? listEntries(card, listOf(card), card.dataset) : [
    ['pen', 'Reword', 'e', () => reword(li)], li.matches('.blocked') ? ['pending', 'Unblock', '', () => edit(li, { do: 'status', status: 'pending' })] : ['blocked', 'Block with a reason…', 'b', () => block(li)],
    ['failed', 'Failed', '', () => edit(li, { do: 'status', status: 'failed' })], ['up', 'Move to the top', '', () => edit(li, { do: 'move', to: 0 })], null,
    ['bin', 'Delete', '⌫', () => remove(li)],
  ];
  menu.replaceChildren(...entries.filter((entry) => entry !== undefined).map((entry) => {
    if (!entry) return make('hr');
    const [icon, text, key, act] = entry;
    const b = make('button', { type: 'button', className: icon === 'bin' ? 'risk' : '', onclick: () => { menu.hidePopover(); act(); } }, glyph(icon), text, ...(key ? [make('kbd', { textContent: key })] : []));
    b.role = 'menuitem';
    return b;
  }));
  menu.showPopover();
  const at = from.getBoundingClientRect(), size = menu.getBoundingClientRect();
  menu.style.left = Math.max(8, Math.min(at.right, innerWidth - 8) - size.width) + 'px';
  menu.style.top = (at.bottom + size.height > innerHeight ? Math.max(8, at.top - size.height) : at.bottom) + 'px';
  menu.firstElementChild.focus();
}
menu.addEventListener('toggle', (e) => { if (e.newState === 'closed' && menu.contains(document.activeElement) || document.activeElement === document.body) opener?.focus(); });
menu.onkeydown = (e) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (!step) return;
  e.preventDefault();
  const items = all('button', menu), at = items.indexOf(document.activeElement);
  items[(at + step + items.length) % items.length].focus();
};
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(await text);
    toast('Copied');
  } catch { toast('Could not copy'); }
}
const copy = (url) => copyText(fetch(url).then((r) => r.text()));
addEventListener('click', (e) => {
  const t = e.target.closest('a, button');
  if (e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
  const li = e.target.closest('#items > li:has(.grip)');
  const stop = (act) => { e.preventDefault(); act(); };
  if (!t) {
    if (page().view === 'list' && li && e.target.matches('.t bdi') && !getSelection().toString()) reword(li);
    else if (e.target.closest('#title')) renameList();
  } else if ('menu' in t.dataset) stop(() => openMenu(t));
  else if (t.id === 'unfold') stop(() => { unfolded = !unfolded; fold(); });
  else if ('copy' in t.dataset) navigator.clipboard.writeText(t.previousElementSibling.textContent).then(() => { t.lastChild.data = 'Copied'; });
  else if (t.dataset.do === 'copy') stop(() => copy(t.href));
  else if (t.dataset.do === 'rename') stop(renameList);
  else if (t.dataset.do === 'command') copyText($('head').dataset.command);
  else if (t.dataset.do === 'finish') finish($('head').dataset);
  else if ('clear' in t.dataset) archive(all('#finished li[data-place]').map(listOf));
  else if (t.dataset.edit) pressed(t.dataset.edit);
  else if (page().view === 'history' && (t.search ?? '').startsWith('?revision=') && !t.pathname.includes('.')) stop(() => load(t.pathname + t.search, 'replace'));
  else if (t.id === 'keys-open') openKeys();
  else if (t.id === 'after') t.ariaPressed = t.ariaPressed !== 'true';
  else if (t.closest('#views, #filters')) stop(() => load(t.pathname + t.search, 'push'));
});
addEventListener('change', (e) => {
  if (e.target.form?.id === 'filters') load(e.target.form.getAttribute('action') + '?' + new URLSearchParams(new FormData(e.target.form)), 'push');
});
addEventListener('popstate', () => load(here()));

// --- moving by hand

addEventListener('pointerdown', (e) => {
  const grip = e.target.closest('.grip'), li = grip?.parentNode;
  if (!grip || e.button) return;
  e.preventDefault();
  const items = all('#items > li[data-item]');
  const from = items.indexOf(li);
  grip.setPointerCapture(e.pointerId);
  li.classList.add('held');
  grip.onpointermove = (m) => {
    const over = document.elementFromPoint(li.getBoundingClientRect().left + 60, m.clientY)?.closest('#items > li[data-item]');
    if (!over || over === li) return;
    const box = over.getBoundingClientRect();
    put(li.parentNode, li, m.clientY < box.top + box.height / 2 ? over : over.nextSibling);
  };
  grip.onpointerup = grip.onpointercancel = () => {
    grip.onpointermove = grip.onpointerup = grip.onpointercancel = null;
    li.classList.remove('held');
    const to = all('#items > li[data-item]').indexOf(li);
    if (to !== from) edit(li, { do: 'move', to }, { refused: (why) => { toast('Not saved: ' + why); refresh(); } });
  };
});

// --- keys

const help = [['/', 'Search'], ['j k', 'Next, previous'], ['x', 'Tick'], ['e', 'Reword'], ['b', 'Block, or unblock'], ['a', 'Add an item'], ['Shift ↵', 'Add it for the end of the turn'], ['Alt ↑ Alt ↓', 'Move'],
  ['⌫', 'Delete'], ['u', 'Undo'], ['r', 'Rename'], ['c', 'Copy as markdown'], ['h', 'History'], ['[ ]', 'Earlier, later revision'], ['Home End', 'First revision, live'], ['t', 'Theme']];
function openKeys() {
  const box = $('keys') ?? document.body.appendChild(make('div', { id: 'keys', className: 'ask', popover: 'auto' }, make('b', { textContent: 'Keys' }),
    make('dl', {}, ...help.flatMap(([k, what]) => [make('dt', {}, ...k.split(' ').map((one) => make('kbd', { textContent: one }))), make('dd', { textContent: what })]))));
  box.dataset.keep = 'own';
  box.role = 'dialog';
  box.ariaLabel = 'Keys';
  box.showPopover();
}
function move(by) {
  const stops = all(page().view === 'list' ? '#items > li[data-item]:not([hidden])' : '.card h3 a, .rows a');
  const at = stops.findIndex((s) => s.contains(document.activeElement));
  stops[at < 0 ? (by > 0 ? 0 : stops.length - 1) : Math.max(0, Math.min(stops.length - 1, at + by))]?.focus();
}
const item = () => document.activeElement.closest?.('#items > li:has(.grip)'); // one that can be changed
const shift = (by) => {
  const li = item(), items = all('#items > li[data-item]');
  if (li) edit(li, { do: 'move', to: items.indexOf(li) + by });
};
// leave leads back to the page from which a list was opened, to where it stands there.
async function leave() {
  const { list } = page(), from = new URL(document.referrer || root, location.href);
  await load(from.host === location.host && from.pathname === root ? root + from.search : root, 'push');
  ($('card-' + list) ?? $('row-' + list))?.querySelector('a').focus();
}
// theme goes on from the scheme of the system to dark, to light and back.
function theme() {
  const root = document.documentElement, next = { '': 'dark', dark: 'light', light: '' }[root.dataset.theme];
  root.dataset.theme = next;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs TLS
  document.cookie = `theme=${next};path=${new URL(document.baseURI).pathname};SameSite=Lax;max-age=${next ? 34560000 : 0}`;
  toast(`Theme: ${next || 'of the system'}`);
}
const step = (id) => { const a = $(id); if (a?.href) load(a.pathname + a.search, 'replace'); };
const keys = {
  '/': () => $('q').focus(), '?': openKeys, j: () => move(1), k: () => move(-1), u: undo, t: theme,
  Escape: () => { if (page().view === 'history') load(root + 'lists/' + page().list, 'push'); else if (page().list) leave(); else if (here() !== root) load(root, 'push'); },
};
const listKeys = {
  x: () => item()?.querySelector('.tick').click(), e: () => item() && reword(item()), a: () => $('adding')?.focus(), r: renameList,
  b: () => { const li = item(); if (li?.matches('.blocked')) edit(li, { do: 'status', status: 'pending' }); else if (li) block(li); },
  Backspace: () => item() && remove(item()), Delete: () => item() && remove(item()),
  c: () => document.querySelector('[data-do=copy]').click(), h: () => load(location.pathname + '?revision=' + page().revision, 'push'),
};
const historyKeys = {
  '[': () => step('prev'), ']': () => step('next'), ArrowLeft: () => step('prev'), ArrowRight: () => step('next'), c: listKeys.c,
  Home: () => load(location.pathname + '?revision=1', 'replace'), End: () => load(root + 'lists/' + page().list, 'push'),
};
addEventListener('keydown', (e) => {
  if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key === 'k') { e.preventDefault(); $('q').focus(); return; }
  if (e.target.matches('input, textarea, [popover] *')) {
    if (e.key === 'Enter' && e.target.id === 'adding' && !e.isComposing) {
      shifted = e.shiftKey;
      e.preventDefault();
      e.target.form.requestSubmit();
    }
    if (e.key === 'Escape' && e.target.matches('#q, #adding')) e.target.blur();
    return;
  }
  if (e.altKey && page().view === 'list' && (e.key === 'ArrowUp' || e.key === 'ArrowDown')) { e.preventDefault(); shift(e.key === 'ArrowUp' ? -1 : 1); return; }
  if (e.altKey || e.ctrlKey || e.metaKey || document.querySelector(':popover-open')) return;
  const act = { list: listKeys, history: historyKeys }[page().view]?.[e.key] ?? keys[e.key];
  if (!act) return;
  e.preventDefault();
  act();
});

// --- search as one types

let typing;
$('q').addEventListener('input', () => {
  clearTimeout(typing);
  if (page().list) return; // Enter leads to the search
  const q = $('q').value.trim();
  typing = setTimeout(() => load(q ? root + '?q=' + encodeURIComponent(q) : root, 'replace'), 120);
});

arrived();
follow();
