/// The typed value of an attribute, readable from text and written back.
public protocol SDPAttributeValue: Hashable, Sendable {
    /// The attribute's name, before the colon.
    static var name: String { get }
    /// Nil when the value is against the attribute's grammar.
    init?(attributeValue: String)
    /// What follows the colon.
    var attributeValue: String { get }
}

/// The namespace of the attributes' types.
public enum SDP {
    /// Property attributes: there or not.
    public enum Flag: String, Sendable, CaseIterable {
        /// RFC 5761 §5.1.1.
        case rtcpMux = "rtcp-mux"
        /// RFC 5506 §5.
        case rtcpReducedSize = "rtcp-rsize"
        /// RFC 9143 §6: a section with port 0 that is not rejected.
        case bundleOnly = "bundle-only"
        /// RFC 8840 §8.2.
        case endOfCandidates = "end-of-candidates"
        /// RFC 8285 §6: header extensions of both forms in one stream.
        case extmapAllowMixed = "extmap-allow-mixed"
        /// RFC 8839 §5.3.
        case iceLite = "ice-lite"
    }

    /// The attributes whose grammar the parser holds a description to.
    static let checked: [String: @Sendable (String) -> Bool] = {
        func check<Value: SDPAttributeValue>(_ type: Value.Type) -> (String, @Sendable (String) -> Bool) {
            (Value.name, { Value(attributeValue: $0) != nil })
        }
        return Dictionary(
            uniqueKeysWithValues: [
                check(Mid.self), check(RTPMap.self), check(FormatParameters.self), check(RTCPFeedback.self),
                check(ExtensionMap.self), check(Setup.self), check(Fingerprint.self), check(SourceAttribute.self),
                check(SourceGroup.self), check(MediaStreamID.self), check(Group.self), check(ICEUsernameFragment.self),
                check(ICEPassword.self), check(ICEOptions.self), check(SCTPPort.self), check(MaxMessageSize.self),
                check(RestrictionID.self),
            ])
    }()
}
