// The script of all panel pages. It follows /panel/events and inserts the HTML
// that the server has drawn; it draws no list texts itself.
const $ = (id) => document.getElementById(id);
const { view, list } = document.body.dataset;
let seq = Number(document.body.dataset.seq);
let newest = Number(document.body.dataset.revision || 0);
let shown = $('scrub') ? Number($('scrub').value) : 0;
let oldest = $('scrub') ? Number($('scrub').min) : 0; // the first revision that is kept

// --- inserting drawn HTML

const parse = (html) => {
  const t = document.createElement('template');
  t.innerHTML = html; // drawn and escaped by the server; the policy forbids inline script
  return t.content.firstElementChild;
};

// settle replaces old by fresh but keeps the elements of unchanged items, open
// details and the focus, so that a person's reading and selection are not
// disturbed.
function settle(old, fresh) {
  const items = new Map();
  for (const li of old.querySelectorAll('.items > li')) items.set(li.parentNode.id + li.dataset.key, li);
  for (const li of fresh.querySelectorAll('.items[id] > li')) {
    const was = items.get(li.parentNode.id + li.dataset.key);
    if (was && was.className === li.className && was.querySelector('bdi').textContent === li.querySelector('bdi').textContent) li.replaceWith(was);
    else li.classList.add('fresh');
  }
  const open = [...old.querySelectorAll('details')].map((d) => d.open);
  fresh.querySelectorAll('details').forEach((d, i) => { d.open = open[i] || false; });
  const focused = old.contains(document.activeElement) && document.activeElement.getAttribute('href');
  old.replaceWith(fresh);
  if (focused) fresh.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

// place replaces the element with an id, in the same position, so that nothing
// jumps when lists change in turn. An element that is new in its container
// comes first. Empty html removes the element.
function place(container, id, html) {
  const old = $(id);
  if (!html) { old?.remove(); return; }
  const fresh = parse(html);
  if (old) settle(old, fresh);
  if (fresh.parentNode !== container) container.prepend(fresh);
}

// later applies an event in the next animation frame; of several for one list,
// only the last.
const pending = new Map();
function later(d) {
  if (!pending.size) requestAnimationFrame(() => { for (const one of pending.values()) apply(one); pending.clear(); tick(); });
  pending.set(d.id, d);
}

const settled = new Map([...document.querySelectorAll('#rail > li')].map((li) => [li.id.slice(5), li.classList.contains('settled')]));
function apply(d) {
  $('say').textContent = d.say;
  if (d.settled && settled.get(d.id) === false) announce(d.name);
  settled.set(d.id, d.settled);
  if (view === 'list') { applyList(d); return; }
  if (d.gone) d.card = d.rail = d.now = '';
  $('empty').hidden = true;
  place($('rail'), 'rail-' + d.id, d.rail);
  place($('now'), 'now-' + d.id, d.now);
  place(d.settled ? $('done') : d.left ? $('left') : $('open'), 'card-' + d.id, d.card);
  count();
}

function count() {
  if ($('finished-count')) $('finished-count').textContent = $('done').childElementCount || '';
}

// --- following changes

function state(name, text) {
  $('status').dataset.state = name;
  if ($('status-text').textContent !== text) $('status-text').textContent = text;
}

let wait = 250, serving = '';
function follow() {
  // What is drawn as left open now, so that the server sends what differs.
  const left = [...document.querySelectorAll(list ? '.card.left' : '#rail > .left')].map((e) => e.id.slice(5));
  const source = new EventSource(`/panel/events?after=${seq}&left=${left.slice(0, 200)}${list ? '&list=' + encodeURIComponent(list) : ''}`);
  source.onopen = () => { wait = 250; state('live', 'Live'); };
  source.addEventListener('hello', (e) => {
    // Another process answers now, perhaps with another store: load everything
    // again.
    if (serving && serving !== e.data) location.reload();
    serving = e.data;
  });
  source.addEventListener('list', (e) => {
    const d = JSON.parse(e.data);
    seq = Math.max(seq, Number(e.lastEventId));
    later(d);
  });
  source.onerror = () => {
    source.close();
    state('lost', 'Connection lost, trying again');
    setTimeout(follow, wait);
    wait = Math.min(wait * 2, 2000);
  };
}

// --- time

function took(ms) {
  const s = Math.max(0, Math.floor(ms / 1000)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  return d ? `${d}d ${h % 24}h` : h ? `${h}h ${m % 60}m` : m ? `${m}m ${s % 60}s` : `${s}s`;
}
function ago(ms) {
  const m = Math.floor(ms / 60000), h = Math.floor(m / 60), d = Math.floor(h / 24);
  return d > 0 ? `${d}d ago` : h > 0 ? `${h}h ago` : m > 0 ? `${m}m ago` : 'just now';
}
function tick() {
  const now = Date.now();
  for (const t of document.querySelectorAll('time[data-ago], time[data-run]')) {
    const since = now - Date.parse(t.dateTime);
    const text = 'run' in t.dataset ? took(since) : ago(since);
    if (t.textContent !== text) t.textContent = text;
    if ('run' in t.dataset) t.classList.toggle('stale', since > Number(document.body.dataset.staleAfter));
  }
}
setInterval(tick, 1000);

// --- a list's own page

function applyList(d) {
  const live = shown === newest;
  newest = Math.max(newest, d.revision);
  oldest = Math.max(oldest, d.oldest);
  $('scrub').max = newest;
  $('scrub').min = oldest;
  if (live) {
    shown = newest;
    $('scrub').value = shown;
    if (editing) { mark(); if (document.activeElement?.type !== 'text') editor(); return; }
    const old = $('card-' + d.id);
    const fresh = parse(d.card);
    if (old) settle(old, fresh); else $('shown').replaceChildren(fresh);
  }
  mark();
}

function mark() {
  $('where').textContent = `${shown} of ${newest}`;
  $('live').hidden = shown === newest;
  $('restore').hidden = shown === newest || shown < oldest; // what is drawn may be kept no more
}

let asked = 0;
async function go(revision) {
  if (editing) { editing = false; $('edit').textContent = 'Edit'; $('edit').setAttribute('aria-pressed', false); }
  shown = Math.min(Math.max(oldest, revision), newest);
  $('scrub').value = shown;
  mark();
  const mine = ++asked;
  const live = shown === newest;
  const page = await fetch(live ? `/lists/${list}` : `/lists/${list}/at/${shown}`);
  const html = await page.text();
  if (mine !== asked || !page.ok) return;
  if (live) {
    const fresh = new DOMParser().parseFromString(html, 'text/html').getElementById('card-' + list);
    // A change that arrived during the request is newer than its answer.
    if (fresh && Number(fresh.dataset.seq) < seq) { go(newest); return; }
    if (fresh) $('shown').replaceChildren(document.adoptNode(fresh));
  } else {
    const card = document.createElement('article');
    card.className = 'card old';
    card.innerHTML = html; // drawn by the server, as above
    $('shown').replaceChildren(card);
  }
  $('say').textContent = `Revision ${shown} of ${newest}`;
  tick();
}

if (view === 'list') {
  $('scrub').addEventListener('input', () => go(Number($('scrub').value)));
  for (const [id, by] of [['prev', -1], ['next', 1]]) $(id).addEventListener('click', (e) => { e.preventDefault(); go(shown + by); });
  $('live').addEventListener('click', () => go(newest));
  $('restore').addEventListener('click', async () => {
    const done = await fetch(`/lists/${list}/restore/${shown}`, { method: 'POST' });
    if (!done.ok) { $('say').textContent = 'The revision could not be restored'; return; }
    newest = Math.max(newest, (await done.json()).revision);
    $('scrub').max = newest;
    go(newest);
  });
  document.addEventListener('keydown', (e) => {
    if (e.target.matches('input') || e.altKey || e.ctrlKey || e.metaKey) return;
    const to = { ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: oldest, End: newest }[e.key];
    if (to !== undefined) { e.preventDefault(); go(to); }
  });
  if (navigator.clipboard) {
    $('copy').hidden = false;
    $('copy').addEventListener('click', async () => {
      await navigator.clipboard.writeText(await (await fetch(`/lists/${list}.md`)).text());
      $('copy').textContent = 'Copied';
      setTimeout(() => { $('copy').textContent = 'Copy as markdown'; }, 1500);
    });
  }
}

// --- editing

let editing = false;
async function editor() {
  const drawn = await fetch(`/lists/${list}/edit`);
  if (!drawn.ok || !editing) return;
  const card = document.createElement('article');
  card.className = 'card';
  card.innerHTML = await drawn.text(); // drawn by the server, as above
  const adding = $('add')?.value || '', typing = document.activeElement?.id === 'add';
  $('shown').replaceChildren(card);
  $('add').value = adding;
  if (typing) $('add').focus();
}

async function send(edit) {
  const answer = await fetch(`/lists/${list}/edit`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(edit) });
  if (!answer.ok) $('say').textContent = (await answer.json()).error;
  await editor();
}

if (view === 'list') {
  $('edit').hidden = false;
  $('edit').addEventListener('click', () => {
    editing = !editing;
    $('edit').setAttribute('aria-pressed', editing);
    $('edit').textContent = editing ? 'Done editing' : 'Edit';
    if (editing) { shown = newest; $('scrub').value = shown; mark(); editor(); } else go(newest);
  });
  $('shown').addEventListener('change', (e) => {
    const item = e.target.closest('[data-id]');
    if (e.target.id === 'add') { const text = e.target.value; e.target.value = ''; if (text.trim()) send({ do: 'add', text }); } else if (item && e.target.type === 'checkbox') send({ do: 'status', id: item.dataset.id, status: e.target.checked ? 'completed' : 'pending' });
    else if (item) send({ do: 'text', id: item.dataset.id, text: e.target.value });
  });
  $('shown').addEventListener('click', (e) => {
    const item = e.target.closest('[data-id]'), what = e.target.dataset.do;
    if (!item || !what) return;
    const at = [...item.parentNode.children].indexOf(item);
    if (what === 'block') {
      const text = prompt('What is it waiting for?', '');
      if (text !== null) send({ do: 'block', id: item.dataset.id, text });
    } else if (what === 'remove') send({ do: 'remove', id: item.dataset.id });
    else send({ do: 'move', id: item.dataset.id, to: at + (what === 'up' ? -1 : 1) });
  });
}

// --- notifications, if the person allows them

function announce(name) {
  if ('Notification' in window && Notification.permission === 'granted') new Notification('List finished', { body: name, tag: name });
}
if ('Notification' in window && Notification.permission === 'default') {
  $('notify').hidden = false;
  $('notify').addEventListener('click', async () => { $('notify').hidden = (await Notification.requestPermission()) !== 'default'; });
}

if (view === 'list') mark(); else count();
tick();
follow();
