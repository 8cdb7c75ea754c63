public import RTCWire

/// Why a negotiator refused a call. Nothing has changed when one is thrown.
public enum NegotiationError: Error, Sendable, Hashable {
    // MARK: The call does not fit the state.

    /// The negotiator is closed.
    case closed
    /// A description of this type cannot be made or set in this state; glare is the usual reason.
    case wrongState(SignalingState, SDPType, DescriptionSide)
    /// A candidate of the peer's came before any description of the peer's.
    case noRemoteDescription
    /// The local description was to be set without `createOffer` or `createAnswer` before.
    case nothingCreated
    /// The transceiver has been stopped.
    case transceiverStopped

    // MARK: The call names what is not there, or too much.

    /// The transceiver is of another negotiator, or gone.
    case unknownTransceiver
    /// As many transceivers as the configuration allows.
    case tooManyTransceivers
    /// Layers need names of letters and digits, each its own, and at most eight; and sound has none.
    case invalidEncodings
    /// The id of a stream or a track is no token of SDP (RFC 8830 §2): it is empty, `-`, or holds a space or the like.
    case invalidStreamID
    /// A preferred codec is not among the configuration's.
    case unknownCodec
    /// None of the preferred codecs carries media by itself, as redundancy and telephone events do not.
    case noMediaCodec

    // MARK: The local description is not ours.

    /// The description differs from the one that was created last.
    case modifiedDescription
    /// The peer restarts ICE: the answer needs a new credential of ours too (RFC 8839 §4.4.2.1).
    case iceRestartUnanswered

    // MARK: The remote description cannot be applied.

    /// Not a session description.
    case malformed(SDPError)
    /// Several tracks in one media section, told apart by `a=ssrc` lines: the dialect of before RFC 8829.
    case planB(section: Int)
    /// Sections were removed, moved or turned into something else (RFC 8829 §5.2.2, §5.3.1).
    case sectionsChanged(section: Int)
    /// Two sections have the same mid.
    case duplicateMid(section: Int)
    /// A BUNDLE group of an answer names a section that is not there, or one is named twice.
    case invalidBundleGroup
    /// The answer keeps sections on transports of their own, which a max-bundle peer has not got.
    case notBundled(section: Int)
    /// The answer does not multiplex RTP and RTCP, which we require (RFC 8829 §5.1.1).
    case rtcpMuxRequired(section: Int)
    /// No `a=ice-ufrag` or `a=ice-pwd` where one is needed.
    case missingICEParameters
    /// Both sides are lite agents of ICE, and neither would make checks.
    case bothLite
    /// No `a=fingerprint` where one is needed.
    case missingFingerprint
    /// `a=setup` has a value that may not stand there, as `actpass` in an answer.
    case invalidSetup
    /// The peer wants another DTLS association while the present one lives; that needs a new connection.
    case dtlsAssociationChanged
    /// The answer accepts a section without one codec of the offer.
    case noCommonCodec(section: Int)

    // MARK: The candidate cannot be applied.

    /// Neither mid nor m-line index.
    case candidateWithoutSection
    /// The remote description has no such section.
    case unknownSection
    /// The candidate is of a generation that the remote description does not show.
    case unknownGeneration
    /// The candidate is not written as one (RFC 8839 §5.1).
    case malformedCandidate(ICECandidateError)
}

extension NegotiationError {
    /// The names of exceptions in W3C WebRTC.
    public enum W3CName: String, Sendable {
        case invalidState = "InvalidStateError"
        case invalidAccess = "InvalidAccessError"
        case invalidModification = "InvalidModificationError"
        case operation = "OperationError"
        case type = "TypeError"
    }

    /// The exception that a browser throws for it.
    public var w3cName: W3CName {
        switch self {
        case .closed, .wrongState, .noRemoteDescription, .nothingCreated, .transceiverStopped: .invalidState
        case .unknownTransceiver, .sectionsChanged, .duplicateMid, .invalidBundleGroup, .notBundled, .rtcpMuxRequired,
            .missingICEParameters, .bothLite, .missingFingerprint, .invalidSetup,
            .dtlsAssociationChanged, .noCommonCodec, .planB:
            .invalidAccess
        case .unknownCodec, .noMediaCodec, .modifiedDescription, .iceRestartUnanswered: .invalidModification
        case .tooManyTransceivers, .malformed, .unknownSection, .unknownGeneration, .malformedCandidate: .operation
        case .candidateWithoutSection, .invalidEncodings, .invalidStreamID: .type
        }
    }
}
