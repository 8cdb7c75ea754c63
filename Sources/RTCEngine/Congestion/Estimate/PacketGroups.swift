/// Gathers packets that left together into groups, and compares the groups: how much later than its predecessor did one
/// leave, and how much later did it arrive (draft-ietf-rmcat-gcc-02 §5.2). Within a group a sender's burst says
/// nothing about the path.
struct PacketGroups {
    /// From one group to the next.
    struct Delta: Equatable {
        var sent: Interval
        var arrived: Interval
        /// When the later group was complete.
        var at: Instant
    }

    private struct Group {
        var firstSent: Instant
        var lastSent: Instant
        var firstArrival: Instant
        var lastArrival: Instant
    }

    /// §5.2: packets that leave within this of the first are one group.
    private static let length = Interval.milliseconds(5)
    /// Packets that a busy radio link held back and then let through at once are one group too, up to this long.
    private static let longestBurst = Interval.milliseconds(100)
    /// The receiver's clock has jumped, or it was asleep: a new beginning.
    private static let longestGap = Interval.seconds(Int64(3))

    private var current: Group?
    private var previous: Group?

    /// A packet has arrived. Packets come in the order of their arrival.
    ///
    /// - Returns: what a group that is now complete tells.
    mutating func add(sentAt: Instant, arrivedAt: Instant) -> Delta? {
        guard let group = current else {
            current = Group(firstSent: sentAt, lastSent: sentAt, firstArrival: arrivedAt, lastArrival: arrivedAt)
            return nil
        }
        // Overtaken by a later group: it says more about the order of the path than about its queue.
        guard sentAt >= group.firstSent else { return nil }
        if sentAt - group.firstSent <= Self.length || isBurst(sentAt, arrivedAt, after: group) {
            current?.lastSent = max(group.lastSent, sentAt)
            current?.lastArrival = max(group.lastArrival, arrivedAt)
            return nil
        }
        defer {
            previous = group
            current = Group(firstSent: sentAt, lastSent: sentAt, firstArrival: arrivedAt, lastArrival: arrivedAt)
        }
        guard let previous else { return nil }
        let delta = Delta(
            sent: group.lastSent - previous.lastSent, arrived: group.lastArrival - previous.lastArrival,
            at: group.lastArrival)
        guard delta.arrived >= .zero, delta.arrived < Self.longestGap else { return nil }
        return delta
    }

    /// §5.2: the packet came less than 5 ms after the group, and was on its way for less time than the group's last.
    private func isBurst(_ sentAt: Instant, _ arrivedAt: Instant, after group: Group) -> Bool {
        let arrived = arrivedAt - group.lastArrival
        return arrived - (sentAt - group.lastSent) < .zero && arrived <= Self.length
            && arrivedAt - group.firstArrival < Self.longestBurst
    }
}
