import Foundation
import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// What somebody may do, and who may do it beside them.
extension ServiceTests {
    @Test func `permissions change in the middle of a call`() throws {
        let venue = Venue()
        let (ann, bob) = try Self.gather(venue)
        func permit(_ identity: String, _ change: (inout LiveKitParticipantPermission) -> Void) throws {
            _ = try venue.room.updateParticipant(
                .with {
                    $0.identity = identity
                    $0.permission = .with {
                        $0.canPublish = true
                        $0.canSubscribe = true
                        $0.canPublishData = true
                        change(&$0)
                    }
                }, at: venue.now)
            venue.drain()
            venue.run(for: .milliseconds(500))
        }
        try permit("ann") { $0.canPublishSources = [.microphone] }
        #expect(ann.news().prefix(2) == ["< track_unpublished camera", "< update ann active [voice]"])
        #expect(bob.others["ann"]?.tracks.map(\.name) == ["voice"])
        try permit("bob") { $0.canSubscribe = false }
        let count = bob.numbers(of: ann.track("voice")).count
        for number in 0..<20 {
            try ann.sound(number, "voice")
            venue.run(for: .milliseconds(20))
        }
        #expect(bob.numbers(of: ann.track("voice")).count == count)
        try permit("bob") { _ in }
        for number in 20..<40 {
            try ann.sound(number, "voice")
            venue.run(for: .milliseconds(20))
        }
        #expect(bob.numbers(of: ann.track("voice")).count == count + 20)
        _ = bob.news()
        try permit("ann") { $0.hidden = true }
        #expect(bob.news().first == "< update ann disconnected")
        #expect(bob.offers.last?.midToTrackID.isEmpty == true)
        try permit("ann") { _ in }
        #expect(bob.news().first == "< update ann active [voice]")
        #expect(bob.offers.last?.midToTrackID.isEmpty == false)
    }

    @Test func `what somebody may do they may beside themselves too, but for taking tracks`() throws {
        let venue = Venue()
        let (_, bob) = try Self.gather(venue)
        let screen = try venue.join("ann#screen", with: "ann", grants: { $0.canSubscribe = false })
        let other = try venue.join("ann#other")
        for (client, title) in [(screen, "screen"), (other, "film")] {
            try client.publish(title, .video, source: .screenShare)
            #expect(venue.run { bob.others[client.name]?.tracks.count == 1 })
        }
        func permit(_ identity: String, canPublish: Bool) throws {
            _ = try venue.room.updateParticipant(
                .with {
                    $0.identity = identity
                    $0.permission = .with {
                        $0.canPublish = canPublish
                        $0.canSubscribe = true
                    }
                }, at: venue.now)
            venue.drain()
        }
        func publishing() -> [String] { venue.room.participants.filter(\.permission.canPublish).map(\.identity) }
        _ = screen.news()
        try permit("ann", canPublish: false)
        #expect(screen.news().contains("< track_unpublished screen"))
        #expect(publishing() == ["bob", "ann#other"])
        #expect(bob.others["ann#screen"]?.tracks.isEmpty == true && bob.others["ann#other"]?.tracks.count == 1)
        try permit("ann", canPublish: true)
        #expect(publishing() == ["ann", "bob", "ann#screen", "ann#other"])
        #expect(try venue.room.participant("ann#screen").permission.canSubscribe == false)
        // Not the other way round.
        try permit("ann#screen", canPublish: false)
        #expect(publishing() == ["ann", "bob", "ann#other"])
    }

    @Test func `who comes beside somebody may do no more than that one may by then`() throws {
        let venue = Venue()
        _ = try Self.gather(venue)
        func permit(_ change: (inout LiveKitParticipantPermission) -> Void) throws {
            _ = try venue.room.updateParticipant(
                .with {
                    $0.identity = "ann"
                    $0.permission = .with {
                        $0.canPublish = true
                        $0.canSubscribe = true
                        change(&$0)
                    }
                }, at: venue.now)
            venue.drain()
        }
        try permit { $0.canPublish = false }
        // With the token that she came with.
        #expect(throws: JoinRefusal.notAllowed) { try venue.join("ann#screen", with: "ann") }
        try permit {
            $0.canPublishSources = [.camera]
            $0.hidden = true
        }
        #expect(throws: JoinRefusal.notAllowed) {
            try venue.join("ann#screen", with: "ann", grants: { $0.canPublishSources = ["screen_share"] })
        }
        try venue.join("ann#camera", with: "ann")
        let permission = try venue.room.participant("ann#camera").permission
        #expect(permission.canPublish && permission.canPublishSources == [.camera])
        #expect(!permission.canPublishData && permission.hidden)
        // Where she is not there, nothing is known but the token.
        try venue.room.removeParticipant("ann", at: venue.now)
        venue.drain()
        try venue.join("ann#screen", with: "ann")
        #expect(try venue.room.participant("ann#screen").permission.canPublishSources.isEmpty)
    }

    @Test func `who comes beside somebody who is away may do no more than was said last that one may`() throws {
        let venue = Venue()
        let (ann, _) = try Self.gather(venue)
        func permit(_ sources: [LiveKitTrackSource], canPublish: Bool = true) throws {
            _ = try venue.room.updateParticipant(
                .with {
                    $0.identity = "ann"
                    $0.permission = .with {
                        $0.canPublish = canPublish
                        $0.canPublishSources = sources
                    }
                }, at: venue.now)
            venue.drain()
        }
        func sources(_ name: String) throws -> [LiveKitTrackSource] {
            try venue.room.participant(name).permission.canPublishSources
        }
        // She may come back.
        venue.cut(ann)
        try permit([.camera])
        try venue.join("ann#one", with: "ann")
        #expect(try sources("ann#one") == [.camera])
        try permit([.microphone])
        venue.resume(ann)
        venue.send(.leave(.init()), from: ann)
        #expect(venue.room.participants.map(\.identity) == ["bob", "ann#one"])
        try venue.join("ann#two", with: "ann")
        #expect(try sources("ann#two") == [.microphone])
        try permit([.screenShare])
        // Also in the place of who alone knows it.
        try venue.room.removeParticipant("ann#one", at: venue.now)
        venue.drain()
        for name in ["ann#two", "ann#three"] {
            try venue.join(name, with: "ann")
            #expect(try sources(name) == [.screenShare])
        }
        try permit([], canPublish: false)
        #expect(throws: JoinRefusal.notAllowed) { try venue.join("ann#four", with: "ann") }
        // What she comes back with holds from then on.
        try venue.join("ann")
        try venue.join("ann#four", with: "ann")
        #expect(try venue.room.participant("ann#four").permission.canPublish)
    }

    @Test func `what is done to one who came beside another is not done to who has a token of that name`() throws {
        let venue = Venue()
        _ = try Self.gather(venue)
        try venue.join("ann#screen#x", with: "ann#screen", grants: { $0.canPublish = false })
        try venue.join("ann#screen", with: "ann")
        _ = try venue.room.updateParticipant(
            .with {
                $0.identity = "ann#screen"
                $0.permission = .with { $0.canPublish = true }
            }, at: venue.now)
        venue.drain()
        #expect(try venue.room.participant("ann#screen#x").permission.canPublish == false)
        try venue.room.removeParticipant("ann#screen", at: venue.now)
        venue.drain()
        #expect(venue.room.participants.map(\.identity) == ["ann", "bob", "ann#screen#x"])
    }

    @Test func `what somebody may do who has left holds for those who are still there beside them`() throws {
        let venue = Venue()
        _ = try Self.gather(venue)
        try venue.join("dan#screen", with: "dan", grants: { $0.canSubscribeMetrics = true })
        func update(_ change: (inout LiveKitUpdateParticipantRequest) -> Void) throws -> LiveKitParticipantInfo {
            defer { venue.drain() }
            return try venue.room.updateParticipant(
                .with {
                    $0.identity = "dan"
                    change(&$0)
                }, at: venue.now)
        }
        let info = try update {
            $0.name = "Dan"
            $0.permission.canSubscribe = true
            $0.permission.canSubscribeMetrics = true
        }
        #expect(info.identity == "dan#screen" && info.name != "Dan")
        let permission = info.permission
        #expect(!permission.canPublish && !permission.canSubscribe && !permission.canSubscribeMetrics)
        #expect(throws: RoomServiceError.noSuchParticipant) { try update { $0.name = "Dan" } }
    }
}
