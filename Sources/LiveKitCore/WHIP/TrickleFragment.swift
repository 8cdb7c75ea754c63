package import RTCWire

/// An SDP fragment (RFC 8840 §9): candidates of a session, and its credential, which is a new one when paths are to be
/// found anew.
package struct TrickleFragment: Sendable, Equatable {
    package struct Candidate: Sendable, Equatable {
        /// The section's name; nil before the first section.
        package var mid: String?
        /// `candidate:…`
        package var line: String

        package init(mid: String?, line: String) {
            self.mid = mid
            self.line = line
        }
    }

    package var usernameFragment: String?
    package var password: String?
    package var candidates: [Candidate] = []
    /// No more candidates come.
    package var isComplete = false

    /// Why a text is no fragment.
    package enum Malformation: Error, Sendable, Equatable {
        case tooLong(limit: Int)
        case line(Int)
        case twoCredentials
        case tooManyCandidates(limit: Int)
    }

    /// In bytes.
    static let longest = 64 << 10

    package init() {}

    package init(parsing text: String) throws(Malformation) {
        guard text.utf8.count <= Self.longest else { throw .tooLong(limit: Self.longest) }
        var mid: String?
        for (number, line) in text.sdpLines.enumerated() where !line.isEmpty {
            guard let (type, value) = try? SDPLine.cut(line) else { throw .line(number) }
            if type == "m" { mid = nil }
            guard type == "a" else { continue }
            let cut = value.sdpCut(":")
            switch (cut?.head ?? value, (cut?.tail).map { String($0) }) {
            case ("mid", let name?): mid = name
            case ("ice-ufrag", let text?):
                guard let fragment = SDP.ICEUsernameFragment(attributeValue: text) else { throw .line(number) }
                try Self.set(&usernameFragment, fragment.value)
            case ("ice-pwd", let text?):
                guard let secret = SDP.ICEPassword(attributeValue: text) else { throw .line(number) }
                try Self.set(&password, secret.value)
            case ("candidate", .some):
                guard candidates.count < SDPLimits.candidates else {
                    throw .tooManyCandidates(limit: SDPLimits.candidates)
                }
                candidates.append(Candidate(mid: mid, line: String(value)))
            case ("end-of-candidates", nil): isComplete = true
            case ("mid", nil), ("ice-ufrag", nil), ("ice-pwd", nil), ("candidate", nil): throw .line(number)
            // Groups, options, and what is still to be thought of.
            default: break
            }
        }
    }

    /// A bundle has one credential, though it may stand in each of its sections.
    private static func set(_ stored: inout String?, _ value: String) throws(Malformation) {
        guard stored == nil || stored == value else { throw .twoCredentials }
        stored = value
    }
}

extension TrickleFragment.Malformation: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let limit): "It is longer than \(limit) bytes."
        case .line(let number): "Line \(number + 1) is none of a session description."
        case .twoCredentials: "It has two credentials."
        case .tooManyCandidates(let limit): "It has more than \(limit) candidates."
        }
    }
}

extension SessionDescription {
    /// The section whose transport all share: the first that is not rejected.
    var bundleSection: MediaDescription? { media.first { !$0.isRejected } }

    /// The credential of the shared transport, which its section has or the whole description.
    func credential(_ name: String) -> String? {
        bundleSection?.values(of: name).first ?? values(of: name).first
    }

    /// With another credential, and other candidates than before.
    package func restarted(with fragment: TrickleFragment) -> SessionDescription {
        var description = self
        let names = ["ice-ufrag", "ice-pwd", "candidate", "end-of-candidates"]
        for name in names { description.removeAttributes(named: name) }
        var isFirst = true
        for index in description.media.indices {
            for name in names { description.media[index].removeAttributes(named: name) }
            description.media[index].append(SDPAttribute("ice-ufrag", fragment.usernameFragment))
            description.media[index].append(SDPAttribute("ice-pwd", fragment.password))
            guard isFirst, !description.media[index].isRejected else { continue }
            isFirst = false
            for candidate in fragment.candidates {
                description.media[index].append(
                    SDPAttribute("candidate", String(candidate.line.dropFirst("candidate:".count))))
            }
            if fragment.isComplete { description.media[index].append(.endOfCandidates) }
        }
        description.origin.sessionVersion &+= 1
        return description
    }

    /// What of an answer tells its transport, as the answer to a fragment that asked for new paths (RFC 9725 §4.3.3).
    package var transportFragment: String {
        guard let section = bundleSection else { return "" }
        var lines = ["a=ice-lite"]
        lines += values(of: "group").map { "a=group:\($0)" }
        lines.append("m=\(section.kind) 9 \(section.proto) \(section.formats.first ?? "0")")
        if let mid = section.mid { lines.append("a=mid:\(mid)") }
        for name in ["ice-ufrag", "ice-pwd"] {
            if let value = credential(name) { lines.append("a=\(name):\(value)") }
        }
        lines += section.values(of: "candidate").map { "a=candidate:\($0)" }
        lines.append("a=end-of-candidates")
        return lines.map { $0 + "\r\n" }.joined()
    }
}
