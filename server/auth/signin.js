// The address in a QR code has the token behind "#", which browsers send to nobody.
function enter() {
  const token = decodeURIComponent(location.hash.slice(1));
  if (!token) return;
  history.replaceState(null, '', location.pathname + location.search);
  document.getElementById('token').value = token;
  document.getElementById('form').submit();
}
addEventListener('hashchange', enter);
enter();
