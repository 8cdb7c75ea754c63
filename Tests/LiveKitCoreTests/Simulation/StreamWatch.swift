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
    private(set) var violations: [String] = []
    /// Packets that hold media.
    private(set) var count = 0
    private(set) var lastFrames: Set<Int> = []

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
        guard header.payloadRange.count == 3,
            let number = packet.span.bytes.uint16(at: header.payloadRange.upperBound - 2)
        else { return }
        if sounds[line] != nil { violations.append("\(line) went out twice") }
        sounds[line] = (header.timestamp, number)
    }

    mutating func forgetFrames() { lastFrames = [] }

    /// Looks at all of it.
    mutating func finish() {
        if receiver != nil {
            receiver?.finish(track.frames, arrived: track.arrived, lost: track.lost, isInOrder: false)
            violations += receiver?.violations ?? []
            return
        }
        let lines = sounds.keys.sorted()
        guard let first = lines.first, let last = lines.last else { return }
        let missing = Int(last - first) + 1 - lines.count
        if missing > track.lost { violations.append("\(missing) numbers are missing, and \(track.lost) were lost") }
        for (before, after) in zip(lines, lines.dropFirst()) {
            guard let one = sounds[before], let two = sounds[after] else { continue }
            let step = Int32(bitPattern: two.timestamp &- one.timestamp)
            if step <= 0 { violations.append("\(after): the timestamp went by \(step)") }
            // A pause takes time and no numbers; otherwise each number is one packet of the publisher's.
            let sent = Int(two.number &- one.number)
            if sent < Int(after - before) { violations.append("\(after): \(sent) packets, \(after - before) numbers") }
        }
    }
}
