internal import Foundation

/// One line that says how both sides are doing, rewritten in place on a terminal and printed once a second elsewhere.
struct LiveLine: Sendable {
    let peers: [DemoPeer]

    func run() async {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        var last = ""
        while !Task.isCancelled {
            var parts: [String] = []
            for peer in peers { parts.append(await peer.summary) }
            let line = parts.joined(separator: "  |  ")
            if isTerminal {
                Console.show("\r\u{1B}[K" + line)
            } else if line != last {
                Console.say(line)
            }
            last = line
            try? await Task.sleep(for: .milliseconds(isTerminal ? 250 : 1_000))
        }
        if isTerminal { Console.say("") }
    }
}
