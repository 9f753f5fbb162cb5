'use strict';
// safe makes a text safe to show, exactly like Safe in internal/render; a test
// compares the two. Control characters, bidirectional controls and invisible
// characters become escapes. Joiners, variation selectors, skin tones and flags
// made of tags stay where they have an effect.
const flagOfTags = /\u{1F3F4}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{3,6}\u{E007F}/uy;
const prepended = /[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]/u;
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u;
const skinTone = /[\u{1F3FB}-\u{1F3FF}]/u;
const beyondASCII = (c) => c !== '' && c.codePointAt(0) > 0x7F;
const visible = (c) => prepended.test(c) || !unseen.test(c);
const joinable = (c) => beyondASCII(c) && visible(c) && !skinTone.test(c) && /[\p{L}\p{M}\p{S}]/u.test(c) && !/\p{Script=Latin}/u.test(c);

// varies reports whether a variation selector has an effect on the previous
// character.
function varies(previous, selector) {
  const code = selector.codePointAt(0);
  if (/\p{Variation_Selector}/u.test(previous)) return false;
  if (code === 0xFE0E || code === 0xFE0F) return /^[0-9#*ℹ]$/u.test(previous) || beyondASCII(previous) && /[\p{S}\p{P}]/u.test(previous);
  if (code >= 0xE0100) return /\p{Script=Han}/u.test(previous);
  if (code < 0x2000) return /\p{Script=Mongolian}/u.test(previous);
  return beyondASCII(previous) && !/[\p{White_Space}]/u.test(previous);
}

// shows reports whether a character between two others is shown as it is. The
// previous one is empty at the start and after an escape, the next one at the
// end.
function shows(previous, c, next) {
  if (/\p{Join_Control}/u.test(c)) return /\p{M}/u.test(previous) || (joinable(previous) || skinTone.test(previous)) && joinable(next);
  if (/\p{Variation_Selector}/u.test(c)) return varies(previous, c);
  if (skinTone.test(c)) return /\p{So}/u.test(previous);
  return visible(c);
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
    const following = text.codePointAt(at + c.length);
    if (flag || shows(previous, c, following === undefined ? '' : String.fromCodePoint(following))) {
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
