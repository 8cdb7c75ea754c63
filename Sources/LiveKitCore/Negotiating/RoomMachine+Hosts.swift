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
    ///   - udp: as `RoomTransport.udpHosts`.
    ///   - tcp: as `RoomTransport.tcpHosts`.
    package func hostsChanged(udp: [TransportAddress], tcp: [TransportAddress], at now: Instant) {
        let former = transport
        transport.udpHosts = udp
        transport.tcpHosts = tcp
        let lost = former.udpHosts.filter { !udp.contains($0) }
        let lostTCP = former.tcpHosts.filter { !tcp.contains($0) }
        let found = udp.filter { !former.udpHosts.contains($0) }
        for participant in people {
            // Those over TCP alone have none of the others.
            let isAlone = participant.prefersTCP && !former.tcpHosts.isEmpty
            var losesPath = false
            for connection in participant.connections {
                media.withMachine(of: connection.id) { machine in
                    if let base = machine.selectedPair?.base, (lost + lostTCP).contains(base) { losesPath = true }
                    machine.interfacesChanged(
                        lost: (isAlone ? [] : lost) + lostTCP, found: isAlone ? [] : found, at: now)
                    for host in tcp where !former.tcpHosts.contains(host) {
                        machine.addTCPHost(host, .passive, at: now)
                    }
                }
            }
            // A client may hold on to a path for as long as consent lasts, half a minute (RFC 7675 §5.1).
            if losesPath { tellToResume(participant, because: .unknownReason, at: now) }
        }
    }
}
