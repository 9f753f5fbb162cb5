const $ = (id) => document.getElementById(id);
const main = document.querySelector('main');

// oneLine makes a text safe to draw; models may send anything.
const oneLine = (text) => safe(String(text).replace(/[\t-\r\x85\u2028\u2029]+/g, ' '));

// Drawing.
const words = { done: 'completed', running: 'in_progress' };
const shapes = { // path, and what a screen reader says before the title
  completed: ['M3 8.6 6.4 12 13 4.8', 'Done'],
  in_progress: ['M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8', 'In progress'],
  pending: ['M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11', 'To do'],
  failed: ['M4 4l8 8m0-8-8 8', 'Failed'],
  cancelled: ['M4 8h8', 'Cancelled'],
  blocked: ['M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M5.5 8h5', 'Blocked'],
};
const foldFrom = 10; // lists with more items may be folded
let drawn = { items: [], revision: 0, list: '' };
let open = false; // the person unfolded the list

const statusOf = (word) => { word = words[word] ?? word; return Object.hasOwn(shapes, word) ? word : 'pending'; };

function element(tag, props, ...children) {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
}

function row({ title, why, status }, fresh) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const path = document.createElementNS(svg.namespaceURI, 'path');
  path.setAttribute('d', shapes[status][0]);
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  svg.append(path);
  return element('li', { className: status + (fresh ? ' fresh' : '') }, svg,
    element('span', { className: 'spoken', textContent: shapes[status][1] + ': ' }),
    element('bdi', { textContent: title }),
    ...(why && status === 'blocked' ? [element('bdi', { className: 'why', textContent: why })] : []));
}

// draw shows a list: {items: [{id, title, status}], list, revision}. Early means
// that it is the input of a call without a result yet.
function draw(next, early) {
  const items = next.items.map((i) => ({ id: i.id, title: oneLine(i.title), why: oneLine(i.reason ?? ''), status: statusOf(i.status) }));
  const before = new Map(drawn.items.map((i) => [i.id ?? i.title, i.status + i.title]));
  const first = !drawn.items.length || early || drawn.early;
  if (first || JSON.stringify(items) !== JSON.stringify(drawn.items)) {
    $('items').replaceChildren(...items.map((i) => row(i, !first && before.get(i.id ?? i.title) !== i.status + i.title)));
  }
  drawn = { ...next, items, early };
  note(items.length ? '' : 'The list is empty.');
  summarise(items, early, !first);
  fold();
}

function summarise(items, early, tell) {
  const n = (status) => items.filter((i) => i.status === status).length;
  const all = items.length - n('cancelled'), done = n('completed'), failed = n('failed');
  const settled = items.length > 0 && done + failed === all;
  const count = all && done === all ? `All ${all} done` : `${done} of ${all} done`;
  const text = count + (failed ? ` · ${failed} failed` : '') + (all < items.length ? ` · ${items.length - all} cancelled` : '');
  const now = items.find((i) => i.status === 'in_progress');
  $('head').hidden = false;
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
  $('fold').hidden = !long;
  $('fold').textContent = open ? 'Hide what is done' : `Show ${done} done`;
  $('fold').setAttribute('aria-expanded', open);
}
$('fold').onclick = () => { open = !open; fold(); };

function note(text, error) {
  $('note').textContent = text;
  $('note').hidden = !text;
  $('note').className = error ? 'error' : '';
  if (error) $('say').textContent = text;
}

// input draws a call's arguments before its result, if they are a whole list.
function input({ arguments: args }) {
  let todos = args?.todos;
  if (typeof todos === 'string') try { todos = JSON.parse(todos); } catch { return; }
  if (!Array.isArray(todos) || drawn.list) return;
  const items = todos.map((t) => ({ title: (t?.status === 'in_progress' && t.activeForm) || t?.content || t?.title, status: t?.status }))
    .filter((t) => typeof t.title === 'string');
  if (items.length) draw({ items, revision: 0, list: '' }, true);
}

// displayed returns the list in a result, {items, list, revision}, if there is
// one: from the structured content, or without that from _meta.
function displayed({ structuredContent, _meta }) {
  const { id, revision } = _meta?.['todo-mcp/list'] ?? {};
  const c = structuredContent ?? { display: _meta?.['todo-mcp/display'], list: id, revision };
  const block = c.display?.find?.((d) => d?.type === 'todo' && Array.isArray(d.items));
  return block && { items: block.items, list: c.list ?? '', revision: c.revision ?? 0 };
}

function result(r) {
  const shown = displayed(r);
  if (shown && !r.isError) {
    draw(shown);
    plan();
    return;
  }
  const text = (r?.content ?? []).filter((c) => c?.type === 'text').map((c) => c.text).join('\n');
  ended(text.split('\n').map(oneLine).join('\n') || 'No answer.', r?.isError);
}

// ended shows a text in place of the list.
function ended(text, error) {
  $('items').replaceChildren();
  $('head').hidden = $('bar').hidden = $('fold').hidden = true;
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
  if (context.theme === 'light' || context.theme === 'dark') root.dataset.theme = context.theme;
  for (const [name, value] of Object.entries(context.styles?.variables ?? {})) {
    if (name.startsWith('--') && value) root.style.setProperty(name, value);
  }
}

// Refreshing: when the page becomes visible or gets the focus, and every two
// seconds while an item is in progress and the page is visible.
const enough = 3; // failures until it gives up
let timer, quiet = 0, misses = 0, asking = false, inView = true, checked = false;

const coreItem = (i) => ({ id: i.id, title: (i.status === 'in_progress' && i.active) || i.text, reason: i.reason, status: i.status });

async function newest(list) {
  if (host.serverTools && !host.toolRefused) {
    try {
      return await request('tools/call', { name: 'todo_list_view', arguments: { list_id: list } });
    } catch (e) { // the host may refuse tools that were not listed
      if (!host.serverResources) throw e;
      host.toolRefused = true;
    }
  }
  const { contents } = await request('resources/read', { uri: 'todo://lists/' + list });
  const l = JSON.parse(contents[0].text);
  return { structuredContent: { display: [{ type: 'todo', items: l.items.map(coreItem) }], list: l.list, revision: l.revision } };
}

async function refresh() {
  if (over || asking || !drawn.list || !(host.serverTools || host.serverResources)) return;
  asking = checked = true;
  const list = drawn.list;
  try {
    const r = await newest(list);
    if (over || list !== drawn.list) return;
    const shown = displayed(r);
    misses = r.isError || !shown ? enough : 0;
    if (misses) return;
    quiet = shown.revision > drawn.revision ? 0 : quiet + 1;
    if (shown.revision >= drawn.revision) draw({ ...shown, list });
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
  const running = !over && misses < enough && !!drawn.list && has('in_progress');
  main.classList.toggle('live', running);
  // A reopened chat shows an old result: refresh once, even if nothing runs.
  if ((running || !checked && has('pending', 'blocked')) && inView && !document.hidden) {
    timer = setTimeout(refresh, quiet < 60 ? 2000 : 10000);
  }
}

function wake() {
  misses = quiet = 0;
  if (inView && !document.hidden) refresh();
  plan();
}

function teardown() {
  // Stop after the answer is sent.
  queueMicrotask(() => { over = true; plan(); sizes.disconnect(); views.disconnect(); });
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
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
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
