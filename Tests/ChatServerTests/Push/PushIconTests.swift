import ChatModel
import Synchronization
import Testing

@testable import ChatCore
@testable import ChatServer

/// The number on an icon goes when everything is read, whoever sent it and whatever has happened since.
struct PushIconTests {
    private typealias World = PushCenterTests.World

    private static let clear = #"{"aps":{"badge":0}}"#

    private func texts(_ pushes: [Push]) -> [String] { pushes.map { String(decoding: $0.payload, as: UTF8.self) } }

    /// Bob's device is known to show no number, as after the first time that everything was read.
    private func clearIcons(in world: World) async throws {
        let bob = world.bob
        let cleared = try await world.chat.write { try $0.clearIcons(of: bob, topics: ["org.example.app"]) }
        #expect(cleared.map(\.user) == [bob])
    }

    @Test func `an icon's number goes when everything is read, once`() async throws {
        let world = try await World()
        let center = try await world.center()
        let message = try await world.say("hello")
        await center.changed(world.word(of: message))
        _ = await world.apple.sent(1)
        for _ in 0..<2 { await center.changed(try await world.read(message)) }
        let push = await world.apple.sent(2)[1]
        #expect(push.priority == .thrifty && texts([push]) == [Self.clear])
        await center.stop()
        #expect(world.apple.sent.count == 2)
    }

    @Test func `a number that a server has sent goes by the next one`() async throws {
        let world = try await World()
        try await clearIcons(in: world)
        let first = try await world.center()
        let message = try await world.say("hello")
        await first.changed(world.word(of: message))
        #expect(texts(await world.apple.sent(1))[0].contains(#""badge":1"#))
        await first.stop()
        let second = try await world.center()
        await second.changed(try await world.read(message))
        #expect(texts(await world.apple.sent(2))[1] == Self.clear)
        await second.stop()
        #expect(world.apple.sent.count == 2)
    }

    @Test(arguments: [true, false])
    func `a number that a call's alert has brought goes, too`(isMissed: Bool) async throws {
        let world = try await World()
        try await clearIcons(in: world)
        // The message itself is not pushed.
        world.online.withLock { $0 = [world.bob] }
        let center = try await world.center()
        let message = try await world.say("hello")
        if isMissed {
            await center.stopRinging(callID: "call", users: [world.bob], missed: true, callerName: "Ann")
        } else {
            await center.ring(world.ring())
        }
        #expect(texts(await world.apple.sent(1))[0].contains(#""badge":1"#))
        // It is written down behind the push.
        let bob = world.bob
        while try await world.chat.read({ try $0.pushAddresses(of: bob) }).contains(where: \.iconIsClear) {
            await Task.yield()
        }
        await center.changed(try await world.read(message))
        #expect(texts(await world.apple.sent(2))[1] == Self.clear)
        await center.stop()
    }

    @Test func `of two servers that hear of it one takes the number away`() async throws {
        let world = try await World()
        let (first, second) = (try await world.center(), try await world.center())
        let message = try await world.say("hello")
        await first.changed(world.word(of: message))
        _ = await world.apple.sent(1)
        let word = try await world.read(message)
        for center in [first, second] { await center.changed(word) }
        #expect(texts(await world.apple.sent(2))[1] == Self.clear)
        await first.stop()
        await second.stop()
        #expect(world.apple.sent.count == 2)
    }

    @Test func `a server that has just started pushes nothing where no number is shown`() async throws {
        let world = try await World()
        try await clearIcons(in: world)
        world.online.withLock { $0 = [world.bob] }
        let center = try await world.center()
        for text in ["one", "two", "three"] {
            let message = try await world.say(text)
            await center.changed(try await world.read(message))
            await center.hasLookedAtIcons()
        }
        await center.stop()
        #expect(world.apple.sent.isEmpty)
    }

    @Test func `a number stays while something is unread`() async throws {
        let world = try await World()
        let center = try await world.center()
        let first = try await world.say("one")
        let second = try await world.say("two")
        await center.changed(world.word(of: second))
        _ = await world.apple.sent(2)
        await center.changed(try await world.read(first))
        await center.hasLookedAtIcons()
        #expect(world.apple.sent.count == 2)
        await center.changed(try await world.read(second))
        #expect(texts(await world.apple.sent(3))[2] == Self.clear)
        await center.stop()
    }
}

extension PushCenterTests.World {
    /// Bob has read this on another device; what the servers hear of it.
    func read(_ message: Message) async throws -> ChatChanges {
        let (bob, direct, sequence) = (bob, direct, message.sequence)
        _ = try await chat.write { try $0.read(direct, upTo: sequence, by: bob) }
        var changes = ChatChanges()
        changes.marks[bob] = ReadMark(channelID: direct, lastRead: sequence)
        return changes
    }
}

extension PushCenter {
    /// What somebody has read has been looked at.
    nonisolated func hasLookedAtIcons() async {
        while await !readers.isEmpty { await Task.yield() }
        while await isClearingIcons { await Task.yield() }
    }
}
