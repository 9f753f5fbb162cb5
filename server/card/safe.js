'use strict';
// safe makes a text safe to show, exactly like Safe in internal/render; a test
// compares the two. Control characters, bidirectional controls and invisible
// characters become escapes. Joiners, variation selectors and flags made of tags stay
// where they have an effect.
const flagOfTags = /\u{1F3F4}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{3,6}\u{E007F}/uy;
const prepended = /[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]/u;
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u;
const beyondASCII = (c) => c.codePointAt(0) > 0x7F;
const selector = (c) => /\p{Variation_Selector}/u.test(c);

// shaped reports whether an invisible character after one can change how that is drawn.
const shaped = (c) => beyondASCII(c) && /[\p{L}\p{M}\p{S}]/u.test(c) && !/\p{Script=Latin}/u.test(c);

// shows reports whether a character is shown as it is after the previous one, which is
// empty at the start and after an escape.
function shows(previous, c) {
  if (/[\uFE0E\uFE0F]/.test(c)) return /^[0-9#*ℹ]$/u.test(previous) || beyondASCII(previous) && /[\p{S}\p{P}]/u.test(previous);
  if (selector(c)) return shaped(previous) && !selector(previous) && (c.codePointAt(0) < 0xE0100 || /\p{Script=Han}/u.test(previous));
  if (/\p{Join_Control}/u.test(c)) return shaped(previous);
  return prepended.test(c) || !unseen.test(c);
}

// oneLine makes a text safe to draw on one line; models may send anything.
const oneLine = (text) => safe(String(text).replace(/[\t-\r\x85\u2028\u2029]+/g, ' '));

const named = { 7: '\\a', 8: '\\b', 9: '\\t', 10: '\\n', 11: '\\v', 12: '\\f', 13: '\\r' };
function escaped(c) {
  const code = c.codePointAt(0), hex = code.toString(16);
  if (code < 0x80) return named[code] ?? '\\x' + hex.padStart(2, '0');
  return code < 0x10000 ? '\\u' + hex.padStart(4, '0') : '\\U' + hex.padStart(8, '0');
}

function safe(text) {
  if (/^[ -~]*$/.test(text)) return text;
  let out = '', previous = '';
  for (let at = 0; at < text.length;) {
    const c = String.fromCodePoint(text.codePointAt(at));
    flagOfTags.lastIndex = at;
    const flag = flagOfTags.exec(text)?.[0];
    if (flag || shows(previous, c)) {
      out += flag ?? c;
      previous = c;
    } else {
      out += escaped(c);
      previous = '';
    }
    at += (flag ?? c).length;
  }
  return out;
}
