import ChatModel
import Synchronization
import Testing

@testable import ChatCore
@testable import ChatServer

/// A push that has waited says what is true when it is sent, or nothing.
struct LatePushTests {
    private typealias World = PushCenterTests.World

    /// What becomes of a message while its push waits.
    enum Change: CaseIterable {
        case deleted, read, loggedOut, leftWorkspace, silenced, neverPushed, quietHours

        func happen(to message: Message, in world: PushCenterTests.World) async throws {
            let (ann, bob, channel) = (world.ann, world.bob, message.channelID)
            let noon = try #require(TimeOfDay("12:00"))
            _ = try await world.chat.write { chat in
                switch self {
                case .deleted: try chat.delete(message.id, by: ann)
                case .read: _ = try chat.read(channel, upTo: message.sequence, by: bob)
                case .loggedOut: try chat.removeDevices(of: bob, but: nil)
                case .leftWorkspace: try chat.removeMember(bob, from: message.workspaceID, by: ann)
                case .silenced: try chat.setNotifications(.none, of: channel, by: bob)
                case .neverPushed:
                    try chat.setNotificationSettings(
                        NotificationSettings(quietHours: nil, pushWhen: .never, showPreview: true), of: bob)
                case .quietHours:
                    let allDay = QuietHours(from: noon, to: noon, timeZone: "UTC")
                    try chat.setNotificationSettings(
                        NotificationSettings(quietHours: allDay, pushWhen: .away, showPreview: true), of: bob)
                }
            }
        }
    }

    /// A message whose push Apple's service is to be asked to take once more.
    private func waiting(_ center: PushCenter, in world: World) async throws -> Message {
        world.apple.answer(.tryAgain(reason: "Shutdown", after: .seconds(30)))
        let message = try await world.say("a secret")
        await center.changed(world.word(of: message))
        try await until { center.statistics.retried == 1 && center.statistics.inFlight == 0 }
        return message
    }

    @Test(arguments: Change.allCases)
    func `a push that waits is dropped when nobody is to hear of its message any more`(change: Change) async throws {
        let world = try await World()
        let center = try await world.center()
        try await change.happen(to: try await waiting(center, in: world), in: world)
        world.clock.pass(.seconds(30))
        await center.tick()
        try await until { center.statistics.failed == ["outdated": 1] }
        await center.stop()
        #expect(world.apple.sent.count == 1)
    }

    @Test func `a push that is tried again has the message's new words, and the newest number`() async throws {
        let world = try await World()
        let center = try await world.center()
        let message = try await waiting(center, in: world)
        let (ann, id) = (world.ann, message.id)
        _ = try await world.chat.write { try $0.edit(id, to: "no secret", by: ann) }
        world.online.withLock { $0 = [world.bob] }
        _ = try await world.say("to the socket")
        world.clock.pass(.seconds(30))
        await center.tick()
        let sent = await world.apple.sent(2)
        let text = String(decoding: sent[1].payload, as: UTF8.self)
        #expect(sent[1].id == sent[0].id)
        #expect(text.contains(#""body":"no secret""#) && text.contains(#""badge":2"#))
        await center.stop()
    }

    @Test func `what waits behind a server that is not let in is looked at before its first attempt`() async throws {
        let world = try await World()
        let center = try await world.center()
        world.apple.answer(.providerRefused(reason: "InvalidProviderToken"))
        await center.changed(world.word(of: try await world.say("one")))
        try await until { center.statistics.retried == 1 && center.statistics.inFlight == 0 }
        let second = try await world.say("two")
        await center.changed(world.word(of: second))
        try await until { center.statistics.queued == 2 }
        let ann = world.ann
        try await world.chat.write { try $0.delete(second.id, by: ann) }
        world.clock.pass(.seconds(60))
        await center.tick()
        try await until { center.statistics.failed == ["outdated": 1] && center.statistics.sent == ["alert": 1] }
        await center.stop()
        #expect(world.apple.sent.map(\.push.id) == Array(repeating: world.apple.sent[0].push.id, count: 2))
    }

    @Test func `an icon's number is not taken away late when something is unread again`() async throws {
        let world = try await World()
        let center = try await world.center()
        let (bob, direct) = (world.bob, world.direct)
        var changes = ChatChanges()
        changes.marks[bob] = ReadMark(channelID: direct, lastRead: 0)
        world.apple.answer(.tryAgain(reason: "Shutdown", after: .seconds(30)))
        await center.changed(changes)
        try await until { center.statistics.retried == 1 && center.statistics.inFlight == 0 }
        await center.changed(world.word(of: try await world.say("hello")))
        _ = await world.apple.sent(2)
        world.clock.pass(.seconds(30))
        await center.tick()
        try await until { center.statistics.failed == ["outdated": 1] }
        await center.stop()
        #expect(world.apple.sent.count == 2)
    }
}
