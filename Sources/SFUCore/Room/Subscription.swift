import RTCEngine
import RTCWire

/// One subscriber's part of a publication: what is forwarded, and how it is numbered.
final class Subscription {
    unowned let publication: Publication
    /// Nothing is asked of a subscription once its peer has gone: what the peer is subscribed to ends with it
    /// (`Room.remove`). To have that checked, or a reference counted, for each packet would wait for the peer's memory.
    private let peer: Unmanaged<RoomPeer>
    let transceiver: TransceiverID
    private var isInterrupted = false
    /// One of the two. They call nobody back, so two accesses never overlap.
    @exclusivity(unchecked) private var video: VideoForwarder?
    @exclusivity(unchecked) private var audio: AudioForwarder?
    var hints = SubscriberHints()
    /// What the publisher's dynacast counts it as.
    var quality = VideoQuality.high
    /// What the subscriber was told.
    var isPaused = false
    /// What its path has held it to when it was divided last; nil when it had all that it could use.
    var held: LayerTarget?

    /// Without reports of the subscriber a short round trip is assumed: better one packet twice than one too late.
    private static let assumedRoundTrip = Interval.milliseconds(20)

    init(
        to publication: Publication, of subscriber: RoomPeer, on transceiver: TransceiverID,
        continuing former: StreamRewriter.End?, firstSequenceNumber: UInt16
    ) {
        self.publication = publication
        peer = .passUnretained(subscriber)
        self.transceiver = transceiver
        let former = former.map { StreamRewriter(continuing: $0) }
        if publication.description.format.isVideo {
            video = VideoForwarder(
                selector: LayerSelector(),
                rewriter: former ?? .forVideo(firstSequenceNumber: firstSequenceNumber))
        } else {
            let clockRate = publication.description.format.clockRate
            audio = AudioForwarder(
                rewriter: former ?? .forAudio(clockRate: clockRate, firstSequenceNumber: firstSequenceNumber))
        }
    }

    var subscriber: RoomPeer { peer.takeUnretainedValue() }
    /// A packet has gone out, or a place was kept for one.
    var hasSent: Bool { video?.rewriter.hasBegun ?? audio?.rewriter.hasBegun ?? false }
    /// Packets of padding that tell the subscriber of a muted track: how many are still to be sent.
    var paddingPacketsLeft = Room.mutedTrackPaddingPackets
    /// Where its stream has got to.
    var end: StreamRewriter.End? { video?.rewriter.end ?? audio?.rewriter.end }

    // MARK: Packets

    /// Forwards what of the packets that wait is for this subscriber.
    ///
    /// - Parameters:
    ///   - packets: in the order in which they came; the track still keeps all of them (`Publication.hasRoom`).
    ///   - publication: this subscription's.
    func forward(
        _ packets: [WaitingPacket], of publication: Publication, into outbox: inout DatagramOutbox, at now: Instant
    ) {
        peer._withUnsafeGuaranteedRef { forward(packets, of: publication, for: $0, into: &outbox, at: now) }
    }

    private func forward(
        _ packets: [WaitingPacket], of publication: Publication, for subscriber: RoomPeer,
        into outbox: inout DatagramOutbox, at now: Instant
    ) {
        // Without a way there nothing is numbered: what is numbered is missed.
        guard subscriber.machine.canForward(on: transceiver) else { return interrupt() }
        isInterrupted = false
        var wants = Wants()
        for packet in packets {
            if let out = next(packet.published, of: publication, at: now) {
                publication.track.withBytes(of: packet.published) { bytes in
                    wants.add(
                        send(
                            out, packet.published, packet.header, packet.extensions, bytes, to: subscriber,
                            batch: packets.count, into: &outbox, at: now))
                }
            }
            while let missed = video?.nextMissed() {
                guard
                    let packet = publication.track.packet(
                        layer: Int(missed.layer), sequence: missed.sequence, at: now),
                    let out = next(packet, of: publication, at: now)
                else { continue }
                wants.add(sendKept(out, packet, batch: .max, into: &outbox, at: now))
            }
        }
        if let stream = video?.keyFrameWish(of: publication.track, at: now) {
            publication.wantKeyFrame(ofStream: stream, at: now)
        }
        if wants.isSent { subscriber.machine.sendForwarded(at: now) }
        if wants.isTouched { subscriber.touch() }
    }

    /// Its own memory has come (`Prefetch`): asks for its subscriber's. Each of the steps takes what the one before has
    /// asked for.
    func prefetchSubscriber() {
        // Of the kilobytes of a peer what stands first.
        Prefetch.bytes(peer.toOpaque(), lines: 16)
        video?.prefetch()
    }

    func prefetchMachine() { peer._withUnsafeGuaranteedRef { $0.machine.prefetchForwarding() } }
    func prefetchStream() { peer._withUnsafeGuaranteedRef { $0.machine.prefetchSending(on: transceiver) } }

    /// What is left to be done for the subscriber's machine.
    private struct Wants {
        var isSent = false
        var isTouched = false

        mutating func add(_ forwarding: Forwarding) {
            switch forwarding {
            case .refused, .sent: break
            case .sentAndWatched: isTouched = true
            case .queued:
                isSent = true
                isTouched = true
            }
        }
    }

    /// Nothing can be sent: it goes on at a key frame, without a gap, once something can.
    private func interrupt() {
        guard !isInterrupted else { return }
        isInterrupted = true
        let former = target
        target = nil
        target = former
    }

    /// The subscriber misses a packet, and asks for it by NACK (RFC 4585 §6.2.1).
    func retransmit(_ number: UInt16, at now: Instant) {
        let roundTrip = subscriber.machine.roundTrip(on: transceiver) ?? Self.assumedRoundTrip
        guard let (out, packet) = repair(number, roundTrip: roundTrip, at: now) else { return }
        // Repeats are queued.
        var outbox = DatagramOutbox()
        _ = sendKept(out, packet, isRepeat: true, into: &outbox, at: now)
        subscriber.machine.sendForwarded(at: now)
    }

    /// The subscriber cannot decode.
    func wantKeyFrame(at now: Instant) {
        guard video != nil else { return }
        // Before the first one, of the stream that it is to begin with; of a silent publisher, of any.
        let stream =
            video?.selector.current.map { Int($0) } ?? video?.keyFrameWish(of: publication.track, at: now) ?? 0
        publication.wantKeyFrame(ofStream: stream, at: now)
    }

    /// Sends a packet of silence, if anything has been heard before.
    func sendSilence(due: Instant, into outbox: inout DatagramOutbox, at now: Instant) {
        let subscriber = subscriber
        let silence = OpusPacket.silence
        guard !hints.isDisabled, subscriber.machine.canForward(on: transceiver),
            let out = audio?.insertSilence(samples: Room.silentSamples, due: due)
        else { return }
        sent(
            subscriber.machine.forward(
                ForwardedHead(sequenceNumber: out.sequenceNumber, timestamp: out.timestamp, marker: out.marker),
                on: transceiver, room: silence.count, into: &outbox, at: now, extensions: { _, _, _ in },
                payload: { outgoing in outgoing.append(contentsOf: silence.span.bytes) }), at: now)
    }

    /// Sends a packet of padding, where nothing else is passed on.
    ///
    /// - Returns: whether it is on its way.
    func sendPadding(into outbox: inout DatagramOutbox, at now: Instant) -> Bool {
        let subscriber = subscriber
        guard subscriber.machine.canForward(on: transceiver),
            let out = video != nil ? video?.insertPadding(at: now) : audio?.insertPadding(at: now)
        else { return false }
        var head = ForwardedHead(
            sequenceNumber: out.sequenceNumber, timestamp: out.timestamp, marker: out.marker)
        head.isPadding = true
        sent(
            subscriber.machine.forward(
                head, on: transceiver, room: OutgoingPacket.paddingSize, into: &outbox, at: now,
                extensions: { _, _, _ in }, payload: { OutgoingPacket.appendPadding(to: &$0) }), at: now)
        return true
    }

    /// A packet of our own has been given to the subscriber's machine.
    private func sent(_ forwarding: Forwarding, at now: Instant) {
        var wants = Wants()
        wants.add(forwarding)
        if wants.isSent { subscriber.machine.sendForwarded(at: now) }
        if wants.isTouched { subscriber.touch() }
    }

    private func sendKept(
        _ out: OutgoingPacket, _ packet: PublishedPacket, isRepeat: Bool = false, batch: Int = 1,
        into outbox: inout DatagramOutbox, at now: Instant
    ) -> Forwarding {
        var forwarding = Forwarding.refused
        let ids = publication.publisher.machine.receivedExtensions
        let playoutDelay = publication.description.playoutDelay
        publication.track.withBytes(of: packet) { bytes in
            guard let header = try? RTPHeader(parsing: bytes) else { return }
            let extensions = ForwardedExtensions(of: header, bytes, from: ids, playoutDelay: playoutDelay)
            forwarding = send(
                out, packet, header, extensions, bytes, to: subscriber, isRepeat: isRepeat, batch: batch,
                into: &outbox, at: now)
        }
        return forwarding
    }

    private func send(
        _ out: OutgoingPacket, _ packet: PublishedPacket, _ header: RTPHeader, _ extensions: ForwardedExtensions,
        _ bytes: RawSpan, to subscriber: RoomPeer, isRepeat: Bool = false, batch: Int = 1,
        into outbox: inout DatagramOutbox, at now: Instant
    ) -> Forwarding {
        var head = ForwardedHead(
            sequenceNumber: out.sequenceNumber, timestamp: out.timestamp, marker: out.marker, isRepeat: isRepeat)
        head.isPadding = out.isPadding
        head.batch = batch
        // RFC 2198: with earlier packets to those who agreed on them, and to others the packet's own sound.
        let redundancy =
            packet.bringsEarlierSound && !out.isPadding ? subscriber.machine.redundancy(on: transceiver) : nil
        head.payloadType = redundancy?.payloadType
        head.startsKeyFrame = packet.video.startsKeyFrame && !out.isPadding
        head.hasLongElements = extensions.hasLongElements
        return subscriber.machine.forward(
            head, on: transceiver, room: OutgoingPacket.room(for: bytes), into: &outbox, at: now
        ) { own, writer, outgoing in
            extensions.append(of: bytes, to: own, out, with: writer, into: &outgoing)
        } payload: { outgoing in
            out.appendPayload(
                header.payload(of: bytes), of: packet, redundantAs: redundancy?.primary, to: &outgoing)
        }
    }

    /// Its sender reports say when what is forwarded was captured; while that is not known, when it came here.
    func tellClock(of publication: Publication) {
        // During a pause what was told holds: time goes on as it did.
        guard let rewriter = video?.rewriter ?? audio?.rewriter, let layer = rewriter.layer.map({ Int($0) })
        else { return }
        guard publication.track.clocks.indices.contains(layer), let report = publication.track.clocks[layer].report,
            let timestamp = rewriter.translated(report, layer: layer),
            let moment = publication.publisher.clock.moment(of: report)
        else { return subscriber.machine.forgetRelation(on: transceiver) }
        subscriber.machine.relate(timestamp: timestamp, to: moment, on: transceiver)
    }

    // MARK: Layers

    /// What it is given; nil for nothing.
    var target: LayerTarget? {
        get {
            if let video { return video.target }
            return audio?.isPaused == true ? nil : .lowest
        }
        set {
            if video != nil {
                if video?.target != newValue { video?.target = newValue }
            } else if audio?.isPaused != (newValue == nil) {
                audio?.isPaused = newValue == nil
            }
        }
    }

    /// The layers that go out now; nil when none does.
    var forwarded: LayerTarget? { video?.selector.forwarded(of: publication.track) }

    /// How many spatial layers less go out than could be used and come in.
    var missingLayers: Int {
        guard let limit, let forwarded else { return 0 }
        let live = publication.track.bitrates.live & UInt8(truncatingIfNeeded: (2 << Int(min(limit.spatial, 7))) - 1)
        return max((live.highestSetBit ?? 0) - Int(forwarded.spatial), 0)
    }

    /// The most layers that the subscriber could use.
    private var limit: LayerTarget? {
        wantedLayers.map { takesSpatialLayers ? $0 : LayerTarget(spatial: 0, temporal: Int($0.temporal)) }
    }

    /// In a connection that it offers itself a browser agrees on no dependency descriptors: Chromium's offers have
    /// those only of what it sends. It would decode nothing of several layers.
    private var takesSpatialLayers: Bool {
        guard subscriber.needsDescriptors, publication.description.format == .av1,
            case .scalable = publication.track.arrangement
        else { return true }
        return subscriber.machine.sendsDependencyDescriptors(on: transceiver)
    }

    /// As the subscriber shows the publication.
    private var wantedLayers: LayerTarget? {
        let description = publication.description
        // Of whichever layer is sent: the highest one may not be.
        let layers = 0..<LayerBitrates.maximumSpatialLayers
        let temporalLayers = layers.map { publication.track.bitrates.temporalLayerCount(spatial: $0) }.max() ?? 0
        let sizes = sizes
        guard !sizes.isEmpty else {
            guard !hints.isDisabled, hints.quality > .off else { return nil }
            guard hints.framesPerSecond > 0 else { return .highest }
            let temporal = hints.temporalLimit(
                temporalLayers: temporalLayers, framesPerSecond: description.framesPerSecond)
            return LayerTarget(spatial: Int(LayerTarget.highest.spatial), temporal: temporal)
        }
        return hints.limit(
            sizes: sizes, temporalLayers: temporalLayers, framesPerSecond: description.framesPerSecond)
    }

    /// Of layers that are not measured yet: none larger than the subscriber shows, where their sizes are known.
    func withinLimit(_ target: LayerTarget) -> LayerTarget {
        guard let limit, Int(limit.spatial) < sizes.count - 1 || !takesSpatialLayers else { return target }
        return LayerTarget(spatial: Int(min(target.spatial, limit.spatial)), temporal: Int(target.temporal))
    }

    /// The spatial layers' sizes, as told or as they come.
    private var sizes: [SubscriberHints.Size] {
        publication.description.sizes(live: publication.track.bitrates.live, publication.track.arrangement)
    }

    /// The quality by which the publisher's dynacast is to count it.
    var wantedQuality: VideoQuality {
        guard let limit else { return .off }
        let sizes = sizes
        return sizes.isEmpty ? hints.quality : sizes[min(Int(limit.spatial), sizes.count - 1)].quality
    }

    /// What it could use of the subscriber's bitrate.
    func demand(isSpeaking: Bool, mayPause: Bool, at now: Instant) -> StreamDemand {
        guard publication.description.format.isVideo else {
            let hasRedundancy = subscriber.machine.redundancy(on: transceiver) != nil
            return StreamDemand(
                .audio(
                    publication.track.bitrates.bitrate(
                        spatial: 0, temporal: PublishedTrack.redundancyLayer - (hasRedundancy ? 0 : 1), at: now)))
        }
        var steps: [LayerStep] = []
        if let limit, !publication.isMuted {
            // Text is to be read; a face is to move.
            steps = publication.track.bitrates.steps(
                publication.track.arrangement, limit: limit, prefersMotion: !publication.description.isScreenShare,
                at: now)
            // Nothing came lately of the highest layer that is sent, or of any: what that costs is no measure.
            let live =
                publication.track.bitrates.live & UInt8(truncatingIfNeeded: (2 << Int(min(limit.spatial, 7))) - 1)
            let top = live.highestSetBit ?? 0
            if steps.last.map({ $0.bitrate == .zero || Int($0.target.spatial) < top }) ?? true { steps = [] }
        }
        let importance: StreamDemand.Importance =
            publication.description.isScreenShare ? .screenShare : isSpeaking ? .speaker : .ordinary
        return StreamDemand(
            .video(steps: steps), importance: importance, priority: hints.priority, pixels: hints.pixels,
            mayPause: mayPause)
    }

    // MARK: The forwarder

    private func next(_ packet: PublishedPacket, of publication: Publication, at now: Instant) -> OutgoingPacket? {
        if video != nil { return video?.receive(packet, of: publication.track, at: now) }
        return audio?.receive(packet, of: publication.track, at: now)
    }

    private func repair(
        _ number: UInt16, roundTrip: Interval, at now: Instant
    ) -> (out: OutgoingPacket, packet: PublishedPacket)? {
        if video != nil {
            return video?.repair(number, of: publication.track, roundTrip: roundTrip, at: now)
        }
        return audio?.repair(number, of: publication.track, roundTrip: roundTrip, at: now)
    }
}
