import Foundation
import Testing

@testable import ChatModel

@Suite struct TimestampTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00.000Z", 0),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2026-11-23T16:40:07.250Z", 1_795_452_007_250),
            ("2000-02-29T12:00:00.000Z", 951_825_600_000),
            ("2024-02-29T00:00:00.000Z", 1_709_164_800_000),
            ("2024-03-01T00:00:00.000Z", 1_709_251_200_000),
            ("2023-12-31T23:59:59.000Z", 1_704_067_199_000),
            ("1900-02-28T23:59:59.000Z", -2_203_891_201_000),
            ("1900-03-01T00:00:00.000Z", -2_203_891_200_000),
            ("2100-02-28T23:59:59.999Z", 4_107_542_399_999),
            ("2100-03-01T00:00:00.000Z", 4_107_542_400_000),
            ("0001-01-01T00:00:00.000Z", -62_135_596_800_000),
            ("0000-01-01T00:00:00.000Z", -62_167_219_200_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] as [(String, Int64)])
    func `a moment is written and read as the same`(text: String, milliseconds: Int64) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text) == Timestamp(milliseconds: milliseconds))
    }

    @Test(
        arguments: [
            ("2026-11-23T16:40:07Z", "2026-11-23T16:40:07.000Z"),
            ("2026-11-23t16:40:07z", "2026-11-23T16:40:07.000Z"),
            ("2026-11-23 16:40:07Z", "2026-11-23T16:40:07.000Z"),
            // A fraction of any length, cut off behind the third digit.
            ("2026-11-23T16:40:07.2Z", "2026-11-23T16:40:07.200Z"),
            ("2026-11-23T16:40:07.25Z", "2026-11-23T16:40:07.250Z"),
            ("2026-11-23T16:40:07.9999Z", "2026-11-23T16:40:07.999Z"),
            ("2026-11-23T16:40:07.0009Z", "2026-11-23T16:40:07.000Z"),
            ("2026-11-23T16:40:07.12345678901234567890123456789Z", "2026-11-23T16:40:07.123Z"),
            // Offsets to the east and to the west, over the ends of days and of years.
            ("2026-11-23T16:40:07+00:00", "2026-11-23T16:40:07.000Z"),
            ("2026-11-23T16:40:07-00:00", "2026-11-23T16:40:07.000Z"),
            ("2026-11-23T16:40:07+05:30", "2026-11-23T11:10:07.000Z"),
            ("2026-11-23T16:40:07.5-08:00", "2026-11-24T00:40:07.500Z"),
            ("2027-01-01T00:00:00+00:01", "2026-12-31T23:59:00.000Z"),
            ("2024-02-28T23:30:00-01:00", "2024-02-29T00:30:00.000Z"),
            ("2024-03-01T00:30:00+23:59", "2024-02-29T00:31:00.000Z"),
            // A leap second is the next minute's first.
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
        ])
    func `every form of RFC 3339 is taken, and one is given`(taken: String, given: String) {
        #expect(Timestamp(taken)?.description == given)
    }

    @Test(
        arguments: [
            "", "now", "2026-11-23", "2026-11-23T16:40:07", "2026-11-23T16:40Z", "16:40:07Z",
            // Months, days and times that there are not.
            "2026-00-23T16:40:07Z", "2026-13-23T16:40:07Z", "2026-11-00T16:40:07Z", "2026-11-31T16:40:07Z",
            "2026-01-32T16:40:07Z", "2026-02-29T16:40:07Z", "2100-02-29T16:40:07Z", "1900-02-29T16:40:07Z",
            "2024-02-30T16:40:07Z", "2026-11-23T24:00:00Z", "2026-11-23T16:60:07Z", "2026-11-23T16:40:61Z",
            // Numbers of other lengths, signs, and what is not a digit.
            "26-11-23T16:40:07Z", "02026-11-23T16:40:07Z", "-2026-11-23T16:40:07Z", "+2026-11-23T16:40:07Z",
            "2026-1-23T16:40:07Z", "2026-11-23T6:40:07Z", "2026-11-23T16:40:7Z", "2026-11-23T+1:40:07Z",
            "2026-11-2３T16:40:07Z", "2026/11/23T16:40:07Z", "2026-11-23T16.40.07Z", "2026-11-23_16:40:07Z",
            // Fractions without digits.
            "2026-11-23T16:40:07.Z", "2026-11-23T16:40:07,5Z", "2026-11-23T16:40:07.-5Z",
            // Offsets that there are not.
            "2026-11-23T16:40:07+0530", "2026-11-23T16:40:07+05", "2026-11-23T16:40:07+24:00",
            "2026-11-23T16:40:07+05:60", "2026-11-23T16:40:07 Z", "2026-11-23T16:40:07*05:00",
            "2026-11-23T16:40:07UTC",
            // Something in front or behind.
            " 2026-11-23T16:40:07Z", "2026-11-23T16:40:07Z ", "2026-11-23T16:40:07Z\n", "2026-11-23T16:40:07ZZ",
            "2026-11-23T16:40:07Z\0",
        ])
    func `what is no moment is refused`(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func `what RFC 3339 cannot write is written as the nearest moment that it can`() {
        #expect(Timestamp(milliseconds: .max).description == "9999-12-31T23:59:59.999Z")
        #expect(Timestamp(milliseconds: .min).description == "0000-01-01T00:00:00.000Z")
        #expect(Timestamp("9999-12-31T23:59:59-01:00")?.description == "9999-12-31T23:59:59.999Z")
        #expect(Timestamp("0000-01-01T00:00:00+01:00")?.description == "0000-01-01T00:00:00.000Z")
    }

    @Test func `each day of two centuries follows the one before`() throws {
        var (year, month, day) = (1_899, 1, 1)
        var expected = try #require(Timestamp("1899-01-01T00:00:00Z"))
        while year < 2_102 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let text = String(format: "%04d-%02d-%02dT00:00:00.000Z", year, month, day)
            guard expected.description == text, Timestamp(text) == expected else {
                Issue.record("\(expected) is not \(text)")
                return
            }
            expected = expected.advanced(by: .seconds(86_400))
            day += 1
            let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            if day > lengths[month - 1] { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
    }

    /// From 1600 on: before 1582 Foundation counts by the Julian calendar.
    @Test func `thousands of moments are the same as Foundation's`() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<4_000 {
            let second = Int64.random(in: -11_676_096_000...253_402_300_799, using: &random)
            let fraction = Int64.random(in: 0..<1_000, using: &random)
            let date = Date(timeIntervalSince1970: TimeInterval(second))
            let theirs = date.formatted(.iso8601)
            let ours = Timestamp(milliseconds: second * 1_000 + fraction)
            try #require(ours.description == String(format: "%@.%03dZ", String(theirs.dropLast()), Int(fraction)))
            try #require(Timestamp(ours.description) == ours)
            try #require(Timestamp(theirs) == Timestamp(milliseconds: second * 1_000))
        }
    }

    /// Of less than 18 hours, for which Foundation writes none.
    @Test func `moments of all offsets are the same as Foundation's`() throws {
        var random = SeededRandom(seed: 8)
        for _ in 0..<1_000 {
            let second = Int64.random(in: -11_676_000_000...253_402_200_000, using: &random)
            let offset = Int.random(in: -18 * 60 + 1..<18 * 60, using: &random)
            let style = Date.ISO8601FormatStyle(
                timeZoneSeparator: .colon, timeZone: try #require(TimeZone(secondsFromGMT: offset * 60)))
            let text = style.format(Date(timeIntervalSince1970: TimeInterval(second)))
            try #require(Timestamp(text) == Timestamp(milliseconds: second * 1_000), "\(text)")
        }
    }

    @Test func `durations lead from one moment to another`() throws {
        let noon = try #require(Timestamp("2026-11-23T12:00:00Z"))
        #expect(noon.advanced(by: .seconds(90)).description == "2026-11-23T12:01:30.000Z")
        #expect(noon.advanced(by: .milliseconds(-1)).description == "2026-11-23T11:59:59.999Z")
        #expect(noon.advanced(by: .milliseconds(1_500)) - noon == .milliseconds(1_500))
        #expect(noon - noon.advanced(by: .seconds(5)) == .seconds(-5))
        #expect(noon < noon.advanced(by: .milliseconds(1)) && noon > noon.advanced(by: .milliseconds(-1)))
        #expect(noon.advanced(by: .microseconds(999)) == noon)
    }

    @Test func `in JSON it is its text, and another text is an error`() throws {
        let moment = Timestamp(milliseconds: 1_795_452_007_250)
        #expect(try json([moment]) == #"["2026-11-23T16:40:07.250Z"]"#)
        #expect(try decode([Timestamp].self, #"["2026-11-23T17:40:07.25+01:00"]"#) == [moment])
        for text in [#"["yesterday"]"#, "[1795452007250]", "[null]"] {
            #expect(throws: DecodingError.self) { try decode([Timestamp].self, text) }
        }
    }
}
