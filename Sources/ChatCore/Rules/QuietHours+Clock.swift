package import ChatModel
internal import Foundation

extension QuietHours {
    /// Whether a moment is in them, by the clock on the wall: what daylight saving time leaves out is no time of
    /// theirs, and what it has twice is in them twice.
    package func contain(_ now: Timestamp) -> Bool {
        guard let zone = TimeZone(identifier: timeZone) else { return false }
        let offset = Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(now.milliseconds) / 1_000)))
        let seconds = now.milliseconds / 1_000 + offset
        let (day, minute) = (seconds.flooredDay, Int(seconds - seconds.flooredDay * 86_400) / 60)
        let today = Weekday.ofDay(day)
        let beginsToday = days?.contains(today) ?? true
        let beganYesterday = days?.contains(today.before) ?? true
        if from.minutes < to.minutes { return beginsToday && (from.minutes..<to.minutes).contains(minute) }
        return beginsToday && minute >= from.minutes || beganYesterday && minute < to.minutes
    }

    /// - Throws: `ChatError` for what no clock shows.
    func check() throws(ChatError) {
        guard timeZone.utf8.count <= 64, TimeZone(identifier: timeZone) != nil else {
            throw .invalid("time_zone", "This is no time zone. One is called as Europe/Berlin is.")
        }
        if let days, days.isEmpty { throw .invalid("days", "Quiet hours begin on one day at least.") }
    }
}

extension Int64 {
    /// Of seconds since 1970, the days.
    fileprivate var flooredDay: Int64 { self >= 0 ? self / 86_400 : (self - 86_399) / 86_400 }
}

extension Weekday {
    /// - Parameter day: since 1970-01-01, which was a Thursday.
    fileprivate static func ofDay(_ day: Int64) -> Weekday {
        let all = Weekday.allCases
        return all[Int(((day + 3) % 7 + 7) % 7)]
    }
}
