import LiveKitCore
import RTCWire

/// A fragment of WHIP's (RFC 8840 §9), and a description that is told of it: refused, or within bounds, and a
/// description afterwards as before.
func fuzzTrickleFragment(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard let fragment = try? TrickleFragment(parsing: text) else { return }
    precondition(fragment.candidates.count <= SDPLimits.candidates)
    // Without one it is no description's business.
    guard fragment.usernameFragment != nil, fragment.password != nil else { return }
    guard let offer = try? SessionDescription(parsing: described) else { fatalError("the description is one") }
    let restarted = offer.restarted(with: fragment)
    guard let again = try? SessionDescription(parsing: restarted.text), again.media.count == offer.media.count else {
        fatalError("a fragment cannot break a description")
    }
    // With the rest around them they may be too many bytes to be read as a fragment.
    guard text.utf8.count < 60_000 else { return }
    guard let answered = try? TrickleFragment(parsing: restarted.transportFragment) else {
        fatalError("what is answered is a fragment")
    }
    precondition(answered.isComplete && answered.candidates.count == fragment.candidates.count)
}

private let described = [
    "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0 1",
    "m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:0", "a=ice-ufrag:olds", "a=ice-pwd:oldoldoldoldoldoldoldold",
    "a=candidate:1 1 udp 5 192.0.2.1 9 typ host",
    "m=video 9 UDP/TLS/RTP/SAVPF 96", "a=mid:1", "a=ice-ufrag:olds", "a=ice-pwd:oldoldoldoldoldoldoldold",
].map { $0 + "\r\n" }.joined()
