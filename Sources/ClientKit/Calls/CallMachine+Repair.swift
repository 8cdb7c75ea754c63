/// Media that connects, stops and comes back.
extension CallMachine {
    mutating func mediaConnection(_ connection: CallMediaConnectionState, at now: Duration) {
        switch connection {
        case .new, .connecting:
            break
        case .connected:
            hasConnected = true
            connectBy = nil
            repair = .notNeeded
            move(to: .connected, because: "media flows")
        case .disconnected:
            guard state == .connected else { return }
            repair = .healing(until: now + policy.disturbanceGrace)
            move(to: .reconnectingMedia, because: "media is disturbed")
        case .failed:
            mediaFailed(because: "media failed", at: now)
        case .closed:
            end(.peerClosedMedia, because: "the media connection was closed from outside")
        }
    }

    private mutating func mediaFailed(because reason: String, at now: Duration) {
        switch repair {
        case .notNeeded, .healing:
            guard socket != .gone else { return end(mediaGone, because: "no signaling to restart over") }
            connectBy = nil
            repair = .waiting(until: now + policy.restartDeadline)
            move(to: .reconnectingMedia, because: reason)
            restartIfWaiting(at: now)
        case .waiting:
            // The same failure again; its deadline runs already.
            break
        case .restarting:
            switch negotiation {
            case .opening, .makingOffer, .offerSent, .applyingAnswer, .makingAnswer:
                // Still the old path's failure: the restart is not agreed on yet.
                break
            case .stable:
                end(mediaGone, because: "the ICE restart failed")
            }
        }
    }

    /// The caller restarts ICE (RFC 8445 §9) once an outage, as soon as an offer can be made and sent.
    mutating func restartIfWaiting(at now: Duration) {
        guard case .waiting = repair, role == .caller, socket == .up else { return }
        switch negotiation {
        case .stable, .offerSent:
            repair = .restarting(until: now + policy.restartDeadline)
            makeOffer(restartingIce: true)
        case .opening, .makingOffer, .applyingAnswer, .makingAnswer:
            // `becameStable` comes back here.
            break
        }
    }

    var repairWake: Duration? {
        switch repair {
        case .notNeeded: nil
        case .healing(let until), .waiting(let until), .restarting(let until): until
        }
    }

    mutating func repairTimePassed(at now: Duration) {
        guard let wake = repairWake, now >= wake else { return }
        switch repair {
        case .notNeeded:
            break
        case .healing:
            mediaFailed(because: "the disturbance did not heal", at: now)
        case .waiting:
            end(mediaGone, because: "no ICE restart in time")
        case .restarting:
            end(mediaGone, because: "the ICE restart took too long")
        }
    }

    mutating func connectTimePassed(at now: Duration) {
        guard let connectBy, now >= connectBy else { return }
        end(mediaGone, because: "media did not connect in time")
    }

    private var mediaGone: CallEndReason {
        hasConnected ? .mediaLost : .mediaNeverConnected
    }
}
