internal import RTCWire

/// What an INIT or INIT ACK tells about the peer.
struct SCTPPeer: Hashable, Sendable {
    var tag: UInt32
    var initialTSN: UInt32
    var window: UInt32
    var outboundStreams: UInt16
    var inboundStreams: UInt16
    var features: Features

    /// What the peer can do beyond RFC 9260.
    struct Features: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        /// RFC 3758: it understands FORWARD TSN.
        static let partialReliability = Features(rawValue: 1)
        /// RFC 6525.
        static let reconfiguration = Features(rawValue: 2)
        /// RFC 8260: I-DATA and I-FORWARD-TSN.
        static let interleaving = Features(rawValue: 4)
        /// RFC 9653: packets without checksum, over DTLS.
        static let zeroChecksum = Features(rawValue: 8)
    }

    /// RFC 9653 §5.1: the error detection method that stands for DTLS (RFC 9653 §6.1).
    static let dtlsErrorDetection: UInt32 = 1

    init(_ chunk: SCTPInitiation) {
        tag = chunk.initiateTag
        initialTSN = chunk.initialTSN
        window = chunk.receiverWindow
        outboundStreams = chunk.outboundStreams
        inboundStreams = chunk.inboundStreams
        features = []
        if chunk.parameter(SCTPParameterType.forwardTSNSupported) != nil { features.insert(.partialReliability) }
        if let method = chunk.parameter(SCTPParameterType.zeroChecksumAcceptable),
            method.span.bytes.uint32(at: 0) == Self.dtlsErrorDetection
        {
            features.insert(.zeroChecksum)
        }
        let chunks = chunk.parameter(SCTPParameterType.supportedExtensions) ?? []
        if chunks.contains(SCTPChunkType.forwardTSN.rawValue) { features.insert(.partialReliability) }
        if chunks.contains(SCTPChunkType.reconfiguration.rawValue) { features.insert(.reconfiguration) }
        if chunks.contains(SCTPChunkType.interleavedData.rawValue) { features.insert(.interleaving) }
    }

    /// RFC 9260 §3.3.2, §3.3.3: no tag, no streams or hardly a window is no basis.
    static func isAcceptable(_ chunk: SCTPInitiation) -> Bool {
        chunk.initiateTag != 0 && chunk.outboundStreams > 0 && chunk.inboundStreams > 0
            && chunk.receiverWindow >= 1_500
    }

    init(
        tag: UInt32, initialTSN: UInt32, window: UInt32, outboundStreams: UInt16, inboundStreams: UInt16,
        features: Features
    ) {
        self.tag = tag
        self.initialTSN = initialTSN
        self.window = window
        self.outboundStreams = outboundStreams
        self.inboundStreams = inboundStreams
        self.features = features
    }
}

extension SCTPConfiguration {
    /// What our INIT and INIT ACK say.
    func initiation(tag: UInt32, initialTSN: UInt32) -> SCTPInitiation {
        var chunks: [SCTPChunkType] = [.reconfiguration, .forwardTSN]
        if offersInterleaving { chunks += [.interleavedData, .interleavedForwardTSN] }
        var result = SCTPInitiation(
            initiateTag: tag, receiverWindow: UInt32(clamping: receiveBuffer), outboundStreams: streams,
            inboundStreams: streams, initialTSN: initialTSN,
            parameters: [
                SCTPParameter(type: SCTPParameterType.forwardTSNSupported),
                SCTPParameter(type: SCTPParameterType.supportedExtensions, value: chunks.map(\.rawValue)),
            ])
        if offersZeroChecksum {
            var method: [UInt8] = []
            method.append(uint32: SCTPPeer.dtlsErrorDetection)
            result.parameters.append(
                SCTPParameter(type: SCTPParameterType.zeroChecksumAcceptable, value: method))
        }
        return result
    }
}
