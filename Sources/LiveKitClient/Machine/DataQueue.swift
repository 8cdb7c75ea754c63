internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// Messages on the data channels: what waits to go out, what may have to go out again, and what has come.
struct DataQueue {
    /// What a server takes; SDKs send no more.
    static let largestMessage = 64_000
    /// Of messages that wait, and of those that may be wanted again.
    private static let limit = 4 << 20
    /// So many frames of data tracks wait, the newest: for a channel here, and for its sender.
    static let frameLimit = 32
    /// Together.
    private static let frameBytesLimit = 1 << 20

    private(set) var openLabels: [DataLabel] = []
    private var waiting: [(label: DataLabel, bytes: [UInt8], isOfStream: Bool)] = []
    private var waitingBytes = 0
    /// In packets.
    private var waitingFrames: [[[UInt8]]] = []
    /// Reliable ones that were sent, oldest first.
    private var sent: [(sequence: UInt32, bytes: [UInt8])] = []
    private var sentBytes = 0
    private var lastSequence: UInt32 = 0
    /// By the publisher's sid.
    private(set) var lastReceived: [String: UInt32] = [:]

    /// Before there is a channel so much waits for it that more of a stream should not, so that there is room for the
    /// ends of streams and for what does not wait.
    var isHalfFull: Bool { !openLabels.contains(.reliable) && waitingBytes > Self.limit / 2 }

    /// Whether a message of so many bytes, or several, can go or wait.
    func hasRoom(for count: Int) -> Bool {
        openLabels.contains(.reliable) || waitingBytes + count <= Self.limit
    }

    /// Something waits for a channel.
    var hasWaiting: Bool { !waiting.isEmpty || !waitingFrames.isEmpty }

    /// The channels are those of new connections. Messages that wait are sent over them; frames of data tracks were
    /// for then.
    mutating func newSession() {
        openLabels = []
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
        let isOpen = openLabels.contains(label)
        // What is refused is not sent again either.
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

    /// What waits of streams does not go out: nobody would get their ends.
    mutating func dropStreams() {
        waiting.removeAll { $0.isOfStream }
        waitingBytes = waiting.reduce(0) { $0 + $1.bytes.count }
    }

    /// Takes a data track's frame in the place of the oldest ones, of which all packets go: the others are of no use
    /// without the one that is lost.
    mutating func admit(frame packets: [[UInt8]]) -> Admission {
        guard !openLabels.contains(.tracks) else { return .now }
        guard Self.size(of: packets) <= Self.frameBytesLimit else { return .full }
        waitingFrames.append(packets)
        while waitingFrames.count > Self.frameLimit
            || waitingFrames.reduce(0, { $0 + Self.size(of: $1) }) > Self.frameBytesLimit
        {
            waitingFrames.removeFirst()
        }
        return .later
    }

    /// The messages that have waited for a channel.
    mutating func opened(_ label: DataLabel) -> [[UInt8]] {
        guard !openLabels.contains(label) else { return [] }
        openLabels.append(label)
        let ready = waiting.filter { $0.label == label }.map(\.bytes)
        waiting.removeAll { $0.label == label }
        waitingBytes -= Self.size(of: ready)
        return ready
    }

    /// The frames that have waited for theirs.
    mutating func takeFrames() -> [[[UInt8]]] {
        let ready = waitingFrames
        waitingFrames = []
        return ready
    }

    /// What the server has not got.
    mutating func sent(after sequence: UInt32) -> [[UInt8]] {
        sent.removeAll { $0.sequence <= sequence }
        sentBytes = sent.reduce(0) { $0 + $1.bytes.count }
        return sent.map(\.bytes)
    }

    /// Whether a reliable message is another than those that have come; one without a number always is.
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
        // What is said in somebody else's name has theirs.
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
        // Messages go over the connection that we offer, which may not be there yet.
        if !negotiation.hasOffered { negotiatePublisher(at: now) }
    }

    mutating func channelOpened(_ label: DataLabel) {
        // It is one of a session that was given up.
        if case .waiting(.rejoin, _) = phase { return }
        for bytes in data.opened(label) { put(.sendData(label, bytes)) }
        guard label == .tracks else { return }
        for packets in data.takeFrames() { put(.sendFrame(packets)) }
    }

    /// The server has heard up to this number.
    mutating func resendData(after sequence: UInt32) {
        guard sequence > 0 else { return }
        for bytes in data.sent(after: sequence) where data.openLabels.contains(.reliable) {
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
        // Where messages are lost streams are of no use, and nobody would wait for those who read them.
        case .streamHeader(let header)? where label == .reliable: streamBegan(header, packet, at: now)
        case .streamChunk(let chunk)? where label == .reliable: streamWentOn(chunk, packet, at: now)
        case .streamTrailer(let trailer)? where label == .reliable: streamEnded(trailer, packet, at: now)
        // Of features that are not ours.
        case .sipDtmf?, .transcription?, .metrics?, .chatMessage?, .encryptedPacket?, .streamHeader?, .streamChunk?,
            .streamTrailer?, nil:
            break
        }
    }

    /// Nil for what cannot be read, and for what could be of anybody.
    private func opened(_ packet: LiveKitDataPacket, with keys: KeyProvider) -> LiveKitDataPacket? {
        if case .encryptedPacket? = packet.value { return DataCryptor.open(packet, with: keys) }
        if packet.sender == nil, case .user? = packet.value { return packet }
        return options.acceptsPlain ? packet : nil
    }
}
