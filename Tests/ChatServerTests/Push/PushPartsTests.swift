import ChatModel
import Foundation
import Testing

@testable import ChatCore
@testable import ChatServer

/// What waits, when it is tried again, and how far it has come.
struct PushPartsTests {
    static let start = Timestamp(milliseconds: 1_795_435_200_000)

    static func push(
        _ kind: Push.Kind = .alert, to user: UserID = UserID(UUID()), call: String? = nil,
        lasting: Duration = .seconds(86_400),
        alertToken: String? = "aa", instead: [UInt8]? = nil
    ) -> Push {
        let address = PushAddress(
            device: DeviceID(UUID()), user: user, appID: "org.example.app", environment: .production,
            alertToken: alertToken, voipToken: "bb")
        return Push(
            kind: kind, address: address, token: kind == .voip ? "bb" : "aa", madeAt: start,
            expiresAt: start.advanced(by: lasting), collapseID: "c", payload: [], call: call, instead: instead)
    }

    // MARK: Headers

    @Test func `a call's push has the topic for calls, and ends with the ringing`() {
        let headers = Dictionary(
            uniqueKeysWithValues: Self.push(.voip, lasting: .seconds(30)).headers.map { ($0.name, $0.value) })
        #expect(headers["apns-topic"] == "org.example.app.voip")
        #expect(headers["apns-push-type"] == "voip")
        #expect(headers["apns-priority"] == "10")
        #expect(headers["apns-expiration"] == "1795435230")
        #expect(headers["apns-id"].flatMap { UUID(uuidString: $0) } != nil)
        #expect(headers["apns-collapse-id"] == "c")
    }

    @Test func `an alert stands in for a call's push, while it rings and where there is a token`() {
        let push = Self.push(.voip, call: "c", lasting: .seconds(30), instead: [1])
        let alert = push.fallback(at: Self.start)
        #expect(alert?.kind == .alert && alert?.token == "aa" && alert?.payload == [1] && alert?.call == "c")
        #expect(alert?.fallback(at: Self.start) == nil)
        #expect(push.fallback(at: Self.start.advanced(by: .seconds(30))) == nil)
        #expect(Self.push(.voip, alertToken: nil, instead: [1]).fallback(at: Self.start) == nil)
    }

    // MARK: Answers

    @Test(arguments: [
        (200, "", APNsOutcome.delivered),
        (400, #"{"reason":"BadDeviceToken"}"#, .tokenGone(since: nil, reason: "BadDeviceToken")),
        (400, #"{"reason":"DeviceTokenNotForTopic"}"#, .tokenGone(since: nil, reason: "DeviceTokenNotForTopic")),
        (400, #"{"reason":"BadTopic"}"#, .refused(reason: "BadTopic")),
        (403, #"{"reason":"ExpiredProviderToken"}"#, .providerTokenExpired),
        (403, #"{"reason":"InvalidProviderToken"}"#, .providerRefused(reason: "InvalidProviderToken")),
        (
            410, #"{"reason":"Unregistered","timestamp":1795435200000}"#,
            .tokenGone(since: start, reason: "Unregistered")
        ),
        (413, #"{"reason":"PayloadTooLarge"}"#, .refused(reason: "PayloadTooLarge")),
        (429, #"{"reason":"TooManyRequests"}"#, .tryAgain(reason: "TooManyRequests", after: .seconds(7))),
        (500, "no JSON", .tryAgain(reason: "status_500", after: .seconds(7))),
        (503, #"{"reason":"Shutdown"}"#, .tryAgain(reason: "Shutdown", after: .seconds(7))),
        (404, #"{"reason":"a\"b\nc"}"#, .refused(reason: "status_404")),
    ])
    func `an answer of Apple's is taken as Apple says`(status: Int, body: String, outcome: APNsOutcome) {
        #expect(APNsAnswer(status: status, retryAfter: "7", body: Array(body.utf8)).outcome == outcome)
    }

    @Test func `a wait that is no number is none`() {
        for text in [nil, "", "-3", "soon", "Mon, 23 Nov 2026 12:00:00 GMT"] {
            let answer = APNsAnswer(status: 503, retryAfter: text, body: [])
            #expect(answer.outcome == .tryAgain(reason: "status_503", after: nil))
        }
    }

    // MARK: Trying again

    @Test func `waits grow to five minutes, never under what Apple asks for`() {
        func waits(_ attempts: Int, after: Duration? = nil, spread: Double = 0.5) -> Duration? {
            PushRetries.next(for: Self.push(), attempts: attempts, after: after, spread: spread, at: Self.start).map {
                $0 - Self.start
            }
        }
        #expect((1...10).map { waits($0) } == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300].map { .seconds($0) })
        #expect(waits(1_000) == .seconds(300))
        #expect(waits(3, spread: 0) == .seconds(3) && waits(3, spread: 1) == .seconds(5))
        #expect(waits(1, after: .seconds(60)) == .seconds(60))
        #expect(waits(1, after: .seconds(86_400)) == nil)
    }

    @Test func `a call is tried three times, and not once it rings no more`() {
        let push = Self.push(.voip, lasting: .seconds(3))
        func next(_ attempts: Int) -> Timestamp? {
            PushRetries.next(for: push, attempts: attempts, after: nil, spread: 0.5, at: Self.start)
        }
        #expect(next(1) == Self.start.advanced(by: .seconds(1)))
        #expect(next(2) == Self.start.advanced(by: .seconds(2)))
        #expect(next(3) == nil)
        #expect(
            PushRetries.next(
                for: push, attempts: 1, after: nil, spread: 0.5, at: Self.start.advanced(by: .seconds(2))) == nil)
    }

    // MARK: The queue

    @Test func `calls go first, others in their order, and what waits when its time has come`() {
        var queue = PushQueue(limit: 4)
        func next(after seconds: Int) -> PushQueue.Item? { queue.next(at: Self.start.advanced(by: .seconds(seconds))) }
        let (first, second, call) = (Self.push(), Self.push(), Self.push(.voip, call: "c"))
        for push in [first, second, call] { _ = queue.add(push) }
        #expect(next(after: 0)?.push.id == call.id)
        let item = next(after: 0)
        #expect(item?.push.id == first.id)
        if let item { queue.putBack(item, until: Self.start.advanced(by: .seconds(2))) }
        #expect(next(after: 0)?.push.id == second.id)
        #expect(next(after: 1) == nil)
        #expect(queue.isIdle && queue.count == 1)
        #expect(next(after: 2)?.push.id == first.id)
        #expect(queue.count == 0)
    }

    @Test func `a queue takes no more than its limit`() {
        var queue = PushQueue(limit: 2)
        var taken = (0..<3).map { _ in queue.add(Self.push()) }
        #expect(taken == [true, true, false])
        _ = queue.next(at: Self.start)
        taken = (0..<2).map { _ in queue.add(Self.push()) }
        #expect(taken == [true, false])
    }

    @Test func `of thousands each comes once and in its order`() {
        var queue = PushQueue()
        let pushes = (0..<3_500).map { _ in Self.push() }
        var left: [UUID] = []
        for (number, push) in pushes.enumerated() {
            _ = queue.add(push)
            if number % 3 == 0, let item = queue.next(at: Self.start) { left.append(item.push.id) }
        }
        while let item = queue.next(at: Self.start) { left.append(item.push.id) }
        #expect(left == pushes.map(\.id) && queue.count == 0)
    }

    @Test func `what a call has still to say is taken out, at these people's devices alone`() {
        var queue = PushQueue()
        let (ann, bob) = (UserID(UUID()), UserID(UUID()))
        for user in [ann, bob] {
            for call in ["one", "two"] { _ = queue.add(Self.push(.voip, to: user, call: call)) }
        }
        _ = queue.add(Self.push(to: ann))
        let removed = queue.remove(call: "one", of: [ann])
        #expect(removed == 1)
        var left: [String?] = []
        while let item = queue.next(at: Self.start) { left.append(item.push.call) }
        #expect(left == ["two", "one", "two", nil])
    }

    @Test func `what was to replace a call's alert is taken out, at these people's devices alone`() {
        var queue = PushQueue()
        let (ann, bob) = (UserID(UUID()), UserID(UUID()))
        let pushes = [
            Self.push(to: ann), Self.push(to: ann), Self.push(to: bob), Self.push(to: ann, call: "c"),
            Self.push(to: ann), Self.push(to: bob),
        ]
        for push in pushes { _ = queue.add(push) }
        #expect(queue.next(at: Self.start)?.push.id == pushes[3].id)
        #expect(queue.next(at: Self.start)?.push.id == pushes[0].id)
        queue.putBack(PushQueue.Item(push: pushes[0], attempts: 1), until: Self.start)
        queue.removeEnds(of: "another", to: [ann, bob])
        #expect(queue.count == 5)
        queue.removeEnds(of: "c", to: [ann])
        var left: [UUID] = []
        while let item = queue.next(at: Self.start) { left.append(item.push.id) }
        #expect(left == [pushes[2].id, pushes[5].id])
    }

    @Test func `what is owed by the log is taken out, and what is not stays`() {
        var queue = PushQueue()
        let call = Self.push(.voip, call: "c")
        var owed = Self.push()
        owed.origin = Push.Origin(workspace: WorkspaceID(UUID()), sequence: 1)
        let other = Self.push()
        for push in [Self.push(), owed, other, call] { _ = queue.add(push) }
        _ = queue.next(at: Self.start)
        _ = queue.next(at: Self.start)
        queue.putBack(PushQueue.Item(push: owed, attempts: 1), until: Self.start)
        queue.removeOwed()
        let left = queue.next(at: Self.start)
        #expect(left?.push.id == other.id)
        #expect(queue.isIdle && queue.count == 0)
    }

    // MARK: Positions

    @Test func `what is kept is where everything before is done with`() {
        let workspace = WorkspaceID(UUID())
        func origin(_ sequence: Int64) -> Push.Origin { Push.Origin(workspace: workspace, sequence: sequence) }
        var positions = PushPositions()
        func changed() -> Int64? { positions.takeChanged()[workspace] }
        #expect(positions.read(of: workspace) == nil)
        positions.begin(workspace, at: 10)
        for sequence: Int64 in [12, 12, 15] { positions.begin(origin(sequence)) }
        positions.read(workspace, upTo: 20)
        #expect(positions.read(of: workspace) == 20)
        #expect(changed() == 11)
        #expect(changed() == nil)
        positions.finish(origin(15))
        positions.finish(origin(12))
        #expect(changed() == nil)
        positions.finish(origin(12))
        #expect(changed() == 20)
        // Once more than there were changes nothing.
        positions.finish(origin(12))
        positions.read(workspace, upTo: 21)
        #expect(changed() == 21)
        positions.forget()
        #expect(positions.read(of: workspace) == nil)
    }
}
