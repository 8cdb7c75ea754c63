internal import LiveKitProtocol
package import RTCEngine
package import RTCWire
import SFUCore

/// A host whose networks change.
extension RoomMachine {
    /// Where media come in now. Connections lose the paths that began at addresses which are gone, and their clients
    /// are told of the new ones.
    ///
    /// - Parameters:
    ///   - datagrams: as `RoomTransport.datagramHosts`.
    ///   - streams: as `RoomTransport.streamHosts`.
    package func hostsChanged(datagrams: [TransportAddress], streams: [TransportAddress], at now: Instant) {
        let former = transport
        transport.datagramHosts = datagrams
        transport.streamHosts = streams
        let lost = former.datagramHosts.filter { !datagrams.contains($0) }
        let lostStreams = former.streamHosts.filter { !streams.contains($0) }
        let found = datagrams.filter { !former.datagramHosts.contains($0) }
        for participant in people {
            // Those over streams alone have none of the others.
            let isAlone = participant.prefersStreams && !former.streamHosts.isEmpty
            var losesPath = false
            for connection in participant.connections {
                media.withMachine(of: connection.id) { machine in
                    if let base = machine.selectedPair?.base, (lost + lostStreams).contains(base) { losesPath = true }
                    machine.interfacesChanged(
                        lost: (isAlone ? [] : lost) + lostStreams, found: isAlone ? [] : found, at: now)
                    for host in streams where !former.streamHosts.contains(host) {
                        machine.addStreamHost(host, .passive, at: now)
                    }
                }
            }
            // A client may hold on to a path for as long as consent lasts, half a minute (RFC 7675 §5.1).
            if losesPath, let message = Self.leaveResponse(because: .unknownReason, .resume).message {
                send(message, to: participant)
            }
        }
    }
}
