internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import SFUCore
internal import SocketIO
internal import SwiftProtobuf

/// What a `POST` of WHIP or WHEP says, once its token is found to be good. Its body is looked at last.
struct ExchangeParameters {
    let token: AccessToken
    let room: String
    let arrival: Arrival

    /// - Parameters:
    ///   - form: whose path it is, by which tracks have their names.
    ///   - room: as the path has it; empty for that of the token.
    init(
        _ request: SocketIOHTTPRequest, _ kind: HTTPSession.Kind, _ form: ExchangeRoute.Form, room named: String,
        keys: APIKeys, limits: RoomLimits, at now: Date
    ) throws(HTTPRefusal) {
        token = try request.accessToken(keys: keys, at: now)
        let grants = token.claims.video ?? VideoGrants()
        guard grants.roomJoin else { throw HTTPRefusal(403, HTTPRefusal.notAllowed.text) }
        guard grants.room.isEmpty || named.isEmpty || grants.room == named else {
            throw HTTPRefusal(403, "The token is for another room.")
        }
        room = grants.room.isEmpty ? named : grants.room
        guard !room.isEmpty else { throw .noRoomName }
        guard room.isComposed else { throw .notComposed }
        guard !token.identity.isEmpty else { throw .noIdentity }
        guard room.utf8.count <= limits.nameBytes else {
            throw HTTPRefusal(400, "The room's name is longer than \(limits.nameBytes) bytes.")
        }
        guard (token.claims.roomConfig?.metadata.utf8.count ?? 0) <= limits.metadataBytes else {
            throw HTTPRefusal(400, "The room's metadata are longer than \(limits.metadataBytes) bytes.")
        }
        let exchange: Exchange
        switch kind {
        case .whip:
            guard grants.mayPublish else {
                throw HTTPRefusal(403, JoinRefusal.mayNotPublish.description)
            }
            exchange = .publishing(form.publisher)
        case .whep:
            guard grants.maySubscribe else {
                throw HTTPRefusal(403, JoinRefusal.mayNotSubscribe.description)
            }
            exchange = .playing(try PlaybackChoice(request.query))
        }
        let offer = try request.offer()
        arrival = Arrival(
            identity: token.identity, claims: token.claims, mode: .exchange(exchange),
            request: .with {
                $0.clientInfo.address = request.remoteAddress
                $0.publisherOffer.type = "offer"
                $0.publisherOffer.sdp = offer
            })
    }
}

extension ExchangeRoute.Form {
    fileprivate var publisher: PublisherForm {
        switch self {
        case .ours: .ours
        case .liveKits: .liveKits
        }
    }
}

extension PlaybackChoice {
    /// What a query may choose by; several names have commas between them.
    fileprivate init(_ query: EngineIOQuery) throws(HTTPRefusal) {
        self.init()
        func names(_ key: String) -> [String] {
            (query[key] ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        if let identity = query["participant"], !identity.isEmpty { self.identity = identity }
        tracks = Set(names("track").map { TrackSID(rawValue: $0) })
        for name in names("source") {
            guard let source = LiveKitTrackSource(claim: name) else {
                throw HTTPRefusal(400, "There is no source \(name).")
            }
            sources.insert(source)
        }
        switch query["quality"] {
        case nil, "high": quality = .high
        case "medium": quality = .medium
        case "low": quality = .low
        case let other?: throw HTTPRefusal(400, "There is no quality \(other).")
        }
    }
}

extension SocketIOHTTPRequest {
    /// Of `Content-Type`, without parameters, in lower case.
    var mediaType: String? {
        header("Content-Type")?.split(separator: ";").first.map {
            $0.trimmingCharacters(in: .whitespaces).lowercased()
        }
    }

    /// RFC 9725 §4.2: the body is a session description.
    fileprivate func offer() throws(HTTPRefusal) -> String {
        guard mediaType == ExchangeRoute.sdp else {
            throw HTTPRefusal(415, "The body is to be of the type \(ExchangeRoute.sdp).")
        }
        guard body.count <= ExchangeRoute.longestOffer else { throw .offerTooLong }
        guard let text = String(validating: body, as: UTF8.self), !text.isEmpty else {
            throw HTTPRefusal(400, "The body is no session description.")
        }
        return text
    }
}
