/// Why a text is not a session description. It carries the line and the kind of fault and never the text itself,
/// which holds addresses and passwords, so it may be logged.
public struct SDPError: Error, Hashable, Sendable {
    /// What is wrong.
    public enum Reason: Error, Hashable, Sendable {
        /// Longer than `SDPLimits.bytes`.
        case tooLong
        /// More `m=` lines than `SDPLimits.mediaSections`.
        case tooManyMediaSections
        /// More lines in one section than `SDPLimits.linesPerSection`, or in all than `SDPLimits.lines`.
        case tooManyLines
        /// Not of the form `x=value` with a lower-case letter.
        case notALine
        /// A NUL or a carriage return inside a line (RFC 8866 §9, `byte-string`).
        case forbiddenCharacter
        /// The line that has to stand here, `v`, `o` or `s`, is another one or missing (RFC 8866 §5).
        case expected(Character)
        /// No `t=` line in the session section (RFC 8866 §5.9).
        case missingTiming
        /// A line that may stand only once, or not in a media section.
        case misplaced(Character)
        /// `v=` is not 0.
        case unsupportedVersion
        /// The `o=` line has not its six fields.
        case malformedOrigin
        /// The `m=` line has not a media type, port, protocol and formats.
        case malformedMedia
        /// An attribute that we know has a value against its grammar.
        case malformedAttribute(name: String)
    }

    /// The line, counted from 1.
    public var line: Int
    public var reason: Reason

    public init(line: Int, reason: Reason) {
        self.line = line
        self.reason = reason
    }
}

extension SDPError: CustomStringConvertible {
    public var description: String {
        "line \(line) of the session description: \(reason.text)"
    }
}

extension SDPError.Reason {
    fileprivate var text: String {
        switch self {
        case .tooLong: "longer than \(SDPLimits.bytes) bytes"
        case .tooManyMediaSections: "more than \(SDPLimits.mediaSections) media sections"
        case .tooManyLines: "more than \(SDPLimits.linesPerSection) lines in a section, or \(SDPLimits.lines) in all"
        case .notALine: "not of the form x=value"
        case .forbiddenCharacter: "a character that may not be in a line"
        case .expected(let type): "a line \(type)= is missing here"
        case .missingTiming: "the session has no t= line"
        case .misplaced(let type): "a line \(type)= may not be here"
        case .unsupportedVersion: "the version is not 0"
        case .malformedOrigin: "the o= line has not its six fields"
        case .malformedMedia: "the m= line is malformed"
        case .malformedAttribute(let name): "the attribute \(name) is malformed"
        }
    }
}
