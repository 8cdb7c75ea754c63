import RTCWire

/// The identifiers of the Matroska elements that we write (RFC 9559 §5.1), marker bits included.
enum MatroskaID: UInt32 {
    case ebml = 0x1a45_dfa3
    case ebmlVersion = 0x4286
    case ebmlReadVersion = 0x42f7
    case ebmlMaximumIDLength = 0x42f2
    case ebmlMaximumSizeLength = 0x42f3
    case documentType = 0x4282
    case documentTypeVersion = 0x4287
    case documentTypeReadVersion = 0x4285
    case void = 0xec
    case segment = 0x1853_8067
    case seekHead = 0x114d_9b74
    case seek = 0x4dbb
    case seekID = 0x53ab
    case seekPosition = 0x53ac
    case information = 0x1549_a966
    case timestampScale = 0x2a_d7b1
    case duration = 0x4489
    case muxingApplication = 0x4d80
    case writingApplication = 0x5741
    case tracks = 0x1654_ae6b
    case trackEntry = 0xae
    case trackNumber = 0xd7
    case trackUID = 0x73c5
    case trackType = 0x83
    case lacingFlag = 0x9c
    case codecID = 0x86
    case codecPrivate = 0x63a2
    case codecDelay = 0x56aa
    case seekPreRoll = 0x56bb
    case video = 0xe0
    case pixelWidth = 0xb0
    case pixelHeight = 0xba
    case audio = 0xe1
    case samplingFrequency = 0xb5
    case channels = 0x9f
    case cluster = 0x1f43_b675
    case timestamp = 0xe7
    case simpleBlock = 0xa3
    case cues = 0x1c53_bb6b
    case cuePoint = 0xbb
    case cueTime = 0xb3
    case cueTrackPositions = 0xb7
    case cueTrack = 0xf7
    case cueClusterPosition = 0xf1
}

/// EBML elements being written (RFC 8794): identifier, size, content.
struct EBMLWriter {
    private(set) var bytes: [UInt8] = []

    /// An element that holds elements.
    mutating func element(_ id: MatroskaID, _ content: (inout EBMLWriter) -> Void) {
        var inner = EBMLWriter()
        content(&inner)
        element(id, bytes: inner.bytes)
    }

    mutating func element(_ id: MatroskaID, bytes content: [UInt8]) {
        append(id)
        append(size: content.count)
        bytes += content
    }

    mutating func element(_ id: MatroskaID, text: String) { element(id, bytes: Array(text.utf8)) }

    /// In as few bytes as it takes, one at least.
    mutating func element(_ id: MatroskaID, unsigned value: UInt64) {
        let count = max(1, (64 - value.leadingZeroBitCount + 7) / 8)
        element(id, bytes: (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) })
    }

    /// Always in eight bytes, so that it can be overwritten.
    mutating func element(_ id: MatroskaID, wide value: UInt64) {
        var content: [UInt8] = []
        content.append(uint64: value)
        element(id, bytes: content)
    }

    mutating func element(_ id: MatroskaID, double value: Double) { element(id, wide: value.bitPattern) }

    /// An element of exactly `count` bytes that says nothing (RFC 8794 §11.3.2), to be overwritten later.
    mutating func void(occupying count: Int) {
        element(.void, bytes: [UInt8](repeating: 0, count: max(0, count - 2)))
    }

    mutating func append(_ id: MatroskaID) {
        let value = id.rawValue
        for shift in stride(from: 24, through: 0, by: -8) where value >> UInt32(shift) != 0 {
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(shift)))
        }
    }

    /// RFC 8794 §4: a marker bit tells the width. All ones is reserved for "unknown".
    mutating func append(size: Int) {
        let value = UInt64(clamping: size)
        var width: UInt64 = 1
        while width < 8, value >= 1 << (7 * width) - 1 { width += 1 }
        let marked = value | 1 << (7 * width)
        for index in (0..<width).reversed() { bytes.append(UInt8(truncatingIfNeeded: marked >> (8 * index))) }
    }

    mutating func append(_ content: [UInt8]) { bytes += content }
}
