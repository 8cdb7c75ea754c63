public import RTCEngine

/// A link with a name: what it carries when, how long it takes, what it loses, and who uses it.
public struct LinkProfile: Sendable {
    /// Somebody who sends over the link.
    public enum Flow: Sendable, Hashable {
        /// A call with an encoder that follows its target, up to a maximum; from a time on.
        case media(from: Interval, upTo: Bitrate)
        /// A download by TCP, from a time until a time.
        case download(from: Interval, until: Interval)
    }

    public var name: String
    /// What it shows, in a sentence.
    public var purpose: String
    public var duration: Interval
    /// From when on it carries how much; the first from 0.
    public var capacity: [(from: Interval, rate: Bitrate)]
    /// There; as much back.
    public var delay = Interval.milliseconds(25)
    /// From a time on it is another one.
    public var laterDelay: (from: Interval, delay: Interval)?
    /// Added to the delay, evenly from nothing to this; packets keep their order.
    public var jitter = Interval.zero
    /// The chance of a packet to be lost, from 0 to 1; the way back loses none.
    public var loss = 0.0
    /// What the queue before it holds: a packet that would wait longer, at the first capacity, is dropped.
    public var queue = Interval.milliseconds(300)
    public var flows: [Flow]
    /// At which calls begin; nil: at what the configuration says.
    public var startBitrate: Bitrate?

    /// The same, ended earlier.
    public func shortened(to seconds: Int64) -> LinkProfile {
        var copy = self
        copy.duration = min(duration, .seconds(seconds))
        return copy
    }

    func rate(at time: Interval) -> Bitrate {
        capacity.last { $0.from <= time }?.rate ?? capacity.first?.rate ?? .megabits(1)
    }

    func delay(at time: Interval) -> Interval {
        guard let laterDelay, time >= laterDelay.from else { return delay }
        return laterDelay.delay
    }

    /// In bytes.
    var queueLimit: Int { Int((capacity.map(\.rate).max() ?? .megabits(1)).bytes(in: queue)) }
}

extension LinkProfile {
    private static let oneCall = [Flow.media(from: .zero, upTo: .kilobits(2_500))]

    /// All, in the order of the plots.
    public static let all: [LinkProfile] = [
        steady, step, loss, bufferbloat, download, twoCalls, radio, longWay, jittery,
    ]

    /// Scenarios of libwebrtc's own tests, `goog_cc_network_control_unittest.cc`, which say what is expected of it.
    public static let libwebrtc: [LinkProfile] = [libwebrtcCapacity, libwebrtcLoss, libwebrtcTCP]

    /// By name; nil when there is none of it.
    public static func named(_ name: String) -> LinkProfile? { (all + libwebrtc).first { $0.name == name } }

    public static let steady = LinkProfile(
        name: "steady", purpose: "a constant 1 Mbit/s", duration: .seconds(Int64(60)),
        capacity: [(.zero, .megabits(1))], flows: oneCall)

    public static let step = LinkProfile(
        name: "step", purpose: "2.5 Mbit/s, then 0.5, then 2.5 again", duration: .seconds(Int64(100)),
        capacity: [
            (.zero, .kilobits(2_500)), (.seconds(Int64(40)), .kilobits(500)), (.seconds(Int64(65)), .kilobits(2_500)),
        ], flows: oneCall)

    public static let loss = LinkProfile(
        name: "loss", purpose: "1 Mbit/s, and 5 % of packets lost at random", duration: .seconds(Int64(60)),
        capacity: [(.zero, .megabits(1))], loss: 0.05, flows: oneCall)

    public static let bufferbloat = LinkProfile(
        name: "bufferbloat", purpose: "1 Mbit/s behind a queue of 2 s", duration: .seconds(Int64(60)),
        capacity: [(.zero, .megabits(1))], queue: .seconds(Int64(2)), flows: oneCall)

    public static let download = LinkProfile(
        name: "download", purpose: "2 Mbit/s, shared with a TCP download from 20 s to 60 s",
        duration: .seconds(Int64(90)), capacity: [(.zero, .megabits(2))],
        flows: oneCall + [.download(from: .seconds(Int64(20)), until: .seconds(Int64(60)))])

    public static let twoCalls = LinkProfile(
        name: "two-calls", purpose: "2 Mbit/s, shared with a second call from 20 s on", duration: .seconds(Int64(120)),
        capacity: [(.zero, .megabits(2))],
        flows: oneCall + [.media(from: .seconds(Int64(20)), upTo: .kilobits(2_500))])

    /// A walk of steps of half a second between 0.4 and 3 Mbit/s, made from a seed: shaped like a moving phone's.
    public static let radio = LinkProfile(
        name: "radio", purpose: "0.4 to 3 Mbit/s, changing twice a second as a moving phone's does",
        duration: .seconds(Int64(90)), capacity: radioTrace(seconds: 90), jitter: .milliseconds(10), flows: oneCall)

    public static let longWay = LinkProfile(
        name: "long-way", purpose: "1 Mbit/s at a round trip of 300 ms", duration: .seconds(Int64(60)),
        capacity: [(.zero, .megabits(1))], delay: .milliseconds(150), flows: oneCall)

    public static let jittery = LinkProfile(
        name: "jitter", purpose: "1 Mbit/s with 30 ms of jitter", duration: .seconds(Int64(60)),
        capacity: [(.zero, .megabits(1))], jitter: .milliseconds(30), flows: oneCall)

    /// `UpdatesTargetRateBasedOnLinkCapacity`: 500 kbit/s for 25 s, 800 for 20, 100 at twice the delay for 50.
    public static let libwebrtcCapacity = LinkProfile(
        name: "libwebrtc-capacity", purpose: "500, 800, then 100 kbit/s, as in libwebrtc's tests",
        duration: .seconds(Int64(95)),
        capacity: [
            (.zero, .kilobits(500)), (.seconds(Int64(25)), .kilobits(800)), (.seconds(Int64(45)), .kilobits(100)),
        ], delay: .milliseconds(100), laterDelay: (.seconds(Int64(45)), .milliseconds(200)),
        queue: .seconds(Int64(60)), flows: [.media(from: .zero, upTo: .kilobits(1_500))])

    /// `LossBasedControlDoesModestBackoffToHighLoss`.
    public static let libwebrtcLoss = LinkProfile(
        name: "libwebrtc-loss", purpose: "2 Mbit/s at a round trip of 400 ms, 10 % lost, as in libwebrtc's tests",
        duration: .seconds(Int64(120)), capacity: [(.zero, .megabits(2))], delay: .milliseconds(200), loss: 0.1,
        queue: .seconds(Int64(60)), flows: [.media(from: .zero, upTo: .kilobits(1_500))])

    /// `IsFairToTCP`.
    public static let libwebrtcTCP = LinkProfile(
        name: "libwebrtc-tcp", purpose: "1 Mbit/s, a download from the beginning, as in libwebrtc's tests",
        duration: .seconds(Int64(10)), capacity: [(.zero, .megabits(1))], delay: .milliseconds(50),
        queue: .seconds(Int64(60)), flows: oneCall + [.download(from: .zero, until: .seconds(Int64(10)))],
        startBitrate: .megabits(1))

    private static func radioTrace(seconds: Int64) -> [(from: Interval, rate: Bitrate)] {
        var random = EngineRandom.seeded(2_026)
        var rate = 1_500.0
        var trend = 0.0
        return (0..<seconds * 2).map { step in
            // The trend lasts some seconds, as a street corner does.
            trend = 0.9 * trend + Double.random(in: -40...40, using: &random)
            rate += trend + Double.random(in: -120...120, using: &random)
            if rate < 400 || rate > 3_000 { trend = 0 }
            rate = min(max(rate, 400), 3_000)
            return (.milliseconds(step * 500), .kilobits(Int64(rate)))
        }
    }
}
