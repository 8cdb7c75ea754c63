/// What a call was like, as plain values: `html` turns it into one page that can be mailed or archived. Times are
/// seconds since the call's start.
public struct CallReport: Codable, Sendable, Equatable {
    /// How a check ended, or the whole call.
    public enum Verdict: String, Codable, Sendable {
        /// All is as it should be.
        case passed
        /// Something is not as it should be.
        case failed
        /// It works, and something deserves a look.
        case warning
        /// It was ended before it could show what it should.
        case interrupted
    }

    /// One check and how it ended.
    public struct Check: Codable, Sendable, Equatable {
        /// What was checked.
        public var name: String
        /// How it ended.
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
        /// How a state is coloured.
        public enum Tone: String, Codable, Sendable {
            /// Nothing happens.
            case neutral
            /// On the way, as while connecting.
            case working
            /// As it should be.
            case good
            /// As it should not be.
            case bad
        }

        /// Which row of the timeline, as "Caller: connection".
        public var lane: String
        /// What the state is called.
        public var name: String
        /// Seconds since the call's start.
        public var start: Double
        /// How it is coloured.
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
        /// One measurement.
        public struct Point: Codable, Sendable, Equatable {
            /// Seconds since the call's start.
            public var time: Double
            /// In the plot's unit.
            public var value: Double

            public init(time: Double, value: Double) {
                self.time = time
                self.value = value
            }
        }

        /// The measurements of one peer or direction.
        public struct Line: Codable, Sendable, Equatable {
            /// Whose they are, for the legend.
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
        /// One for each peer or direction.
        public var lines: [Line]

        public init(title: String, unit: String, lines: [Line]) {
            self.title = title
            self.unit = unit
            self.lines = lines
        }
    }

    /// A table: a header, then rows of as many cells.
    public struct Table: Codable, Sendable, Equatable {
        /// What stands above it.
        public var title: String
        /// The columns' names.
        public var header: [String]
        /// From top to bottom, each with a cell for each column.
        public var rows: [[String]]

        public init(title: String, header: [String], rows: [[String]]) {
            self.title = title
            self.header = header
            self.rows = rows
        }
    }

    /// A small picture, its bytes held in the page.
    public struct Thumbnail: Codable, Sendable, Equatable {
        /// How the picture is coded.
        public enum Format: String, Codable, Sendable {
            /// `image/png`.
            case png
            /// `image/jpeg`.
            case jpeg
        }

        /// What stands below it.
        public var caption: String
        /// How it is coded.
        public var format: Format
        /// A whole file of that format.
        public var bytes: [UInt8]

        public init(caption: String, format: Format, bytes: [UInt8]) {
            self.caption = caption
            self.format = format
            self.bytes = bytes
        }
    }

    /// The page's title.
    public var title: String
    /// A line below the title: when, between whom, with which codecs.
    public var subtitle: String
    /// How the call ended.
    public var verdict: Verdict
    /// The verdict in a sentence.
    public var summary: String
    /// What was checked, in the page's order.
    public var checks: [Check] = []
    /// Of all lanes of the timeline.
    public var states: [State] = []
    /// In the page's order.
    public var plots: [Plot] = []
    /// In the page's order.
    public var tables: [Table] = []
    /// In the page's order.
    public var thumbnails: [Thumbnail] = []
    /// Where the timeline and the plots end: seconds since the call's start.
    public var duration: Double

    public init(title: String, subtitle: String, verdict: Verdict, summary: String, duration: Double) {
        self.title = title
        self.subtitle = subtitle
        self.verdict = verdict
        self.summary = summary
        self.duration = duration
    }
}
