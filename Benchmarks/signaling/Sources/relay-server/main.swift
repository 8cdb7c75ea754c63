import NIOPosix
import SocketIO

// The relay app of this benchmark, on Roost's server: relay-server PORT LOOPS
let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let port = arguments.first ?? 7000
let group = MultiThreadedEventLoopGroup(numberOfThreads: arguments.dropFirst().first ?? 1)

var configuration = SocketIOServerConfiguration()
configuration.flood = .unlimited
let server = SocketIOServer(configuration: configuration, eventLoopGroup: group)
let main = server.namespace("/")
main.on("join") { socket, event in
    let room = event.arguments.first?.string ?? ""
    socket.join(room)
    socket.userData = room
    event.acknowledge?(["ok"])
}
main.on("candidate") { socket, event in
    if let room = socket.userData as? String { socket.relay(event, to: room) }
}
try await server.bind(host: "127.0.0.1", port: port)
print("listening", port)
while true { try await Task.sleep(for: .seconds(3600)) }
