extension NegotiationError: CustomStringConvertible {
    /// For a log or a developer; it holds nothing of a description's content.
    public var description: String {
        switch self {
        case .closed: "The peer connection is closed."
        case .wrongState(let state, let type, let side):
            "A \(side) \(type.rawValue) cannot be used while the signaling state is \(state.rawValue)."
        case .noRemoteDescription: "There is no remote description yet."
        case .nothingCreated:
            "There is no description to set: none was given, none was created before, or what was created is out of date."
        case .transceiverStopped: "The transceiver has been stopped."
        case .unknownTransceiver: "The transceiver belongs to another peer connection, or has ended."
        case .tooManyTransceivers: "There would be more transceivers than the configuration allows."
        case .invalidEncodings: "The encodings are not layers of a picture with names of their own."
        case .invalidStreamID: "The id of a stream or a track is empty, \"-\", or holds what a description cannot name."
        case .unknownCodec: "A preferred codec is not among those that are configured."
        case .noMediaCodec: "None of the preferred codecs carries media by itself."
        case .modifiedDescription: "The local description differs from the one that was created last."
        case .iceRestartUnanswered: "The peer restarts ICE, so the answer needs new ICE credentials too."
        case .malformed(let error): "The description cannot be read: \(error)."
        case .planB(let section): "Section \(section) holds several tracks (\"Plan B\"); one track a section is needed."
        case .sectionsChanged(let section): "Section \(section) was removed, moved or made into something else."
        case .duplicateMid(let section): "Section \(section) has the mid of another one."
        case .invalidBundleGroup: "A BUNDLE group names a section that is not there, or one that is named already."
        case .notBundled(let section): "Section \(section) is not bundled with the others."
        case .rtcpMuxRequired(let section): "Section \(section) does not multiplex RTP and RTCP."
        case .missingICEParameters: "The description has no ICE credentials."
        case .bothLite: "Both sides are lite agents of ICE; one of them has to be a full one."
        case .missingFingerprint: "The description has no certificate fingerprint."
        case .invalidSetup: "The description's a=setup cannot be used here."
        case .dtlsAssociationChanged: "The description asks for another DTLS association; make a new connection."
        case .noCommonCodec(let section): "The answer's section \(section) accepts no codec of the offer."
        case .candidateWithoutSection: "The candidate names neither a mid nor an m-line index."
        case .unknownSection: "The remote description has no section of that name or index."
        case .unknownGeneration: "The candidate's username fragment is of no remote description."
        case .malformedCandidate(let error): "The candidate cannot be read: \(error)."
        }
    }
}
