package import LiveKitProtocol
package import RTCWire

/// How many peer connections a client has.
package enum ConnectionMode: Sendable, Hashable {
    /// One, in which the client always makes the offers (`/rtc/v1`).
    case single
    /// One to publish, in which the client offers, and one to subscribe, in which the room does (`/rtc`).
    case dual
    /// One, and no messages: the client offers once, is answered, and that is all (WHIP, WHEP).
    case exchange(Exchange)

    var isExchange: Bool {
        switch self {
        case .exchange: true
        case .single, .dual: false
        }
    }

    /// By an exchange: its client takes nothing.
    var isPublishing: Bool { isExchange && !isPlaying }

    var isPlaying: Bool {
        switch self {
        case .exchange(let exchange): exchange.isPlaying
        case .single, .dual: false
        }
    }
}

/// Somebody who wants to join: what the token allows, and what the client asked for.
package struct Arrival: Sendable {
    package var identity: String
    /// Whom the token names. It is another where its bearer comes once more beside them, to publish alone.
    package var tokenIdentity: String
    /// Name, metadata, attributes, kind and grants, as the token has them.
    package var claims: AccessToken.Claims
    package var mode: ConnectionMode
    /// Client, settings, metadata, attributes, tracks and offer. Of a client of two connections it is made from its
    /// query.
    package var request: LiveKitJoinRequest
    /// TURN servers with this client's credentials; nil for the server's.
    package var iceServers: [LiveKitICEServer]?
    /// The request's offer, once it is read.
    package private(set) var offer: SessionDescription?

    package init(
        identity: String, tokenIdentity: String? = nil, claims: AccessToken.Claims, mode: ConnectionMode,
        request: LiveKitJoinRequest, iceServers: [LiveKitICEServer]? = nil
    ) {
        self.identity = identity
        self.tokenIdentity = tokenIdentity ?? identity
        self.claims = claims
        self.mode = mode
        self.request = request
        self.iceServers = iceServers
    }

    /// Reads the client's offer, if it has one. That takes the longer the longer it is: whoever has time for it does so
    /// before asking the room, whose thread has the media to pass on; else the room does.
    package mutating func readOffer() throws(JoinRefusal) {
        guard offer == nil, hasOffer else { return }
        do {
            offer = try SessionDescription(parsing: request.publisherOffer.sdp)
        } catch {
            throw .badOffer("\(error)")
        }
    }

    private var hasOffer: Bool {
        switch mode {
        case .dual: false
        case .single: request.hasPublisherOffer
        case .exchange: true
        }
    }
}

/// Why somebody cannot join. Nothing has changed then.
package enum JoinRefusal: Error, Sendable, Equatable {
    /// The token does not let its bearer join.
    case notAllowed
    case noIdentity
    /// Of the name or the identity.
    case nameTooLong(limit: Int)
    case metadataTooLong(limit: Int)
    case attributesTooLong(limit: Int)
    case roomFull(limit: Int)
    /// As many have come beside somebody with their token as may.
    case tooManyBeside(limit: Int)
    case roomEnded
    /// It takes nobody who is not in it already.
    case roomDraining
    /// The first offer cannot be answered.
    case badOffer(String)
    /// An offer that could be answered, but not wholly, or not with what was asked for.
    case unsuitableOffer(String)
    /// The token does not let its bearer publish what the offer sends.
    case mayNotPublish
    /// The token does not let its bearer have anything of the room's.
    case mayNotSubscribe
}

extension JoinRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notAllowed: "The token does not let its bearer join this room."
        case .noIdentity: "The token names nobody."
        case .nameTooLong(let limit): "The name or the identity is longer than \(limit) bytes."
        case .metadataTooLong(let limit): "The metadata are longer than \(limit) bytes."
        case .attributesTooLong(let limit): "The attributes are longer than \(limit) bytes."
        case .roomFull(let limit): "The room is full: \(limit) participants are in it."
        case .tooManyBeside(let limit): "With this token \(limit) publish here beside its bearer already."
        case .roomEnded: "The room has ended."
        case .roomDraining: "The room takes nobody new: it ends when those have left who are in it."
        case .badOffer(let reason), .unsuitableOffer(let reason): "The offer cannot be answered: \(reason)"
        case .mayNotPublish: "The token does not let its bearer publish this."
        case .mayNotSubscribe: "The token does not let its bearer see or hear anybody."
        }
    }
}
