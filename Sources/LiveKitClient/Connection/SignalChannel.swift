package import SocketIO

/// What a room's signaling goes over: a WebSocket to its server, unless the server is in the same process.
package protocol SignalChannel: AnyObject, Sendable {
    /// A message of ours; nothing if it is not open.
    func send(_ message: [UInt8])
    /// Nothing is told afterwards.
    func close()
}

extension BinarySocket: SignalChannel {}

/// A server in the same process: rooms reach it without network, certificate and token.
package struct InProcessSignaling: Sendable {
    /// Is told what happens on a channel, in order, on any thread.
    package typealias Teller = @Sendable (BinarySocket.Fact) -> Void

    /// Opens a channel.
    package var open: @Sendable (_ query: EngineIOQuery, _ tell: @escaping Teller) -> any SignalChannel

    package init(open: @escaping @Sendable (_ query: EngineIOQuery, _ tell: @escaping Teller) -> any SignalChannel) {
        self.open = open
    }
}
