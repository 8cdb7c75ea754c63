internal import LiveKitCore
internal import RTCEngine
internal import RTCNetwork
internal import SFUCore

/// A room on its worker, with those whom it leads to. On the worker's thread.
final class HostedRoom: TimerTarget {
    let number: Int
    let name: String
    let machine: RoomMachine
    let timer = LoopTimer()
    var signals: [SignalID: any SignalLink] = [:]
    var peers: [RoomPeerID: MediaPeer] = [:]
    /// Calls that the room service waits for.
    var calls: [RPCCallID: CheckedContinuation<RPCOutcome, Never>] = [:]
    /// It may have something to send or to tell.
    var isTouched = false
    private weak let worker: MediaWorker?

    init(number: Int, name: String, machine: RoomMachine, worker: MediaWorker) {
        self.number = number
        self.name = name
        self.machine = machine
        self.worker = worker
        timer.target = self
    }

    func timerFired(at now: Instant) {
        let number = number
        worker?.assumeIsolated { $0.timerFired(ofRoom: number, at: now) }
    }
}

/// A peer connection of a room, as the sockets see it.
final class MediaPeer {
    unowned let room: HostedRoom
    let id: RoomPeerID
    /// Its TCP connections.
    var tcpConnections: [MediaTCPConnection] = []

    init(_ id: RoomPeerID, in room: HostedRoom) {
        self.id = id
        self.room = room
    }
}
