// Names as people type them and as they are shown.

/** The longest name that the login takes and a screen shows, in code points. */
const LONGEST = 64;

/** Control characters, line ends, and those that turn the direction of the text after them (Unicode UAX #9 §2). */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

const plain = (text) => text.replace(HIDDEN, ' ').replace(/\s+/g, ' ').trim();

/** A name to show: somebody else's may be anything. */
export function readableName(text) {
  const letters = [...plain(text)];
  if (letters.length === 0) return 'Somebody without a name';
  return letters.length <= LONGEST ? letters.join('') : `${letters.slice(0, LONGEST - 1).join('')}…`;
}

/** One's own name: something to read, of at most 64 characters; null for anything else. */
export function parseName(text) {
  const name = plain(text);
  return name !== '' && [...name].length <= LONGEST ? name : null;
}

/** The first letter of a name, by what people see as one; by code points where the browser cannot tell. */
export function initial(name) {
  const letters = Intl.Segmenter ? [...new Intl.Segmenter().segment(name)].map(({ segment }) => segment) : [...name];
  return (letters[0] ?? '?').toLocaleUpperCase();
}
