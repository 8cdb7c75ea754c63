// Which STUN and TURN servers a call may use: what the server says that served this page.

/** How long a call waits for the answer, in milliseconds: without it calls still work in most networks. */
const PATIENCE = 3_000;

/** Servers as `RTCPeerConnection` takes them; none where the server has none, or does not know the question. */
export async function fetchIceServers() {
  try {
    const response = await fetch('/ice-servers', { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE) });
    const { iceServers } = response.ok ? await response.json() : {};
    return Array.isArray(iceServers) ? iceServers : [];
  } catch {
    return [];
  }
}

/** Gives them to a connection that has not begun to gather. */
export function applyIceServers(connection, iceServers) {
  if (iceServers.length === 0 || connection.signalingState === 'closed') return;
  try {
    connection.setConfiguration({ ...connection.getConfiguration(), iceServers });
  } catch (error) {
    console.warn('The ICE servers could not be used:', error);
  }
}
