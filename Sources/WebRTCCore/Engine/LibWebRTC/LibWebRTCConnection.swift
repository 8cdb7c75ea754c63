#if canImport(WebRTC)
    internal import Foundation
    @preconcurrency internal import WebRTC

    /// Receives over Google's libwebrtc. The library says nothing about threads, so all calls are made by this actor,
    /// in the completion forms (what their imported `async` forms are is not written down), and nothing of the
    /// library's leaves it but tracks.
    actor LibWebRTCConnection: ReceivingConnection {
        nonisolated let happenings: AsyncStream<ConnectionHappening>
        /// The connection holds it weakly.
        private let delegate: LibWebRTCDelegate
        private let connection: RTCPeerConnection

        init(factory: LibWebRTCFactory) throws(Refusal) {
            let (happenings, continuation) = AsyncStream.makeStream(of: ConnectionHappening.self)
            let delegate = LibWebRTCDelegate(continuation)
            guard let connection = factory.makeConnection(delegate: delegate) else {
                throw Refusal(reason: "libwebrtc made no connection.")
            }
            self.happenings = happenings
            self.delegate = delegate
            self.connection = connection
        }

        deinit { connection.close() }

        func answer(_ offer: String) async throws(Refusal) -> String {
            // It would accept data channels: they are refused by taking them out of the offer.
            let offer = ReceiveOnlyOffer.refusingData(offer)
            do throws(Refusal) {
                try await apply(.offer, offer, isOurs: false)
                try await apply(.answer, try await makeAnswer(), isOurs: true)
            } catch {
                if connection.signalingState == .haveRemoteOffer { try? await apply(.rollback, "", isOurs: false) }
                throw error
            }
            guard let answer = connection.localDescription?.sdp else { throw Refusal(reason: "There is no answer.") }
            return answer
        }

        func presentAnswer() -> String? {
            connection.localDescription.flatMap { $0.type == .answer ? $0.sdp : nil }
        }

        func add(_ candidate: ICECandidate.Candidate) async throws(Refusal) {
            let attribute = candidate.attribute ?? candidate.candidate
            // libwebrtc takes no sign that there are no more.
            guard !attribute.isEmpty else { return }
            let candidate = RTCIceCandidate(
                sdp: attribute, sdpMLineIndex: Int32(clamping: candidate.sdpMLineIndex), sdpMid: candidate.sdpMid)
            let failure = await withCheckedContinuation { (done: CheckedContinuation<String?, Never>) in
                connection.add(candidate) { error in done.resume(returning: error?.localizedDescription) }
            }
            if let failure { throw Refusal(reason: failure) }
        }

        func close() {
            connection.close()
            delegate.finish()
        }

        private func apply(_ type: RTCSdpType, _ sdp: String, isOurs: Bool) async throws(Refusal) {
            let description = RTCSessionDescription(type: type, sdp: sdp)
            let failure = await withCheckedContinuation { (done: CheckedContinuation<String?, Never>) in
                let finish: @Sendable ((any Error)?) -> Void = { done.resume(returning: $0?.localizedDescription) }
                if isOurs {
                    connection.setLocalDescription(description, completionHandler: finish)
                } else {
                    connection.setRemoteDescription(description, completionHandler: finish)
                }
            }
            if let failure { throw Refusal(reason: failure) }
        }

        private func makeAnswer() async throws(Refusal) -> String {
            let constraints = RTCMediaConstraints(mandatoryConstraints: nil, optionalConstraints: nil)
            let answer = await withCheckedContinuation { (done: CheckedContinuation<Result<String, Refusal>, Never>) in
                connection.answer(for: constraints) { description, error in
                    let reason = error?.localizedDescription ?? "No answer was made."
                    done.resume(returning: description.map { .success($0.sdp) } ?? .failure(Refusal(reason: reason)))
                }
            }
            return try answer.get()
        }
    }
#endif
