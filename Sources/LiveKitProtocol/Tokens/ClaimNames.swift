/// Enum cases whose names tokens have in lower case.
package protocol ClaimNamed: Hashable {
    static var claimNames: [(name: String, value: Self)] { get }
}

extension ClaimNamed {
    /// By its name, in any case, as LiveKit reads it; nil for one that we do not know.
    package init?(claim name: String) {
        let name = name.lowercased()
        guard let entry = Self.claimNames.first(where: { $0.name == name }) else { return nil }
        self = entry.value
    }

    /// Nil for a number that has no name here.
    package var claimName: String? { Self.claimNames.first { $0.value == self }?.name }
}

extension LiveKitTrackSource: ClaimNamed {
    package static let claimNames: [(name: String, value: Self)] = [
        ("unknown", .unknown), ("camera", .camera), ("microphone", .microphone), ("screen_share", .screenShare),
        ("screen_share_audio", .screenShareAudio),
    ]
}

extension LiveKitParticipantInfo.Kind: ClaimNamed {
    package static let claimNames: [(name: String, value: Self)] = [
        ("standard", .standard), ("ingress", .ingress), ("egress", .egress), ("sip", .sip), ("agent", .agent),
        ("connector", .connector), ("bridge", .bridge),
    ]
}

extension LiveKitParticipantInfo.KindDetail: ClaimNamed {
    package static let claimNames: [(name: String, value: Self)] = [
        ("cloud_agent", .cloudAgent), ("forwarded", .forwarded), ("connector_whatsapp", .connectorWhatsapp),
        ("connector_twilio", .connectorTwilio), ("bridge_rtsp", .bridgeRtsp), ("simulation", .simulation),
    ]
}
