internal import LiveKitProtocol
internal import SocketIO
internal import SwiftProtobuf

/// A request of Twirp, as bytes or as JSON, and its answer in the same form.
struct TwirpCall {
    enum Form {
        case binary, json

        var contentType: String {
            switch self {
            case .binary: "application/protobuf"
            case .json: "application/json"
            }
        }
    }

    let method: String
    let token: AccessToken
    private let form: Form
    private let body: [UInt8]

    init(_ request: SocketIOHTTPRequest, method: String, token: AccessToken) throws(TwirpError) {
        try Self.checkMethod(of: request)
        let type = request.header("Content-Type")?.split(separator: ";").first.map {
            $0.trimmingSuffix { $0.isWhitespace }.lowercased()
        }
        switch type {
        case Form.binary.contentType: form = .binary
        case Form.json.contentType: form = .json
        default: throw TwirpError(.badRoute, "unexpected Content-Type")
        }
        self.method = method
        self.token = token
        body = request.body
    }

    static func checkMethod(of request: SocketIOHTTPRequest) throws(TwirpError) {
        guard request.method == "POST" else {
            throw TwirpError(.badRoute, "unsupported method \"\(request.method)\" (only POST is allowed)")
        }
    }

    /// What was asked. In JSON both kinds of names are good, and new ones are no error.
    func argument<Value: SwiftProtobuf.Message>(_: Value.Type = Value.self) throws(TwirpError) -> Value {
        do {
            switch form {
            case .binary: return try Value(serializedBytes: body)
            case .json:
                var options = JSONDecodingOptions()
                options.ignoreUnknownFields = true
                return try Value(jsonUTF8Bytes: body, options: options)
            }
        } catch {
            throw TwirpError(.malformed, "the request is no such message")
        }
    }

    func response(_ value: some SwiftProtobuf.Message) throws(TwirpError) -> SocketIOHTTPResponse {
        let bytes: [UInt8]
        do {
            switch form {
            case .binary: bytes = try value.serializedBytes()
            case .json: bytes = try TwirpJSON.bytes(value)
            }
        } catch {
            throw TwirpError(.internal, "the answer cannot be written")
        }
        return SocketIOHTTPResponse(
            headers: [("Content-Type", form.contentType)] + HTTPRefusal.crossOrigin, body: .bytes(bytes))
    }
}

extension Substring {
    fileprivate func trimmingSuffix(while isLeft: (Character) -> Bool) -> Substring {
        var text = self
        while let last = text.last, isLeft(last) { text.removeLast() }
        return text
    }
}
