internal import Foundation
internal import LiveKitClient
internal import LiveKitCore
internal import LiveKitProtocol
internal import RTCWire
internal import SocketIO
internal import SwiftProtobuf
internal import Synchronization

/// The signaling of a participant in this process, such as the recorder: from hand to hand, without a network, a
/// certificate or a port that would have to be known. Media goes by the ports of the worker, as everybody's.
final class EmbeddedSignal: SignalLink, Sendable {
    private enum Phase {
        case opening
        case open(SignalAddress)
        case closed
    }

    let tokenExpires = Date.distantFuture
    private let inbox: SignalInbox
    private let addresses: [MediaWorkerConfiguration.Address]
    private let tell: @Sendable (BinarySocket.Fact) -> Void
    private let phase = Mutex(Phase.opening)

    init(_ worker: MediaWorker, tell: @escaping @Sendable (BinarySocket.Fact) -> Void) {
        inbox = worker.inbox
        addresses = worker.reachable.withLock { $0 }.filter { $0.local != $0.announced }
        self.tell = tell
    }

    // MARK: From the worker

    func attached(as address: SignalAddress) {
        let isOver = phase.withLock { phase in
            if case .closed = phase { return true }
            phase = .open(address)
            return false
        }
        // The client went while the room let it in.
        if isOver { inbox.append(.closed, at: address) }
    }

    func send(_ response: LiveKitSignalResponse) {
        // Its descriptions have them all, and by local addresses.
        if case .trickle? = response.message { return }
        var response = response
        if case .offer(var offer)? = response.message {
            offer.sdp = local(offer.sdp)
            response.message = .offer(offer)
        } else if case .answer(var answer)? = response.message {
            answer.sdp = local(answer.sdp)
            response.message = .answer(answer)
        }
        guard let bytes: [UInt8] = try? response.serializedBytes() else { return }
        tell(.message(bytes))
    }

    func close() {
        phase.withLock { $0 = .closed }
        tell(.closed(.lost("the room is over")))
    }

    func messageTaken() {}

    /// Where a NAT stands in front, many do not let a host reach itself by its public address.
    private func local(_ sdp: String) -> String {
        guard !addresses.isEmpty else { return sdp }
        let lines = sdp.split(separator: "\r\n", omittingEmptySubsequences: false).map { line -> String in
            guard line.hasPrefix("a=candidate:") else { return String(line) }
            var fields = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            // RFC 8839 §5.1: foundation, component, transport, priority, address.
            guard fields.count > 4, let address = addresses.first(where: { "\($0.announced)" == fields[4] }) else {
                return String(line)
            }
            fields[4] = "\(address.local)"
            return fields.joined(separator: " ")
        }
        return lines.joined(separator: "\r\n")
    }

    // MARK: From the client

    func receive(_ message: [UInt8]) {
        guard let request = try? LiveKitSignalRequest(serializedBytes: message),
            let address = phase.withLock({ phase in if case .open(let address) = phase { address } else { nil } })
        else { return }
        inbox.append(.message(ClientMessage(request), from: self), at: address)
    }

    func closedByClient() {
        let address = phase.withLock { phase -> SignalAddress? in
            defer { phase = .closed }
            if case .open(let address) = phase { return address }
            return nil
        }
        if let address { inbox.append(.closed, at: address) }
    }
}

/// The client's side of it, from the moment on that it asks to be let in.
final class EmbeddedChannel: SignalChannel {
    private struct State {
        var link: EmbeddedSignal?
        var isClosed = false
    }

    private let state = Mutex(State())

    func send(_ message: [UInt8]) { state.withLock { $0.link }?.receive(message) }

    func close() {
        let link = state.withLock { state in
            state.isClosed = true
            return state.link
        }
        link?.closedByClient()
    }

    func opened(_ link: EmbeddedSignal) {
        let isClosed = state.withLock { state in
            state.link = link
            return state.isClosed
        }
        if isClosed { link.closedByClient() }
    }
}

/// How a participant in this process comes into rooms of its workers.
struct EmbeddedParticipants: Sendable {
    /// The worker that a room is on.
    let worker: @Sendable (_ room: String) -> MediaWorker?

    /// The signaling of a room that exists, for a client with these claims.
    func signaling(to room: String, as identity: String, _ claims: AccessToken.Claims) -> InProcessSignaling {
        InProcessSignaling { query, tell in
            let channel = EmbeddedChannel()
            // It ends once the worker has answered, and a refusal is told. A channel that was closed meanwhile closes
            // the link.
            Task {
                guard let worker = worker(room) else { return tell(.closed(.refused(status: 404))) }
                let link = EmbeddedSignal(worker, tell: tell)
                channel.opened(link)
                tell(.open)
                let request = LiveKitJoinRequest(query: query)
                let arrival = Arrival(identity: identity, claims: claims, mode: .dual, request: request)
                if request.reconnect {
                    // Nobody in this process asks for a refusal.
                    _ = await worker.resume(arrival, room: room, link: link)
                    return
                }
                do throws(WorkerRefusal) {
                    try await worker.join(
                        arrival, room: RoomConfiguration(name: room), mayCreate: false, link: link)
                } catch {
                    let refusal = HTTPRefusal(error)
                    tell(.closed(.refused(status: refusal.status, message: refusal.text)))
                }
            }
            return channel
        }
    }
}
