package import RTCEngine

/// The way from the publisher to the server: packets are lost, come again when they were, come twice, and out of order.
package struct ModelPath {
    package struct Character {
        package var loss = 0.0
        /// Of what is lost, so much comes again.
        package var repaired = 1.0
        package var duplicates = 0.0
        /// In milliseconds, more than the others take.
        package var jitter = 0.0

        package init() {}
    }

    package var character: Character
    private var random: EngineRandom
    private var waiting: [(at: Instant, order: Int, packet: ModelPacket)] = []
    private var order = 0
    private var dropped = 0

    /// Packets that have not come: those that never will, and those that were still under way when the end came.
    package var lost: Int { dropped + waiting.count }

    package init(_ character: Character, random: EngineRandom) {
        self.character = character
        self.random = random
    }

    package mutating func send(_ packet: ModelPacket, at now: Instant) {
        var delay = Interval.milliseconds(10) + jitter()
        if Double.random(in: 0..<1, using: &random) < character.loss {
            guard Double.random(in: 0..<1, using: &random) < character.repaired else {
                dropped += 1
                return
            }
            delay = delay + .milliseconds(Int64.random(in: 40...120, using: &random))
        }
        put(packet, now + delay)
        if Double.random(in: 0..<1, using: &random) < character.duplicates {
            put(packet, now + delay + .milliseconds(Int64.random(in: 0...60, using: &random)))
        }
    }

    private mutating func jitter() -> Interval {
        character.jitter > 0 ? .seconds(Double.random(in: 0...character.jitter, using: &random) / 1_000) : .zero
    }

    private mutating func put(_ packet: ModelPacket, _ time: Instant) {
        waiting.append((time, order, packet))
        order += 1
    }

    /// What has come by now.
    package mutating func arrivals(until now: Instant) -> [(at: Instant, packet: ModelPacket)] {
        let come = waiting.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
        waiting.removeAll { $0.at <= now }
        return come.map { ($0.at, $0.packet) }
    }
}
