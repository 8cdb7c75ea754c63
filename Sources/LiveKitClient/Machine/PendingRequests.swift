internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// Requests to the server that it has not answered yet: to join, and to change what others see of us.
struct PendingRequests {
    private struct Update {
        let request: RequestID
        let number: UInt32
        let until: Instant
        /// What we look like once the server has done it. Servers that do not answer requests only send that.
        let wanted: LiveKitUpdateParticipantMetadata
    }

    /// The request to join, until it is decided.
    var connecting: RequestID?
    private var updates: [Update] = []
    private var lastNumber: UInt32 = 0

    var deadline: Instant? { updates.map(\.until).min() }

    mutating func add(
        _ request: RequestID, _ wanted: LiveKitUpdateParticipantMetadata, until: Instant
    ) -> UInt32 {
        lastNumber += 1
        updates.append(Update(request: request, number: lastNumber, until: until, wanted: wanted))
        return lastNumber
    }

    mutating func answered(_ number: UInt32) -> RequestID? {
        guard let place = updates.firstIndex(where: { $0.number == number }) else { return nil }
        return updates.remove(at: place).request
    }

    /// Removes and returns the requests that are fulfilled, by what the server says of us now.
    mutating func shown(by info: LiveKitParticipantInfo) -> [RequestID] {
        func isShown(_ wanted: LiveKitUpdateParticipantMetadata) -> Bool {
            info.name == wanted.name && info.metadata == wanted.metadata
                && wanted.attributes.allSatisfy { (info.attributes[$0.key] ?? "") == $0.value }
        }
        defer { updates.removeAll { isShown($0.wanted) } }
        return updates.filter { isShown($0.wanted) }.map(\.request)
    }

    mutating func takeLate(at now: Instant) -> [RequestID] {
        defer { updates.removeAll { $0.until <= now } }
        return updates.filter { $0.until <= now }.map(\.request)
    }

    mutating func takeAll() -> [RequestID] {
        defer { (connecting, updates) = (nil, []) }
        return (connecting.map { [$0] } ?? []) + updates.map(\.request)
    }
}

extension RoomClientMachine {
    /// Changes what is said of us. What is nil stays; an attribute is removed by an empty value.
    mutating func updateMetadata(
        name: String?, metadata: String?, attributes: [String: String], request: RequestID, at now: Instant
    ) {
        guard isInRoom else { return put(.complete(request, .failure(.notConnected))) }
        var wanted = LiveKitUpdateParticipantMetadata.with {
            $0.name = name ?? roster.local.name
            $0.metadata = metadata ?? roster.local.metadata
            $0.attributes = attributes
        }
        wanted.requestID = requests.add(request, wanted, until: now + Self.answerTimeout)
        say(.updateMetadata(wanted))
    }

    mutating func metadataConfirmed(_ info: LiveKitParticipantInfo) {
        for request in requests.shown(by: info) { put(.complete(request, .success(.done))) }
    }

    mutating func requestTimePassed(at now: Instant) {
        for request in requests.takeLate(at: now) { put(.complete(request, .failure(.timedOut))) }
    }
}
