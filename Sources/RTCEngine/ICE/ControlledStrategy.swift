internal import RTCWire

/// How the controlled agent follows the peer's nominations (RFC 8445 §7.3.1.5, §8.1.1). Peers of RFC 5245 nominate
/// several pairs ("aggressively"), and browsers nominate another when the first one breaks.
enum ControlledStrategy {
    /// Whether a valid pair that the peer has nominated takes over from the selected one.
    /// - Parameter selectedIsQuiet: the selected pair has not been heard of for a while.
    static func shouldSelect(
        _ pair: CandidatePair, insteadOf selected: (route: ICERoute, priority: UInt64)?, selectedIsQuiet: Bool
    ) -> Bool {
        guard let selected else { return true }
        guard selected.route != pair.route else { return false }
        // Of several nominated pairs the best counts, so that both sides end on the same one.
        return pair.priority > selected.priority || selectedIsQuiet
    }
}
