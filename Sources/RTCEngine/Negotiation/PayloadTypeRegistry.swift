internal import RTCWire

/// Which payload type means what in this session. Under BUNDLE a payload type may mean one thing only (RFC 9143
/// §9.1.1), and one that was used is not given another meaning later (RFC 3264 §8.3.2), so offers ask here.
struct PayloadTypeRegistry: Sendable, Equatable {
    private struct Entry: Sendable, Equatable {
        var codec: CodecParameters
        var payloadType: UInt8
        var rtxPayloadType: UInt8?
    }

    private var entries: [Entry] = []
    /// Everything that either side has named so far.
    private var used: Set<UInt8> = []

    /// Learns what a description of either side says.
    mutating func learn(_ section: MediaDescription) {
        used.formUnion(section.payloadTypes)
        // Backwards, so that of two formats that are the same to us the first one stays, which answers take too.
        for codec in section.codecs.reversed() {
            if let index = entries.firstIndex(where: { $0.codec.matches(codec) }) {
                entries[index].payloadType = codec.payloadType
                if let rtx = codec.rtxPayloadType { entries[index].rtxPayloadType = rtx }
            } else {
                entries.append(
                    Entry(codec: codec, payloadType: codec.payloadType, rtxPayloadType: codec.rtxPayloadType))
            }
            // Numbers that the peer has given to this codec are no longer any other one's.
            let given = [codec.payloadType, codec.rtxPayloadType]
            entries.removeAll { !$0.codec.matches(codec) && given.contains($0.payloadType) }
            for index in entries.indices where !entries[index].codec.matches(codec) {
                if let rtx = entries[index].rtxPayloadType, given.contains(rtx) { entries[index].rtxPayloadType = nil }
            }
        }
    }

    /// The codec with the payload types that an offer gives it; nil when no number is left.
    mutating func assign(_ codec: CodecParameters) -> CodecParameters? {
        var result = codec
        let index = entries.firstIndex { $0.codec.matches(codec) }
        let known = index.map { entries[$0] }
        guard let type = known?.payloadType ?? free(preferred: codec.payloadType) else { return nil }
        used.insert(type)
        result.payloadType = type
        if let wanted = codec.rtxPayloadType {
            result.rtxPayloadType = known?.rtxPayloadType ?? free(preferred: wanted)
            if let rtx = result.rtxPayloadType { used.insert(rtx) }
        }
        let entry = Entry(codec: codec, payloadType: type, rtxPayloadType: result.rtxPayloadType)
        if let index {
            entries[index].rtxPayloadType = result.rtxPayloadType ?? known?.rtxPayloadType
        } else {
            entries.append(entry)
        }
        return result
    }

    /// RFC 3551 §6: the dynamic range, then what RTCP's packet types leave of the unassigned one (RFC 5761 §4).
    private func free(preferred: UInt8) -> UInt8? {
        if preferred < 128, !used.contains(preferred) { return preferred }
        return (UInt8(96)...127).first { !used.contains($0) } ?? (UInt8(35)...63).first { !used.contains($0) }
    }
}
