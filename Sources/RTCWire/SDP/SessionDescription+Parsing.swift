extension SessionDescription {
    /// Parses a description. Lines may end with CR LF or LF alone, and white space after the last line is ignored, as
    /// browsers do it; anything else has to follow the grammar.
    public init(parsing text: String) throws(SDPError) {
        var parser = SDPParser()
        try parser.parse(text)
        self = try parser.finish()
    }
}

/// Reads a description line by line.
private struct SDPParser {
    /// What the next line may be.
    private enum Expectation {
        case version, origin, sessionName
        /// Any line of the session section, or an `m=`.
        case session
        /// Any line of the last media section, or an `m=`.
        case media
    }

    private var expectation = Expectation.version
    private var lineNumber = 0
    private var origin: SDP.Origin?
    private var sessionName = "-"
    private var sessionLines: [SDPLine] = []
    private var media: [MediaDescription] = []

    init() {}

    private func error(_ reason: SDPError.Reason) -> SDPError { SDPError(line: max(lineNumber, 1), reason: reason) }

    mutating func parse(_ text: String) throws(SDPError) {
        guard text.utf8.count <= SDPLimits.bytes else { throw error(.tooLong) }
        for line in text.sdpLines {
            lineNumber += 1
            guard lineNumber <= SDPLimits.lines else { throw error(.tooManyLines) }
            try read(line)
        }
    }

    private mutating func read(_ line: Substring) throws(SDPError) {
        let (type, value): (Character, Substring)
        do throws(SDPError.Reason) {
            (type, value) = try SDPLine.cut(line)
        } catch {
            throw self.error(error)
        }
        switch expectation {
        case .version:
            guard type == "v" else { throw error(.expected("v")) }
            guard value == "0" else { throw error(.unsupportedVersion) }
            expectation = .origin
        case .origin:
            guard type == "o" else { throw error(.expected("o")) }
            guard let origin = SDP.Origin(value) else { throw error(.malformedOrigin) }
            self.origin = origin
            expectation = .sessionName
        case .sessionName:
            guard type == "s" else { throw error(.expected("s")) }
            sessionName = String(value)
            expectation = .session
        case .session, .media:
            try readBody(type, value)
        }
    }

    private mutating func readBody(_ type: Character, _ value: Substring) throws(SDPError) {
        switch type {
        case "v", "o", "s":
            throw error(.misplaced(type))
        case "t" where expectation == .media:
            throw error(.misplaced(type))
        case "m":
            guard hasTiming else { throw error(.missingTiming) }
            guard media.count < SDPLimits.mediaSections else { throw error(.tooManyMediaSections) }
            guard let section = MediaDescription(head: value) else { throw error(.malformedMedia) }
            media.append(section)
            expectation = .media
        case "a":
            try append(.attribute(attribute(value)))
        default:
            try append(.other(type: type, value: String(value)))
        }
    }

    private func attribute(_ text: Substring) throws(SDPError) -> SDPAttribute {
        let cut = text.sdpCut(":")
        let attribute = SDPAttribute(String(cut?.head ?? text), (cut?.tail).map { String($0) })
        guard !attribute.name.isEmpty else { throw error(.notALine) }
        if let isWellFormed = SDP.checked[attribute.name], !isWellFormed(attribute.value ?? "") {
            throw error(.malformedAttribute(name: attribute.name))
        }
        return attribute
    }

    private mutating func append(_ line: SDPLine) throws(SDPError) {
        let last = media.endIndex - 1
        let count = expectation == .media ? media[last].lines.count : sessionLines.count
        guard count < SDPLimits.linesPerSection else { throw error(.tooManyLines) }
        if expectation == .media {
            media[last].lines.append(line)
        } else {
            sessionLines.append(line)
        }
    }

    private var hasTiming: Bool { sessionLines.contains { $0.type == "t" } }

    func finish() throws(SDPError) -> SessionDescription {
        switch expectation {
        case .version: throw error(.expected("v"))
        case .origin: throw error(.expected("o"))
        case .sessionName: throw error(.expected("s"))
        case .session, .media: break
        }
        guard let origin else { throw error(.expected("o")) }
        guard hasTiming else { throw error(.missingTiming) }
        return SessionDescription(origin: origin, sessionName: sessionName, lines: sessionLines, media: media)
    }
}
