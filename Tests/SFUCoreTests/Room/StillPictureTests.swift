import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

/// A shared screen that stands still: hardly anything comes of it, and nobody who begins to see it has to wait until
/// something does before a key frame is asked for.
@Suite struct StillPictureTests {
    /// Ann shares her screen, on which nothing moves any more.
    private static func sharing() throws -> (
        company: RoomCompany, ann: RoomCompany.Person, screen: (track: TransceiverID, publication: PublicationID)
    ) {
        let company = RoomCompany()
        let ann = company.join("ann")
        let screen = try company.publish(ann, .video, isScreenShare: true)
        company.run(for: .seconds(Int64(1)))
        try show(0..<30, of: ann, screen.track, in: company)
        return (company, ann, screen)
    }

    private static func show(
        _ pictures: Range<Int>, of ann: RoomCompany.Person, _ track: TransceiverID, in company: RoomCompany
    ) throws {
        for number in pictures {
            try company.picture(number, of: ann, track)
            company.run(for: .milliseconds(33))
        }
    }

    @Test func `who comes to a picture that stands still does not wait for the next one before it is asked for`() throws
    {
        let (company, ann, screen) = try Self.sharing()
        ann.wantsKeyFrame = false
        let bob = company.join("bob")
        try company.subscribe(bob, to: screen.publication)
        company.run(for: .seconds(Int64(1)))
        #expect(ann.wantsKeyFrame)
        try Self.show(30..<31, of: ann, screen.track, in: company)
        company.run(for: .milliseconds(200))
        #expect(bob.numbers(of: screen.publication) == [31])
    }

    @Test func `a picture that stands still is asked for when it is shown again, and when it is unmuted`() throws {
        let (company, ann, screen) = try Self.sharing()
        let bob = company.join("bob")
        try company.subscribe(bob, to: screen.publication)
        company.run(for: .seconds(Int64(1)))
        try Self.show(30..<60, of: ann, screen.track, in: company)
        #expect(bob.numbers(of: screen.publication).last == 60)
        func hide(_ isHidden: Bool) throws {
            try company.room.setHints(
                SubscriberHints(isDisabled: isHidden), of: bob.subscribing, for: screen.publication, at: company.now)
        }
        func mute(_ isMuted: Bool) throws {
            try company.room.setMuted(isMuted, screen.publication, at: company.now)
        }
        var number = 60
        for turn in [hide, mute] {
            ann.wantsKeyFrame = false
            try turn(true)
            company.run(for: .seconds(Int64(1)))
            #expect(!ann.wantsKeyFrame)
            try turn(false)
            company.run(for: .milliseconds(200))
            #expect(ann.wantsKeyFrame)
            try Self.show(number..<(number + 1), of: ann, screen.track, in: company)
            number += 1
            company.run(for: .milliseconds(200))
            #expect(bob.numbers(of: screen.publication).last == UInt8(number))
        }
    }

    @Test func `while nothing can be sent to a subscriber nothing is asked for`() throws {
        let (company, ann, screen) = try Self.sharing()
        ann.wantsKeyFrame = false
        company.isLostDown = { person, _ in person.name == "bob" }
        let bob = company.join("bob")
        try company.subscribe(bob, to: screen.publication)
        company.run(for: .seconds(Int64(2)))
        #expect(!ann.wantsKeyFrame)
    }
}
