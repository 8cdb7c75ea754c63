import COpenSSL

/// Why OpenSSL could not set up what we need; the text is OpenSSL's own and holds no key.
public enum SecurityError: Error, Sendable, Equatable {
    /// OpenSSL refused the named step.
    case openSSL(step: String, reason: String)
    /// A list of SRTP profiles that holds none.
    case noProfiles
}

/// OpenSSL's per-thread error queue. It is emptied before each call whose failure is to be told, and drained after a
/// failure, so that no text is told of another call.
enum OpenSSLErrors {
    static func clear() {
        ERR_clear_error()
    }

    /// Empties the queue and returns its texts, oldest first, as one line for a log.
    static func drain() -> String {
        var texts: [String] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            guard let reason = ERR_reason_error_string(code) else {
                texts.append("code \(code)")
                continue
            }
            texts.append(String(cString: reason))
        }
        return texts.isEmpty ? "no reason given" : texts.joined(separator: "; ")
    }

    /// An error for `step`, with what the queue says about it.
    static func failure(_ step: String) -> SecurityError {
        .openSSL(step: step, reason: drain())
    }
}
