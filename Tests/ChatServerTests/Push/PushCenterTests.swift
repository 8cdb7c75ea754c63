import COpenSSL
import ChatModel
import ChatStoreSQLite
import Foundation
import Logging
import Synchronization
import Testing

@testable import ChatCore
@testable import ChatServer

struct PushCenterTests {
    /// Apple's service, as the test wants it to answer.
    final class Service: PushTransport {
        private struct State {
            var answers: [APNsOutcome] = []
            var sent: [(push: Push, bearer: String)] = []
        }

        private let state = Mutex(State())

        /// What the next pushes are answered; delivered after that.
        func answer(_ outcomes: APNsOutcome...) { state.withLock { $0.answers += outcomes } }

        var sent: [(push: Push, bearer: String)] { state.withLock { $0.sent } }

        func send(_ push: Push, bearer: String) async -> APNsOutcome {
            state.withLock {
                $0.sent.append((push, bearer))
                return $0.answers.isEmpty ? .delivered : $0.answers.removeFirst()
            }
        }

        func stop() async {}

        /// Those that have come, once there are so many.
        func sent(_ count: Int) async -> [Push] {
            while sent.count < count { await Task.yield() }
            return sent.map(\.push)
        }
    }

    final class Clock: Sendable {
        private let time = Mutex(Timestamp(milliseconds: 1_795_435_200_000))
        var now: Timestamp { time.withLock { $0 } }
        func pass(_ duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
    }

    /// Ann and Bob in a direct message, each with a device.
    final class World: Sendable {
        let clock = Clock()
        let apple = Service()
        let chat: ChatService
        let online = Mutex<Set<UserID>>([])
        let ann: UserID
        let bob: UserID
        let direct: ChannelID
        private let pem: String

        init(voip: Bool = false) async throws {
            let clock = clock
            let chat = ChatService(database: try SQLiteChatDatabase(inMemoryAt: clock.now), now: { clock.now })
            (ann, bob, direct) = try await chat.write { chat in
                let people = try ["ann", "bob"].compactMap { name in
                    try chat.register(
                        NewAccount(
                            email: "\(name)@example.org", username: name, displayName: name, passwordHash: "hash"))
                }
                for (number, user) in people.enumerated() {
                    let hash = SecretHash([UInt8](repeating: UInt8(number), count: 32))
                    let session = try chat.openSession(of: user, on: "Phone", token: hash)
                    _ = try chat.registerDevice(
                        RegisterDeviceRequest(
                            platform: .ios, appID: "org.example.app", environment: .sandbox,
                            alertToken: String(repeating: "a\(number)", count: 32),
                            voipToken: voip ? String(repeating: "b\(number)", count: 32) : nil),
                        of: user, session: session)
                }
                let workspace = try chat.createWorkspace(name: "Team", slug: nil, by: people[0]).listing.workspace.id
                try chat.insertMember(people[1], as: .member, into: workspace)
                let direct = try chat.openDirect(with: [people[1]], in: workspace, by: people[0]).listing.channel.id
                return (people[0], people[1], direct)
            }
            self.chat = chat
            let (pem, key) = try ProviderTokenTests.key()
            EVP_PKEY_free(key)
            self.pem = pem
        }

        /// One server's, which may reach the database in a way of its own.
        func center(of service: ChatService? = nil) async throws -> PushCenter {
            let configuration = ProviderTokenTests.configuration(key: pem)
            let center = PushCenter(
                configuration, try ProviderTokens(configuration), over: apple, service: service ?? chat,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ) { [self] users in online.withLock { users.intersection($0) } }
            await center.tick()
            return center
        }

        func say(_ content: String) async throws -> Message {
            try await chat.write { [direct, ann] in
                try $0.send(ChatTransaction.NewMessage(content: content), to: direct, by: ann).message
            }
        }

        func word(of message: Message) -> ChatChanges {
            var changes = ChatChanges()
            changes.workspaces = [message.workspaceID]
            return changes
        }

        func ring(lasting: Duration = .seconds(30)) -> CallRing {
            CallRing(
                callID: "call", room: "room", hasVideo: false, caller: ann, callerName: "Ann",
                workspaceID: WorkspaceID(UUID()), channelID: direct, channelName: nil, users: [bob],
                expiresAt: clock.now.advanced(by: lasting))
        }
    }

    @Test func `a message goes to the other's device, once, with what the icon is to show`() async throws {
        let world = try await World()
        let center = try await world.center()
        let message = try await world.say("hello")
        await center.changed(world.word(of: message))
        let push = try #require(await world.apple.sent(1).first)
        #expect(push.address.user == world.bob && push.kind == .alert && push.collapseID == message.id.description)
        #expect(push.address.environment == .sandbox)
        #expect(String(decoding: push.payload, as: UTF8.self).contains(#""badge":1"#))
        await center.changed(world.word(of: message))
        world.clock.pass(.seconds(6))
        await center.tick()
        try await until { center.statistics.sent == ["alert": 1] }
        #expect(world.apple.sent.count == 1)
    }

    @Test func `what was written before a start is pushed after it, if it is not too old`() async throws {
        let world = try await World()
        _ = try await world.say("old")
        world.clock.pass(.seconds(301))
        let message = try await world.say("new")
        let first = try await world.center()
        #expect(await world.apple.sent(1).map(\.collapseID) == [message.id.description])
        try await until { first.statistics.sent == ["alert": 1] }
        await first.stop()
        // The next server goes on behind it.
        let second = try await world.center()
        let next = try await world.say("next")
        await second.changed(world.word(of: next))
        #expect(await world.apple.sent(2).last?.collapseID == next.id.description)
    }

    @Test func `what was not answered when a server ended goes on with the next`() async throws {
        let world = try await World()
        let first = try await world.center()
        world.apple.answer(.tryAgain(reason: "Shutdown", after: .seconds(60)))
        let message = try await world.say("hello")
        await first.changed(world.word(of: message))
        try await until { first.statistics.retried == 1 }
        await first.stop()
        _ = try await world.center()
        #expect(await world.apple.sent(2).last?.collapseID == message.id.description)
    }

    @Test func `a server that goes down leaves messages to the next, and still tells of a missed call`() async throws {
        let world = try await World()
        let center = try await world.center()
        await center.goDown()
        let message = try await world.say("to who comes back at once")
        await center.changed(world.word(of: message))
        world.clock.pass(.seconds(6))
        await center.tick()
        await center.stopRinging(callID: "call", users: [world.bob], missed: true, callerName: "Ann")
        await center.stop()
        #expect(world.apple.sent.map(\.push.collapseID) == ["call"])
        let next = try await world.center()
        #expect(await world.apple.sent(2).map(\.collapseID) == ["call", message.id.description])
        await next.stop()
    }

    @Test func `of two servers one sends, and the other when the first is gone`() async throws {
        let world = try await World()
        let (first, second) = (try await world.center(), try await world.center())
        let message = try await world.say("hello")
        await second.changed(world.word(of: message))
        await first.changed(world.word(of: message))
        _ = await world.apple.sent(1)
        try await until { first.statistics.sent == ["alert": 1] }
        world.clock.pass(.seconds(6))
        await first.tick()
        world.clock.pass(.seconds(21))
        let later = try await world.say("later")
        await second.tick()
        #expect(await world.apple.sent(2).last?.collapseID == later.id.description)
        #expect(second.statistics.failed.isEmpty && world.apple.sent.count == 2)
    }

    @Test func `who is connected hears by their socket`() async throws {
        let world = try await World()
        world.online.withLock { $0 = [world.bob] }
        let center = try await world.center()
        await center.changed(world.word(of: try await world.say("one")))
        try await until { try await center.positionsAreKept(in: world) }
        world.online.withLock { $0 = [] }
        let message = try await world.say("two")
        await center.changed(world.word(of: message))
        #expect(await world.apple.sent(1).map(\.collapseID) == [message.id.description])
    }

    /// A phone's socket that is dead is found out after more than a minute; until then it counts as connected.
    @Test func `what came while a client was taken for connected is pushed once it is known to be gone`() async throws {
        let world = try await World()
        world.online.withLock { $0 = [world.bob] }
        let center = try await world.center()
        let read = try await world.say("read")
        await center.changed(world.word(of: read))
        let missed = try await world.say("missed")
        await center.changed(world.word(of: missed))
        try await until { try await center.positionsAreKept(in: world) }
        let (bob, direct) = (world.bob, world.direct)
        try await world.chat.write { _ = try $0.read(direct, upTo: read.sequence, by: bob) }
        world.clock.pass(.seconds(100))
        await center.tick()
        // Still connected: nothing.
        #expect(world.apple.sent.isEmpty)
        world.online.withLock { $0 = [] }
        await center.gone(bob)
        await center.gone(bob)
        try await until { center.statistics.sent == ["alert": 1] }
        #expect(world.apple.sent.map(\.push.collapseID) == [missed.id.description])
        #expect(center.statistics.queued == 0)
    }

    @Test func `who has gone and read it, or goes long after it, is not pushed to`() async throws {
        let world = try await World()
        world.online.withLock { $0 = [world.bob] }
        let center = try await world.center()
        let (bob, direct) = (world.bob, world.direct)
        let read = try await world.say("read")
        await center.changed(world.word(of: read))
        try await until { try await center.positionsAreKept(in: world) }
        try await world.chat.write { _ = try $0.read(direct, upTo: read.sequence, by: bob) }
        world.online.withLock { $0 = [] }
        await center.gone(bob)
        world.online.withLock { $0 = [bob] }
        await center.changed(world.word(of: try await world.say("old")))
        try await until { try await center.positionsAreKept(in: world) }
        world.clock.pass(.seconds(121))
        world.online.withLock { $0 = [] }
        await center.tick()
        await center.gone(bob)
        #expect(world.apple.sent.isEmpty && center.statistics.queued == 0 && center.statistics.inFlight == 0)
    }

    @Test func `a push is tried again when its time has come`() async throws {
        let world = try await World()
        let center = try await world.center()
        world.apple.answer(.tryAgain(reason: "TooManyRequests", after: .seconds(30)))
        await center.changed(world.word(of: try await world.say("hello")))
        try await until { center.statistics.retried == 1 }
        world.clock.pass(.seconds(29))
        await center.tick()
        #expect(world.apple.sent.count == 1)
        world.clock.pass(.seconds(1))
        await center.tick()
        let sent = await world.apple.sent(2)
        #expect(sent[0].id == sent[1].id)
        try await until { center.statistics.sent == ["alert": 1] && center.statistics.inFlight == 0 }
    }

    @Test func `a token that is gone is taken out, and one that was registered since is not`() async throws {
        let world = try await World()
        let center = try await world.center()
        let before = world.clock.now.advanced(by: .seconds(-1))
        world.apple.answer(.tokenGone(since: before, reason: "Unregistered"))
        await center.changed(world.word(of: try await world.say("one")))
        try await until { center.statistics.failed == ["Unregistered": 1] }
        #expect(center.statistics.tokensRemoved == 0)
        world.apple.answer(.tokenGone(since: nil, reason: "BadDeviceToken"))
        await center.changed(world.word(of: try await world.say("two")))
        try await until { center.statistics.failed["BadDeviceToken"] == 1 }
        #expect(center.statistics.tokensRemoved == 1)
        let bob = world.bob
        let addresses = try await world.chat.read { try $0.pushAddresses(of: bob) }
        #expect(addresses.isEmpty)
    }

    @Test func `a provider token that is too old is made anew once`() async throws {
        let world = try await World()
        let center = try await world.center()
        world.apple.answer(.providerTokenExpired, .delivered, .providerTokenExpired)
        await center.changed(world.word(of: try await world.say("one")))
        _ = await world.apple.sent(2)
        #expect(world.apple.sent[0].bearer != world.apple.sent[1].bearer)
        try await until { center.statistics.sent == ["alert": 1] }
        await center.changed(world.word(of: try await world.say("two")))
        try await until { center.statistics.retried == 2 }
        await center.tick()
        #expect(world.apple.sent.count == 3)
        // After a minute it is tried again.
        world.clock.pass(.seconds(60))
        await center.tick()
        #expect(await world.apple.sent(4).count == 4)
    }

    @Test func `a call rings by PushKit, and by an alert when that fails`() async throws {
        let world = try await World(voip: true)
        let center = try await world.center()
        world.apple.answer(.tokenGone(since: nil, reason: "BadDeviceToken"))
        await center.ring(world.ring())
        let sent = await world.apple.sent(2)
        #expect(sent.map(\.kind) == [.voip, .alert] && sent.allSatisfy { $0.collapseID == "call" })
        #expect(sent.map(\.token) == [String(repeating: "b1", count: 32), String(repeating: "a1", count: 32)])
        #expect(sent.allSatisfy { $0.expiresAt == world.clock.now.advanced(by: .seconds(30)) })
        await center.stopRinging(callID: "call", users: [world.bob], missed: true, callerName: "Ann")
        let missed = await world.apple.sent(3)[2]
        #expect(missed.kind == .alert && missed.collapseID == "call")
        #expect(String(decoding: missed.payload, as: UTF8.self).contains("Missed call from Ann"))
    }

    @Test func `a call that was answered rings nowhere any more`() async throws {
        let world = try await World(voip: true)
        let center = try await world.center()
        world.apple.answer(.tryAgain(reason: "Shutdown", after: nil))
        await center.ring(world.ring())
        try await until { center.statistics.retried == 1 }
        await center.stopRinging(callID: "call", users: [world.bob], missed: false, callerName: "Ann")
        world.clock.pass(.seconds(10))
        await center.tick()
        #expect(center.statistics.queued == 0 && center.statistics.failed == ["call_over": 1])
        #expect(world.apple.sent.count == 1)
        // Whoever did not answer may be rung again in the same call.
        await center.ring(world.ring())
        #expect(await world.apple.sent(2).map(\.kind) == [.voip, .voip])
    }

    @Test func `an alert that rings is replaced without a sound when the call is over elsewhere`() async throws {
        let world = try await World()
        let center = try await world.center()
        await center.ring(world.ring())
        _ = await world.apple.sent(1)
        try await until { center.statistics.sent == ["alert": 1] }
        await center.stopRinging(
            callID: "call", users: [world.bob], missed: false, callerName: "Ann", states: [world.bob: .joined])
        let quiet = await world.apple.sent(2)[1]
        #expect(quiet.kind == .alert && quiet.collapseID == "call" && quiet.priority == .now)
        // Later it could take the place of an alert that rings anew.
        #expect(quiet.expiresAt == world.clock.now.advanced(by: .seconds(60)))
        #expect(
            String(decoding: quiet.payload, as: UTF8.self)
                == #"{"aps":{"alert":{"body":"Call from Ann answered"},"interruption-level":"passive"},"#
                + #""call_id":"call","event":"call_over"}"#)
        // One that is shown no more is not replaced again, and one that is rung anew begins anew.
        await center.stopRinging(
            callID: "call", users: [world.bob], missed: false, callerName: "Ann", states: [world.bob: .declined])
        await center.ring(world.ring())
        let third = await world.apple.sent(3)[2]
        #expect(String(decoding: third.payload, as: UTF8.self).contains("Ann is calling"))
    }

    @Test func `what was to replace an alert is not sent once the call rings anew`() async throws {
        let world = try await World()
        let center = try await world.center()
        await center.ring(world.ring())
        _ = await world.apple.sent(1)
        try await until { center.statistics.sent == ["alert": 1] }
        world.apple.answer(.tryAgain(reason: "Shutdown", after: nil))
        await center.stopRinging(
            callID: "call", users: [world.bob], missed: false, callerName: "Ann", states: [world.bob: .declined])
        try await until { center.statistics.retried == 1 }
        await center.ring(world.ring())
        let third = await world.apple.sent(3)[2]
        #expect(String(decoding: third.payload, as: UTF8.self).contains("Ann is calling"))
        try await until { center.statistics.sent == ["alert": 2] }
        world.clock.pass(.seconds(10))
        await center.tick()
        #expect(center.statistics.queued == 0 && world.apple.sent.count == 3)
    }

    @Test func `a VoIP push is replaced by nothing`() async throws {
        let world = try await World(voip: true)
        let center = try await world.center()
        await center.ring(world.ring())
        try await until { center.statistics.sent == ["voip": 1] }
        await center.stopRinging(callID: "call", users: [world.bob], missed: false, callerName: "Ann")
        await center.stop()
        #expect(world.apple.sent.count == 1)
    }

    @Test func `quiet hours hold back messages and no calls`() async throws {
        let world = try await World(voip: true)
        let center = try await world.center()
        let allDay = QuietHours(
            from: try #require(TimeOfDay("00:00")), to: try #require(TimeOfDay("00:00")), timeZone: "UTC")
        let settings = NotificationSettings(quietHours: allDay, pushWhen: .always, showPreview: true)
        try await world.chat.write { [bob = world.bob] in try $0.setNotificationSettings(settings, of: bob) }
        await center.changed(world.word(of: try await world.say("hello")))
        try await until { try await center.positionsAreKept(in: world) }
        await center.ring(world.ring())
        #expect(await world.apple.sent(1).map(\.kind) == [.voip])
    }
}

extension PushCenter {
    /// Whether everything that was written has been looked at.
    fileprivate func positionsAreKept(in world: PushCenterTests.World) async throws -> Bool {
        let newest = try await service.read { try $0.newestEvents() }
        return newest.allSatisfy { positions.read(of: $0.key) == $0.value }
    }
}
