import RTCEngine
import Testing

@testable import SFUCore

/// What a publisher is told of who watches.
@Suite struct DynacastTests {
    private let start = Instant.zero + .seconds(Int64(1))

    @Test func `less is told after five seconds, more at once`() {
        var dynacast = Dynacast()
        #expect(dynacast.changed(from: nil, to: .high, at: start) == nil)
        #expect(dynacast.changed(from: nil, to: .low, at: start) == nil)
        #expect(dynacast.changed(from: .high, to: .medium, at: start) == nil)
        #expect(dynacast.nextWake == start + .seconds(Int64(5)))
        #expect(dynacast.tick(at: start + .milliseconds(4_999)) == nil)
        #expect(dynacast.tick(at: start + .seconds(Int64(5))) == .medium)
        #expect(dynacast.nextWake == nil)
        #expect(dynacast.changed(from: .low, to: .high, at: start + .seconds(Int64(6))) == .high)
    }

    @Test func `who comes back in time is never missed`() {
        var dynacast = Dynacast()
        _ = dynacast.changed(from: nil, to: .high, at: start)
        #expect(dynacast.changed(from: .high, to: .off, at: start) == nil)
        #expect(dynacast.changed(from: .off, to: .high, at: start + .seconds(Int64(4))) == nil)
        #expect(dynacast.tick(at: start + .seconds(Int64(9))) == nil)
        #expect(dynacast.told == .high)
    }

    @Test func `what is wanted less and less is told once, as it then is`() {
        var dynacast = Dynacast()
        _ = dynacast.changed(from: nil, to: .high, at: start)
        _ = dynacast.changed(from: .high, to: .medium, at: start)
        _ = dynacast.changed(from: .medium, to: .off, at: start + .seconds(Int64(3)))
        #expect(dynacast.tick(at: start + .seconds(Int64(5))) == .off)
        #expect(dynacast.tick(at: start + .seconds(Int64(50))) == nil)
        #expect(dynacast.changed(from: .off, to: .low, at: start + .seconds(Int64(51))) == .low)
    }

    @Test func `the last one to leave turns everything off`() {
        var dynacast = Dynacast()
        _ = dynacast.changed(from: nil, to: .high, at: start)
        #expect(dynacast.changed(from: .high, to: nil, at: start) == nil)
        #expect(dynacast.wanted == .off)
        #expect(dynacast.tick(at: start + .seconds(Int64(5))) == .off)
    }

    @Test func `a new track that nobody wants is not sent after ten seconds, and is for the first who does`() {
        var dynacast = Dynacast(published: start)
        #expect(dynacast.tick(at: start + .milliseconds(9_999)) == nil)
        #expect(dynacast.tick(at: start + .seconds(Int64(10))) == .off)
        #expect(dynacast.nextWake == nil)
        #expect(dynacast.changed(from: nil, to: .medium, at: start + .seconds(Int64(60))) == .medium)
    }

    @Test func `a new track whose first subscriber wants little is told so after the first ten seconds`() {
        var dynacast = Dynacast(published: start)
        #expect(dynacast.changed(from: nil, to: .low, at: start + .seconds(Int64(1))) == nil)
        #expect(dynacast.tick(at: start + .seconds(Int64(9))) == nil)
        #expect(dynacast.tick(at: start + .seconds(Int64(10))) == .low)
    }
}

/// Wishes for key frames become few requests.
@Suite struct KeyFrameThrottleTests {
    private let start = Instant.zero + .seconds(Int64(1))

    @Test func `many wishes are one request, and the next one waits`() {
        var throttle = KeyFrameThrottle(interval: .milliseconds(500))
        #expect(throttle.isDue(at: start) == false)
        throttle.want(at: start)
        throttle.want(at: start)
        #expect(throttle.isDue(at: start) == true)
        #expect(throttle.isDue(at: start) == false)
        throttle.want(at: start + .milliseconds(100))
        #expect(throttle.nextWake == start + .milliseconds(500))
        #expect(throttle.isDue(at: start + .milliseconds(499)) == false)
        #expect(throttle.isDue(at: start + .milliseconds(500)) == true)
    }

    @Test func `a key frame answers those who wait`() {
        var throttle = KeyFrameThrottle(interval: .milliseconds(500))
        throttle.want(at: start)
        #expect(throttle.isDue(at: start) == true)
        throttle.want(at: start + .milliseconds(10))
        throttle.keyFrameReceived()
        #expect(throttle.nextWake == nil)
        #expect(throttle.isDue(at: start + .seconds(Int64(1))) == false)
    }
}
