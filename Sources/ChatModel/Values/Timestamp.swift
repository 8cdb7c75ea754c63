/// A moment, to the millisecond. In JSON it is text of RFC 3339 in UTC, always with three digits of a second's
/// fraction: `2026-11-23T16:40:07.250Z`.
public struct Timestamp: Hashable, Sendable {
    /// Since 1970-01-01T00:00:00Z, leap seconds left out.
    public let milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return Timestamp(milliseconds: milliseconds + seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }

    public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }
}

extension Timestamp: Comparable {
    public static func < (one: Self, other: Self) -> Bool { one.milliseconds < other.milliseconds }
}

extension Timestamp: LosslessStringConvertible {
    private static let day: Int64 = 86_400_000
    /// The years that RFC 3339 can write.
    private static let range = parts(year: 0, month: 1, day: 1)...parts(year: 9999, month: 12, day: 31) + day - 1

    /// Milliseconds from 1970 to a date of the Gregorian calendar. Years begin in March here, so that a leap day is a
    /// year's last, and 400 of them are 146,097 days.
    private static func parts(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return (era * 146_097 + dayOfEra - 719_468) * Self.day
    }

    public var description: String {
        let clamped = min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound)
        let time = (clamped % Self.day + Self.day) % Self.day
        let days = (clamped - time) / Self.day + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let parts = [
            (year, 4), (month, 2), (day, 2), (time / 3_600_000, 2), (time / 60_000 % 60, 2), (time / 1_000 % 60, 2),
            (time % 1_000, 3),
        ]
        return String(unsafeUninitializedCapacity: 24) { text in
            var place = 0
            for ((number, width), end) in zip(parts, "--T::.Z".utf8) {
                var rest = number
                for digit in (place..<place + width).reversed() {
                    text[digit] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
                text[place + width] = end
                place += width + 1
            }
            return place
        }
    }

    /// Takes what RFC 3339 §5.6 allows: any number of digits of a fraction, which are cut off behind the third, and any
    /// offset. A leap second is the next minute's first.
    public init?(_ description: String) {
        var scanner = DateScanner(description)
        guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2), scanner.take("-"),
            let day = scanner.number(2), scanner.takeAny("Tt "), let hour = scanner.number(2), scanner.take(":"),
            let minute = scanner.number(2), scanner.take(":"), let second = scanner.number(2),
            let fraction = scanner.fraction(), let offset = scanner.offset(), scanner.isAtEnd,
            (1...12).contains(month), (1...Self.length(ofMonth: month, in: year)).contains(day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let time = ((hour * 60 + minute) * 60 + second) * 1_000 + fraction
        self.init(milliseconds: Self.parts(year: year, month: month, day: day) + time - offset * 60_000)
    }

    private static func length(ofMonth month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let time = Self(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a time is text of RFC 3339")
        }
        self = time
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// Reads the pieces of RFC 3339 §5.6's `date-time`.
private struct DateScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = Substring(text).utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func takeAny(_ characters: StaticString) -> Bool {
        guard let first = rest.first, characters.withUTF8Buffer({ $0.contains(first) }) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func number(_ digits: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    private mutating func digit() -> Int64? {
        guard let first = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return nil }
        rest.removeFirst()
        return Int64(first - UInt8(ascii: "0"))
    }

    /// Milliseconds; 0 without a fraction, nil for a point without digits.
    mutating func fraction() -> Int64? {
        guard take(".") else { return 0 }
        guard var value = digit() else { return nil }
        value *= 100
        var unit: Int64 = 10
        while let next = digit() {
            value += next * unit
            unit /= 10
        }
        return value
    }

    /// Minutes to the east.
    mutating func offset() -> Int64? {
        if takeAny("Zz") { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard takeAny("+-"), let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }
}
