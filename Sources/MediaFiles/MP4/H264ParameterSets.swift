import RTCWire

/// The parameter sets that a decoder of a stream holds, by their ids: a later one takes the place of an earlier one
/// with the same id (H.264 §7.4.1.2.1).
struct H264ParameterSets: Sendable, Equatable {
    private struct Entry: Equatable {
        var id: Int
        var unit: [UInt8]
    }

    /// Real ones have some dozen bytes, with scaling lists some hundred. All that are held are repeated with each key
    /// frame, however small that is: a publisher is not to make a file much larger than what it sends.
    private static let maximumSize = 1_024
    private static let maximumTotal = 4_096

    private var sequence: [Entry] = []
    private var picture: [Entry] = []

    /// Sequence parameter sets before picture parameter sets, which refer to them.
    var units: [[UInt8]] { (sequence + picture).map(\.unit) }

    /// The first sequence parameter set: it tells the picture's size.
    var first: [UInt8]? { sequence.first?.unit }

    /// As a file's header holds them; nil when one of the two kinds is missing: nothing could decode.
    var configuration: AVCConfiguration? {
        guard !sequence.isEmpty, !picture.isEmpty else { return nil }
        return AVCConfiguration(
            sequenceParameterSets: sequence.map(\.unit), pictureParameterSets: picture.map(\.unit))
    }

    static func isParameterSet(_ unit: [UInt8]) -> Bool {
        guard let header = unit.first else { return false }
        let type = H264NALType(header: header)
        return type == .sequenceParameterSet || type == .pictureParameterSet
    }

    /// Takes every parameter set of a frame.
    /// - Returns: Whether one of them is another than was held under its id.
    @discardableResult
    mutating func receive(frame: [UInt8]) -> Bool {
        var hasChanged = false
        var units = AnnexBReader(frame.span.bytes)
        while let range = units.next() {
            let unit = Array(frame[range])
            guard unit.count <= Self.maximumSize, Self.isParameterSet(unit) else { continue }
            if receive(unit) { hasChanged = true }
        }
        return hasChanged
    }

    private mutating func receive(_ unit: [UInt8]) -> Bool {
        guard H264NALType(header: unit[0]) == .sequenceParameterSet else {
            // §7.3.2.2: the id comes first; §7.4.2.2: 255 is the highest.
            guard let id = Self.exponentialGolomb(unit, at: 1), id < 256 else { return false }
            return put(Entry(id: id, unit: unit), in: \.picture)
        }
        // §7.3.2.1.1: profile, constraints and level, then the id; §7.4.2.1.1: 31 is the highest.
        guard let id = Self.exponentialGolomb(unit, at: 4), id < 32 else { return false }
        return put(Entry(id: id, unit: unit), in: \.sequence)
    }

    private mutating func put(_ entry: Entry, in entries: WritableKeyPath<Self, [Entry]>) -> Bool {
        let index = self[keyPath: entries].firstIndex { $0.id == entry.id }
        let old = index.map { self[keyPath: entries][$0].unit }
        guard old != entry.unit else { return false }
        let total = (sequence + picture).reduce(0) { $0 + $1.unit.count }
        guard total - (old?.count ?? 0) + entry.unit.count <= Self.maximumTotal else { return false }
        if let index { self[keyPath: entries][index] = entry } else { self[keyPath: entries].append(entry) }
        return true
    }

    /// Whether one of its kind and id is held in its place: itself, or what has replaced it since. What is too large is
    /// not.
    func holdsOne(like unit: [UInt8]) -> Bool {
        guard unit.count <= Self.maximumSize, let header = unit.first else { return false }
        let isSequence = H264NALType(header: header) == .sequenceParameterSet
        let id = Self.exponentialGolomb(unit, at: isSequence ? 4 : 1)
        return (isSequence ? sequence : picture).contains { $0.id == id }
    }

    /// ue(v) of §9.1, for values below 2^16; nil when it is cut off.
    private static func exponentialGolomb(_ unit: [UInt8], at byte: Int) -> Int? {
        func bit(_ index: Int) -> Int? {
            let place = byte + index / 8
            return unit.indices.contains(place) ? Int(unit[place] >> (7 - index % 8)) & 1 : nil
        }
        var zeros = 0
        while bit(zeros) == 0, zeros < 16 { zeros += 1 }
        var value = 0
        for index in zeros...2 * zeros {
            guard let next = bit(index) else { return nil }
            value = value << 1 | next
        }
        return value - 1
    }
}
