const $ = (id) => document.getElementById(id);
const main = document.querySelector('main');

// Drawing.
const words = { done: 'completed', running: 'in_progress', 'in-progress': 'in_progress', 'not-started': 'pending' };
const ring = 'M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12';
const shapes = { // paths, and what a screen reader says before the title
  completed: [[ring, 'm5.2 8.2 2 2 3.7-4.1'], 'Done'],
  in_progress: [[ring, 'M8 5a3 3 0 0 1 0 6z'], 'In progress'],
  pending: [[ring], 'To do'],
  failed: [[ring, 'm6 6 4 4m0-4-4 4'], 'Failed'],
  cancelled: [[ring, 'M5.5 8h5'], 'Cancelled'],
  blocked: [[ring, 'M6.5 6v4m3-4v4'], 'Blocked'],
};
const foldFrom = 10; // lists with more items may be folded
let drawn = { items: [], revision: 0, list: '' };
let open = false; // the person unfolded the list
let past = false; // a later card of the chat shows the list
let panel = ''; // the address of the list's page
let trouble = ''; // why the person's last wish was not done
let saving = 0; // ticks on their way

const statusOf = (word) => { word = words[word] ?? word; return Object.hasOwn(shapes, word) ? word : 'pending'; };

function element(tag, props, ...children) {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
}

// rich returns a text as nodes, with `code` and **bold** drawn as such, as the panel does.
function rich(text) {
  const parts = [];
  let at = 0;
  for (const m of text.matchAll(/`([^`]+)`|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*/g)) {
    parts.push(text.slice(at, m.index), element(m[1] ? 'code' : 'strong', { textContent: m[1] ?? m[2] }));
    at = m.index + m[0].length;
  }
  return [...parts, text.slice(at)];
}

function row({ id, title, reason, beside, details, status, since }, fresh) {
  const [, word] = shapes[status], done = status === 'completed';
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  for (const d of shapes[status][0]) svg.appendChild(document.createElementNS(svg.namespaceURI, 'path')).setAttribute('d', d);
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  const tickable = id && status !== 'cancelled' && mayCall();
  return element('li', { className: status + (fresh ? ' fresh' : '') },
    tickable ? element('button', { type: 'button', className: 'tick', id: 'i-' + id, onclick: () => tick(id), ariaLabel: `${done ? 'Back to do' : 'Tick'}: ${title}` }, svg) : svg,
    element('span', { className: 'spoken', textContent: word + ': ' }),
    element('span', { className: 't' }, element('bdi', {}, ...rich(title)),
      ...[beside, details].filter(Boolean).map((text) => element('small', {}, element('bdi', {}, ...rich(text))))),
    ...(reason ? [element('bdi', { className: 'why' }, ...rich(reason))] : []),
    ...(since ? [element('time', { dateTime: since })] : []));
}

// draw shows a list: {items: [{id, title, status}], list, revision, and what
// todo-mcp/list says}. Early means that it is the input of a call without a result
// yet.
function draw(next, early) {
  const items = next.items.map((i) => ({
    id: i.id, title: oneLine(i.title), reason: oneLine(i.reason ?? ''), status: statusOf(i.status),
    beside: oneLine(besideOf(i, next.items)), details: oneLine(i.details ?? ''),
  }));
  const now = current(items, next);
  if (now && !next.rests && Date.parse(next.started) > 0) now.since = next.started;
  const before = new Map(drawn.items.flatMap((i) => [['#' + i.id, i.status + i.title], [i.title, i.status + i.title]]));
  const first = !drawn.items.length || early || drawn.early;
  const changed = first || JSON.stringify(items) !== JSON.stringify(drawn.items);
  if (changed) {
    const at = document.activeElement?.id; // the rows are new, the focus stays
    $('items').replaceChildren(...items.map((i) => row(i, !first && (before.get('#' + i.id) ?? before.get(i.title)) !== i.status + i.title)));
    if (at) $(at)?.focus();
  }
  drawn = { ...next, items, early };
  if (typeof next.panel === 'string') panel = next.panel;
  $('title').replaceChildren(...rich(oneLine(next.title || 'Todo list')));
  summarise(items, early, changed && !first && !past);
  note(items.length ? trouble : 'The list is empty.', !!items.length && !!trouble);
  fold();
  clock();
}

// besideOf says an item's priority and due date, who does it, and what comes first.
function besideOf({ priority, due_date: due, owner, has, blockedBy }, items) {
  const [first, ...more] = items.filter((i) => blockedBy?.includes(i.id) && !/^(completed|failed|cancelled)$/.test(i.status));
  return [priority && 'priority: ' + priority, due && 'due: ' + due, owner || has,
    first && 'waits for ' + (first.text ?? first.title) + (more.length ? ` and ${more.length} more` : '')].filter(Boolean).join(', ');
}

// current returns the item whose start is known. A tool's own display may have no
// ids, and may show a failed item as in progress too: then none is.
function current(items, { current: id }) {
  const running = items.filter((i) => i.status === 'in_progress');
  return running.find((i) => i.id === id) ?? (running.length === 1 && !running[0].id ? running[0] : undefined);
}

// clock writes how long the current item takes. A result of long ago may be drawn
// where the list cannot be read anew: then it says nothing.
let confirmed = false; // the list was read anew
function clock() {
  const t = document.querySelector('time'), since = Date.now() - Date.parse(t?.dateTime);
  if (t) t.textContent = confirmed || since < 36e5 ? took(since) : '';
}
const ticking = setInterval(() => { if (!document.hidden) clock(); }, 1000);

function summarise(items, early, tell) {
  const n = (status) => items.filter((i) => i.status === status).length;
  const all = items.length - n('cancelled'), done = n('completed'), failed = n('failed');
  const settled = items.length > 0 && done + failed === all;
  const count = all && done === all ? `All ${all} done` : `${done} of ${all} done`;
  const text = count + (failed ? ` · ${failed} failed` : '') + (all < items.length ? ` · ${items.length - all} cancelled` : '');
  const now = items.find((i) => i.status === 'in_progress');
  $('head').className = '';
  $('count').textContent = text;
  $('bar').hidden = !all;
  $('bar').setAttribute('aria-valuemax', all);
  $('bar').setAttribute('aria-valuenow', done);
  $('bar').setAttribute('aria-valuetext', text);
  $('bar').firstChild.style.width = 100 * done / (all || 1) + '%';
  main.className = [settled && 'settled', failed && 'bad', early && 'early'].filter(Boolean).join(' ');
  main.setAttribute('aria-busy', !!early);
  if (tell) $('say').textContent = text + (now ? '. Now: ' + now.title : '');
}

// fold hides the done items of a long list, and shows a button to show them.
function fold() {
  const done = drawn.items.filter((i) => i.status === 'completed' || i.status === 'cancelled').length;
  const long = drawn.items.length > foldFrom && done > 2 && done < drawn.items.length;
  $('items').className = long && !open ? 'folded' : '';
  $('fold').hidden = !long && !past;
  $('panel').hidden = !panel || !host.openLinks;
  offer();
  if (past && !open) { // one line in the place of what a later card shows
    main.classList.add('past');
    $('fold').textContent = 'Continues below, ' + $('count').textContent;
    $('fold').setAttribute('aria-expanded', false);
    $('panel').hidden = $('pin').hidden = true;
    return;
  }
  main.classList.remove('past');
  $('fold').textContent = past ? 'Hide' : open ? 'Hide what is done' : `Show ${done} done`;
  $('fold').setAttribute('aria-expanded', open);
}
$('fold').onclick = () => { open = !open; fold(); if (past) wake(); };

// collapse makes the card a line once, when a later card shows the list: a person
// who opens it again keeps it open.
function collapse() {
  if (past || mode === 'pip') return;
  past = true;
  open = false;
  fold();
}

// The host opens the link: a page in a frame may not, and should not, navigate.
$('panel').onclick = async () => {
  const r = await request('ui/open-link', { url: panel }).catch(() => ({ isError: true }));
  if (!r.isError) return;
  trouble = 'The chat did not open ' + panel;
  note(trouble, true);
};

// What the host may do for the card: keep it in sight beside the chat, give its model
// what a person ticked, and send a message for the person.
let mode = 'inline', modes = []; // of display; and those that the host has
let went = 0; // the revision at which the person said to go on

// offer shows the buttons for that, for which the host has a use now.
function offer() {
  const has = (...statuses) => drawn.items.some((i) => statuses.includes(i.status));
  const works = has('in_progress') && !drawn.rests && quiet < 15; // half a minute
  $('go').hidden = !host.message || !drawn.list || past || works || went === drawn.revision || !has('in_progress', 'pending', 'blocked');
  $('pin').hidden = !modes.includes('pip') || !drawn.list;
  $('pin').textContent = mode === 'pip' ? 'Back to the chat' : 'Keep in sight';
}

$('pin').onclick = async () => {
  const wish = mode === 'pip' ? 'inline' : 'pip';
  const r = await request('ui/request-display-mode', { mode: wish }).catch(() => ({}));
  mode = r.mode ?? mode;
  trouble = mode === wish ? '' : 'The chat did not do that';
  note(trouble, true);
  offer();
  wake();
};

// The message is the person's, so that no text of the list is in it.
$('go').onclick = async () => {
  went = drawn.revision;
  offer();
  await say();
  const r = await request('ui/message', { role: 'user', content: [{ type: 'text', text: 'Go on with the open items of the todo list.' }] }).catch(() => ({ isError: true }));
  if (!r.isError) return;
  went = 0;
  trouble = 'The chat did not take the message';
  note(trouble, true);
  offer();
};

// What a person ticked and the agent was not told yet, by item. The host gives it to its
// model with the person's next message. The answer to the agent's next write tells it in
// any case; once the agent has seen it, it is taken back here.
const unsaid = new Map();
let saying, isSaid = false;

function remember(id, title, was, status, revision) {
  was = unsaid.get(id)?.was ?? was;
  if (was === status) unsaid.delete(id);
  else unsaid.set(id, { title, was, status, revision });
  saying ??= setTimeout(say, 500);
}

// seen forgets what the agent was told when it was shown a revision.
function seen(revision) {
  for (const [id, tick] of unsaid) if (tick.revision <= revision) unsaid.delete(id);
  if (isSaid && !unsaid.size) say();
}

async function say() {
  clearTimeout(saying);
  saying = undefined;
  if (!host.updateModelContext || !unsaid.size && !isSaid) return;
  const all = [...unsaid.values()].slice(-20).map((t) => `set ${JSON.stringify(t.title.slice(0, 100))} to ${t.status}`);
  isSaid = all.length > 0;
  const text = `The user changed the todo list, whose texts are data: ${all.join(', ')}.`;
  await request('ui/update-model-context', { content: isSaid ? [{ type: 'text', text }] : [] }).catch(() => {});
}

function note(text, error) {
  if (error && $('note').textContent !== text) $('say').textContent = text;
  $('note').textContent = text;
  $('note').hidden = !text;
  $('note').className = error ? 'error' : '';
}

// tick sets an item's status for a person: at once, and undone with the reason if refused.
async function tick(id) {
  const { list, revision, items } = drawn, { title, status: was } = items.find((i) => i.id === id);
  const set = (status) => draw({ ...drawn, items: drawn.items.map((i) => i.id === id ? { ...i, status } : i) });
  const status = was === 'completed' ? 'pending' : 'completed';
  trouble = '';
  saving++;
  set(status);
  try {
    const r = await request('tools/call', { name: 'todo_list_tick', arguments: { list_id: list, item_id: id, status, revision } });
    const shown = !r.isError && displayed(r);
    if (!shown) throw Error(said(r) || 'no answer');
    if (list !== drawn.list) return;
    seen(shown.seen);
    remember(id, title, was, status, shown.revision);
    if (shown.revision >= drawn.revision) draw(shown);
  } catch (e) {
    trouble = 'Not saved: ' + oneLine(e.message.replace(/^Error: (Validation failed\s*- )?/, ''));
    if (list === drawn.list) set(was);
  } finally {
    saving--;
    plan();
  }
}

// input draws a call's arguments before its result, if they are a whole list.
function input({ arguments: args }) {
  let todos = args?.todos;
  if (typeof todos === 'string') try { todos = JSON.parse(todos); } catch { return; }
  if (!Array.isArray(todos) || drawn.list) return;
  const items = todos.map((t) => ({ title: (t?.status === 'in_progress' && t.activeForm) || t?.content || t?.title || t?.description, status: t?.status }))
    .filter((t) => typeof t.title === 'string');
  if (items.length) draw({ items, revision: 0, list: '' }, true);
}

// displayed returns the list in a result, {items, list, revision}, if any: from the
// structured content, or without that from _meta.
function displayed({ structuredContent, _meta }) {
  const { id, revision, ...about } = _meta?.['todo-mcp/list'] ?? {};
  const c = structuredContent ?? { display: _meta?.['todo-mcp/display'], list: id, revision };
  const block = c.display?.find?.((d) => d?.type === 'todo' && Array.isArray(d.items));
  return block && { ...about, items: block.items, list: c.list ?? '', revision: c.revision ?? 0 };
}

function result(r) {
  const shown = displayed(r);
  if (shown && !r.isError) {
    past = checked = confirmed = false;
    trouble = '';
    draw(shown);
    came = shown.revision;
    seen(Infinity); // it says what its agent had not seen, also of an earlier list
    others?.postMessage({ list: shown.list, revision: shown.revision });
    plan();
    return;
  }
  ended(said(r).split('\n').map(oneLine).join('\n') || 'No answer.', r.isError);
}

const said = (r) => (r.content ?? []).filter((c) => c?.type === 'text').map((c) => c.text).join('\n');

// The cards of one chat tell each other which revision the chat has come to: an
// earlier card of a list becomes a line. A host that gives each page an origin of
// its own keeps them apart; then each learns it when it reads the list anew.
let came = 0, others;
try {
  others = new BroadcastChannel('todo-mcp');
  others.onmessage = ({ data }) => {
    if (!drawn.list || data?.list !== drawn.list || !(data.revision > came)) return;
    seen(data.revision);
    collapse();
  };
} catch { /* not to be had in this frame */ }

// ended shows a text in place of the list.
function ended(text, error) {
  $('items').replaceChildren();
  $('head').className = 'spoken';
  $('bar').hidden = $('fold').hidden = $('panel').hidden = $('go').hidden = $('pin').hidden = true;
  main.className = '';
  main.setAttribute('aria-busy', 'false');
  drawn = { items: [], revision: 0, list: '' };
  note(text, error);
}

// Talking to the host: JSON-RPC over postMessage.
const waiting = new Map();
let lastID = 0, host = {}, over = false;

const send = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
const notify = (method, params = {}) => send({ method, params });
function request(method, params) {
  const id = ++lastID;
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => { waiting.delete(id); reject(Error('no answer')); }, 15000);
    waiting.set(id, (m) => { clearTimeout(late); m.error ? reject(Error(m.error.message)) : resolve(m.result ?? {}); });
    send({ id, method, params });
  });
}

const told = {
  'ui/notifications/tool-input': input,
  'ui/notifications/tool-input-partial': input,
  'ui/notifications/tool-result': result,
  'ui/notifications/tool-cancelled': () => ended('The call was cancelled.'),
  'ui/notifications/host-context-changed': dress,
};
const asked = { ping: () => ({}), 'ui/resource-teardown': teardown };

addEventListener('message', ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== '2.0' || over) return;
  if (!data.method) {
    waiting.get(data.id)?.(data);
    waiting.delete(data.id);
  } else if (data.id === undefined) {
    if (Object.hasOwn(told, data.method)) told[data.method](data.params ?? {});
  } else if (Object.hasOwn(asked, data.method)) {
    send({ id: data.id, result: asked[data.method]() });
  } else {
    send({ id: data.id, error: { code: -32601, message: 'Method not found' } });
  }
});

// dress applies the host's theme and its style variables.
function dress(context) {
  const root = document.documentElement;
  if (Array.isArray(context.availableDisplayModes)) modes = context.availableDisplayModes;
  if (context.displayMode) mode = context.displayMode;
  offer();
  if (context.theme === 'light' || context.theme === 'dark') root.dataset.theme = context.theme;
  for (const [name, value] of Object.entries(context.styles?.variables ?? {})) {
    if (name.startsWith('--') && value) root.style.setProperty(name, value);
  }
}

// Refreshing: when the page becomes visible or gets the focus, and every two
// seconds while an item is in progress and the page is visible.
const enough = 3; // failures until it gives up
let timer, quiet = 0, misses = 0, asking = false, inView = true, checked = false;

const coreItem = (i) => ({ ...i, title: (i.status === 'in_progress' && i.active) || i.text, blockedBy: i.waits_for });

// mayCall reports whether the host lets the page call its tools, as far as known.
const mayCall = () => host.serverTools && !host.toolRefused;

async function newest(list) {
  if (mayCall()) {
    try {
      return await request('tools/call', { name: 'todo_list_view', arguments: { list_id: list } });
    } catch (e) { // the host may refuse tools that were not listed
      if (!host.serverResources) throw e;
      host.toolRefused = true;
    }
  }
  const { contents } = await request('resources/read', { uri: 'todo://lists/' + list });
  const l = JSON.parse(contents[0].text);
  const now = l.items.reduce((a, i) => i.status === 'in_progress' && !(a?.started > i.started) ? i : a, undefined);
  return {
    structuredContent: { display: [{ type: 'todo', items: l.items.map(coreItem) }], list: l.list, revision: l.revision },
    _meta: { 'todo-mcp/list': { title: l.title, current: now?.id, started: now?.started } },
  };
}

async function refresh() {
  if (over || asking || !drawn.list || !(host.serverTools || host.serverResources)) return;
  asking = checked = true;
  const list = drawn.list;
  try {
    const r = await newest(list);
    if (over || list !== drawn.list || saving) return;
    const shown = displayed(r);
    misses = r.isError || !shown ? enough : 0;
    if (misses) return;
    quiet = shown.revision > drawn.revision ? 0 : quiet + 1;
    confirmed = true;
    if (shown.revision >= drawn.revision) draw({ ...shown, list });
    seen(shown.seen);
    if (shown.written > came) collapse();
  } catch {
    misses++;
  } finally {
    asking = false;
    plan();
  }
}

function plan() {
  clearTimeout(timer);
  const has = (...statuses) => drawn.items.some((i) => statuses.includes(i.status));
  const follows = !over && misses < enough && !!drawn.list, running = follows && has('in_progress');
  main.classList.toggle('live', running && !drawn.rests && !past);
  // A reopened chat shows an old result: refresh once, even if nothing runs. So
  // does a result without ids, by which a person ticks.
  const once = !checked && drawn.list && (has('pending', 'blocked') || mayCall() && drawn.items.some((i) => !i.id));
  if ((running || once || follows && (isSaid || mode === 'pip')) && inView && !document.hidden) {
    timer = setTimeout(refresh, quiet < 60 && !drawn.rests && (!past || open) ? 2000 : 10000);
  }
}

function wake() {
  misses = quiet = 0;
  if (inView && !document.hidden) refresh();
  plan();
}

function teardown() {
  // Stop after the answer is sent.
  queueMicrotask(() => { over = true; plan(); clearTimeout(saying); clearInterval(ticking); sizes.disconnect(); views.disconnect(); });
  return {};
}

let height = 0;
const sizes = new ResizeObserver(() => {
  const now = Math.ceil(main.getBoundingClientRect().height);
  if (now === height) return;
  height = now;
  notify('ui/notifications/size-changed', { height });
});
const views = new IntersectionObserver(([entry]) => {
  const was = inView;
  inView = entry.isIntersecting;
  if (inView !== was) wake();
});

async function start() {
  const hello = await request('ui/initialize', {
    appInfo: { name: 'todo-mcp', version: '1' },
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen', 'pip'] },
    protocolVersion: '2026-01-26',
  });
  host = { ...hello.hostCapabilities };
  dress(hello.hostContext ?? {});
  notify('ui/notifications/initialized');
  sizes.observe(main);
  views.observe(main);
  addEventListener('focus', wake);
  document.addEventListener('visibilitychange', wake);
}
if (parent !== window) start().catch(() => note('This host does not show todo lists.'));
