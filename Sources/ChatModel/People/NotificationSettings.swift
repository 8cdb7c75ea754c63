/// When somebody wants notifications at all, and what is to be read in them. Of which messages is said for each channel
/// (`NotificationLevel`).
public struct NotificationSettings: Codable, Sendable, Equatable {
    /// Nil for none.
    public var quietHours: QuietHours?
    public var pushWhen: PushWhen
    /// Whether notifications show who has written what; otherwise only that there is a message.
    public var showPreview: Bool

    /// Of whoever has said nothing.
    public static let usual = NotificationSettings(quietHours: nil, pushWhen: .away, showPreview: true)

    public init(quietHours: QuietHours?, pushWhen: PushWhen, showPreview: Bool) {
        self.quietHours = quietHours
        self.pushWhen = pushWhen
        self.showPreview = showPreview
    }

    private enum CodingKeys: String, CodingKey {
        case quietHours = "quiet_hours"
        case pushWhen = "push_when"
        case showPreview = "show_preview"
    }
}

public enum PushWhen: String, Codable, Sendable, CaseIterable {
    /// Also while a client is connected.
    case always
    /// While no client is connected, or the status is `away`.
    case away
    /// Not even for calls.
    case never
}

/// Hours in which messages push nothing. Calls do.
public struct QuietHours: Codable, Sendable, Equatable {
    /// They begin with this minute; where `to` is not later, they last over midnight.
    public var from: TimeOfDay
    /// They end before this minute.
    public var to: TimeOfDay
    /// A name of the IANA's time zone database.
    public var timeZone: String
    /// On which days they begin; nil for every day.
    public var days: Set<Weekday>?

    public init(from: TimeOfDay, to: TimeOfDay, timeZone: String, days: Set<Weekday>? = nil) {
        self.from = from
        self.to = to
        self.timeZone = timeZone
        self.days = days
    }

    private enum CodingKeys: String, CodingKey {
        case from, to, days
        case timeZone = "time_zone"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        from = try container.decode(TimeOfDay.self, forKey: .from)
        to = try container.decode(TimeOfDay.self, forKey: .to)
        timeZone = try container.decode(String.self, forKey: .timeZone)
        days = try container.decodeIfPresent([Weekday].self, forKey: .days).map { Set($0) }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(from, forKey: .from)
        try container.encode(to, forKey: .to)
        try container.encode(timeZone, forKey: .timeZone)
        try container.encodeIfPresent(days.map { days in Weekday.allCases.filter { days.contains($0) } }, forKey: .days)
    }
}

public enum Weekday: String, Codable, Sendable, CaseIterable {
    case monday, tuesday, wednesday, thursday, friday, saturday, sunday

    public var before: Weekday {
        switch self {
        case .monday: .sunday
        case .tuesday: .monday
        case .wednesday: .tuesday
        case .thursday: .wednesday
        case .friday: .thursday
        case .saturday: .friday
        case .sunday: .saturday
        }
    }
}

/// A minute of a day, as clocks show it. In JSON `22:00`.
public struct TimeOfDay: Hashable, Sendable {
    /// Since midnight; below 1,440.
    public let minutes: Int

    /// Nil for what no day has.
    public init?(minutes: Int) {
        guard (0..<1_440).contains(minutes) else { return nil }
        self.minutes = minutes
    }
}

extension TimeOfDay: LosslessStringConvertible {
    public init?(_ description: String) {
        let digits = Array(description.utf8)
        guard digits.count == 5, digits[2] == UInt8(ascii: ":"),
            [0, 1, 3, 4].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digits[$0]) })
        else { return nil }
        let number = { (place: Int) in
            Int(digits[place] - UInt8(ascii: "0")) * 10 + Int(digits[place + 1] - UInt8(ascii: "0"))
        }
        guard number(0) < 24, number(3) < 60 else { return nil }
        self.init(minutes: number(0) * 60 + number(3))
    }

    public var description: String {
        let (hour, minute) = minutes.quotientAndRemainder(dividingBy: 60)
        return (hour < 10 ? "0" : "") + String(hour) + ":" + (minute < 10 ? "0" : "") + String(minute)
    }
}

extension TimeOfDay: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let time = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a time of day is HH:MM")
        }
        self = time
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
