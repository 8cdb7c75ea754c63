internal import ChatCore
internal import ChatModel
internal import Foundation

/// One notification for one device.
struct Push: Sendable {
    /// `apns-push-type`.
    enum Kind: String, Sendable {
        case alert, voip
    }

    /// `apns-priority`.
    enum Priority: Int, Sendable {
        case now = 10
        /// When it costs the device little.
        case thrifty = 5
    }

    /// The message that it tells of: what is owed after a restart.
    struct Origin: Sendable, Hashable {
        let workspace: WorkspaceID
        let sequence: Int64
    }

    /// What it tells of, which is looked at again before it is sent late.
    enum Subject: Sendable, Hashable {
        case message(MessageID)
        /// Everything is read: the icon is to show no number.
        case nothingUnread
    }

    /// `apns-id`: the same with each attempt.
    let id = UUID()
    let kind: Kind
    let address: PushAddress
    /// In hexadecimal digits.
    let token: String
    var priority = Priority.now
    let madeAt: Timestamp
    /// Nobody wants it any more from then on.
    let expiresAt: Timestamp
    /// Another one with the same replaces it on the device; at most 64 bytes.
    var collapseID: String?
    var payload: [UInt8]
    /// The call that it is of.
    var call: String?
    var origin: Origin?
    /// Nil for what a call says.
    var subject: Subject?
    /// What the device gets as an alert when this fails for good.
    var instead: [UInt8]?

    /// Apple's limits, in bytes ("Generating a remote notification").
    static func payloadLimit(of kind: Kind) -> Int {
        switch kind {
        case .alert: 4_096
        case .voip: 5_120
        }
    }

    /// The header `apns-topic`.
    var topic: String {
        switch kind {
        case .alert: address.appID
        case .voip: address.appID + ".voip"
        }
    }

    /// Apple's headers ("Sending notification requests to APNs"), but for `authorization`.
    var headers: [(name: String, value: String)] {
        var headers = [
            (name: "apns-topic", value: topic), ("apns-push-type", kind.rawValue),
            ("apns-priority", String(priority.rawValue)),
            ("apns-expiration", String(expiresAt.milliseconds / 1_000)), ("apns-id", id.uuidString.lowercased()),
        ]
        if let collapseID { headers.append(("apns-collapse-id", collapseID)) }
        return headers
    }

    var tokenKind: ChatTransaction.TokenKind {
        switch kind {
        case .alert: .alert
        case .voip: .voip
        }
    }

    /// The alert that stands in for a VoIP push that failed; nil where there is none to be had.
    func fallback(at now: Timestamp) -> Push? {
        guard kind == .voip, let instead, let token = address.alertToken, now < expiresAt else { return nil }
        return Push(
            kind: .alert, address: address, token: token, madeAt: now, expiresAt: expiresAt, collapseID: collapseID,
            payload: instead, call: call)
    }
}
