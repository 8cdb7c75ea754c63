// Addresses of the web in what others have written: links, and nothing more of it is markup.

const ADDRESS = /\bhttps?:\/\/[^\s\p{C}<>"“”„«»]+/giu;
/** What follows an address and does not belong to it. */
const TRAILING = '.,:;!?\'’…*]}。，、！？';

/** The text in pieces to append: strings, and links to the addresses in it. */
export function withLinks(text) {
  const pieces = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const address = withoutTrailing(found);
    if (!isAddress(address)) continue;
    pieces.push(text.slice(end, index), link(address));
    end = index + address.length;
  }
  pieces.push(text.slice(end));
  return pieces.filter((piece) => piece !== '');
}

/** Without the end of the sentence, and of brackets in which the whole address stands. */
function withoutTrailing(found) {
  let spare = found.split(')').length - found.split('(').length;
  let end = found.length;
  while (end > 0) {
    const sign = found[end - 1];
    if (sign === ')' ? spare <= 0 : !TRAILING.includes(sign)) break;
    if (sign === ')') spare -= 1;
    end -= 1;
  }
  return found.slice(0, end);
}

function isAddress(text) {
  try {
    return ['http:', 'https:'].includes(new URL(text).protocol);
  } catch {
    return false;
  }
}

function link(address) {
  const element = document.createElement('a');
  element.href = address;
  element.textContent = address;
  element.target = '_blank';
  // Whom it leads to hears nothing of the room, and search engines take no recommendation from it.
  element.rel = 'noopener noreferrer nofollow';
  return element;
}
