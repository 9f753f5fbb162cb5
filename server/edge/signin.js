// An address may have a token behind "#", which browsers send to nobody. The person
// signs in with it by the button, or where the page says so at once.
function fill() {
  const token = decodeURIComponent(location.hash.slice(1)), form = document.getElementById('form');
  if (!token) return;
  history.replaceState(null, '', location.pathname + location.search);
  document.getElementById('token').value = token;
  if ('direct' in form.dataset) form.submit();
}
addEventListener('hashchange', fill);
fill();
