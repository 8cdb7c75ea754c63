import ExampleSupport

/// Two people chat over a data channel. The first one runs `data-channel-chat offer`, and each pastes the line that the
/// other's program prints; what is typed then appears on the other side.
@main
struct DataChannelChat {
    static func main() async { await Example.run(chat) }

    private static func chat() async throws {
        let chat = Chat(configuration: try Example.configuration(), speaksJSON: Example.has("json"))
        let following = Task { await chat.follow() }
        if Example.arguments.contains("offer") { try await chat.call() }
        for await line in LineSignaling.lines() {
            guard await chat.take(line) else { break }
        }
        following.cancel()
    }
}
