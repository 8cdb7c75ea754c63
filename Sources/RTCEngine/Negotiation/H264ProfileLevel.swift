internal import RTCWire

/// What `profile-level-id` says (RFC 6184 §8.1): three bytes, of which the first two name a profile in more than one
/// way, and the third a level.
struct H264ProfileLevel: Equatable {
    enum Profile: Equatable {
        case constrainedBaseline, baseline, main, extended, constrainedHigh, high
    }

    var profile: Profile
    var level: Level

    struct Level: Equatable, Comparable {
        /// Twice the level in tenths, so that level 1b (21) fits between 1 (20) and 1.1 (22).
        var rank: Int
        static let oneB = Level(rank: 21)
        static func < (lhs: Level, rhs: Level) -> Bool { lhs.rank < rhs.rank }
    }

    /// RFC 6184 §8.1 infers Baseline at level 1 when there is no `profile-level-id`. Browsers infer Constrained
    /// Baseline at level 3.1, and every peer that leaves the parameter out was built against browsers.
    static let inferred = H264ProfileLevel(profile: .constrainedBaseline, level: Level(rank: 62))

    /// Reads six hexadecimal digits; nil for others, and for profiles that the table has not.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count == 6, text.first != "+", let value = UInt32(text, radix: 16) else { return nil }
        self.init(idc: UInt8(value >> 16), constraints: UInt8(value >> 8 & 0xff), levelIDC: UInt8(value & 0xff))
    }

    private init(profile: Profile, level: Level) {
        self.profile = profile
        self.level = level
    }

    /// RFC 6184 §8.1, table 5. The bits of `constraints` are constraint_set0_flag (0x80) to set5 (0x04).
    private init?(idc: UInt8, constraints: UInt8, levelIDC: UInt8) {
        let set0 = constraints & 0x80 != 0
        let set1 = constraints & 0x40 != 0
        let set3 = constraints & 0x10 != 0
        switch idc {
        case 0x42: profile = set1 ? .constrainedBaseline : .baseline
        case 0x4d: profile = set0 ? .constrainedBaseline : .main
        case 0x58 where set0: profile = set1 ? .constrainedBaseline : .baseline
        case 0x58: profile = .extended
        // H.264 §A.2.4.2: constraint_set4 and set5 make High the Constrained High profile.
        case 0x64: profile = constraints & 0x0c == 0x0c ? .constrainedHigh : .high
        default: return nil
        }
        // H.264 §A.3.4.1: for these profiles, level_idc 11 with constraint_set3 is level 1b; 9 is for the others.
        if levelIDC == 9 || (levelIDC == 11 && set3 && idc != 0x64) {
            level = .oneB
        } else {
            level = Level(rank: Int(levelIDC) * 2)
        }
    }
}

/// The rules of RFC 6184 §8.2.2 for two sets of parameters.
enum H264Negotiation {
    private static func profileLevel(_ options: SDP.CodecOptions) -> H264ProfileLevel? {
        guard let text = options["profile-level-id"] else { return .inferred }
        return H264ProfileLevel(text)
    }

    /// 0 when not given (RFC 6184 §8.1).
    private static func packetizationMode(_ options: SDP.CodecOptions) -> String {
        options["packetization-mode"] ?? "0"
    }

    /// Profile and packetization mode are symmetric: a peer takes them as they are or leaves the format.
    static func matches(_ a: SDP.CodecOptions, _ b: SDP.CodecOptions) -> Bool {
        guard let first = profileLevel(a), let second = profileLevel(b) else { return false }
        return first.profile == second.profile && packetizationMode(a) == packetizationMode(b)
    }

    /// Whether an offered stream is one that we can take though its profile is not ours: Baseline, by who has
    /// Constrained Baseline. No sender of WebRTC uses what the one has beyond the other (H.264 §A.2.1: FMO, ASO,
    /// redundant slices), and FFmpeg's WHIP leaves out the constraints that its streams keep.
    static func canTake(_ offered: SDP.CodecOptions, with ours: SDP.CodecOptions) -> Bool {
        guard let own = profileLevel(ours), let other = profileLevel(offered) else { return false }
        // Level 1b may have the answer spell our profile instead of the offer's, and then nothing could flow.
        guard own.level != .oneB, other.level != .oneB else { return false }
        return own.profile == .constrainedBaseline && other.profile == .baseline
            && packetizationMode(ours) == packetizationMode(offered)
    }

    /// Our parameters in an answer: the profile in the offer's own spelling, and our level; the lower one of both
    /// where one side does not allow them to differ.
    static func answer(ours: SDP.CodecOptions, offered: SDP.CodecOptions) -> SDP.CodecOptions {
        var options = ours
        let ownText = ours["profile-level-id"] ?? "42e01f"
        let offeredText = offered["profile-level-id"] ?? ownText
        let isAsymmetric = ours["level-asymmetry-allowed"] == "1" && offered["level-asymmetry-allowed"] == "1"
        if !isAsymmetric { options["level-asymmetry-allowed"] = nil }
        guard let own = H264ProfileLevel(ownText), let other = H264ProfileLevel(offeredText) else { return options }
        let level = isAsymmetric ? own.level : min(own.level, other.level)
        if level == other.level {
            options["profile-level-id"] = offeredText
        } else if level == .oneB || other.level == .oneB {
            // Level 1b is written with a constraint bit, so the spelling of the profile goes with the level.
            options["profile-level-id"] = ownText
        } else {
            options["profile-level-id"] = String(offeredText.prefix(4) + ownText.suffix(2))
        }
        return options
    }
}
