// For who may look at lists and not change them: keys and clicks that edit do
// nothing. It runs before panel.js.
const edits = new Set(['x', 'e', 'b', 'a', 'r', 'u', 'Backspace', 'Delete']);
addEventListener('keydown', (e) => {
  if (!e.target.matches('input') && (edits.has(e.key) || e.altKey && e.key.startsWith('Arrow'))) e.stopImmediatePropagation();
}, true);
addEventListener('click', (e) => { if (e.target.closest('.t bdi, #title, .tick')) e.stopImmediatePropagation(); }, true);
