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
                print("\r\u{1B}[K" + line, terminator: "")
            } else if line != last {
                print(line)
            }
            last = line
            fflush(nil)
            try? await Task.sleep(for: .milliseconds(isTerminal ? 250 : 1_000))
        }
        if isTerminal { print("") }
    }
}
