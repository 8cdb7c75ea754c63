internal import Foundation
internal import LiveKitProtocol
internal import SwiftProtobuf

/// An event on its way to a receiver.
enum WebhookNotice: Sendable {
    /// Of our own, written when its turn comes: whoever sends it has other things to do.
    case event(LiveKitWebhookEvent)
    /// Somebody else's as it came, and what it was read as.
    case written([UInt8], LiveKitWebhookEvent)

    private var content: LiveKitWebhookEvent {
        switch self {
        case .event(let event), .written(_, let event): event
        }
    }

    var name: String { content.event }

    /// How many bytes are kept of it, about.
    var size: Int {
        switch self {
        case .event(let event): MessageSize.of(event)
        case .written(let body, let event): body.count + MessageSize.of(event)
        }
    }

    /// Empty for one that is of no room: all of those are in one order. LiveKit's server has an order for each room and
    /// one for each egress and ingress (`EventKey`); here their events are in the order of their room.
    var room: String {
        let event = content
        return [event.room.name, event.egressInfo.roomName, event.ingressInfo.roomName].first { !$0.isEmpty } ?? ""
    }

    /// Signed anew each time: a token is good for some minutes only.
    func signed(with key: APIKey) throws(SigningError) -> SignedWebhook {
        switch self {
        case .event(let event): try SignedWebhook(event, key: key, at: Date())
        case .written(let body, _): try SignedWebhook(body: body, key: key, at: Date())
        }
    }
}
