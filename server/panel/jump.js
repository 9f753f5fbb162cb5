// The jump (Ctrl+K): to a list by its words, or to a command. panel.js loads it when it is
// first asked for. The server draws the options; the focus stays in the field.
import { $, all, make, load, archive, openKeys } from './panel.js';

const input = make('input', { id: 'jump-q', type: 'text', placeholder: 'Go to a list, or do something', autocomplete: 'off', spellcheck: false });
const list = make('ul', { id: 'jump-list', className: 'menu' });
const found = make('p', { className: 'spoken' });
const box = document.body.appendChild(make('dialog', { id: 'jump' }, input, list, found));
box.dataset.keep = 'own';
box.ariaLabel = input.ariaLabel = 'Go to a list, or do something';
for (const [name, value] of Object.entries({ role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'jump-list', 'aria-autocomplete': 'list' })) input.setAttribute(name, value);
list.role = 'listbox';
list.ariaLabel = 'Lists and commands';
found.role = 'status';

let asked = 0, answered;
// ask shows the options for what is typed, unless more is typed within some time, in ms:
// it ends when those for all that was typed are there.
async function ask(wait) {
  const mine = ++asked;
  await new Promise((done) => { setTimeout(done, wait); });
  let answer, drawn = '';
  if (mine === asked) try { answer = await fetch('panel/jump?q=' + encodeURIComponent(input.value)); drawn = await answer.text(); } catch { /* the field stays */ }
  if (mine !== asked) { await answered; return; }
  list.innerHTML = answer?.ok ? drawn : ''; // drawn and escaped by the server
  const n = options().length;
  found.textContent = answer?.ok ? `${n} ${n === 1 ? 'result' : 'results'}` : 'The server does not answer';
  select(0);
}
const options = () => all('[role=option]', list);
function select(n) {
  const stops = options(), at = (n + stops.length) % stops.length;
  stops.forEach((o, i) => { o.ariaSelected = i === at; });
  stops[at]?.scrollIntoView({ block: 'nearest' });
  if (stops[at]) input.setAttribute('aria-activedescendant', stops[at].id);
  else input.removeAttribute('aria-activedescendant');
}
const at = () => options().findIndex((o) => o.ariaSelected === 'true');

const acts = {
  archive: (days) => archive({ days: Number(days) }), keys: openKeys, notifications: () => $('bell').click(),
  theme: (name = '') => {
    document.documentElement.dataset.theme = name;
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs TLS
    document.cookie = `theme=${name};path=${new URL(document.baseURI).pathname};SameSite=Lax;max-age=${name ? 34560000 : 0}`;
  },
};
async function take(option) {
  if (!option) return;
  box.close();
  if (option.dataset.href) {
    await load(option.dataset.href, 'push');
    $('main').focus();
  } else {
    const [what, with_] = option.dataset.do.split(' ');
    acts[what](with_);
  }
}

input.oninput = () => { answered = ask(80); };
// What is pressed after words means the options for these, which may not be there yet.
input.onkeydown = async (e) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (!step && (e.key !== 'Enter' || e.isComposing)) return;
  e.preventDefault();
  await answered;
  if (step) select(at() + step); else if (box.open) take(options()[at()]);
};
list.onclick = (e) => take(e.target.closest('[role=option]'));
box.onclick = (e) => { if (e.target === box) box.close(); };

// toggle opens the jump, or closes it.
export function toggle() {
  if (box.open) { box.close(); return; }
  input.value = '';
  box.showModal();
  answered = ask(0);
}
