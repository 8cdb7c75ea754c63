internal import RTCWire

/// Setting up (RFC 9260 §5.1), also when both sides begin at once (§5.2.1), as in WebRTC they always do.
extension SCTPAssociation {
    /// Sends INIT. Both peers call it, when DTLS is connected (RFC 8841 §9.3); their handshakes become one.
    public mutating func start(at now: Instant) {
        self.now = now
        guard state == .new else { return }
        move(to: .cookieWait)
        sendInitiation()
    }

    private mutating func sendInitiation() {
        sendAlone(tag: 0) { [configuration, handshake] packet in
            configuration.initiation(tag: handshake.localTag, initialTSN: handshake.localInitialTSN)
                .write(.initiation, into: &packet)
        }
        handshake.deadline = now + handshake.interval
    }

    private mutating func sendCookieEcho() {
        guard let peer = handshake.peer else { return }
        sendAlone(tag: peer.tag) { [handshake] packet in
            packet.appendSCTPChunk(.cookieEcho, value: handshake.cookie)
            // §5.1: COOKIE ECHO comes first; what was not understood goes along.
            guard !handshake.unrecognized.isEmpty else { return }
            let error = packet.beginSCTPChunk(.error)
            let cause = packet.beginSCTPParameter(SCTPCauseCode.unrecognizedParameters)
            for parameter in handshake.unrecognized { parameter.write(into: &packet) }
            packet.endSCTPParameter(cause)
            packet.endSCTPChunk(error)
        }
        handshake.deadline = now + handshake.interval
    }

    /// T1-init and T1-cookie (§5.1 A, C; §4 notes 2 and 3).
    mutating func handshakeTimedOut() {
        handshake.retransmissions += 1
        guard handshake.retransmissions <= configuration.maximumInitRetransmissions else {
            // With COOKIE ECHO it may have set the association up.
            sendAbort(nil)
            return move(to: .closed(.handshakeTimedOut))
        }
        handshake.interval = max(handshake.interval, min(handshake.interval * 2, configuration.maximumBackOff))
        switch state {
        case .cookieWait: sendInitiation()
        case .cookieEchoed: sendCookieEcho()
        case .new, .established, .shutdownPending, .shutdownSent, .shutdownReceived, .shutdownAckSent, .closed:
            handshake.deadline = nil
        }
    }

    /// §5.2.6: the peer calls our cookie stale; a new one is asked for.
    mutating func beginAgain() {
        handshake.retransmissions += 1
        guard handshake.retransmissions <= configuration.maximumInitRetransmissions else {
            // With COOKIE ECHO it may have set the association up.
            sendAbort(nil)
            return move(to: .closed(.handshakeTimedOut))
        }
        handshake.peer = nil
        handshake.cookie = []
        move(to: .cookieWait)
        sendInitiation()
    }

    // MARK: INIT

    mutating func receiveInitiation(_ chunk: borrowing SCTPChunk) {
        guard let initiation = SCTPInitiation(chunk) else { return }
        guard SCTPPeer.isAcceptable(initiation) else {
            // §3.3.2: such an INIT is answered with ABORT, under the tag that it brought.
            guard initiation.initiateTag != 0, !state.isLive else { return }
            sendAlone(tag: initiation.initiateTag) { packet in
                let abort = packet.beginSCTPChunk(.abort)
                packet.appendSCTPParameter(SCTPCauseCode.invalidParameter)
                packet.endSCTPChunk(abort)
            }
            return
        }
        switch state {
        case .new, .cookieWait:
            // §5.2.1: with the tag and TSN of our own INIT.
            answerInitiation(
                initiation, tag: handshake.localTag, tsn: handshake.localInitialTSN, localTieTag: 0, peerTieTag: 0)
        case .cookieEchoed:
            answerInitiation(
                initiation, tag: handshake.localTag, tsn: handshake.localInitialTSN, localTieTag: handshake.localTag,
                peerTieTag: handshake.peer?.tag ?? 0)
        case .established, .shutdownPending, .shutdownSent, .shutdownReceived:
            // §5.2.2: the peer may have restarted; nothing changes until it shows our cookie.
            answerInitiation(
                initiation, tag: UInt32(truncatingIfNeeded: random.next()) | 1,
                tsn: UInt32(truncatingIfNeeded: random.next()), localTieTag: handshake.localTag,
                peerTieTag: peer?.tag ?? 0)
        case .shutdownAckSent:
            // §9.2: the peer has not seen the end yet.
            queueControl(.shutdownAcknowledgment)
        case .closed: break
        }
    }

    private mutating func answerInitiation(
        _ initiation: SCTPInitiation, tag: UInt32, tsn: UInt32, localTieTag: UInt32, peerTieTag: UInt32
    ) {
        let cookie = SCTPCookie(
            localTag: tag, localInitialTSN: tsn, peer: SCTPPeer(initiation), madeAt: now, localTieTag: localTieTag,
            peerTieTag: peerTieTag)
        var answer = configuration.initiation(tag: tag, initialTSN: tsn)
        // Who does not name the extension will not use it; and pion/sctp 1.8 throws away an INIT or INIT ACK with a
        // parameter that it does not know, against RFC 9260 §3.2.1: with such a peer its own INIT is the one that
        // works.
        if !cookie.peer.features.contains(.zeroChecksum) {
            answer.parameters.removeAll { $0.type == SCTPParameterType.zeroChecksumAcceptable }
        }
        answer.parameters.append(
            SCTPParameter(type: SCTPParameterType.stateCookie, value: cookie.sealed(with: cookieKey)))
        var room = configuration.maximumPacketSize - 400
        for parameter in SCTPParameterReview(initiation.parameters).unrecognized {
            room -= parameter.value.count + 8
            guard room > 0 else { break }
            var value: [UInt8] = []
            parameter.write(into: &value)
            answer.parameters.append(SCTPParameter(type: SCTPParameterType.unrecognizedParameter, value: value))
        }
        sendAlone(tag: initiation.initiateTag) { answer.write(.initiationAcknowledgment, into: &$0) }
    }

    // MARK: INIT ACK

    /// False when the rest of the packet is not to be looked at.
    mutating func receiveInitiationAcknowledgment(_ chunk: borrowing SCTPChunk) -> Bool {
        // §5.2.3: unexpected ones are passed over.
        guard state == .cookieWait, let initiation = SCTPInitiation(chunk) else { return true }
        guard SCTPPeer.isAcceptable(initiation) else {
            move(to: .closed(.protocolViolation("an INIT ACK without tag, streams or window")))
            return false
        }
        guard let cookie = initiation.parameter(SCTPParameterType.stateCookie), !cookie.isEmpty,
            cookie.count <= configuration.maximumPacketSize - 400
        else {
            // §5.1, §3.3.10.2: one missing parameter, the cookie.
            sendAlone(tag: initiation.initiateTag) { packet in
                let abort = packet.beginSCTPChunk(.abort)
                let cause = packet.beginSCTPParameter(SCTPCauseCode.missingParameter)
                packet.append(uint32: 1)
                packet.append(uint16: SCTPParameterType.stateCookie)
                packet.endSCTPParameter(cause)
                packet.endSCTPChunk(abort)
            }
            move(to: .closed(.protocolViolation("an INIT ACK without a cookie")))
            return false
        }
        handshake.peer = SCTPPeer(initiation)
        handshake.cookie = cookie
        handshake.unrecognized = SCTPParameterReview(initiation.parameters).unrecognized.filter {
            $0.value.count <= 64
        }
        handshake.unrecognized.removeLast(max(0, handshake.unrecognized.count - 4))
        handshake.interval = configuration.initialRTO
        handshake.retransmissions = 0
        move(to: .cookieEchoed)
        sendCookieEcho()
        return true
    }
}

/// What of an INIT's or INIT ACK's parameters has to be reported as not known (RFC 9260 §3.2.1).
struct SCTPParameterReview {
    private(set) var unrecognized: [SCTPParameter] = []

    private static let known: Set<UInt16> = [
        SCTPParameterType.stateCookie, SCTPParameterType.unrecognizedParameter, SCTPParameterType.cookiePreservative,
        SCTPParameterType.ipv4Address, SCTPParameterType.ipv6Address, SCTPParameterType.supportedAddressTypes,
        SCTPParameterType.random, SCTPParameterType.chunkList, SCTPParameterType.requestedHMAC,
        SCTPParameterType.zeroChecksumAcceptable, SCTPParameterType.supportedExtensions,
        SCTPParameterType.forwardTSNSupported,
    ]

    init(_ parameters: [SCTPParameter]) {
        for parameter in parameters where !Self.known.contains(parameter.type) {
            let action = SCTPUnknownAction(parameterType: parameter.type)
            if action.reports { unrecognized.append(parameter) }
            if !action.goesOn { break }
        }
    }
}
