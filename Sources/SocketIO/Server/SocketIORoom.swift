import NIOCore
import Synchronization

/// The sockets of one namespace that joined one room, kept apart by event loop: a broadcast reaches each loop with
/// at most one hop, and takes no lock.
final class SocketIORoom: Sendable {
    /// The members on one loop. `members` is touched on that loop only; `population` tells others whether a hop
    /// is worth it.
    final class Shard: @unchecked Sendable {
        let loop: any EventLoop
        let population = Atomic<Int>(0)
        private var members: [SocketIOSocket] = []

        init(loop: any EventLoop) { self.loop = loop }

        func add(_ socket: SocketIOSocket) {
            members.append(socket)
            population.store(members.count, ordering: .releasing)
        }

        func remove(_ socket: SocketIOSocket) {
            guard let index = members.firstIndex(where: { $0 === socket }) else { return }
            members.swapAt(index, members.count - 1)
            members.removeLast()
            population.store(members.count, ordering: .releasing)
        }

        func deliver(_ message: EncodedMessage, except excluded: SocketIOSocket?) {
            for member in members where member !== excluded { member.deliver(message) }
        }
    }

    let name: String
    private let shards: [Shard]

    init(name: String, contexts: [LoopContext]) {
        self.name = name
        shards = contexts.map { Shard(loop: $0.loop) }
    }

    /// On the socket's loop.
    func add(_ socket: SocketIOSocket) { shards[socket.context.index].add(socket) }

    /// On the socket's loop.
    func remove(_ socket: SocketIOSocket) { shards[socket.context.index].remove(socket) }

    /// From any thread.
    func broadcast(_ message: EncodedMessage, except excluded: SocketIOSocket?) {
        for shard in shards where shard.population.load(ordering: .acquiring) > 0 {
            if shard.loop.inEventLoop {
                shard.deliver(message, except: excluded)
            } else {
                shard.loop.execute { shard.deliver(message, except: excluded) }
            }
        }
    }
}
