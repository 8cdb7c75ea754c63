/// What a call was like, as plain values: `html` turns it into one page that can be mailed or archived. Times are
/// seconds since the call's start.
public struct CallReport: Codable, Sendable, Equatable {
    public enum Verdict: String, Codable, Sendable {
        case passed
        case failed
        /// It works, and something deserves a look.
        case warning
        /// It was ended before it could show what it should.
        case interrupted
    }

    /// One check and how it ended.
    public struct Check: Codable, Sendable, Equatable {
        public var name: String
        public var verdict: Verdict
        /// What was measured, as "300 of 300 frames".
        public var detail: String

        public init(name: String, verdict: Verdict, detail: String) {
            self.name = name
            self.verdict = verdict
            self.detail = detail
        }
    }

    /// A state that one side of the call was in, until its next one.
    public struct State: Codable, Sendable, Equatable {
        public enum Tone: String, Codable, Sendable {
            case neutral
            case working
            case good
            case bad
        }

        /// Which row of the timeline, as "Caller: connection".
        public var lane: String
        public var name: String
        public var start: Double
        public var tone: Tone

        public init(lane: String, name: String, start: Double, tone: Tone) {
            self.lane = lane
            self.name = name
            self.start = start
            self.tone = tone
        }
    }

    /// One plot: a quantity over time, with a line for each peer or direction.
    public struct Plot: Codable, Sendable, Equatable {
        public struct Point: Codable, Sendable, Equatable {
            public var time: Double
            public var value: Double

            public init(time: Double, value: Double) {
                self.time = time
                self.value = value
            }
        }

        public struct Line: Codable, Sendable, Equatable {
            public var name: String
            /// Ascending in time.
            public var points: [Point]

            public init(name: String, points: [Point]) {
                self.name = name
                self.points = points
            }
        }

        /// As "Bitrate".
        public var title: String
        /// As "kbit/s".
        public var unit: String
        public var lines: [Line]

        public init(title: String, unit: String, lines: [Line]) {
            self.title = title
            self.unit = unit
            self.lines = lines
        }
    }

    /// A table: a header, then rows of as many cells.
    public struct Table: Codable, Sendable, Equatable {
        public var title: String
        public var header: [String]
        public var rows: [[String]]

        public init(title: String, header: [String], rows: [[String]]) {
            self.title = title
            self.header = header
            self.rows = rows
        }
    }

    /// A small picture, its bytes held in the page.
    public struct Thumbnail: Codable, Sendable, Equatable {
        public enum Format: String, Codable, Sendable {
            case png
            case jpeg
        }

        public var caption: String
        public var format: Format
        public var bytes: [UInt8]

        public init(caption: String, format: Format, bytes: [UInt8]) {
            self.caption = caption
            self.format = format
            self.bytes = bytes
        }
    }

    public var title: String
    /// A line below the title: when, between whom, with which codecs.
    public var subtitle: String
    public var verdict: Verdict
    /// The verdict in a sentence.
    public var summary: String
    public var checks: [Check] = []
    public var states: [State] = []
    public var plots: [Plot] = []
    public var tables: [Table] = []
    public var thumbnails: [Thumbnail] = []
    /// Where the timeline and the plots end.
    public var duration: Double

    public init(title: String, subtitle: String, verdict: Verdict, summary: String, duration: Double) {
        self.title = title
        self.subtitle = subtitle
        self.verdict = verdict
        self.summary = summary
        self.duration = duration
    }
}
