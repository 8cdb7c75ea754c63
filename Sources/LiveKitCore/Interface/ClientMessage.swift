package import LiveKitProtocol
import RTCWire

/// What a client says. A description in it is read when this is made, which takes the longer the longer it is: whoever
/// has time for it makes it before telling the room, whose thread has the media to pass on (`Arrival.readOffer`).
package struct ClientMessage: Sendable {
    let request: LiveKitSignalRequest
    /// Of an offer or an answer; nil also for one that cannot be read.
    let description: SessionDescription?
    /// Of an offer.
    let offered: OfferedSize

    package init(_ request: LiveKitSignalRequest) {
        self.request = request
        switch request.message {
        case .offer(let offer):
            description = try? SessionDescription(parsing: offer.sdp)
            offered = OfferedSize(of: offer.sdp)
        case .answer(let answer):
            description = try? SessionDescription(parsing: answer.sdp)
            offered = OfferedSize()
        default:
            description = nil
            offered = OfferedSize()
        }
    }
}
