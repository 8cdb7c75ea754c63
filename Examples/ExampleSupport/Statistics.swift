internal import Foundation
internal import RTCEngine
public import RTCNetwork

extension PeerConnection {
    /// Prints one line of JSON, `{"event":"statistics","stats":{…}}`: what `getStats` tells, with W3C's names.
    public func printStatistics() {
        struct Line: Encodable {
            var event = "statistics"
            var stats: StatsReport
        }
        guard let json = try? JSONEncoder().encode(Line(stats: getStats())) else { return }
        FileHandle.standardOutput.write(json + Data("\n".utf8))
    }
}
