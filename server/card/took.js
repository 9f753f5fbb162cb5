// took says how long something takes: "1 m 12 s".
const gap = '\u202f', two = (n) => String(n).padStart(2, '0');
function took(ms) {
  const s = Math.max(0, Math.floor(ms / 1000)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  return d ? `${d}${gap}d ${two(h % 24)}${gap}h` : h ? `${h}${gap}h ${two(m % 60)}${gap}m` : m ? `${m}${gap}m ${two(s % 60)}${gap}s` : `${s}${gap}s`;
}
