import RTCEngine
import RTCWire

/// One random call: who is where, on what lines, with which media, and what happens to them. All of it follows from
/// the seed.
struct CallScenario {
    /// What happens in the course of the call.
    enum Incident: CaseIterable {
        case nothing, iceRestart, iceRestartByBoth, addsVideo, bothAdd, holds, stops, leftCloses, rightCloses, lineFails
    }

    let seed: UInt64
    var options = CallSimulation.Options()
    var signaling = VirtualSignaling()
    var kinds: [MediaKind]
    var answersWith: [MediaKind]
    var incident: Incident
    var incidentAt: Interval
    /// Who opens a data channel; whether what is said on it has an order.
    var channels: [(opener: CallSimulation.Side, isOrdered: Bool)] = []

    private static let connectLimit = Interval.milliseconds(15_000)
    private static let mediaLimit = Interval.milliseconds(6_000)
    private static let dataLimit = Interval.milliseconds(20_000)

    init(seed: UInt64) {
        var random = EngineRandom.seeded(seed &* 0x9e37_79b9 &+ 1)
        func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }
        func milliseconds(_ range: ClosedRange<Int64>) -> Interval {
            .milliseconds(Int64.random(in: range, using: &random))
        }
        self.seed = seed
        options.seed = seed
        options.conditions = LinkConditions(
            delay: milliseconds(1...40), jitter: milliseconds(pick([0...0, 0...10, 5...40])),
            loss: pick([0, 0, 0.01, 0.03, 0.06]), duplication: pick([0, 0, 0.02]),
            reordering: pick([0, 0, 0.02, 0.1]))
        options.profile = pick(SRTPProfile.allCases)
        options.video = pick([[.vp8], [.h264], [.vp8, .h264], [.h264, .vp8]])
        options.usesRTX = pick([true, true, false])
        options.answeringRole = pick([.client, .client, .server])
        options.liteSide = pick([nil, nil, nil, .left, .right])
        repeat {
            options.nats = (pick([nil, nil] + NATKind.allCases), pick([nil, nil] + NATKind.allCases))
        } while !Self.canWork(options.nats)
        // Only without NATs all candidates are known at once: see below.
        if seed % (options.liteSide == nil ? 5 : 2) == 0 { options.nats = (nil, nil) }
        // A lite agent is on a server: nobody behind a NAT could be found by it.
        switch options.liteSide {
        case .left: options.nats.0 = nil
        case .right: options.nats.1 = nil
        case nil: break
        }

        kinds = pick([[.audio], [.video], [.audio, .video]])
        answersWith = pick([kinds, kinds, kinds, []])
        incident = pick([.nothing, .nothing, .nothing] + Incident.allCases)
        incidentAt = milliseconds(pick([0...300, 0...1_500, 800...2_000]))

        signaling.delay = milliseconds(5...150)
        signaling.answerDelay = pick([.zero, milliseconds(0...400)])
        switch pick([0, 0, 1, 2, 3]) {
        case 1: signaling.candidateDelays = [.left: milliseconds(0...200), .right: milliseconds(0...200)]
        // A lite agent makes no checks that could reveal its address.
        case _ where options.liteSide != nil: break
        case 2: signaling.trickling = options.nats == (nil, nil) ? [pick([.left, .right])] : [.left, .right]
        case 3 where options.nats == (nil, nil):
            // Left's candidates come too early and are lost.
            signaling.candidateDelays = [.left: .zero]
            signaling.earlyCandidates = .pass
        default: break
        }
        // New dice go last: what a seed meant before, it means with them.
        let tricklesNormally = signaling.trickling.count == 2 && signaling.earlyCandidates == .wait
        if tricklesNormally, options.liteSide == nil { chooseRelays(pick([0, 0, 0, 0, 0, 1, 2, 3])) }
        // With STUN or TURN servers, candidates need time that nobody waits.
        if options.nats == (nil, nil), !options.turn, signaling.candidateDelays.isEmpty {
            let silent: Set<CallSimulation.Side> = pick([[], [.left], [.right], [.left, .right]])
            signaling.gatheringFirst = silent
            signaling.trickling.subtract(silent)
        }
        for _ in 0..<pick([0, 0, 0, 0, 0, 1, 1, 2]) {
            channels.append((pick([.left, .right]), pick([true, true, false])))
        }
    }

    /// Relays that could be used, that one side has to use, or that are all there is.
    private mutating func chooseRelays(_ kind: Int) {
        options.turn = kind != 0
        switch kind {
        case 2: options.policies.0 = .relay
        case 3: options.nats = (.symmetric, .symmetric)
        default: break
        }
    }

    /// Without a relay, a mapping for each destination only works with a peer that lets strange ports in.
    private static func canWork(_ nats: (NATKind?, NATKind?)) -> Bool {
        switch nats {
        case (.symmetric, .symmetric), (.symmetric, .portRestricted), (.portRestricted, .symmetric): false
        default: true
        }
    }

    /// Lives through the call; what was wrong is in the result's `violations`.
    func run(isTracing: Bool = false, sabotage: CallSimulation.Sabotage = .none) -> CallSimulation {
        var call = CallSimulation { $0 = options }
        call.signaling = signaling
        call.isTracing = isTracing
        call.sabotage = sabotage
        call.audioStride = 3
        call.talksOnChannels = true
        for (number, channel) in channels.enumerated() where channel.opener == .left {
            call.openChannel("\(number)", isOrdered: channel.isOrdered, by: .left)
        }
        call.begin(kinds, answersWith: answersWith)
        // The other side's need the first negotiation, or one of their own.
        let later = channels.enumerated().filter { $0.element.opener == .right }
        call.after(.milliseconds(1_000)) { call in
            guard !later.isEmpty, !isOver(call) else { return }
            call.signaling.offersWhenNeeded = true
            for (number, channel) in later { call.openChannel("\(number)", isOrdered: channel.isOrdered, by: .right) }
        }
        call.after(incidentAt, happen)
        let connected = call.run(within: Self.connectLimit) { isOver($0) || $0.bothConnected }
        if !connected { call.invariants.note("the call does not connect", .left, at: call.now) }
        call.run(for: max(.milliseconds(1_200), .zero + incidentAt + .milliseconds(700) - call.now))
        let flows = call.run(within: Self.mediaLimit) { isOver($0) || mediaFlows($0) }
        if !flows { call.invariants.note("media does not come", .left, at: call.now) }
        checkData(&call)
        if isOver(call) { checkEnd(&call) }
        return call
    }

    private func happen(_ call: inout CallSimulation) {
        call.signaling.offersWhenNeeded = true
        switch incident {
        case .nothing: return
        case .iceRestart: restart(&call, .left)
        case .iceRestartByBoth:
            restart(&call, .left)
            restart(&call, .right)
        case .addsVideo: call.addTrack(.video, to: .right)
        case .bothAdd:
            call.addTrack(.video, to: .left)
            call.addTrack(.audio, to: .right)
        case .holds:
            guard let id = call[.left].machine.transceivers.first?.id else { return }
            call.setDirection(.inactive, of: id, .left)
            call.after(.milliseconds(400)) { $0.setDirection(.sendrecv, of: id, .left) }
        case .stops:
            // Without any section there is nothing to connect for.
            guard call[.left].machine.transceivers.count > 1, let id = call[.left].machine.transceivers.last?.id
            else { return }
            call.setDirection(.stopped, of: id, .left)
        case .leftCloses: call.close(.left)
        case .rightCloses: call.close(.right)
        case .lineFails:
            let conditions = options.conditions
            call.setConditions(.cut, of: .right)
            call.after(.milliseconds(600)) { $0.setConditions(conditions, of: .right) }
        }
    }

    private func restart(_ call: inout CallSimulation, _ side: CallSimulation.Side) {
        call.tell(side) { machine, _ in machine.restartICE() }
    }

    private func isOver(_ call: borrowing CallSimulation) -> Bool {
        CallSimulation.Side.allCases.contains { call[$0].machine.connectionState == .closed }
    }

    /// Everything that is negotiated to be sent, and has a source, has come out on the other side.
    private func mediaFlows(_ call: borrowing CallSimulation) -> Bool {
        CallSimulation.Side.allCases.allSatisfy { side in
            call[side].machine.transceivers.allSatisfy { transceiver in
                guard transceiver.sendParameters != nil, call[side].sources[transceiver.id] != nil,
                    let mid = transceiver.mid
                else { return true }
                let peer = call[side.other].machine.transceivers.first { $0.mid == mid }
                return peer?.receiveParameters == nil || peer.map { call[side.other].judges[$0.id] != nil } == true
            }
        }
    }

    /// All that was said on channels has been heard, and they close on both sides when one side closes them.
    private func checkData(_ call: inout CallSimulation) {
        let isHeard = call.run(within: Self.dataLimit) { call in
            isOver(call)
                || CallSimulation.Side.allCases.allSatisfy { side in
                    call[side].conversations.count == channels.count
                        && call[side].conversations.values.allSatisfy(\.isComplete)
                }
        }
        if !isHeard { return call.invariants.note("not all that was said on channels is heard", .left, at: call.now) }
        guard !isOver(call) else { return }
        if CallSimulation.Side.allCases.contains(where: { !call[$0].closedChannels.isEmpty }) {
            call.invariants.note("a channel closes by itself", .left, at: call.now)
        }
        call.closeChannels(of: .left)
        let isClosed = call.run(within: Self.dataLimit) { call in
            isOver(call) || CallSimulation.Side.allCases.allSatisfy { call[$0].closedChannels.count == channels.count }
        }
        if !isClosed { call.invariants.note("not all channels close", .left, at: call.now) }
    }

    /// One side has closed. Unless its goodbye is lost, or it never had a path, the other follows.
    private func checkEnd(_ call: inout CallSimulation) {
        call.run(for: .milliseconds(1_000))
        for side in CallSimulation.Side.allCases where call[side].machine.connectionState == .closed {
            let sent = call[side].sent
            call.run(for: .milliseconds(200))
            if call[side].sent != sent { call.invariants.note("it sends after its end", side, at: call.now) }
        }
    }

    var summary: String {
        let line = options.conditions
        return """
            seed \(seed): \(kinds) answered with \(answersWith), \(options.video.map(\.name)), RTX \(options.usesRTX), \
            NATs \(options.nats), delay \(line.delay.milliseconds) ms, jitter \(line.jitter.milliseconds) ms, \
            relays \(options.turn) \(options.policies), lite \(options.liteSide.map { "\($0)" } ?? "none"), \
            trickling \(signaling.trickling), channels \(channels), \
            loss \(line.loss), duplication \(line.duplication), reordering \(line.reordering), \
            \(incident) after \(incidentAt.milliseconds) ms
            """
    }
}
