import COpenSSL

/// The network as OpenSSL sees it: a BIO that hands over one datagram a read and takes one a write. OpenSSL's own
/// memory BIO is a stream and would run datagrams together.
final class DatagramPipe {
    /// Datagrams written and not yet taken. A flight of a handshake is below ten; what is beyond the limit is lost,
    /// as on a network.
    private(set) var outbound: [[UInt8]] = []
    static let outboundLimit = 64

    private var inbound: [UInt8] = []
    private var state = State.empty
    private enum State {
        case empty
        case filled
        /// Filled, and nothing that is written before the read is sent.
        case filledFirst
    }

    /// What OpenSSL is told of the path when it asks; fragments are cut to it.
    let mtu: Int

    init(mtu: Int) {
        self.mtu = mtu
    }

    /// The next read returns these bytes, once.
    func fill(_ datagram: [UInt8]) {
        inbound = datagram
        state = .filled
    }

    /// What is written before the datagram is read is not sent.
    ///
    /// The trap: OpenSSL looks at its timer before it reads, and sends a flight again whose answer may be what it is
    /// about to read. After a stop of this process that is so as a rule.
    func dropWritesUntilRead() { if state == .filled { state = .filledFirst } }

    /// Forgets a datagram that nobody read.
    func discard() {
        state = .empty
    }

    /// All that was written since the last call, oldest first.
    func takeOutbound() -> [[UInt8]] {
        defer { outbound.removeAll(keepingCapacity: true) }
        return outbound
    }

    /// The same of a flight that is sent again. OpenSSL writes it message by message, where the first time it went in
    /// as few datagrams as there may be (RFC 6347 §4.1.1).
    func takeRepeatedFlight() -> [[UInt8]] {
        var datagrams: [[UInt8]] = []
        for written in takeOutbound() {
            if let last = datagrams.last, last.count + written.count <= mtu {
                datagrams[datagrams.count - 1] += written
            } else {
                datagrams.append(written)
            }
        }
        return datagrams
    }

    /// A BIO over this pipe, which must outlive it; nil when OpenSSL has no memory.
    func makeBIO() -> OpaquePointer? {
        guard let method = Self.method, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int32? {
        switch state {
        case .empty:
            return nil
        case .filled, .filledFirst:
            state = .empty
            // A datagram longer than the buffer is cut, as recv(2) does it; its record then fails authentication.
            let count = min(buffer.count, inbound.count)
            inbound.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
            return Int32(count)
        }
    }

    fileprivate func write(_ datagram: UnsafeRawBufferPointer) {
        guard outbound.count < Self.outboundLimit, state != .filledFirst else { return }
        outbound.append([UInt8](datagram))
    }

    /// One for the process and never freed: each BIO points at it.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        let type = BIO_get_new_index()
        guard type != -1, let method = BIO_meth_new(type | copenssl_bio_type_source_sink(), "datagrams") else {
            return nil
        }
        guard BIO_meth_set_write(method, writeCallback) == 1, BIO_meth_set_read(method, readCallback) == 1,
            BIO_meth_set_ctrl(method, controlCallback) == 1
        else {
            BIO_meth_free(method)
            return nil
        }
        return method
    }()
}

private func pipe(of bio: OpaquePointer?) -> DatagramPipe? {
    guard let bio, let data = BIO_get_data(bio) else { return nil }
    return Unmanaged<DatagramPipe>.fromOpaque(data).takeUnretainedValue()
}

private let writeCallback: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
    bio, bytes, count in
    guard let pipe = pipe(of: bio), let bytes, count > 0 else { return -1 }
    copenssl_bio_clear_retry(bio)
    pipe.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    return count
}

private let readCallback: @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int32) -> Int32 = {
    bio, buffer, count in
    guard let pipe = pipe(of: bio), let buffer, count > 0 else { return -1 }
    copenssl_bio_clear_retry(bio)
    guard let read = pipe.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))) else {
        copenssl_bio_set_retry_read(bio)
        return -1
    }
    return read
}

private let controlCallback: @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int = {
    bio, command, _, _ in
    switch command {
    case BIO_CTRL_FLUSH:
        return 1
    case BIO_CTRL_DGRAM_QUERY_MTU, BIO_CTRL_DGRAM_GET_MTU, BIO_CTRL_DGRAM_GET_FALLBACK_MTU:
        return pipe(of: bio)?.mtu ?? 0
    default:
        // Includes the question for the IP and UDP headers' size: the MTU given here is already without them.
        return 0
    }
}
