internal import ChatModel
internal import Foundation

/// What Apple's push service has made of a push ("Handling notification responses from APNs").
enum APNsOutcome: Sendable, Equatable {
    case delivered
    /// The token is void.
    ///
    /// - Parameter since: when it was last known to be; nil when it never was one for this app.
    case tokenGone(since: Timestamp?, reason: String)
    /// The provider token is too old.
    case providerTokenExpired
    /// The provider is not let in: nothing else is worth trying for a while.
    case providerRefused(reason: String)
    case tryAgain(reason: String, after: Duration?)
    /// This push is wrong in itself.
    case refused(reason: String)
}

/// An answer as it came.
struct APNsAnswer: Sendable {
    let status: Int
    let retryAfter: String?
    let body: [UInt8]

    private struct Fault: Decodable {
        let reason: String
        /// Milliseconds since 1970.
        let timestamp: Int64?
    }

    var outcome: APNsOutcome {
        if status == 200 { return .delivered }
        let fault = try? JSONDecoder().decode(Fault.self, from: Data(body))
        let reason = Self.known(fault?.reason) ?? "status_\(status)"
        switch (status, reason) {
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): return .tokenGone(since: nil, reason: reason)
        case (400, "IdleTimeout"): return .tryAgain(reason: reason, after: nil)
        case (403, "ExpiredProviderToken"): return .providerTokenExpired
        // A key for one of Apple's two environments, or for other apps: what this device says of itself does not fit
        // it.
        case (403, _) where reason.hasPrefix("BadEnvironmentKey") || reason.hasPrefix("UnrelatedKey"):
            return .refused(reason: reason)
        case (403, _): return .providerRefused(reason: reason)
        case (410, _):
            return .tokenGone(since: fault?.timestamp.map { Timestamp(milliseconds: $0) }, reason: reason)
        case (429, _), (500..., _): return .tryAgain(reason: reason, after: wait)
        default: return .refused(reason: reason)
        }
    }

    /// RFC 9110 §10.2.3, in seconds; a date, which Apple does not send, is no wait.
    private var wait: Duration? {
        retryAfter.flatMap { Int64($0) }.flatMap { $0 >= 0 ? .seconds(min($0, 86_400)) : nil }
    }

    /// A reason that is fit for a log and for the label of a metric: Apple's are words.
    private static func known(_ reason: String?) -> String? {
        guard let reason, (1...40).contains(reason.utf8.count),
            reason.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isASCII && Character(Unicode.Scalar($0)).isLetter })
        else { return nil }
        return reason
    }
}
