// Those of LiveKit's messages that the page speaks, with the fields that it knows. Names and numbers are those of
// Sources/LiveKitProtocol/Protos.

export const TrackType = Object.freeze({ audio: 0, video: 1 });
export const TrackSource = Object.freeze({ unknown: 0, camera: 1, microphone: 2, screenShare: 3, screenShareAudio: 4 });
export const VideoQuality = Object.freeze({ low: 0, medium: 1, high: 2, off: 3 });
export const Target = Object.freeze({ publisher: 0, subscriber: 1 });
export const LeaveAction = Object.freeze({ disconnect: 0, resume: 1, reconnect: 2 });
export const ParticipantState = Object.freeze({ joining: 0, joined: 1, active: 2, disconnected: 3 });
export const ConnectionQuality = Object.freeze({ poor: 0, good: 1, excellent: 2, lost: 3 });
export const StreamState = Object.freeze({ active: 0, paused: 1 });
export const DisconnectReason = Object.freeze({
  unknown: 0, clientInitiated: 1, duplicateIdentity: 2, serverShutdown: 3, participantRemoved: 4, roomDeleted: 5,
  stateMismatch: 6, joinFailure: 7, migration: 8, signalClose: 9, roomClosed: 10, connectionTimeout: 14,
});
export const RequestReason = Object.freeze({ ok: 0, queued: 4 });

const VideoLayer = {
  quality: [1, 'number'], width: [2, 'number'], height: [3, 'number'], bitrate: [4, 'number'], rid: [7, 'text'],
};
const TrackInfo = {
  sid: [1, 'text'], type: [2, 'number'], name: [3, 'text'], muted: [4, 'bool'], width: [5, 'number'],
  height: [6, 'number'], simulcast: [7, 'bool'], source: [9, 'number'], mimeType: [11, 'text'], stream: [17, 'text'],
};
const ParticipantInfo = {
  sid: [1, 'text'], identity: [2, 'text'], state: [3, 'number'], tracks: [4, TrackInfo, 'many'], name: [9, 'text'],
  version: [10, 'number'], disconnectReason: [16, 'number'],
};
const Room = { sid: [1, 'text'], name: [2, 'text'] };
const ICEServer = { urls: [1, 'text', 'many'], username: [2, 'text'], credential: [3, 'text'] };
const SessionDescription = { type: [1, 'text'], sdp: [2, 'text'], id: [3, 'number'] };
const TrickleRequest = { candidateInit: [1, 'text'], target: [2, 'number'], final: [3, 'bool'] };
const AddTrackRequest = {
  cid: [1, 'text'], name: [2, 'text'], type: [3, 'number'], width: [4, 'number'], height: [5, 'number'],
  muted: [6, 'bool'], source: [8, 'number'], layers: [9, VideoLayer, 'many'],
};
const TrackPublishedResponse = { cid: [1, 'text'], track: [2, TrackInfo] };
const UpdateSubscription = { trackSids: [1, 'text', 'many'], subscribe: [2, 'bool'] };
const MuteTrackRequest = { sid: [1, 'text'], muted: [2, 'bool'] };
const LeaveRequest = { canReconnect: [1, 'bool'], reason: [2, 'number'], action: [3, 'number'] };
const SubscribedQuality = { quality: [1, 'number'], enabled: [2, 'bool'] };

export const SignalRequest = {
  offer: [1, SessionDescription],
  answer: [2, SessionDescription],
  trickle: [3, TrickleRequest],
  addTrack: [4, AddTrackRequest],
  mute: [5, MuteTrackRequest],
  trackSetting: [7, {
    trackSids: [1, 'text', 'many'], disabled: [3, 'bool'], width: [5, 'number'], height: [6, 'number'],
  }],
  leave: [8, LeaveRequest],
  syncState: [12, {
    answer: [1, SessionDescription],
    subscription: [2, UpdateSubscription],
    publishTracks: [3, TrackPublishedResponse, 'many'],
    dataChannels: [4, { label: [1, 'text'], id: [2, 'number'], target: [3, 'number'] }, 'many'],
    offer: [5, SessionDescription],
    trackSidsDisabled: [6, 'text', 'many'],
    datachannelReceiveStates: [7, { publisherSid: [1, 'text'], lastSeq: [2, 'number'] }, 'many'],
  }],
  pingReq: [16, { timestamp: [1, 'number'], rtt: [2, 'number'] }],
};

export const SignalResponse = {
  join: [1, {
    room: [1, Room], participant: [2, ParticipantInfo], otherParticipants: [3, ParticipantInfo, 'many'],
    iceServers: [5, ICEServer, 'many'], subscriberPrimary: [6, 'bool'], pingTimeout: [10, 'number'],
    pingInterval: [11, 'number'],
  }],
  answer: [2, SessionDescription],
  offer: [3, SessionDescription],
  trickle: [4, TrickleRequest],
  update: [5, { participants: [1, ParticipantInfo, 'many'] }],
  trackPublished: [6, TrackPublishedResponse],
  leave: [8, LeaveRequest],
  mute: [9, MuteTrackRequest],
  speakersChanged: [10, { speakers: [1, { sid: [1, 'text'], level: [2, 'float'], active: [3, 'bool'] }, 'many'] }],
  connectionQuality: [12, { updates: [1, { participantSid: [1, 'text'], quality: [2, 'number'] }, 'many'] }],
  streamStateUpdate: [13, {
    streamStates: [1, { participantSid: [1, 'text'], trackSid: [2, 'text'], state: [3, 'number'] }, 'many'],
  }],
  subscribedQualityUpdate: [14, {
    trackSid: [1, 'text'],
    subscribedQualities: [2, SubscribedQuality, 'many'],
    subscribedCodecs: [3, { codec: [1, 'text'], qualities: [2, SubscribedQuality, 'many'] }, 'many'],
  }],
  refreshToken: [16, 'text'],
  trackUnpublished: [17, { trackSid: [1, 'text'] }],
  reconnect: [19, { iceServers: [1, ICEServer, 'many'], lastMessageSeq: [4, 'number'] }],
  pongResp: [20, { lastPingTimestamp: [1, 'number'], timestamp: [2, 'number'] }],
  requestResponse: [22, { reason: [2, 'number'], message: [3, 'text'], addTrack: [5, AddTrackRequest] }],
};

export const DataPacket = {
  participantIdentity: [4, 'text'],
  streamHeader: [13, {
    streamId: [1, 'text'], timestamp: [2, 'number'], topic: [3, 'text'], mimeType: [4, 'text'],
    totalLength: [5, 'number'], attributes: [8, { key: [1, 'text'], value: [2, 'text'] }, 'many'], textHeader: [9, {}],
    inlineContent: [11, 'bytes'], compression: [12, 'number'],
  }],
  streamChunk: [14, { streamId: [1, 'text'], chunkIndex: [2, 'number'], content: [3, 'bytes'] }],
  streamTrailer: [15, { streamId: [1, 'text'], reason: [2, 'text'] }],
  sequence: [16, 'number'],
  participantSid: [17, 'text'],
};
