internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// Messages on the data channels: what waits to go out, what may have to go out again, and what has come.
struct DataQueue {
    /// In bytes, encoded: servers take no larger message, and LiveKit's SDKs send none.
    static let largestMessage = 64_000
    /// In bytes: so much may wait for a channel, and so much of what was sent is kept to be sent again.
    private static let limit = 4 << 20
    /// So many frames of data tracks wait, and an older one is dropped for each more: here for the channel to open, and
    /// in `MediaConnections` for their turn on it.
    static let frameLimit = 32
    /// In bytes, of all frames that wait here.
    private static let frameBytesLimit = 1 << 20

    /// A channel that is open.
    struct Channel: Equatable {
        var label: DataLabel
        /// Its SCTP stream (W3C: id).
        var id: UInt16
        var target: SignalTarget
    }

    /// Ours on the publishing connection and the server's on the other, of each label one.
    private(set) var channels: [Channel] = []
    private var waiting: [(label: DataLabel, bytes: [UInt8], isOfStream: Bool)] = []
    private var waitingBytes = 0
    /// Each frame is a list of packets.
    private var waitingFrames: [[[UInt8]]] = []
    /// Reliable messages that were sent or wait, oldest first, to be sent again after a reconnect.
    private var sent: [(sequence: UInt32, bytes: [UInt8])] = []
    private var sentBytes = 0
    private var lastSequence: UInt32 = 0
    /// The number of the last reliable message, by the sid of its sender.
    private(set) var lastReceived: [String: UInt32] = [:]

    /// The channel of ours is open.
    func isOpen(_ label: DataLabel) -> Bool { channels.contains { $0.label == label && $0.target == .publisher } }

    /// More than half of what may wait for the reliable channel does. Streams send no more of their content then: the
    /// rest is for the ends of streams, and for messages that are refused where there is no room.
    var isHalfFull: Bool { !isOpen(.reliable) && waitingBytes > Self.limit / 2 }

    /// Whether messages of so many bytes together can be sent now, or can wait for the channel.
    func hasRoom(for count: Int) -> Bool {
        isOpen(.reliable) || waitingBytes + count <= Self.limit
    }

    /// Something waits for a channel.
    var hasWaiting: Bool { !waiting.isEmpty || !waitingFrames.isEmpty }

    /// There are new connections, whose channels are not open yet. Messages that wait will go over those. Frames of
    /// data tracks are dropped: they are out of date.
    mutating func newSession() {
        channels = []
        waitingFrames = []
        sent = []
        sentBytes = 0
        lastReceived = [:]
    }

    private static func size(of packets: [[UInt8]]) -> Int { packets.reduce(0) { $0 + $1.count } }

    mutating func nextSequence() -> UInt32 {
        lastSequence &+= 1
        return lastSequence
    }

    enum Admission { case now, later, full }

    mutating func admit(
        _ label: DataLabel, _ bytes: [UInt8], sequence: UInt32, isOfStream: Bool = false
    ) -> Admission {
        let isOpen = self.isOpen(label)
        // Before it is kept in `sent`: a message that is refused is not to be sent later either.
        guard isOpen || waitingBytes + bytes.count <= Self.limit else { return .full }
        if label == .reliable {
            sent.append((sequence, bytes))
            sentBytes += bytes.count
            while sentBytes > Self.limit { sentBytes -= sent.removeFirst().bytes.count }
        }
        guard !isOpen else { return .now }
        waiting.append((label, bytes, isOfStream))
        waitingBytes += bytes.count
        return .later
    }

    /// Drops what waits of streams. The session that they were begun in is over, and their ends will not be sent.
    mutating func dropStreams() {
        waiting.removeAll { $0.isOfStream }
        waitingBytes = waiting.reduce(0) { $0 + $1.bytes.count }
    }

    /// Takes a data track's frame. Where too much waits, the oldest frames are dropped, each with all of its packets,
    /// for a frame that lacks one is of no use.
    mutating func admit(frame packets: [[UInt8]]) -> Admission {
        guard !isOpen(.tracks) else { return .now }
        guard Self.size(of: packets) <= Self.frameBytesLimit else { return .full }
        waitingFrames.append(packets)
        while waitingFrames.count > Self.frameLimit
            || waitingFrames.reduce(0, { $0 + Self.size(of: $1) }) > Self.frameBytesLimit
        {
            waitingFrames.removeFirst()
        }
        return .later
    }

    /// A channel is open.
    ///
    /// - Returns: the messages that have waited for it, which are to be sent.
    mutating func opened(_ label: DataLabel, id: UInt16) -> [[UInt8]] {
        guard !isOpen(label) else { return [] }
        channels.append(Channel(label: label, id: id, target: .publisher))
        let ready = waiting.filter { $0.label == label }.map(\.bytes)
        waiting.removeAll { $0.label == label }
        waitingBytes -= Self.size(of: ready)
        return ready
    }

    /// The server has opened a channel; it takes the place of an earlier one of the same label.
    mutating func received(_ label: DataLabel, id: UInt16) {
        channels.removeAll { $0.label == label && $0.target == .subscriber }
        channels.append(Channel(label: label, id: id, target: .subscriber))
    }

    /// The frames that have waited for the channel of data tracks.
    mutating func takeFrames() -> [[[UInt8]]] {
        let ready = waitingFrames
        waitingFrames = []
        return ready
    }

    /// The reliable messages after this number, which is the last that the server has got. Those up to it are
    /// forgotten.
    mutating func sent(after sequence: UInt32) -> [[UInt8]] {
        sent.removeAll { $0.sequence <= sequence }
        sentBytes = sent.reduce(0) { $0 + $1.bytes.count }
        return sent.map(\.bytes)
    }

    /// Whether a reliable message has not come before: a server sends some again after a reconnect. One without a
    /// number, or without a sender, counts as new.
    mutating func isNew(_ packet: LiveKitDataPacket) -> Bool {
        guard packet.sequence > 0, !packet.participantSid.isEmpty else { return true }
        guard packet.sequence > lastReceived[packet.participantSid] ?? 0 else { return false }
        lastReceived[packet.participantSid] = packet.sequence
        return true
    }

    mutating func forget(_ publisher: String) { lastReceived[publisher] = nil }
}

extension RoomClientMachine {
    /// Sends a message to those who are named, or to everybody.
    mutating func sendData(
        _ payload: [UInt8], isReliable: Bool, to destinations: [ParticipantIdentity], topic: String?, at now: Instant
    ) throws(RoomError) {
        let packet = LiveKitDataPacket.with { packet in
            packet.kind = isReliable ? .reliable : .lossy
            packet.destinationIdentities = destinations.map(\.rawValue)
            packet.user = .with { user in
                user.payload = Data(payload)
                if let topic { user.topic = topic }
            }
        }
        try send(packet, isReliable ? .reliable : .lossy, at: now)
    }

    mutating func send(
        _ packet: LiveKitDataPacket, _ label: DataLabel, at now: Instant
    ) throws(RoomError) {
        guard isInRoom else { throw .notConnected }
        var packet = packet
        // A packet that is sent in somebody else's name has their identity already.
        if packet.participantIdentity.isEmpty { packet.participantIdentity = roster.local.identity }
        packet.participantSid = roster.local.sid
        let isOfStream = packet.isOfStream
        if let keys = options.encryption {
            let name = ParticipantIdentity(packet.participantIdentity)
            guard let sealed = DataCryptor.seal(packet, by: name, with: keys) else {
                throw .notEncryptable
            }
            packet = sealed
        }
        if label == .reliable { packet.sequence = data.nextSequence() }
        guard let bytes: [UInt8] = try? packet.serializedBytes(), bytes.count <= DataQueue.largestMessage else {
            throw .dataTooLarge(limit: DataQueue.largestMessage)
        }
        switch data.admit(label, bytes, sequence: packet.sequence, isOfStream: isOfStream) {
        case .now: put(.sendData(label, bytes))
        case .later: break
        case .full: throw .dataBacklog
        }
        // The data channels are on the publishing connection, which is made by its first offer.
        if !negotiation.hasOffered { negotiatePublisher(at: now) }
    }

    mutating func channelOpened(_ label: DataLabel, id: UInt16) {
        // The channel belongs to the session that was given up, whose connections are about to close.
        if case .waiting(.rejoin, _) = phase { return }
        for bytes in data.opened(label, id: id) { put(.sendData(label, bytes)) }
        guard label == .tracks else { return }
        for packets in data.takeFrames() { put(.sendFrame(packets)) }
    }

    mutating func channelReceived(_ label: DataLabel, id: UInt16) {
        if case .waiting(.rejoin, _) = phase { return }
        data.received(label, id: id)
    }

    /// Sends again what the server has not got after a reconnect: it has everything up to this number.
    mutating func resendData(after sequence: UInt32) {
        guard sequence > 0 else { return }
        for bytes in data.sent(after: sequence) where data.isOpen(.reliable) {
            put(.sendData(.reliable, bytes))
        }
    }

    mutating func messageReceived(_ bytes: [UInt8], _ label: DataLabel, at now: Instant) {
        if label == .tracks { return dataTrackPacketReceived(bytes) }
        guard var packet = try? LiveKitDataPacket(serializedBytes: bytes) else { return }
        if label == .reliable, !data.isNew(packet) { return }
        if let keys = options.encryption {
            guard let opened = opened(packet, with: keys) else { return }
            packet = opened
        }
        let sender = packet.sender
        switch packet.value {
        case .user(let user)?:
            put(
                .tell(
                    .dataReceived(
                        DataReceived(
                            payload: [UInt8](user.payload), topic: user.hasTopic ? user.topic : nil, sender: sender,
                            isReliable: label == .reliable))))
        case .rpcRequest(let request)?: callReceived(request, from: sender, at: now)
        case .rpcAck(let acknowledgement)?: calls.acknowledged(acknowledgement.requestID)
        case .rpcResponse(let response)?: callAnswered(response, by: sender)
        // Streams come on the reliable channel alone. On the lossy one parts could be missing, and it does not wait for
        // slow readers.
        case .streamHeader(let header)? where label == .reliable: streamBegan(header, packet, at: now)
        case .streamChunk(let chunk)? where label == .reliable: streamWentOn(chunk, packet, at: now)
        case .streamTrailer(let trailer)? where label == .reliable: streamEnded(trailer, packet, at: now)
        // These belong to features that this client does not have; or to streams on the lossy channel.
        case .sipDtmf?, .transcription?, .metrics?, .chatMessage?, .encryptedPacket?, .streamHeader?, .streamChunk?,
            .streamTrailer?, nil:
            break
        }
    }

    /// The packet as it was before it was encrypted. Nil for one that cannot be decrypted, and for one that was not
    /// encrypted, which anybody may have written: but messages of the server itself are taken, and all where the
    /// options accept plain ones.
    private func opened(_ packet: LiveKitDataPacket, with keys: KeyProvider) -> LiveKitDataPacket? {
        if case .encryptedPacket? = packet.value { return DataCryptor.open(packet, with: keys) }
        if packet.sender == nil, case .user? = packet.value { return packet }
        return options.acceptsPlain ? packet : nil
    }
}
