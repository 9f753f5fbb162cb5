// What the tabs of a browser leave to each other: it has six connections to a server of
// HTTP/1.1 for all of them, and each page's stream takes one. It is served as a part of
// panel.js.

// A hidden page gives up its stream when three others were opened or looked at since, unless
// it is a board that tells the person of lists.
const tabs = new BroadcastChannel('tabs'), tab = Math.random(), others = new Set();
tabs.onmessage = (e) => {
  if (!document.hidden || others.add(e.data).size < 3 || notes.on() && !page().list) return;
  clearTimeout(retry);
  source?.close();
};
addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  others.clear();
  tabs.postMessage(tab);
  if (source?.readyState !== EventSource.CLOSED) return;
  clearTimeout(retry);
  follow();
});
tabs.postMessage(tab);
