@testable import ChatCore
import ChatModel
import Foundation
import Synchronization
import Testing

@testable import ChatServer

struct FollowedWorkspaceTests {
    /// Somebody's socket, which keeps what it is given.
    private final class Ear: RealtimeReceiver {
        private let frames = Mutex<[Int64]>([])
        var heard: [Int64] { frames.withLock { $0 } }

        func send(_ frame: [UInt8]) {
            struct Numbered: Decodable { let sequence: Int64? }
            let number = (try? JSONDecoder().decode(Numbered.self, from: Data(frame)))?.sequence ?? -1
            frames.withLock { $0.append(number) }
        }
    }

    private let channel = ChannelID(UUID())
    private let other = ChannelID(UUID())
    private let workspace = WorkspaceID(UUID())

    private func event(
        _ sequence: Int64, _ audience: Audience, _ kind: ChatChange.Kind = .messageSent, channel: ChannelID? = nil,
        user: UserID? = nil
    ) -> StoredEvent {
        StoredEvent(
            workspaceID: workspace, sequence: sequence, kind: kind, audience: audience, channel: channel, user: user,
            at: Timestamp(milliseconds: 0), data: "{}")
    }

    private func presence(_ role: Role, _ channels: ChannelID...) -> ChatTransaction.Presence {
        ChatTransaction.Presence(role: role, channels: Set(channels), isHidden: false)
    }

    @Test func `gives each event to who it is for, and to nobody else`() {
        let (member, guest, outside) = (Ear(), Ear(), Ear())
        let (ada, guestID, eve) = (UserID(UUID()), UserID(UUID()), UserID(UUID()))
        var followed = FollowedWorkspace(sequence: 10)
        followed.add(member, of: ada, presence(.member, channel))
        followed.add(guest, of: guestID, presence(.guest, channel))
        followed.add(outside, of: eve, presence(.member, other))
        var surroundings = FollowedWorkspace.Surroundings()
        surroundings.acquainted[eve] = []
        for event in [
            event(11, .everybody), event(12, .members), event(13, .channel(channel)), event(14, .user(guestID)),
            event(15, .about(eve)),
        ] {
            followed.deliver(event, surroundings)
        }
        #expect(member.heard == [11, 12, 13, 15])
        #expect(guest.heard == [11, 13, 14])
        #expect(outside.heard == [11, 12, 15])
        #expect(followed.sequence == 15)
    }

    @Test func `who has been taken out of a channel gets nothing of it from then on`() {
        let ear = Ear()
        let ada = UserID(UUID())
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(ear, of: ada, presence(.member, channel))
        var surroundings = FollowedWorkspace.Surroundings()
        surroundings.members[channel] = []
        followed.update(surroundings)
        followed.deliver(event(1, .channel(channel), .channelLeft, channel: channel, user: ada), surroundings)
        followed.deliver(event(2, .user(ada), .channelLeft, channel: channel, user: ada), surroundings)
        followed.deliver(event(3, .channel(channel)), surroundings)
        #expect(ear.heard == [2])
    }

    @Test func `who has left the workspace is told, and then forgotten`() {
        let ear = Ear()
        let ada = UserID(UUID())
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(ear, of: ada, presence(.member, channel))
        var surroundings = FollowedWorkspace.Surroundings()
        surroundings.presences[ada] = .some(nil)
        followed.update(surroundings)
        followed.deliver(event(1, .members, .memberLeft, user: ada), surroundings)
        followed.deliver(event(2, .everybody), surroundings)
        #expect(ear.heard == [1])
        #expect(followed.isEmpty)
    }

    @Test func `a guest who has left the workspace is told once, and then forgotten`() {
        let (ear, friend) = (Ear(), Ear())
        let (gus, pal) = (UserID(UUID()), UserID(UUID()))
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(ear, of: gus, presence(.guest, channel))
        followed.add(friend, of: pal, presence(.guest, channel))
        var surroundings = FollowedWorkspace.Surroundings()
        surroundings.presences[gus] = .some(nil)
        surroundings.members[channel] = [pal]
        followed.update(surroundings)
        // As the log has it: of the channel first, then to the members, then to each guest.
        followed.deliver(event(1, .user(gus), .channelLeft, channel: channel, user: gus), surroundings)
        followed.deliver(event(2, .members, .memberLeft, user: gus), surroundings)
        for (sequence, guest) in [(Int64(3), gus), (4, pal)] {
            followed.deliver(event(sequence, .user(guest), .memberLeft, user: gus), surroundings)
        }
        followed.deliver(event(5, .everybody), surroundings)
        #expect(ear.heard == [1, 2])
        #expect(friend.heard == [4, 5])
        #expect(followed.peopleHere == [pal])
    }

    @Test func `who looks at a channel hears it without being in it, until they look away`() {
        let ear = Ear()
        let ada = UserID(UUID())
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(ear, of: ada, presence(.member))
        followed.watch(channel, after: 0, ear, of: ada)
        followed.deliver(event(1, .channel(channel)), .init())
        followed.stopWatching(channel, ear)
        followed.deliver(event(2, .channel(channel)), .init())
        #expect(ear.heard == [1])
    }

    @Test func `what was written before they looked is not for them, though it is passed on later`() {
        let ear = Ear()
        let ada = UserID(UUID())
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(ear, of: ada, presence(.member))
        followed.watch(channel, after: 2, ear, of: ada)
        for sequence in Int64(1)...3 { followed.deliver(event(sequence, .channel(channel)), .init()) }
        #expect(ear.heard == [3])
        // Whether somebody is typing is no event.
        followed.send(Array("{}".utf8), toChannel: channel)
        #expect(ear.heard == [3, -1])
    }

    @Test func `who has left the workspace or become a guest since they asked looks at no channel`() {
        let ear = Ear()
        let (ada, guest) = (UserID(UUID()), UserID(UUID()))
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(ear, of: guest, presence(.guest, other))
        followed.watch(channel, after: 0, ear, of: guest)
        followed.watch(channel, after: 0, ear, of: ada)
        followed.deliver(event(1, .channel(channel)), .init())
        #expect(ear.heard == [])
        followed.add(ear, of: ada, presence(.member))
        followed.watch(channel, after: 0, ear, of: ada)
        followed.deliver(event(2, .channel(channel)), .init())
        #expect(ear.heard == [2])
    }

    @Test func `guests know of who is in their channels, and of nobody else`() {
        let (ada, eve, guest) = (UserID(UUID()), UserID(UUID()), UserID(UUID()))
        let ears = [Ear(), Ear(), Ear()]
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(ears[0], of: ada, presence(.member, channel))
        followed.add(ears[1], of: eve, presence(.member, other))
        followed.add(ears[2], of: guest, presence(.guest, channel))
        #expect(followed.online(visibleTo: guest) == [ada, guest].sorted())
        #expect(followed.online(visibleTo: ada) == [ada, eve, guest].sorted())
        followed.tellPresence(of: eve, Array("{}".utf8))
        #expect(ears[0].heard == [-1])
        #expect(ears[2].heard == [])
    }

    @Test func `a guest whose channels or role change sees who is there now, and hears of who is out of sight`() {
        let (ada, eve, gus) = (UserID(UUID()), UserID(UUID()), UserID(UUID()))
        let (hidden, away) = (UserID(UUID()), UserID(UUID()))
        let ears = [Ear(), Ear(), Ear(), Ear()]
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(ears[0], of: ada, presence(.member, channel))
        followed.add(ears[1], of: eve, presence(.member, other))
        followed.add(ears[2], of: gus, presence(.guest, channel))
        followed.add(
            ears[3], of: hidden, ChatTransaction.Presence(role: .member, channels: [other], isHidden: true))
        followed.add(ears[3], of: away, presence(.member, other))
        followed.remove(ears[3], of: away)
        func sighting(_ reader: UserID, _ other: UserID, _ isOnline: Bool) -> FollowedWorkspace.Sighting {
            FollowedWorkspace.Sighting(reader: reader, other: other, isOnline: isOnline)
        }
        // Put into a second channel, and taken out of the first one.
        var surroundings = FollowedWorkspace.Surroundings()
        surroundings.members[other] = [eve, hidden, away, gus]
        #expect(followed.update(surroundings) == [sighting(gus, eve, true)])
        #expect(followed.update(surroundings) == [])
        surroundings.members = [channel: [ada]]
        #expect(followed.update(surroundings) == [sighting(gus, ada, false)])
        // Somebody else comes into their channel, or goes: who may know everybody is told nothing of it.
        surroundings.members = [other: [eve, hidden, away, gus, ada]]
        #expect(followed.update(surroundings) == [sighting(gus, ada, true)])
        surroundings.members = [other: [hidden, away, gus, ada]]
        #expect(followed.update(surroundings) == [sighting(gus, eve, false)])
        // A member, and a guest again.
        surroundings.members = [:]
        surroundings.presences = [gus: presence(.member, other)]
        #expect(followed.update(surroundings) == [sighting(gus, eve, true)])
        surroundings.presences = [gus: presence(.guest, other)]
        #expect(followed.update(surroundings) == [sighting(gus, eve, false)])
        // Who leaves the workspace has an event of their own, and hears nothing more.
        surroundings = FollowedWorkspace.Surroundings()
        surroundings.members = [other: [hidden, away, gus]]
        surroundings.presences = [ada: nil]
        #expect(followed.update(surroundings) == [])
        surroundings.members = [other: [hidden, away]]
        surroundings.presences = [gus: nil]
        #expect(followed.update(surroundings) == [])
        followed.tell(sighting(gus, ada, true), Array("{}".utf8))
        #expect(ears.map(\.heard) == [[], [], [-1], []])
    }

    @Test func `a guest hears of who goes out of sight while they may still come back`() {
        let (ada, gus) = (UserID(UUID()), UserID(UUID()))
        let (socket, ear) = (Ear(), Ear())
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(socket, of: ada, presence(.member, channel))
        followed.add(ear, of: gus, presence(.guest, channel))
        // Nobody is told yet that Ada has gone.
        followed.remove(socket, of: ada)
        var surroundings = FollowedWorkspace.Surroundings()
        surroundings.members[channel] = [gus]
        let lost = followed.update(surroundings)
        #expect(lost == [FollowedWorkspace.Sighting(reader: gus, other: ada, isOnline: false)])
        // In sight again, she is there when she comes back, of which everybody is told.
        surroundings.members[channel] = [ada, gus]
        let found = followed.update(surroundings)
        #expect(found == [])
        // Her time is over: who was told of her, or not, may know, and no more of her comes afterwards.
        followed.tellPresence(of: ada, Array("{}".utf8))
        followed.forgetHere(ada)
        #expect(ear.heard == [-1])
        surroundings.members[channel] = [gus]
        let none = followed.update(surroundings)
        #expect(none == [])
    }

    @Test func `who begins to hide is told of, also while they may still come back`() {
        let (ada, eve, bob) = (UserID(UUID()), UserID(UUID()), UserID(UUID()))
        let socket = Ear()
        var followed = FollowedWorkspace(sequence: 0)
        for user in [ada, eve, bob] { followed.add(socket, of: user, presence(.member, channel)) }
        followed.remove(socket, of: ada)
        let before = followed.people.mapValues(\.isHidden)
        let hidden = ChatTransaction.Presence(role: .member, channels: [channel], isHidden: true)
        var surroundings = FollowedWorkspace.Surroundings()
        surroundings.presences = [ada: hidden, eve: hidden]
        followed.update(surroundings)
        #expect(followed.changed(since: before) == [ada: false, eve: false])
        // Of who shows themselves before they are back it is told when they are.
        let since = followed.people.mapValues(\.isHidden)
        surroundings.presences = [ada: presence(.member, channel), eve: presence(.member, channel)]
        followed.update(surroundings)
        #expect(followed.changed(since: since) == [eve: true])
        #expect(followed.changed(since: followed.people.mapValues(\.isHidden)) == [:])
    }

    @Test func `who comes again with the same socket gets all once, and goes on looking`() {
        let ear = Ear()
        let user = UserID(UUID())
        var followed = FollowedWorkspace(sequence: 0)
        for _ in 0..<2 {
            followed.add(ear, of: user, presence(.member, channel))
            followed.watch(other, after: 0, ear, of: user)
        }
        followed.deliver(event(1, .channel(channel)), .init())
        followed.deliver(event(2, .channel(other)), .init())
        #expect(ear.heard == [1, 2])
    }

    @Test func `who is connected elsewhere is seen and gets nothing here`() {
        let (ear, ada, bob) = (Ear(), UserID(UUID()), UserID(UUID()))
        var followed = FollowedWorkspace(sequence: 0)
        followed.addElsewhere(bob, presence(.member, channel))
        // Nobody here follows it.
        #expect(followed.isEmpty)
        followed.add(ear, of: ada, presence(.member, channel))
        #expect(!followed.isEmpty && followed.peopleHere == [ada])
        #expect(followed.online(visibleTo: ada) == [ada, bob].sorted())
        followed.deliver(event(1, .channel(channel)), .init())
        #expect(ear.heard == [1])
        // Here as well, and then at neither.
        let other = Ear()
        followed.add(other, of: bob, presence(.member, channel))
        followed.forgetElsewhere(bob)
        #expect(followed.people[bob]?.isConnected == true)
        followed.remove(other, of: bob)
        followed.forgetHere(bob)
        #expect(followed.people[bob] == nil && followed.isMember(bob, of: channel) == false)
        followed.forgetHere(ada)
        followed.forgetHere(ada)
        #expect(followed.isEmpty)
    }

    @Test func `who goes from here and stays elsewhere is still there`() {
        let (ear, ada) = (Ear(), UserID(UUID()))
        var followed = FollowedWorkspace(sequence: 0)
        followed.add(ear, of: ada, presence(.member, channel))
        followed.addElsewhere(ada, presence(.member, channel))
        followed.remove(ear, of: ada)
        followed.forgetHere(ada)
        #expect(followed.people[ada]?.isOnline == true && followed.isEmpty)
        // Out of the workspace, wherever they are.
        followed.forget(ada)
        #expect(followed.people.isEmpty && followed.isEmpty)
    }
}
