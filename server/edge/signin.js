// An address may have a token behind "#", which browsers send to nobody. The person
// signs in with it by the button: a link of somebody else could have theirs.
function fill() {
  const token = decodeURIComponent(location.hash.slice(1));
  if (!token) return;
  history.replaceState(null, '', location.pathname + location.search);
  document.getElementById('token').value = token;
}
addEventListener('hashchange', fill);
fill();
