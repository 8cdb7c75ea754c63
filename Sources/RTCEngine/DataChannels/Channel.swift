internal import RTCWire

extension DataChannels {
    /// Who has a stream.
    enum StreamUse: Equatable {
        case channel(DataChannelID)
        /// Nobody: it is being reset, because the peer has opened what we do not take or closed what we do not know.
        case refused(StreamReset)
        /// Nobody, for as long as the association lasts: the peer has not let it be reset, or takes nothing on it.
        case spent
    }

    /// Which directions of a stream are reset. A channel is over when both are (RFC 8831 §6.7).
    struct StreamReset: Equatable {
        var incoming = false
        var outgoing = false

        var isComplete: Bool { incoming && outgoing }
    }

    /// One data channel.
    struct Channel: Sendable {
        let label: String
        let options: DataChannelInit
        let isRemote: Bool
        /// Nil until our part in DTLS is known.
        var stream: UInt16?
        var state = DataChannelState.connecting
        /// The peer knows of the channel. Until then messages go in order, behind DATA_CHANNEL_OPEN (RFC 8832 §6).
        var isAcknowledged: Bool
        /// What `bufferedAmount` was when it was told last.
        var bufferedAmount = 0
        var lowThreshold = 0
        var partial = PartialMessage()
        var reset = StreamReset()
        /// Why it closes; nil when one side wants it.
        var failure: DataChannelFailure?
        var counters = DataChannelCounters()

        init(label: String, options: DataChannelInit, isRemote: Bool, stream: UInt16?) {
            self.label = label
            self.options = options
            self.isRemote = isRemote
            self.stream = stream
            self.isAcknowledged = isRemote || options.negotiated
        }

        var reliability: SCTPReliability {
            if let count = options.maxRetransmits { return .maxRetransmits(count) }
            if let milliseconds = options.maxPacketLifeTime { return .maxLifetime(.milliseconds(Int64(milliseconds))) }
            return .reliable
        }

        /// What a peer's channel makes us keep. Bytes.
        var nameBytes: Int { label.utf8.count + options.protocol.utf8.count }
    }

    /// Pieces of a message in the deprecated form of RFC 8831 §6.6, until the last one comes.
    struct PartialMessage: Sendable {
        private(set) var bytes: [UInt8] = []

        mutating func append(_ piece: [UInt8]) { bytes += piece }

        /// The whole message with its last piece.
        mutating func complete(with last: [UInt8]) -> [UInt8] {
            guard !bytes.isEmpty else { return last }
            defer { bytes = [] }
            return bytes + last
        }
    }
}

/// What one channel has carried, for statistics: messages of the application and their bytes.
struct DataChannelCounters: Sendable {
    var messagesSent: UInt64 = 0
    var bytesSent: UInt64 = 0
    var messagesReceived: UInt64 = 0
    var bytesReceived: UInt64 = 0
}

/// Over all channels of a connection.
struct DataChannelTotals: Sendable {
    var opened: UInt64 = 0
    var closed: UInt64 = 0
    /// Channels of the peer's that were refused.
    var refused: UInt64 = 0
    /// Messages on streams without a channel.
    var strayMessages: UInt64 = 0
    /// Of all `PartialMessage`s. Bytes.
    var partialBytes = 0
    /// Labels and protocols of channels that the peer has opened. Bytes.
    var remoteNames = 0
    /// Channels that the peer has opened.
    var remoteChannels = 0
}
