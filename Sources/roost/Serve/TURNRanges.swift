internal import ArgumentParser
internal import TURNServer

/// `49152-65535`.
struct PortRange: ExpressibleByArgument {
    let range: ClosedRange<UInt16>

    init(_ range: ClosedRange<UInt16>) { self.range = range }

    init?(argument: String) {
        let parts = argument.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = UInt16(parts[0]), let last = UInt16(parts[1]), first > 0, first <= last
        else {
            return nil
        }
        range = first...last
    }

    var defaultValueDescription: String { "\(range.lowerBound)-\(range.upperBound)" }
}

/// `10.0.0.0/8`, or one address.
struct PeerRange: ExpressibleByArgument {
    let prefix: IPPrefix

    init?(argument: String) {
        guard let prefix = IPPrefix(argument) else { return nil }
        self.prefix = prefix
    }
}
