import ClientKit
import Synchronization

/// A media engine that a test speaks for: what it was asked stands in `log`, what happens to the media is `happen`.
final class ScriptedMedia: CallMediaEngine {
    enum Entry: Hashable, Sendable {
        case opened
        case offer(String)
        case answer(to: String)
        case remoteAnswer(String)
        case remoteCandidate(String)
        case restartIce
        case microphone(Bool)
        case camera(Bool)
        case closed
    }

    let log: AsyncStream<Entry>
    private let logged: AsyncStream<Entry>.Continuation
    private let connectsByItself: Bool
    private struct Script {
        var session: Session?
        var failure: CallMediaError?
        var offers = 0
    }
    /// Written by the test and by the session's calls.
    private let script = Mutex(Script())

    /// - Parameter connectsByItself: media flows as soon as both descriptions are there.
    init(connectsByItself: Bool = true) {
        self.connectsByItself = connectsByItself
        (log, logged) = AsyncStream.makeStream()
    }

    /// The next session cannot be made.
    func willFail(_ error: CallMediaError) {
        script.withLock { $0.failure = error }
    }

    func happen(_ event: CallMediaEvent) {
        script.withLock { $0.session }?.happened.yield(event)
    }

    func makeSession() async throws(CallMediaError) -> any CallMediaSession {
        let session = Session(media: self)
        let failure = script.withLock { script in
            script.session = session
            return script.failure
        }
        if let failure { throw failure }
        logged.yield(.opened)
        return session
    }

    private func nextOffer() -> String {
        script.withLock { script in
            script.offers += 1
            return "v=0 offer \(script.offers)"
        }
    }

    private final class Session: CallMediaSession {
        let events: AsyncStream<CallMediaEvent>
        let happened: AsyncStream<CallMediaEvent>.Continuation
        private let media: ScriptedMedia

        init(media: ScriptedMedia) {
            self.media = media
            (events, happened) = AsyncStream.makeStream()
        }

        var localVideo: VideoSurface? { get async { VideoSurface(id: "local") } }
        var remoteVideo: VideoSurface? { get async { VideoSurface(id: "remote") } }

        func createOffer() async throws(CallMediaError) -> SessionDescriptionPayload {
            let sdp = media.nextOffer()
            media.logged.yield(.offer(sdp))
            return SessionDescriptionPayload(type: .offer, sdp: sdp)
        }

        func createAnswer(
            to offer: SessionDescriptionPayload
        ) async throws(CallMediaError) -> SessionDescriptionPayload {
            media.logged.yield(.answer(to: offer.sdp))
            agreed()
            return SessionDescriptionPayload(type: .answer, sdp: "v=0 answer to \(offer.sdp)")
        }

        func setRemoteAnswer(_ answer: SessionDescriptionPayload) async throws(CallMediaError) {
            media.logged.yield(.remoteAnswer(answer.sdp))
            agreed()
        }

        func addRemoteCandidate(_ candidate: IceCandidatePayload) async throws(CallMediaError) {
            media.logged.yield(.remoteCandidate(candidate.candidate))
        }

        func restartIce() async throws(CallMediaError) { media.logged.yield(.restartIce) }
        func setMicrophone(enabled: Bool) async { media.logged.yield(.microphone(enabled)) }
        func setCamera(enabled: Bool) async { media.logged.yield(.camera(enabled)) }

        func close() async {
            media.logged.yield(.closed)
            happened.finish()
        }

        private func agreed() {
            guard media.connectsByItself else { return }
            happened.yield(.connectionState(.connected))
            happened.yield(.remoteTrack(kind: .video, id: "v"))
        }
    }
}
