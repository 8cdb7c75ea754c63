// Why a camera or a microphone is not there, in words for people.

const DEVICES = { video: 'camera', audio: 'microphone' };

/**
 * One sentence for what happened, one for what comes of it, one for what to do.
 *
 * @param {Error} error what `getUserMedia` failed with
 * @param {string[]} kinds 'video', 'audio'
 * @param {{consequence: string, again: (them: string) => string}} words `again`: what to do once the fault is mended
 */
export function explainFault(error, kinds, { consequence, again }) {
  const names = kinds.map((kind) => DEVICES[kind]);
  const device = names.join(' and ');
  const [are, they, them] = kinds.length > 1 ? ['are', 'they do', 'them'] : ['is', 'it does', 'it'];
  if (!globalThis.isSecureContext) {
    return `Browsers allow the ${device} only on https:// pages and on localhost, and this page is neither. `
      + `${consequence} Open Roost by its https address, or on the server’s own machine as http://localhost.`;
  }
  switch (error?.name) {
    case 'NotAllowedError':
      return `This page may not use your ${device}. ${consequence} To allow ${them}, use the icon beside the address `
        + `bar, then ${again(them)}.`;
    case 'NotFoundError':
    case 'OverconstrainedError':
      return `No ${names.join(' and no ')} was found. ${consequence} Plug one in and ${again('it')} to use it.`;
    case 'NotReadableError':
    case 'AbortError':
      return `Your ${device} ${are} there but ${they} not answer; another program may be using ${them}. ${consequence} `
        + `Close that program and ${again(them)}.`;
    default:
      return `Your ${device} could not be opened (${error?.name ?? 'not supported'}). ${consequence}`;
  }
}

/**
 * Two devices that are missing for one reason are one message.
 *
 * @param {{kind: string, error: Error}[]} faults
 * @returns {{error: Error, kinds: string[]}[]}
 */
export function faultsByReason(faults) {
  const reasons = new Map();
  for (const { kind, error } of faults) {
    const alike = reasons.get(error?.name);
    if (alike) alike.kinds.push(kind);
    else reasons.set(error?.name, { error, kinds: [kind] });
  }
  return [...reasons.values()];
}

/** As the browser's own, but fails as other faults do where the whole object is missing: outside secure contexts. */
export async function getUserMedia(constraints) {
  if (!navigator.mediaDevices) throw new DOMException('not a secure context', 'SecurityError');
  return navigator.mediaDevices.getUserMedia(constraints);
}
