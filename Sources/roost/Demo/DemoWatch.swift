/// Sees to it that the demo's call ends: when the user says so, and when a side of it does not end by itself.
actor DemoWatch {
    private let peers: [DemoPeer]
    private(set) var wasInterrupted = false

    init(peers: [DemoPeer]) { self.peers = peers }

    /// Hangs both sides up at Ctrl-C, as a person would.
    func interruptPeersWhenAsked() async {
        for await _ in Interrupts.stream() {
            wasInterrupted = true
            for peer in peers { peer.interrupt() }
            // One that does not answer is not waited for.
            await giveUp(after: .seconds(10))
        }
    }

    /// Ends what is still running after this long.
    func giveUp(after patience: Duration) async {
        guard (try? await Task.sleep(for: patience)) != nil else { return }
        for peer in peers { await peer.giveUp(after: patience.seconds) }
    }
}
