internal import RTCWire

/// A message that waits to be sent, or that is being sent.
struct SCTPQueuedMessage: Sendable {
    let bytes: [UInt8]
    let payloadProtocol: UInt32
    let isOrdered: Bool
    let expiry: Instant?
    let maxRetransmits: UInt16?

    /// What a message costs beyond its bytes, in the limit on what is queued.
    static let overhead = 96

    static let spent = SCTPQueuedMessage(
        bytes: [], payloadProtocol: 0, isOrdered: false, expiry: nil, maxRetransmits: nil)

    func isExpired(at now: Instant) -> Bool {
        if let expiry { expiry <= now } else { false }
    }

    /// Whether an application has sent these bytes. Nobody but us has sent DCEP's, and the one that stands for an empty
    /// message (RFC 8831 §6.6).
    var isOfApplication: Bool {
        switch DataChannelPayload(rawValue: payloadProtocol) {
        case .control, .stringEmpty, .binaryEmpty: false
        case .string, .binary, .stringPartial, .binaryPartial, nil: true
        }
    }
}

/// Our outgoing side of a stream.
struct SCTPOutgoingStream: Sendable {
    enum Phase: Sendable {
        case open
        /// `resetStreams` was called: what is queued leaves, then a request to reset.
        case draining
        /// The peer was asked to reset (RFC 6525 §5.1.2): nothing new leaves.
        case resetting
    }

    var phase = Phase.open
    var queue = SlidingArray<SCTPQueuedMessage>()
    /// User bytes not yet sent.
    private(set) var queuedBytes = 0
    /// W3C WebRTC §6.2: those of them that an application has sent.
    private(set) var bufferedAmount = 0
    /// RFC 9260 §6.5, RFC 8260 §2.1: numbers of the next messages.
    private var nextOrdered: UInt32 = 0
    private var nextUnordered: UInt32 = 0
    /// How much of the first queued message has been sent, in how many fragments.
    private(set) var sentBytes = 0
    private var sentFragments: UInt32 = 0
    /// It waits for its turn in `SCTPSendQueue`, or has it.
    var isLinedUp = false
    /// `bufferedAmountDecreased` has yet to be told.
    var hasDecreased = false

    /// The message whose turn it is, and how much of it has been sent.
    var head: (message: SCTPQueuedMessage, sentBytes: Int)? { queue.first.map { ($0, sentBytes) } }

    mutating func append(_ message: SCTPQueuedMessage) {
        queue.append(message)
        count(message.bytes.count, of: message)
    }

    /// So many more of a message's bytes wait, or fewer.
    private mutating func count(_ bytes: Int, of message: SCTPQueuedMessage) {
        queuedBytes += bytes
        if message.isOfApplication { bufferedAmount += bytes }
    }

    /// The header of the first message's next fragment, of `count` bytes, which is taken out of the queue. The TSN is
    /// not known here.
    mutating func takeFragment(_ count: Int, of message: SCTPQueuedMessage, isInterleaved: Bool) -> SCTPDataHeader {
        let header = nextHeader(of: message, count: count, isInterleaved: isInterleaved)
        sentBytes += count
        sentFragments &+= 1
        self.count(-count, of: message)
        if header.isLast { finishFirst() }
        return header
    }

    func nextHeader(of message: SCTPQueuedMessage, count: Int, isInterleaved: Bool) -> SCTPDataHeader {
        let number = message.isOrdered ? nextOrdered : nextUnordered
        return SCTPDataHeader(
            isInterleaved: isInterleaved, tsn: 0, stream: 0, isUnordered: !message.isOrdered, isFirst: sentBytes == 0,
            isLast: sentBytes + count == message.bytes.count,
            // RFC 9260 §3.3.1: the stream sequence number has 16 bits, and says nothing when unordered.
            message: isInterleaved ? number : message.isOrdered ? number & 0xffff : 0, fragment: sentFragments,
            payloadProtocol: message.payloadProtocol)
    }

    /// The first message leaves the queue, sent or given up in the middle.
    mutating func finishFirst() {
        guard let message = queue.first else { return }
        count(sentBytes - message.bytes.count, of: message)
        if message.isOrdered { nextOrdered &+= 1 } else { nextUnordered &+= 1 }
        dropFirst()
    }

    /// The first message leaves the queue before any of it was sent: it never had a number.
    mutating func discardFirst() {
        guard let message = queue.first else { return }
        count(-message.bytes.count, of: message)
        dropFirst()
    }

    private mutating func dropFirst() {
        // The queue keeps its place for a while, which must not keep the bytes.
        queue[0] = .spent
        queue.removeFirst(1)
        sentBytes = 0
        sentFragments = 0
    }
}
