internal import Foundation
internal import LiveKitProtocol
internal import SwiftProtobuf

/// Encrypts messages between clients, as LiveKit's SDKs do: what applications say to each other, and not what the
/// server has to know of it.
enum DataCryptor {
    /// The packet as it goes out; nil where there is no key, which keeps it from going out.
    static func seal(
        _ packet: LiveKitDataPacket, by identity: ParticipantIdentity, with keys: KeyProvider
    ) -> LiveKitDataPacket? {
        guard let payload = payload(of: packet) else { return packet }
        guard let (key, index) = keys.currentKey(of: identity), let plain: [UInt8] = try? payload.serializedBytes()
        else { return nil }
        let nonce = (0..<AES128GCM.nonceLength).map { _ in UInt8.random(in: .min ... .max) }
        guard let sealed = AES128GCM.seal(plain[...], clear: [], nonce: nonce, key: key) else { return nil }
        var packet = packet
        packet.encryptedPacket = .with {
            $0.encryptionType = .gcm
            $0.iv = Data(nonce)
            $0.keyIndex = UInt32(index)
            $0.encryptedValue = Data(sealed)
        }
        return packet
    }

    /// The packet as it was before; nil for what cannot be opened.
    static func open(_ packet: LiveKitDataPacket, with keys: KeyProvider) -> LiveKitDataPacket? {
        guard case .encryptedPacket(let encrypted)? = packet.value else { return packet }
        guard let index = UInt8(exactly: encrypted.keyIndex),
            let key = keys.key(of: ParticipantIdentity(packet.participantIdentity), at: index),
            let plain = AES128GCM.open(
                [UInt8](encrypted.encryptedValue)[...], clear: [], nonce: [UInt8](encrypted.iv), key: key),
            let payload = try? LiveKitEncryptedPacketPayload(serializedBytes: plain)
        else { return nil }
        var packet = packet
        switch payload.value {
        case .user(let value)?: packet.user = value
        case .chatMessage(let value)?: packet.chatMessage = value
        case .rpcRequest(let value)?: packet.rpcRequest = value
        case .rpcAck(let value)?: packet.rpcAck = value
        case .rpcResponse(let value)?: packet.rpcResponse = value
        case .streamHeader(let value)?: packet.streamHeader = value
        case .streamChunk(let value)?: packet.streamChunk = value
        case .streamTrailer(let value)?: packet.streamTrailer = value
        case nil: return nil
        }
        return packet
    }

    /// Nil for what is never encrypted.
    private static func payload(of packet: LiveKitDataPacket) -> LiveKitEncryptedPacketPayload? {
        var payload = LiveKitEncryptedPacketPayload()
        switch packet.value {
        case .user(let value)?: payload.user = value
        case .chatMessage(let value)?: payload.chatMessage = value
        case .rpcRequest(let value)?: payload.rpcRequest = value
        case .rpcAck(let value)?: payload.rpcAck = value
        case .rpcResponse(let value)?: payload.rpcResponse = value
        case .streamHeader(let value)?: payload.streamHeader = value
        case .streamChunk(let value)?: payload.streamChunk = value
        case .streamTrailer(let value)?: payload.streamTrailer = value
        case .sipDtmf?, .transcription?, .metrics?, .encryptedPacket?, nil: return nil
        }
        return payload
    }
}
