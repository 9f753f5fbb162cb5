// What the browser tells a person who does not look at the page. It is served as a
// part of panel.js.

// news tells what a person may wait for, also of a list that began and ended
// while nobody looked.
function news(d) {
  const was = seen.get(d.id) ?? {};
  const ended = (state) => state === 'finished' || state === 'failed';
  if (!d.person && !d.gone && !d.archived) {
    if (ended(d.state) && !ended(was.state)) tell(d.state === 'failed' ? 'Failed' : 'Finished', d.title, d.failed ? `${d.failed} failed` : '');
    else if (d.state === 'waiting' && was.state !== 'waiting') tell('Waiting for you', d.title, d.reason ?? '');
    else if (d.failed > (was.failed ?? 0)) tell('An item failed', d.title, '');
  }
  if (document.hidden) seen.set(d.id, { ...was, state: d.state, failed: d.failed });
}
const notes = { on: () => 'Notification' in window && Notification.permission === 'granted' && localStorage.notify === 'on' };
function tell(what, title, body) {
  if (notes.on() && (document.hidden || !document.hasFocus())) new Notification(`${what}: ${title}`, { body, tag: what + title });
}
function bell() {
  const b = $('bell');
  if (!('Notification' in window)) return;
  const refused = Notification.permission === 'denied';
  b.hidden = page().view === 'none' || page().view === 'history';
  b.setAttribute('aria-pressed', notes.on());
  b.title = refused ? 'Allow notifications for this page in the browser' : notes.on() ? 'Notifications are on' : 'Notify me when a list is finished or waits for me';
  b.setAttribute('aria-label', b.title);
  b.onclick = async () => {
    if (notes.on()) localStorage.notify = 'off';
    else if (await Notification.requestPermission() === 'granted') localStorage.notify = 'on';
    bell();
  };
}
