internal import RTCWire

/// Which parameters of VP9, AV1 and H.265 name another format, and what an answer makes of the others.
enum VideoProfiles {
    /// RFC 9628 §6.1: `profile-id`, 0 when not given; the rest are limits of the receiver.
    static func matchesVP9(_ a: SDP.CodecOptions, _ b: SDP.CodecOptions) -> Bool {
        haveSame("profile-id", inferred: 0, a, b)
    }

    /// AV1 payload format §7.2: profile (0 when not given) and tier (0) stay; the level is the receiver's limit.
    static func matchesAV1(_ a: SDP.CodecOptions, _ b: SDP.CodecOptions) -> Bool {
        haveSame("profile", inferred: 0, a, b) && haveSame("tier", inferred: 0, a, b)
    }

    /// RFC 7798 §7.2.2: what describes the profile is the same on both sides; and we have one RTP stream only, whose
    /// units come in decoding order: a sender that says `sprop-max-don-diff` writes numbers (DONL, DOND) among them.
    static func matchesH265(_ a: SDP.CodecOptions, _ b: SDP.CodecOptions) -> Bool {
        func mode(_ options: SDP.CodecOptions) -> String { options["tx-mode"]?.uppercased() ?? "SRST" }
        func isInOrder(_ options: SDP.CodecOptions) -> Bool { number(options, "sprop-max-don-diff", 0) == 0 }
        return haveSame("profile-space", inferred: 0, a, b) && haveSame("profile-id", inferred: 1, a, b)
            && haveSame("tier-flag", inferred: 0, a, b) && mode(a) == "SRST" && mode(b) == "SRST"
            && isInOrder(a) && isInOrder(b)
    }

    /// What is not a number is the same as nothing.
    private static func haveSame(
        _ name: String, inferred: Int, _ a: SDP.CodecOptions, _ b: SDP.CodecOptions
    ) -> Bool {
        guard let first = number(a, name, inferred), let second = number(b, name, inferred) else { return false }
        return first == second
    }

    /// Our level or the offer's, whichever is lower (RFC 7798 §7.2.2).
    static func answerH265(ours: SDP.CodecOptions, offered: SDP.CodecOptions) -> SDP.CodecOptions {
        var options = ours
        // 93, level 3.1, is inferred.
        guard let own = number(ours, "level-id", 93), let other = number(offered, "level-id", 93) else { return ours }
        options["level-id"] = "\(min(own, other))"
        return options
    }

    /// Nil for what is not a number.
    private static func number(_ options: SDP.CodecOptions, _ name: String, _ inferred: Int) -> Int? {
        guard let text = options[name] else { return inferred }
        return Int(text)
    }
}
