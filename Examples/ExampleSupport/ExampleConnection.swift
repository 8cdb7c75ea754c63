internal import Foundation
internal import RTCEngine
public import RTCNetwork

/// What the examples have in common: their command lines and descriptions that are complete.
public enum Example {
    /// The words of the command line that are no options.
    public static var arguments: [String] { CommandLine.arguments.dropFirst().filter { !$0.hasPrefix("--") } }

    /// Whether an option is given, as `--loopback`.
    public static func has(_ option: String) -> Bool { CommandLine.arguments.contains("--" + option) }

    /// What follows an option, as in `--token=T`.
    public static func value(of option: String) -> String? {
        let prefix = "--\(option)="
        return CommandLine.arguments.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    /// Does an example's work. What ends it early is said in a sentence, and the status is 1.
    public static func run(_ work: () async throws -> Void) async {
        do {
            try await work()
        } catch {
            LineSignaling.note("\(error)")
            exit(1)
        }
    }

    /// The defaults; `--loopback` adds 127.0.0.1, for two programs on one machine without a network, `--lite` makes ICE
    /// lite, for a server with a public address, `--tcp` offers TCP beside UDP, for peers that can send no UDP, and
    /// `--h265` adds H.265 to the codecs, which few peers have.
    public static func configuration() throws -> PeerConnectionConfiguration {
        var configuration = try PeerConnectionConfiguration(addresses: has("loopback") ? .all : .automatic)
        configuration.ice.isLite = has("lite")
        if has("h265") { configuration.videoCodecs.append(.h265) }
        if has("tcp") { configuration.tcp = .activeAndPassive(port: 0) }
        return configuration
    }
}

extension PeerConnection {
    /// Makes the description that fits, and returns it once it has all candidates: for signaling that carries one
    /// message each way.
    public func completeLocalDescription() async throws -> SessionDescriptionInit {
        // From before it begins: gathering may be over by the time that setLocalDescription returns.
        let events = events
        try setLocalDescription()
        if iceGatheringState != .complete {
            for await event in events {
                if case .iceGatheringStateChange(.complete) = event { break }
            }
        }
        guard let description = localDescription else { throw PeerConnectionError.peer(.closed) }
        return description
    }
}
