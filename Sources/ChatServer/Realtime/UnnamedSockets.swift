internal import Synchronization

/// How many realtime sockets of each network site are open that have not said who they are.
final class UnnamedSockets: Sendable {
    /// Of one site. Whoever is in an office that comes back all at once has said it within a moment.
    private static let most = 256

    private let counts = Mutex<[String: Int]>([:])

    /// What a socket holds until it is somebody's, or closed.
    final class Place: Sendable {
        private let sockets: UnnamedSockets
        private let site: String

        fileprivate init(_ site: String, among sockets: UnnamedSockets) {
            self.sockets = sockets
            self.site = site
        }

        deinit { sockets.leave(site) }
    }

    /// - Returns: nil where there is no room.
    func enter(_ site: String) -> Place? {
        let hasRoom = counts.withLock { counts in
            let count = counts[site] ?? 0
            guard count < Self.most else { return false }
            counts[site] = count + 1
            return true
        }
        return hasRoom ? Place(site, among: self) : nil
    }

    private func leave(_ site: String) {
        counts.withLock { counts in
            guard let count = counts[site], count > 1 else {
                counts[site] = nil
                return
            }
            counts[site] = count - 1
        }
    }
}
