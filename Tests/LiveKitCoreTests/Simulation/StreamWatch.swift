import RTCEngine
import RTCWire
import SFUCore
import SFUModels

@testable import LiveKitCore

/// What goes out to one subscriber from one source, and whether a receiver could make something of it. What has to hold
/// of pictures is in `ModelReceiver`.
struct StreamWatch {
    let track: ModelTrack
    private var receiver: ModelReceiver?
    private var unwrapper = SequenceUnwrapper()
    private var sounds: [Int64: (timestamp: UInt32, number: UInt16)] = [:]
    /// Places of sound that was muted meanwhile.
    private var padded: Set<Int64> = []
    /// And of silence, which the server sends when it is muted.
    private var silent: Set<Int64> = []
    private(set) var violations: [String] = []
    /// Packets that hold media.
    private(set) var count = 0
    /// Those with an earlier one (RFC 2198).
    private(set) var redundant = 0
    private(set) var lastFrames: Set<Int> = []
    /// Packets that came to the server when a subscription had just ended: it had kept places in the stream for some.
    private var late: [Int: Set<Int>] = [:]
    private var lateCount = 0

    init(_ track: ModelTrack) {
        self.track = track
        if case .pictures(let coding) = track.coding { receiver = ModelReceiver(coding) }
    }

    mutating func receive(_ packet: [UInt8], _ header: RTPHeader) {
        if !header.payloadRange.isEmpty {
            count += 1
            if let frame = packet.span.bytes.uint32(at: header.payloadRange.upperBound - 5), receiver != nil {
                lastFrames.insert(Int(frame))
            } else if receiver == nil {
                lastFrames.insert(Int(header.timestamp))
            }
        }
        if receiver != nil {
            receiver?.receive(packet)
        } else {
            receiveSound(packet, header)
        }
    }

    private mutating func receiveSound(_ packet: [UInt8], _ header: RTPHeader) {
        let line = unwrapper.unwrap(header.sequenceNumber)
        if header.payloadRange.isEmpty { padded.insert(line) }
        if Array(packet[header.payloadRange]) == OpusPacket.silence {
            silent.insert(line)
            return
        }
        guard header.payloadRange.count >= 3,
            let number = packet.span.bytes.uint16(at: header.payloadRange.upperBound - 2)
        else { return }
        checkRedundancy(Array(packet[header.payloadRange]), number)
        if sounds[line] != nil { violations.append("\(line) went out twice") }
        sounds[line] = (header.timestamp, number)
    }

    /// Nothing but the packet and the one before it, in the numbers that the client knows, or the packet alone.
    private mutating func checkRedundancy(_ payload: [UInt8], _ number: UInt16) {
        guard payload.count > 3 else { return }
        redundant += 1
        let before = number &- 1
        let data: [UInt8] = [0x78, UInt8(before >> 8), UInt8(before & 0xff), 0x78] + payload.suffix(2)
        if payload != [0xef, 0x19, 0, 3, 0x6f] + data { violations.append("\(number): redundancy is \(payload)") }
    }

    /// A packet has come to the server after the subscription had ended, of which it may be.
    mutating func maybeTooLate(_ packet: ModelPacket) {
        late[packet.frame, default: []].insert(packet.index)
        lateCount += 1
    }

    mutating func forgetFrames() { lastFrames = [] }

    /// Looks at all of it.
    mutating func finish() {
        let lost = track.lost + lateCount
        if receiver != nil {
            var arrived = track.arrived
            let sent = Set((receiver?.received ?? [:]).values.map { [$0.frame ?? -1, $0.index] })
            for (frame, packets) in late {
                arrived[frame]?.subtract(packets.filter { !sent.contains([frame, $0]) })
                if arrived[frame]?.isEmpty == true { arrived[frame] = nil }
            }
            receiver?.finish(track.frames, arrived: arrived, lost: lost, isInOrder: false)
            violations += receiver?.violations ?? []
            return
        }
        let lines = sounds.keys.sorted()
        guard let first = lines.first, let last = lines.last else { return }
        let others = padded.union(silent).count { (first...last).contains($0) }
        let missing = Int(last - first) + 1 - lines.count - others
        if missing > lost { violations.append("\(missing) numbers are missing, and \(lost) were lost") }
        for (before, after) in zip(lines, lines.dropFirst()) {
            guard let one = sounds[before], let two = sounds[after] else { continue }
            let step = Int32(bitPattern: two.timestamp &- one.timestamp)
            if step <= 0 { violations.append("\(after): the timestamp went by \(step)") }
            // A pause takes time and no numbers; otherwise each number is one packet of the publisher's.
            let sent = Int(two.number &- one.number)
            let numbers = Int(after - before) - silent.count { (before..<after).contains($0) }
            if sent < numbers { violations.append("\(after): \(sent) packets, \(numbers) numbers") }
        }
    }
}
