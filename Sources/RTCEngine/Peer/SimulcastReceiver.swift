internal import RTCWire

/// The layers of one transceiver, each a stream of its own (RFC 8853).
struct SimulcastReceiver {
    struct Layer {
        let layer: ReceiveLayer
        /// Nil until its first packet, and after a goodbye.
        var stream: ReceiveStream?
        /// The last stream's source. After its goodbye it may go on, without saying its layer's name again: libwebrtc
        /// says goodbye for a layer that is switched off, and names it until the first report only.
        private(set) var source: UInt32?
        var rtxSSRC: UInt32?
        /// When its present source was first heard.
        var begunAt: Instant?

        /// A source takes the place of the present one, if there is one.
        mutating func begin(_ next: consuming ReceiveStream) {
            source = next.ssrc
            next.takeOver(from: stream)
            stream = next
        }

        /// A new stream throws away what the one before holds, and makes buffers: not for each packet of a peer that
        /// sends every one as another source.
        func mayBegin(at now: Instant) -> Bool {
            guard stream != nil, let begunAt else { return true }
            return now - begunAt >= .milliseconds(100)
        }
    }

    private(set) var layers: [Layer]

    init(_ layers: [ReceiveLayer]) {
        self.layers = layers.map { Layer(layer: $0, stream: nil, rtxSSRC: $0.sources?.rtx) }
    }

    /// Takes other layers after a negotiation; those that stay go on.
    ///
    /// - Returns: those that do not.
    mutating func update(_ next: [ReceiveLayer]) -> [Layer] {
        let old = layers
        layers = next.map { layer in
            old.first { $0.layer == layer } ?? Layer(layer: layer, stream: nil, rtxSSRC: layer.sources?.rtx)
        }
        return old.filter { !next.contains($0.layer) }
    }

    /// The layer of a source that is known.
    func place(ofSSRC ssrc: UInt32) -> Int? {
        layers.firstIndex { layer in
            layer.source == ssrc || layer.rtxSSRC == ssrc || layer.layer.sources?.primary == ssrc
        }
    }

    /// The layer of a name as packets carry it.
    func place(ofName name: RawSpan) -> Int? {
        for (place, layer) in layers.enumerated() where Self.equals(layer.layer.rid, name) { return place }
        return nil
    }

    private static func equals(_ text: String, _ bytes: RawSpan) -> Bool {
        guard text.utf8.count == bytes.byteCount else { return false }
        for (index, byte) in text.utf8.enumerated() where bytes.byte(at: index) != byte { return false }
        return true
    }

    /// When one of the layers wants its `tick`.
    var nextWake: Instant? {
        mutating get {
            var wake: Instant?
            for place in layers.indices {
                guard let next = layers[place].stream.inPlace({ $0.nextWake }) else { continue }
                wake = wake.map { min($0, next) } ?? next
            }
            return wake
        }
    }

    /// Changes a layer in place.
    mutating func withLayer<Result>(_ place: Int, _ body: (inout Layer) -> Result) -> Result? {
        guard layers.indices.contains(place) else { return nil }
        return body(&layers[place])
    }
}
