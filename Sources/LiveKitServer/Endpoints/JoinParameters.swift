internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import SocketIO

/// What a request for `/rtc` or `/rtc/v1` says, once its token is found to be good.
struct JoinParameters {
    let token: AccessToken
    let room: String
    let mode: ConnectionMode
    let request: LiveKitJoinRequest
    /// As whom its bearer comes.
    private let participant: AccessToken

    /// Reads a request.
    init(
        _ request: SocketIOHTTPRequest, keys: APIKeys, limits: RoomLimits, at now: Date
    ) throws(HTTPRefusal) {
        token = try request.accessToken(keys: keys, at: now)
        guard let grants = token.claims.video, grants.roomJoin else { throw .notAllowed }
        room = grants.room.isEmpty ? request.query["room"] ?? "" : grants.room
        guard !room.isEmpty else { throw .noRoomName }
        guard room.isComposed else { throw .notComposed }
        guard !token.identity.isEmpty else { throw .noIdentity }
        guard max(token.identity.utf8.count, token.claims.name.utf8.count) <= limits.nameBytes else {
            throw HTTPRefusal(400, JoinRefusal.nameTooLong(limit: limits.nameBytes).description)
        }
        guard room.utf8.count <= limits.nameBytes else {
            throw HTTPRefusal(400, "The room's name is longer than \(limits.nameBytes) bytes.")
        }
        guard (token.claims.roomConfig?.metadata.utf8.count ?? 0) <= limits.metadataBytes else {
            throw HTTPRefusal(400, "The room's metadata are longer than \(limits.metadataBytes) bytes.")
        }
        var participant = token
        var join: LiveKitJoinRequest
        if let parameter = request.query["join_request"] {
            mode = .single
            do throws(JoinRequestRefusal) {
                join = try LiveKitJoinRequest(parameter: parameter)
            } catch {
                throw HTTPRefusal(error)
            }
        } else if request.path.hasPrefix("/rtc/v1") {
            throw HTTPRefusal(JoinRequestRefusal.empty)
        } else {
            mode = .dual
            join = LiveKitJoinRequest(query: request.query)
            if let name = request.query["publish"], !name.isEmpty { try participant.narrow(toPublisher: name) }
        }
        self.participant = participant
        join.clientInfo.address = request.remoteAddress
        join.clientInfo.readBrowser(from: request.header("User-Agent") ?? "")
        self.request = join
    }

    var arrival: Arrival {
        Arrival(
            identity: participant.identity, tokenIdentity: token.identity, claims: participant.claims, mode: mode,
            request: request)
    }
}

extension AccessToken {
    /// The same person once more, who publishes beside the first one and takes no tracks, as LiveKit's server has it:
    /// an extension of an app that shares the screen (`publishOnlyMode` of earlier Swift SDKs). Its renewed tokens name
    /// the first one (`TokenSubject`), for its client says `publish` again.
    fileprivate mutating func narrow(toPublisher name: String) throws(HTTPRefusal) {
        guard claims.video?.mayPublish == true else { throw .mayNotPublish }
        identity += "#" + name
        guard identity.isComposed else { throw .notComposed }
        claims.video?.canSubscribe = false
    }
}

extension SocketIOHTTPRequest {
    /// The token of the header `Authorization` or, since browsers cannot set that on a WebSocket, of the query.
    var accessTokenText: String? {
        let scheme = "bearer "
        if let header = header("Authorization"), header.lowercased().hasPrefix(scheme) {
            // RFC 9110 §11.4: one space or more.
            return String(header.dropFirst(scheme.count).drop { $0 == " " })
        }
        guard let parameter = query["access_token"], !parameter.isEmpty else { return nil }
        return parameter
    }

    func accessToken(keys: APIKeys, at now: Date) throws(HTTPRefusal) -> AccessToken {
        guard let text = accessTokenText else { throw .noToken }
        let token: AccessToken
        do throws(AccessTokenRefusal) {
            token = try AccessToken(verifying: text, with: keys, at: now)
        } catch {
            throw HTTPRefusal(error)
        }
        guard token.identity.isComposed, token.claims.video?.room.isComposed ?? true else { throw .notComposed }
        return token
    }
}

extension String {
    /// Whether it is in Unicode's normalization form C (UAX #15). Names of which that is true are equal to Swift when
    /// their bytes are, as services compare them; others could be taken for somebody else's.
    var isComposed: Bool {
        utf8.allSatisfy { $0 < 0x80 } || utf8.elementsEqual(precomposedStringWithCanonicalMapping.utf8)
    }
}

extension LiveKitJoinRequest {
    /// What clients with two connections say in their query.
    init(query: EngineIOQuery) {
        self.init()
        clientInfo = LiveKitClientInfo(query: query)
        connectionSettings.autoSubscribe = query.flag("auto_subscribe") ?? true
        connectionSettings.adaptiveStream = query.flag("adaptive_stream") ?? false
        connectionSettings.disableIceLite = query.flag("disable_ice_lite") ?? false
        if let mayPause = query.flag("subscriber_allow_pause") {
            connectionSettings.subscriberAllowPause = mayPause
        }
        if let subscribes = query.flag("auto_subscribe_data_track") {
            connectionSettings.autoSubscribeDataTrack = subscribes
        }
        participantAttributes = query["attributes"].flatMap(Self.attributes) ?? [:]
        reconnect = query.flag("reconnect") ?? false
        participantSid = query["sid"] ?? ""
        reconnectReason =
            query["reconnect_reason"].flatMap(Int.init).flatMap(LiveKitReconnectReason.init(rawValue:)) ?? .rrUnknown
    }

    /// A JSON object in base64, of either alphabet.
    private static func attributes(_ text: String) -> [String: String]? {
        var standard = text.replacing("-", with: "+").replacing("_", with: "/").replacing(" ", with: "+")
        standard = standard.filter { $0 != "=" }
        standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return Data(base64Encoded: standard).flatMap { try? JSONDecoder().decode([String: String].self, from: $0) }
    }
}

extension LiveKitClientInfo {
    fileprivate init(query: EngineIOQuery) {
        self.init()
        sdk = query["sdk"].flatMap(SDK.init(name:)) ?? .unknown
        version = query["version"] ?? ""
        `protocol` = query["protocol"].flatMap(Int32.init) ?? 0
        clientProtocol = query["client_protocol"].flatMap(Int32.init) ?? 0
        os = query["os"] ?? ""
        osVersion = query["os_version"] ?? ""
        deviceModel = query["device_model"] ?? ""
        browser = query["browser"] ?? ""
        browserVersion = query["browser_version"] ?? ""
        network = query["network"] ?? ""
        capabilities = (query["capabilities"] ?? "").split(separator: ",").compactMap { Capability(name: String($0)) }
    }
}

extension LiveKitClientInfo.SDK {
    /// The enum's own names, whatever their case, and those that SDKs use in URLs.
    fileprivate init?(name: String) {
        switch name.lowercased() {
        case "js": self = .js
        case "swift", "ios": self = .swift
        case "android": self = .android
        case "flutter": self = .flutter
        case "go": self = .go
        case "unity": self = .unity
        case "reactnative", "react_native": self = .reactNative
        case "rust": self = .rust
        case "python": self = .python
        case "cpp": self = .cpp
        case "unityweb", "unity_web": self = .unityWeb
        case "node": self = .node
        case "unreal": self = .unreal
        case "esp32": self = .esp32
        case "dotnet": self = .dotnet
        default: return nil
        }
    }
}

extension LiveKitClientInfo.Capability {
    fileprivate init?(name: String) {
        switch name {
        case "CAP_PACKET_TRAILER": self = .capPacketTrailer
        case "CAP_COMPRESSION_DEFLATE_RAW": self = .capCompressionDeflateRaw
        default: return nil
        }
    }
}

extension EngineIOQuery {
    /// `1` and `true` are true; nil when it is missing.
    fileprivate func flag(_ name: String) -> Bool? { self[name].map { $0 == "1" || $0.lowercased() == "true" } }
}
