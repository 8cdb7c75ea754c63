import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

/// Packets that were read together: a subscriber gets them together.
@Suite struct ReceivedTogetherTests {
    private static func isMedia(_ bytes: [UInt8]) -> Bool { bytes.count > 400 && bytes[0] & 0xc0 == 0x80 }

    /// Ann shows pictures to others.
    private static func company(_ others: Int) throws -> (
        RoomCompany, ann: RoomCompany.Person, camera: (track: TransceiverID, publication: PublicationID)
    ) {
        let company = RoomCompany()
        let ann = company.join("ann")
        let camera = try company.publish(ann, .video)
        for number in 0..<others { try company.subscribe(company.join("\(number)"), to: camera.publication) }
        company.run(for: .seconds(Int64(1)))
        // The first ones tell the room what the paths carry.
        for number in 0..<30 {
            try company.picture(number, of: ann, camera.track, size: 5_000)
            company.run(for: .milliseconds(33))
        }
        return (company, ann, camera)
    }

    @Test func `nothing leaves before all is in, and then subscriber after subscriber`() throws {
        let (company, ann, camera) = try Self.company(3)
        var early = 0
        var order: [String] = []
        company.isLostUp = { _, _ in
            early += company.forwarded.count
            return false
        }
        company.isLostDown = { person, bytes in
            if Self.isMedia(bytes) { order.append(person.name) }
            return false
        }
        try company.picture(30, of: ann, camera.track, size: 4_000)
        company.run(for: .milliseconds(1))
        #expect(early == 0)
        #expect(order == ["0", "0", "0", "0", "1", "1", "1", "1", "2", "2", "2", "2"])
        for other in company.people.dropFirst() { #expect(other.numbers(of: camera.publication).last == 31) }
    }

    @Test func `more than the smallest history holds does not wait to be complete, and nothing is lost`() throws {
        let (company, ann, camera) = try Self.company(2)
        var early = 0
        company.isLostUp = { _, _ in
            early = max(early, company.forwarded.count)
            return false
        }
        try company.picture(30, of: ann, camera.track, size: 60_000)
        company.run(for: .milliseconds(1))
        #expect(early > 0)
        company.run(for: .milliseconds(500))
        try company.picture(31, of: ann, camera.track)
        company.run(for: .milliseconds(100))
        for other in company.people.dropFirst() {
            #expect(other.numbers(of: camera.publication) == (1...32).map { UInt8($0) })
        }
    }

    @Test func `an outbox that is full is sent in between`() throws {
        let (company, ann, camera) = try Self.company(30)
        #expect(company.fullOutboxes == 0)
        try company.picture(30, of: ann, camera.track, size: 23_000)
        company.run(for: .milliseconds(500))
        #expect(company.fullOutboxes > 0)
        for other in company.people.dropFirst() { #expect(other.numbers(of: camera.publication).last == 31) }
    }

    @Test func `what still waits when its track ends goes to nobody`() throws {
        let (company, ann, camera) = try Self.company(2)
        var packets = 0
        company.isLostUp = { _, bytes in
            guard Self.isMedia(bytes) else { return false }
            packets += 1
            if packets == 3 { try? company.room.unpublish(camera.publication, at: company.now) }
            return false
        }
        var media = 0
        company.isLostDown = { _, bytes in
            if Self.isMedia(bytes) { media += 1 }
            return false
        }
        try company.picture(30, of: ann, camera.track, size: 4_000)
        company.run(for: .milliseconds(500))
        #expect(packets == 4)
        #expect(media == 0)
    }
}
