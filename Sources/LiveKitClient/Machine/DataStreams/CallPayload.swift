internal import RTCEngine

/// The payload of a call or of an answer that comes as a stream (LiveKit's RPC, version 2), as far as it has come.
final class CallPayload {
    /// Streams of these topics are calls and answers, and are never given to the application's stream handlers.
    static let requestTopic = "lk.rpc_request"
    static let responseTopic = "lk.rpc_response"
    /// The version that such a call has in its attributes.
    static let version = "2"

    /// The keys of the stream's attributes.
    enum Attribute {
        static let requestID = "lk.rpc_request_id"
        static let method = "lk.rpc_request_method"
        /// In milliseconds.
        static let responseTimeout = "lk.rpc_request_response_timeout_ms"
        static let version = "lk.rpc_request_version"
    }

    let requestID: String
    let sender: ParticipantIdentity?
    /// Of a call; empty and zero for an answer.
    let method: String
    let responseTimeout: Interval
    private var decoder: StreamDecoder
    private var text: [UInt8] = []

    init(
        _ requestID: String, _ header: IncomingStreamHeader, method: String = "", responseTimeout: Interval = .zero
    ) throws(StreamError) {
        self.requestID = requestID
        self.sender = header.sender
        self.method = method
        self.responseTimeout = responseTimeout
        decoder = try header.decoder()
    }

    /// How much has come, in bytes.
    var length: Int { text.count }

    func take(_ content: [UInt8]) throws(StreamError) {
        decoder.feed(content)
        while let piece = try decoder.next() {
            guard text.count + piece.count <= RPCError.largestStreamedPayload else {
                throw .tooLong(limit: RPCError.largestStreamedPayload)
            }
            text += piece
        }
    }

    /// The stream has ended: gives the whole text.
    func end() throws(StreamError) -> String {
        try decoder.finish()
        return String(decoding: text, as: UTF8.self)
    }
}
