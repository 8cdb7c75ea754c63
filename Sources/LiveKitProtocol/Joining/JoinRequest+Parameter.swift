internal import SwiftProtobuf

/// Why the parameter `join_request` of a client's URL cannot be read. All of them are the client's fault: status 400.
package enum JoinRequestRefusal: Error, Equatable {
    case empty
    /// The parameter itself, or what was packed into it, is longer than this many bytes.
    case tooLarge(limit: Int)
    case notBase64
    /// It was packed in a way that we do not know.
    case unknownCompression(Int)
    /// It says that it is gzip and is not, or only a part of it.
    case notGzip
    /// The bytes are no such message.
    case malformed
}

extension JoinRequestRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "The join request is empty."
        case .tooLarge(let limit): "The join request is larger than \(limit) bytes."
        case .notBase64: "The join request is not base64."
        case .unknownCompression(let number): "The join request is compressed in a way that is not known: \(number)."
        case .notGzip: "The join request is said to be gzip, and cannot be unpacked."
        case .malformed: "The join request is not a message of LiveKit's protocol."
        }
    }
}

extension LiveKitJoinRequest {
    /// What LiveKit's server unpacks at most, too.
    package static let largestParameter = 1 << 20

    /// Reads the parameter `join_request`, after the URL's own escapes are undone.
    ///
    /// Clients differ: the base64 is in either alphabet, padded or not; where a `+` was not escaped it comes as a
    /// space; the request is packed with gzip or not, in a `WrappedJoinRequest` or bare.
    package init(parameter: String, limit: Int = Self.largestParameter) throws(JoinRequestRefusal) {
        guard !parameter.isEmpty else { throw .empty }
        guard parameter.utf8.count <= limit else { throw .tooLarge(limit: limit) }
        guard let bytes = Base64.decode(parameter.utf8, as: .query) else { throw .notBase64 }
        guard !bytes.isEmpty else { throw .empty }
        let wrapper: LiveKitWrappedJoinRequest = try Self.read(bytes)
        guard !wrapper.holdsBareRequest else {
            self = try Self.read(bytes)
            return
        }
        switch wrapper.compression {
        case .none: self = try Self.read([UInt8](wrapper.joinRequest))
        case .gzip:
            let request: [UInt8]
            do throws(Gzip.Fault) {
                request = try Gzip.decompress([UInt8](wrapper.joinRequest), limit: limit)
            } catch {
                switch error {
                case .damaged: throw .notGzip
                case .tooLarge: throw .tooLarge(limit: limit)
                }
            }
            self = try Self.read(request)
        case .UNRECOGNIZED(let number): throw .unknownCompression(number)
        }
    }

    private static func read<Value: SwiftProtobuf.Message>(_ bytes: [UInt8]) throws(JoinRequestRefusal) -> Value {
        do {
            return try Value(serializedBytes: bytes)
        } catch {
            throw .malformed
        }
    }
}

extension LiveKitWrappedJoinRequest {
    /// Whether this was a `JoinRequest` that was never wrapped. Such a one begins with who the client is, under the
    /// number that is the compression's here: a message where a number belongs, so it was kept as unknown.
    fileprivate var holdsBareRequest: Bool {
        (try? LiveKitJoinRequest(serializedBytes: unknownFields.data))?.hasClientInfo ?? false
    }
}
