// How the page gets into a room: a token, for whoever may see the page.

/** For guests, who did not start the server. */
export const NO_ROOMS = 'This server has no rooms for many. Two can call each other directly all the same.';

export class AccessError extends Error {}

/** Whether there are rooms: false when the server says so, or does not know the question. */
export async function hasRooms() {
  try {
    const response = await fetch('/rooms/token', { cache: 'no-store' });
    // A proxy whose server is away says nothing about rooms.
    if (response.status >= 500) return true;
    return response.ok && (await response.json().catch(() => ({}))).rooms === true;
  } catch {
    // Nor does a server that is away: who wants to go there is told then.
    return true;
  }
}

/**
 * @returns {Promise<{identity: string, token: string}>}
 * @throws {AccessError} with a sentence for people
 */
export async function requestToken(room, name) {
  let response;
  try {
    response = await fetch('/rooms/token', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ room, name }),
      cache: 'no-store',
    });
  } catch {
    throw new AccessError(navigator.onLine === false
      ? 'You are offline. Connect to a network and try again.'
      : 'The server is away: it does not answer. Check that “roost serve” is running at this address, then try again.');
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok && typeof answer.token === 'string') return answer;
  if (response.ok || [404, 405].includes(response.status)) throw new AccessError(NO_ROOMS);
  throw new AccessError(typeof answer.error === 'string'
    ? answer.error
    : `The server does not let you in (status ${response.status}). Try again.`);
}
