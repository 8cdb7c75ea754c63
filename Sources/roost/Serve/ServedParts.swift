internal import LiveKitServer
internal import SocketIO
internal import TURNServer

/// What `roost serve` has running, which ends in an order.
struct ServedParts {
    let server: SocketIOServer
    let chat: ServedChat?
    let livekit: LiveKitService?
    let relay: CallRelay?

    /// For what is still to be written, pushed, mailed and told others when nobody is connected any more.
    private static let lastPatience = Duration.seconds(10)

    /// Ends all of it before anybody was served.
    func abandon() async {
        _ = await isDone(within: Self.lastPatience) { [chat] in await chat?.stop() }
        await livekit?.stop()
        await server.shutdown()
        await relay?.service.stop()
    }

    /// Says goodbye to who is connected, and takes nobody any more.
    func goDown() async {
        await chat?.goDown()
        await livekit?.stop()
        await server.shutdown()
    }

    /// Writes and tells what is still to be, once nobody is connected. The relay is left to its owner.
    ///
    /// - Parameter hearing: takes into the chat what has happened in rooms; it ends when it has all of that.
    /// - Returns: whether that is done; false where it would have taken too long.
    func finish(hearing: Task<Void, Never>) async -> Bool {
        await isDone(within: Self.lastPatience) { [chat, livekit] in
            async let rooms: Void? = livekit?.finish()
            // Calls end with their rooms.
            await hearing.value
            await chat?.stop()
            await rooms
        }
    }
}
