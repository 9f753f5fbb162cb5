// The address in a QR code has the token behind "#", which browsers send to nobody.
const token = decodeURIComponent(location.hash.slice(1));
if (token) {
  history.replaceState(null, '', location.pathname + location.search);
  document.getElementById('token').value = token;
  document.getElementById('form').submit();
}
