extension TransportFeedback {
    func writeBody(into packet: inout [UInt8]) {
        packet.append(uint32: senderSSRC)
        packet.append(uint32: mediaSSRC)
        packet.append(uint16: baseSequence)
        packet.append(uint16: statusCount)
        packet.append(uint24: UInt32(bitPattern: referenceTime))
        packet.append(feedbackCount)
        let symbols = symbols()
        var position = 0
        while position < symbols.count { packet.append(uint16: Self.chunk(of: symbols, at: &position)) }
        for arrival in arrivals {
            if Self.symbol(for: arrival) == .smallDelta {
                packet.append(UInt8(truncatingIfNeeded: arrival.delta))
            } else {
                packet.append(uint16: UInt16(bitPattern: arrival.delta))
            }
        }
    }

    private static func symbol(for arrival: Arrival) -> TransportFeedbackSymbol {
        (0...255).contains(arrival.delta) ? .smallDelta : .largeDelta
    }

    private func symbols() -> [TransportFeedbackSymbol] {
        var symbols = [TransportFeedbackSymbol](repeating: .notReceived, count: Int(statusCount))
        for arrival in arrivals where arrival.offset < statusCount {
            symbols[Int(arrival.offset)] = Self.symbol(for: arrival)
        }
        return symbols
    }

    /// The chunk that says most about the symbols from `position` on.
    private static func chunk(of symbols: [TransportFeedbackSymbol], at position: inout Int) -> UInt16 {
        let rest = symbols[position...]
        guard let first = rest.first else { return 0 }
        let run = rest.prefix(0x1fff).prefix { $0 == first }.count
        // A two-bit vector holds seven symbols, a one-bit vector fourteen: a run pays from there on.
        let needsTwoBits = rest.prefix(14).contains(.largeDelta)
        if run >= (needsTwoBits ? 7 : 14) || run == rest.count {
            position += run
            return UInt16(first.rawValue) << 13 | UInt16(run)
        }
        let bits = needsTwoBits ? 2 : 1
        let count = 14 / bits
        var chunk: UInt16 = needsTwoBits ? 0xc000 : 0x8000
        for (index, symbol) in rest.prefix(count).enumerated() {
            chunk |= UInt16(symbol.rawValue) << UInt16(14 - bits * (index + 1))
        }
        position += min(count, rest.count)
        return chunk
    }
}
