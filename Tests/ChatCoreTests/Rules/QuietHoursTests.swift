import ChatModel
import Testing

@testable import ChatCore

@Suite struct QuietHoursTests {
    private func quiet(
        _ from: String, _ to: String, _ zone: String = "Europe/Berlin", days: Set<Weekday>? = nil
    ) throws -> QuietHours {
        QuietHours(from: try #require(TimeOfDay(from)), to: try #require(TimeOfDay(to)), timeZone: zone, days: days)
    }

    private func contains(_ hours: QuietHours, _ time: String) throws -> Bool {
        hours.contain(try #require(Timestamp(time)))
    }

    @Test func `they begin with their first minute and end before their last`() throws {
        let hours = try quiet("12:00", "13:30")
        for (time, isIn) in [
            ("2026-11-23T11:59:59+01:00", false), ("2026-11-23T12:00:00+01:00", true),
            ("2026-11-23T13:29:59.999+01:00", true), ("2026-11-23T13:30:00+01:00", false),
        ] {
            #expect(try contains(hours, time) == isIn, "\(time)")
        }
    }

    @Test func `over midnight`() throws {
        let hours = try quiet("22:00", "07:00")
        for (time, isIn) in [
            ("2026-11-23T21:59:00+01:00", false), ("2026-11-23T22:00:00+01:00", true),
            ("2026-11-24T00:00:00+01:00", true), ("2026-11-24T06:59:00+01:00", true),
            ("2026-11-24T07:00:00+01:00", false),
        ] {
            #expect(try contains(hours, time) == isIn, "\(time)")
        }
    }

    @Test func `from a time to the same is a whole day`() throws {
        let hours = try quiet("08:00", "08:00", days: [.saturday])
        // 2026-11-21 was a Saturday.
        for (time, isIn) in [
            ("2026-11-21T07:59:00+01:00", false), ("2026-11-21T08:00:00+01:00", true),
            ("2026-11-22T07:59:00+01:00", true), ("2026-11-22T08:00:00+01:00", false),
        ] {
            #expect(try contains(hours, time) == isIn, "\(time)")
        }
    }

    @Test func `days are those on which they begin`() throws {
        let hours = try quiet("22:00", "07:00", days: [.friday, .sunday])
        // 2026-11-20 was a Friday.
        for (time, isIn) in [
            ("2026-11-20T06:00:00+01:00", false), ("2026-11-20T23:00:00+01:00", true),
            ("2026-11-21T06:00:00+01:00", true), ("2026-11-21T23:00:00+01:00", false),
            ("2026-11-22T06:00:00+01:00", false), ("2026-11-22T23:00:00+01:00", true),
            ("2026-11-23T06:00:00+01:00", true),
        ] {
            #expect(try contains(hours, time) == isIn, "\(time)")
        }
    }

    @Test func `when clocks go forward the hour that is left out is missing`() throws {
        // In Berlin 2026-03-29 goes from 02:00 to 03:00.
        let hours = try quiet("22:00", "07:00")
        #expect(try contains(hours, "2026-03-29T04:59:00Z"))
        #expect(try !contains(hours, "2026-03-29T05:00:00Z"))
        // The day before 07:00 was an hour later.
        #expect(try contains(hours, "2026-03-28T05:59:00Z"))
        #expect(try !contains(hours, "2026-03-28T06:00:00Z"))
        let night = try quiet("02:00", "03:00")
        #expect(try !contains(night, "2026-03-29T00:59:59Z"))
        #expect(try !contains(night, "2026-03-29T01:00:00Z"))
    }

    @Test func `when clocks go back the hour that comes twice is in them twice`() throws {
        // In Berlin 2026-10-25 has 02:00 to 03:00 twice: from 00:00Z and from 01:00Z on.
        let hours = try quiet("02:00", "03:00")
        for (time, isIn) in [
            ("2026-10-24T23:59:59Z", false), ("2026-10-25T00:00:00Z", true), ("2026-10-25T01:30:00Z", true),
            ("2026-10-25T01:59:59Z", true), ("2026-10-25T02:00:00Z", false),
        ] {
            #expect(try contains(hours, time) == isIn, "\(time)")
        }
    }

    @Test func `zones west and far east count by their own day`() throws {
        // 2026-11-23 was a Monday; in Honolulu it is still Sunday, in Kiritimati Tuesday already.
        let time = "2026-11-23T09:30:00Z"
        #expect(try contains(try quiet("23:00", "23:45", "Pacific/Honolulu", days: [.sunday]), time))
        #expect(try !contains(try quiet("23:00", "23:45", "Pacific/Honolulu", days: [.monday]), time))
        #expect(try contains(try quiet("23:00", "23:45", "Pacific/Kiritimati", days: [.monday]), time))
        #expect(try contains(try quiet("22:00", "23:00", "America/New_York"), "1969-12-31T03:30:00Z"))
    }

    @Test(arguments: ["", "Europe/Atlantis", "Berlin", String(repeating: "x", count: 65)])
    func `what is no time zone is refused`(zone: String) throws {
        let hours = try quiet("22:00", "07:00", zone)
        #expect(throws: ChatError.self) { try hours.check() }
    }

    @Test func `times of day are as clocks show them`() throws {
        for text in ["00:00", "07:05", "23:59"] { #expect(TimeOfDay(text)?.description == text) }
        for text in ["24:00", "7:05", "12:60", "12.30", "", "１2:00", "12:30 "] {
            #expect(TimeOfDay(text) == nil, "\(text)")
        }
        #expect(throws: ChatError.self) { try quiet("22:00", "07:00", days: []).check() }
    }
}
