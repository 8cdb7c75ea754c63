import Foundation
import RTCEngine
import RTCSecurity

/// Protects, or unprotects, packets of 1,200 bytes in place: what a bare loop over EVP does in `peers/evp.c`.
enum SRTPLoop {
    static let packetSize = 1_200
    /// Packets between two looks at the clock. They fit the second-level cache, as a burst of video would.
    private static let batch = 128

    static func run(_ packets: Int, _ arguments: [String]) throws {
        let profile: SRTPProfile = arguments.contains("cm") ? .aes128CMHMACSHA1_80 : .aeadAES128GCM
        let isOpening = arguments.contains("unprotect")
        let key = [UInt8](repeating: 7, count: 16)
        let salt = [UInt8](repeating: 9, count: profile == .aeadAES128GCM ? 12 : 14)
        let keys = SRTPKeyingMaterial(
            profile: profile, localKey: key, localSalt: salt, remoteKey: key, remoteSalt: salt)
        // As the engine holds it: behind the port.
        let sealer = try OpenSSLSecurity().makeSRTP(keys)
        let opener = try OpenSSLSecurity().makeSRTP(keys)

        var ring = (0..<batch).map { _ in
            var packet = [UInt8](repeating: 5, count: packetSize)
            packet.reserveCapacity(packetSize + 16)
            return packet
        }
        var sequence: UInt16 = 0
        var spent = 0
        for _ in 0..<(packets / batch) {
            for index in ring.indices { write(sequence &+ UInt16(index), into: &ring[index]) }
            sequence &+= UInt16(batch)
            let begin = threadNanoseconds()
            for index in ring.indices { try sealer.protectRTP(&ring[index]) }
            let sealed = threadNanoseconds()
            if isOpening {
                for index in ring.indices { try opener.unprotectRTP(&ring[index]) }
                spent += threadNanoseconds() - sealed
            } else {
                spent += sealed - begin
                for index in ring.indices { ring[index].removeLast(ring[index].count - packetSize) }
            }
        }
        report([
            "cipher": profile == .aeadAES128GCM ? "gcm" : "cm", "operation": isOpening ? "unprotect" : "protect",
            "ns": Double(spent) / Double(packets / batch * batch),
        ])
    }

    private static func write(_ sequence: UInt16, into packet: inout [UInt8]) {
        packet[0] = 0x80
        packet[1] = 96
        packet[2] = UInt8(sequence >> 8)
        packet[3] = UInt8(truncatingIfNeeded: sequence)
        for index in 4..<12 { packet[index] = 1 }
    }
}
