internal import CDatagram
package import RTCWire

/// A non-blocking TCP connection with a bounded queue of what waits to be written. Owned by one `NetworkLoop` and used
/// on its thread only.
///
/// The owner gives the loop a reader for it, calls `becameReady` and reads until nothing is left whenever that reader
/// is told, and does not close it before its queue is empty if the last words matter.
package final class StreamSocket {
    package enum State: Equatable {
        /// The connection does not stand yet; what is written waits.
        case connecting
        case open
        case failed(SystemError)
        case closed
    }

    /// What a look for bytes found.
    package enum ReadResult: Equatable {
        case bytes
        /// Nothing just now.
        case none
        /// The other side will send no more.
        case ended
        case failed(SystemError)
    }

    let descriptor: Int32
    /// Ours; known as soon as the connection is begun.
    let local: TransportAddress
    package let remote: TransportAddress
    package private(set) var state: State

    private var queue: [UInt8] = []
    private var written = 0
    private let limit: Int
    private var watch: (loop: NetworkLoop, token: UInt64, isWriting: Bool)?

    /// What may wait to be written: a second of video. What comes on top is late already.
    package static let defaultLimit = 256 << 10

    /// Begins to connect; from `local` if one is given, whose port may be 0.
    init(
        connectingTo remote: TransportAddress, from local: TransportAddress? = nil, limit: Int = defaultLimit
    ) throws(SystemError) {
        var there = remote.cAddress
        var bound = cdatagram_address()
        let descriptor: Int32
        if let local {
            var here = local.cAddress
            descriptor = cdatagram_stream_connect(&there, &here, &bound)
        } else {
            descriptor = cdatagram_stream_connect(&there, nil, &bound)
        }
        guard descriptor >= 0 else { throw SystemError("connect", negated: descriptor) }
        guard let address = TransportAddress(bound) else {
            cdatagram_close(descriptor)
            throw SystemError("getsockname", negated: 0)
        }
        self.descriptor = descriptor
        self.local = address
        self.remote = remote
        self.limit = limit
        self.state = .connecting
    }

    /// One that a `StreamListener` has accepted.
    init(accepted descriptor: Int32, local: TransportAddress, remote: TransportAddress, limit: Int = defaultLimit) {
        self.descriptor = descriptor
        self.local = local
        self.remote = remote
        self.limit = limit
        self.state = .open
    }

    /// Has `reader` told of everything that happens to it; the token is the reader's to recognise it, and to have
    /// forgotten.
    package func attach(to loop: NetworkLoop, reader: any SocketReader) throws(SystemError) -> UInt64 {
        let token = try loop.add(descriptor: descriptor, reader: reader)
        watch = (loop, token, false)
        watchWritingIfNeeded()
        return token
    }

    // MARK: Writing

    /// Bytes that wait for the kernel.
    package var waiting: Int { queue.count - written }

    /// Writes all of `bytes`, at once or later, or nothing of it: false when the queue is full or the connection is
    /// gone. A frame of a protocol is written by one call, so that one that is refused leaves the stream intact.
    package func write(_ bytes: RawSpan) -> Bool {
        switch state {
        case .failed, .closed: return false
        case .connecting, .open: break
        }
        guard waiting + bytes.byteCount <= limit else { return false }
        var taken = 0
        if state == .open, waiting == 0 {
            taken = send(bytes)
            // A stream that fails is found out by its reader.
            guard case .open = state else { return false }
        }
        guard taken < bytes.byteCount else { return true }
        queue.append(contentsOf: bytes.extracting(taken..<bytes.byteCount))
        watchWritingIfNeeded()
        return true
    }

    /// As above.
    package func write(_ bytes: [UInt8]) -> Bool { write(bytes.span.bytes) }

    /// Call first when the reader is told: notes that the connection stands, or why it does not, and goes on writing.
    package func becameReady() {
        if state == .connecting {
            let error = cdatagram_stream_error(descriptor)
            if error < 0 {
                state = .failed(SystemError("connect", negated: error))
            } else if hasPeer {
                state = .open
            }
        }
        flush()
        watchWritingIfNeeded()
    }

    /// While a connection is being made the kernel takes nothing, not even no bytes at all.
    private var hasPeer: Bool {
        var nothing: UInt8 = 0
        return cdatagram_stream_write(descriptor, &nothing, 0) >= 0
    }

    private func flush() {
        guard state == .open, waiting > 0 else { return }
        written += send(queue.span.bytes.extracting(written..<queue.count))
        if written == queue.count {
            queue.removeAll(keepingCapacity: true)
            written = 0
        } else if written >= limit / 2 {
            queue.removeSubrange(0..<written)
            written = 0
        }
    }

    /// How many bytes the kernel took.
    private func send(_ bytes: RawSpan) -> Int {
        let count = bytes.withUnsafeBytes { cdatagram_stream_write(descriptor, $0.baseAddress, Int64($0.count)) }
        guard count < 0 else { return Int(count) }
        let error = SystemError("send", negated: Int32(truncatingIfNeeded: count))
        if !error.isWouldBlock { state = .failed(error) }
        return 0
    }

    private func watchWritingIfNeeded() {
        guard let watch else { return }
        let wanted = state == .connecting || (state == .open && waiting > 0)
        guard wanted != watch.isWriting else { return }
        self.watch?.isWriting = wanted
        watch.loop.watchWriting(descriptor, watch.token, wanted)
    }

    // MARK: Reading

    /// Appends what waits to `buffer`, at most `capacity` bytes.
    package func read(into buffer: inout [UInt8], capacity: Int = 16 << 10) -> ReadResult {
        switch state {
        case .connecting: return .none
        case .closed: return .ended
        // Writing may have failed since the peer is gone: its last words are still here.
        case .open, .failed: break
        }
        let start = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: capacity))
        let count = buffer.withUnsafeMutableBytes { bytes in
            cdatagram_stream_read(descriptor, bytes.baseAddress.map { $0 + start }, Int64(capacity))
        }
        buffer.removeLast(capacity - Int(max(0, count)))
        if count > 0 { return .bytes }
        if case .failed(let error) = state { return .failed(error) }
        if count == 0 { return .ended }
        let error = SystemError("recv", negated: Int32(truncatingIfNeeded: count))
        guard !error.isWouldBlock else { return .none }
        state = .failed(error)
        return .failed(error)
    }

    /// Ends it at once; what waits is not written.
    package func close() {
        guard state != .closed else { return }
        state = .closed
        watch = nil
        queue = []
        written = 0
        cdatagram_close(descriptor)
    }

    deinit { close() }
}
