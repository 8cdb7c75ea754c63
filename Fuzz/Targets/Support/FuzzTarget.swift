/// A parser under the name of its file and of its folder of inputs. libFuzzer runs one of them for any bytes
/// (`Fuzz/LibFuzzer.swift`), the tests run each for the inputs that are kept.
struct FuzzTarget: Sendable, CustomStringConvertible {
    let name: String
    let run: @Sendable (RawSpan) -> Void
    var description: String { name }

    static let all = [
        FuzzTarget(name: "AV1") { fuzzAV1($0) },
        FuzzTarget(name: "CallEvents") { fuzzCallEvents($0) },
        FuzzTarget(name: "CallRoomParameters") { fuzzCallRoomParameters($0) },
        FuzzTarget(name: "ChatFrame") { fuzzChatFrame($0) },
        FuzzTarget(name: "ChatMentions") { fuzzChatMentions($0) },
        FuzzTarget(name: "ChatSearch") { fuzzChatSearch($0) },
        FuzzTarget(name: "ChatTime") { fuzzChatTime($0) },
        FuzzTarget(name: "DCEP") { fuzzDCEP($0) },
        FuzzTarget(name: "DTLS") { fuzzDTLS($0) },
        FuzzTarget(name: "DependencyDescriptor") { fuzzDependencyDescriptor($0) },
        FuzzTarget(name: "EngineIO") { fuzzEngineIO($0) },
        FuzzTarget(name: "Forwarding") { fuzzForwarding($0) },
        FuzzTarget(name: "H264") { fuzzH264($0) },
        FuzzTarget(name: "H265") { fuzzH265($0) },
        FuzzTarget(name: "ICECandidate") { fuzzICECandidate($0) },
        FuzzTarget(name: "IVF") { fuzzIVF($0) },
        FuzzTarget(name: "IfMatch") { fuzzIfMatch($0) },
        FuzzTarget(name: "LiveKitJoinRequest") { fuzzLiveKitJoinRequest($0) },
        FuzzTarget(name: "LiveKitSignals") { fuzzLiveKitSignals($0) },
        FuzzTarget(name: "LiveKitToken") { fuzzLiveKitToken($0) },
        FuzzTarget(name: "MDNS") { fuzzMDNS($0) },
        FuzzTarget(name: "MP4") { fuzzMP4($0) },
        FuzzTarget(name: "Ogg") { fuzzOgg($0) },
        FuzzTarget(name: "Opus") { fuzzOpus($0) },
        FuzzTarget(name: "PeerMachine") { fuzzPeerMachine($0) },
        FuzzTarget(name: "RED") { fuzzRED($0) },
        FuzzTarget(name: "RTCP") { fuzzRTCP($0) },
        FuzzTarget(name: "RTP") { fuzzRTP($0) },
        FuzzTarget(name: "ReceiveStream") { fuzzReceiveStream($0) },
        FuzzTarget(name: "RedisReplies") { fuzzRedisReplies($0) },
        FuzzTarget(name: "SCTP") { fuzzSCTP($0) },
        FuzzTarget(name: "SDP") { fuzzSDP($0) },
        FuzzTarget(name: "SRTP") { fuzzSRTP($0) },
        FuzzTarget(name: "STUN") { fuzzSTUN($0) },
        FuzzTarget(name: "SocketIO") { fuzzSocketIO($0) },
        FuzzTarget(name: "StreamFraming") { fuzzStreamFraming($0) },
        FuzzTarget(name: "TURN") { fuzzTURN($0) },
        FuzzTarget(name: "TURNServer") { fuzzTURNServer($0) },
        FuzzTarget(name: "TrickleFragment") { fuzzTrickleFragment($0) },
        FuzzTarget(name: "VP8") { fuzzVP8($0) },
        FuzzTarget(name: "VP9") { fuzzVP9($0) },
        FuzzTarget(name: "WAV") { fuzzWAV($0) },
        FuzzTarget(name: "WebSocket") { fuzzWebSocket($0) },
    ]
}
