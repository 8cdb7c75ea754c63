// How the page gets into a room: a token, for whoever may see the page.

export class AccessError extends Error {}

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
  throw new AccessError(typeof answer.error === 'string'
    ? answer.error
    : 'This server has no rooms for many. “roost serve --rooms” has them.');
}
