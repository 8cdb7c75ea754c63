/// What the frame counters of received pictures say about the way of the test video: each picture has to be the one
/// after the one before it.
public struct PictureSequence: Sendable, Equatable {
    /// The test video's length in frames: the counter begins again there.
    public static let loop = 300

    /// Pictures in all.
    public let count: Int
    /// Pictures whose counter cannot be read.
    public private(set) var unreadable = 0
    /// Pictures that show what the one before them showed: the picture stands still.
    public private(set) var repeated = 0
    /// Pictures that were left out between others.
    public private(set) var missing = 0
    /// Pictures that come after a later one.
    public private(set) var disordered = 0

    /// - Parameter counters: What `FrameCounter` reads in each picture, in the order in which they were received.
    public init(_ counters: [Int?]) {
        count = counters.count
        var latest: Int?
        var skipped = 0
        for counter in counters {
            skipped += 1
            guard let counter else {
                unreadable += 1
                continue
            }
            defer { (latest, skipped) = (counter, 0) }
            guard let latest else { continue }
            // Steps of more than half a round are steps back.
            let step = ((counter - latest) % Self.loop + Self.loop) % Self.loop
            if step == 0 {
                repeated += 1
            } else if step > Self.loop / 2 {
                disordered += 1
            } else if step < skipped {
                repeated += skipped - step
            } else {
                missing += step - skipped
            }
        }
    }

    /// Sentences about what is wrong; none when at least so many pictures came, and each is the next one.
    public func faults(atLeast expected: Int) -> [String] {
        var faults: [String] = []
        func add(_ number: Int, _ one: String, _ many: String) {
            if number > 0 { faults.append(number == 1 ? "1 picture \(one)" : "\(number) pictures \(many)") }
        }
        add(unreadable, "holds no readable frame counter", "hold no readable frame counter")
        add(repeated, "stands still", "stand still")
        add(missing, "is missing in between", "are missing in between")
        add(disordered, "comes after a later one", "come after a later one")
        if count < expected { faults.append("only \(count) of at least \(expected) pictures came") }
        return faults
    }
}
