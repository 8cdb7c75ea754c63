import RTCEngine
import RTCWire

/// One subscriber's part of a publication: what is forwarded, and how it is numbered.
final class Subscription {
    unowned let publication: Publication
    /// Not counted: a peer's subscriptions end with it (`Room.remove`), so it lives as long as they are used. To check
    /// that, or to count a reference, for each packet would wait for the peer's memory.
    private let peer: Unmanaged<RoomPeer>
    let transceiver: TransceiverID
    /// What is behind its pictures is cut off (`PacketTrailer`).
    private let cutsTrailers: Bool
    private var isInterrupted = false
    /// Which of the next two is set: to compare one of them with nil would copy it.
    private let isVideo: Bool
    /// They call nobody back, so two accesses never overlap.
    @exclusivity(unchecked) private var video: VideoForwarder?
    @exclusivity(unchecked) private var audio: AudioForwarder?
    var hints = SubscriberHints()
    /// The quality by which the publisher's dynacast counts this subscription.
    var quality = VideoQuality.high
    /// Whether the subscriber was told that the stream is paused. It stays so while the stream is hidden or muted.
    var isPaused = false
    /// The layers that the subscriber's path allowed at the last division; nil when it allowed all that could be used.
    var held: LayerTarget?

    /// The round trip that is assumed while the subscriber has sent no reports. It is short: rather one packet is sent
    /// twice than one too late.
    private static let assumedRoundTrip = Interval.milliseconds(20)

    init(
        to publication: Publication, of subscriber: RoomPeer, on transceiver: TransceiverID,
        continuing former: StreamRewriter.End?, firstSequenceNumber: UInt16
    ) {
        self.publication = publication
        peer = .passUnretained(subscriber)
        self.transceiver = transceiver
        let description = publication.description
        isVideo = description.format.isVideo
        cutsTrailers = isVideo && description.hasTrailers && !subscriber.takesTrailers
        let former = former.map { StreamRewriter(continuing: $0) }
        if isVideo {
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
    /// Whether a packet was sent, or a sequence number was kept for one.
    var hasSent: Bool { video?.rewriter.hasBegun ?? audio?.rewriter.hasBegun ?? false }
    /// How many of the padding packets that tell the subscriber of a muted track are still to be sent.
    var paddingPacketsLeft = Room.mutedTrackPaddingPackets
    /// The last sequence number and time stamp of its stream, for another subscription that continues it.
    var end: StreamRewriter.End? { video?.rewriter.end ?? audio?.rewriter.end }

    // MARK: Packets

    /// Forwards those of the waiting packets that are for this subscriber.
    ///
    /// - Parameters:
    ///   - packets: in the order in which they came; the track's histories still have all of them
    ///     (`Publication.hasRoom`).
    ///   - publication: that of this subscription.
    func forward(
        _ packets: [WaitingPacket], of publication: Publication, into outbox: inout DatagramOutbox, at now: Instant
    ) {
        peer._withUnsafeGuaranteedRef { forward(packets, of: publication, for: $0, into: &outbox, at: now) }
    }

    private func forward(
        _ packets: [WaitingPacket], of publication: Publication, for subscriber: RoomPeer,
        into outbox: inout DatagramOutbox, at now: Instant
    ) {
        // While the peer cannot be reached no packet gets a number: the subscriber would miss each number and ask for
        // it.
        guard subscriber.machine.canForward(on: transceiver) else { return interrupt() }
        isInterrupted = false
        var wants = Wants()
        let packets = packets.span
        for index in packets.indices {
            if let out = next(packets[index].published, of: publication, at: now) {
                publication.track.withBytes(of: packets[index].published) { bytes in
                    wants.add(
                        send(
                            out, packets[index].published, packets[index].header, packets[index].extensions, bytes,
                            to: subscriber, batch: packets.count, into: &outbox, at: now))
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

    /// Prefetches the memory of its subscriber, when its own was prefetched. The three steps follow each other, since
    /// each reads what the one before has prefetched.
    func prefetchSubscriber() {
        // A peer has some kilobytes: its first cache lines are what is read first.
        Prefetch.bytes(peer.toOpaque(), lines: 16)
        video?.prefetch()
    }

    /// What was forwarded into the outbox is sealed.
    func sealed(in outbox: borrowing DatagramOutbox, at now: Instant) {
        peer._withUnsafeGuaranteedRef { $0.machine.sealed(in: outbox, at: now) }
    }

    func prefetchMachine() { peer._withUnsafeGuaranteedRef { $0.machine.prefetchForwarding() } }
    func prefetchStream() { peer._withUnsafeGuaranteedRef { $0.machine.prefetchSending(on: transceiver) } }

    /// What has to be done with the subscriber's machine after packets were given to it.
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

    /// Nothing can be sent now. To set the target anew makes it go on at a key frame, without a gap in the numbers.
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
        // Packets that are sent again go into the machine's queue, so nothing comes into this outbox.
        var outbox = DatagramOutbox()
        _ = sendKept(out, packet, isRepeat: true, into: &outbox, at: now)
        subscriber.machine.sendForwarded(at: now)
    }

    /// Asks for the key frame that what is wanted can begin with, if it takes one (RFC 4585 §6.3.1). `forward` does so
    /// when a packet comes; of a picture that stands still the next one may be seconds away.
    func wantKeyFrameIfNeeded(at now: Instant) {
        guard isVideo, subscriber.machine.canForward(on: transceiver),
            let stream = video?.keyFrameWish(of: publication.track, at: now)
        else { return }
        publication.wantKeyFrame(ofStream: stream, at: now)
    }

    /// The subscriber cannot decode.
    func wantKeyFrame(at now: Instant) {
        guard isVideo else { return }
        // Before it has begun, the key frame is of the stream that it is to begin with; or of the lowest, if none
        // comes.
        let stream =
            video?.selector.current.map { Int($0) } ?? video?.keyFrameWish(of: publication.track, at: now) ?? 0
        publication.wantKeyFrame(ofStream: stream, at: now)
    }

    /// Sends a silent packet, if sound was sent before.
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
                payload: { outgoing in outgoing.append(contentsOf: silence.span.bytes) }), in: &outbox, at: now)
    }

    /// Sends a padding packet, if nothing is being forwarded.
    ///
    /// - Returns: whether it was sent.
    func sendPadding(into outbox: inout DatagramOutbox, at now: Instant) -> Bool {
        let subscriber = subscriber
        guard subscriber.machine.canForward(on: transceiver),
            let out = isVideo ? video?.insertPadding(at: now) : audio?.insertPadding(at: now)
        else { return false }
        var head = ForwardedHead(
            sequenceNumber: out.sequenceNumber, timestamp: out.timestamp, marker: out.marker)
        head.isPadding = true
        sent(
            subscriber.machine.forward(
                head, on: transceiver, room: OutgoingPacket.paddingSize, into: &outbox, at: now,
                extensions: { _, _, _ in }, payload: { OutgoingPacket.appendPadding(to: &$0) }), in: &outbox, at: now)
        return true
    }

    /// A silent or a padding packet was given to the subscriber's machine.
    private func sent(_ forwarding: Forwarding, in outbox: inout DatagramOutbox, at now: Instant) {
        outbox.seal()
        subscriber.machine.sealed(in: outbox, at: now)
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
        // RFC 2198: a packet with redundancy goes whole to subscribers who have negotiated that; others get its own
        // sound.
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
            let payload = header.payload(of: bytes)
            let mayHaveTrailer = cutsTrailers && (out.marker || packet.video.endsFrame)
            let trailer = mayHaveTrailer ? PacketTrailer.size(of: payload, publication.description.format) : 0
            out.appendPayload(
                payload.extracting(droppingLast: trailer), of: packet, redundantAs: redundancy?.primary, to: &outgoing)
        }
    }

    /// Has the sender reports to the subscriber say when the forwarded media were captured. While that is not known,
    /// they say when the media came to the server.
    func tellClock(of publication: Publication) {
        // Without a layer nothing is forwarded now, and what was told before still holds.
        guard let rewriter = video?.rewriter ?? audio?.rewriter, let layer = rewriter.layer.map({ Int($0) })
        else { return }
        guard publication.track.clocks.indices.contains(layer), let report = publication.track.clocks[layer].report,
            let timestamp = rewriter.translated(report, layer: layer),
            let moment = publication.publisher.clock.moment(of: report)
        else { return subscriber.machine.forgetRelation(on: transceiver) }
        subscriber.machine.relate(timestamp: timestamp, to: moment, on: transceiver)
    }

    // MARK: Layers

    /// The layers that are to be forwarded; nil for none.
    var target: LayerTarget? {
        get {
            if isVideo { return video?.target }
            return audio?.isPaused == true ? nil : .lowest
        }
        set {
            if isVideo {
                if video?.target != newValue { video?.target = newValue }
            } else if audio?.isPaused != (newValue == nil) {
                audio?.isPaused = newValue == nil
            }
        }
    }

    /// The layers that are forwarded now; nil when none is. They follow the target, at key frames.
    var forwarded: LayerTarget? { video?.selector.forwarded(of: publication.track) }

    /// How many more spatial layers come and could be used than are forwarded.
    var missingLayers: Int {
        guard let limit, let forwarded else { return 0 }
        let live = publication.track.bitrates.live & UInt8(truncatingIfNeeded: (2 << Int(min(limit.spatial, 7))) - 1)
        return max((live.highestSetBit ?? 0) - Int(forwarded.spatial), 0)
    }

    /// The highest layers that the subscriber can use; nil for none.
    private var limit: LayerTarget? {
        wantedLayers.map { takesSpatialLayers ? $0 : LayerTarget(spatial: 0, temporal: Int($0.temporal)) }
    }

    /// Whether the subscriber can decode several spatial layers. A browser needs dependency descriptors for those of
    /// AV1, and in a connection that it offers itself none are negotiated: Chromium offers them only for what it sends.
    private var takesSpatialLayers: Bool {
        guard subscriber.needsDescriptors, publication.description.format == .av1,
            case .scalable = publication.track.arrangement
        else { return true }
        return subscriber.machine.sendsDependencyDescriptors(on: transceiver)
    }

    /// The layers that the subscriber wants, by how it shows the publication.
    private var wantedLayers: LayerTarget? {
        let description = publication.description
        // Of any spatial layer, for the highest one may not be sent now.
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

    /// Limits a target whose layers are not measured yet to what the subscriber can use, where sizes are known.
    func withinLimit(_ target: LayerTarget) -> LayerTarget {
        guard let limit, Int(limit.spatial) < sizes.count - 1 || !takesSpatialLayers else { return target }
        return LayerTarget(spatial: Int(min(target.spatial, limit.spatial)), temporal: Int(target.temporal))
    }

    /// The sizes of the spatial layers, as announced or, where more come, by those.
    private var sizes: [SubscriberHints.Size] {
        publication.description.sizes(live: publication.track.bitrates.live, publication.track.arrangement)
    }

    /// The quality by which the publisher's dynacast should count this subscription.
    var wantedQuality: VideoQuality {
        guard let limit else { return .off }
        let sizes = sizes
        return sizes.isEmpty ? hints.quality : sizes[min(Int(limit.spatial), sizes.count - 1)].quality
    }

    /// How much of the subscriber's bitrate each choice of layers would need, and how important it is.
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
            // A shared screen should be sharp, so spatial layers come first; a camera should move, so temporal ones do.
            steps = publication.track.bitrates.steps(
                publication.track.arrangement, limit: limit, prefersMotion: !publication.description.isScreenShare,
                at: now)
            // Of the highest layer that is sent, or of all, nothing came lately, so the bitrates cannot be used.
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
        if isVideo { return video?.receive(packet, of: publication.track, at: now) }
        return audio?.receive(packet, of: publication.track, at: now)
    }

    private func repair(
        _ number: UInt16, roundTrip: Interval, at now: Instant
    ) -> (out: OutgoingPacket, packet: PublishedPacket)? {
        if isVideo {
            return video?.repair(number, of: publication.track, roundTrip: roundTrip, at: now)
        }
        return audio?.repair(number, of: publication.track, roundTrip: roundTrip, at: now)
    }
}
