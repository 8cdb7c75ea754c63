public import RTCEngine
public import RTCWire

/// Packets from those who publish to those who are subscribed.
extension Room {
    /// For how many subscribers memory is prefetched, and packets are sealed, at a time: more would not fit into the
    /// first-level cache.
    private static let group = 8
    /// How long a packet's sound is taken to be where the packet does not say.
    private static let soundDuration = Interval.milliseconds(20)

    /// Takes a datagram that came for a peer. It is decrypted where it lies.
    ///
    /// - Parameters:
    ///   - outbox: takes what cannot wait for `forwardReceived`.
    ///   - send: sends the outbox, which is full, and empties it. It must not come back to the room.
    public func receive(
        _ datagram: inout [UInt8], for id: RoomPeerID, from remote: TransportAddress, to local: TransportAddress,
        into outbox: inout DatagramOutbox, at now: Instant, sending send: (inout DatagramOutbox) -> Void
    ) {
        guard let peer = peers[id] else { return }
        peer.machine.receive(&datagram, from: remote, to: local, at: now)
        peer.touch()
        if let (packet, bytes) = peer.machine.takeConfirmedPacket() {
            take(packet, bytes.span.bytes, from: peer, into: &outbox, at: now, sending: send)
        }
        guard let packet = peer.machine.takePacket(&datagram) else { return }
        take(packet, datagram.span.bytes, from: peer, into: &outbox, at: now, sending: send)
    }

    private func take(
        _ packet: ReceivedPacket, _ bytes: RawSpan, from peer: RoomPeer, into outbox: inout DatagramOutbox,
        at now: Instant, sending send: (inout DatagramOutbox) -> Void
    ) {
        guard let publication = peer.publication(on: packet.transceiver) else { return }
        let descriptor = packet.header.extensionElement(
            peer.machine.receivedExtensions.dependencyDescriptor, in: bytes)
        // The packets that wait belong to the structure before. They are forwarded before the new one is taken.
        let bringsStructure = descriptor.map { DependencyParser.bringsStructure(bytes.extracting($0)) } ?? false
        let stream = publication.stream(ofReceivedLayer: packet.layer)
        if bringsStructure || !publication.hasRoom(for: packet.header, ofStream: stream, bytes: bytes.byteCount) {
            forwardReceived(into: &outbox, at: now, sending: send)
        }
        store(packet, bytes, of: publication, from: peer, at: now)
    }

    /// Forwards the packets that have come since the last time, and sends the silence and the padding that are due.
    /// Whatever else has to be sent, `drainTransmits` gives.
    ///
    /// - Parameters:
    ///   - outbox: takes the datagrams.
    ///   - send: sends the outbox, which is full, and empties it. It must not come back to the room.
    public func forwardReceived(
        into outbox: inout DatagramOutbox, at now: Instant, sending send: (inout DatagramOutbox) -> Void
    ) {
        for publication in waiting {
            let subscriptions = publication.subscriptions
            for start in stride(from: 0, to: subscriptions.count, by: Self.group) {
                let next = start..<min(start + Self.group, subscriptions.count)
                Prefetch.objects(next, of: subscriptions, lines: 8)
                subscriptions.uncounted(next) { $0.prefetchSubscriber() }
                subscriptions.uncounted(next) { $0.prefetchMachine() }
                subscriptions.uncounted(next) { $0.prefetchStream() }
                subscriptions.uncounted(next) { subscription in
                    subscription.forward(publication.waiting, of: publication, into: &outbox, at: now)
                }
                outbox.seal()
                subscriptions.uncounted(next) { $0.sealed(in: outbox, at: now) }
                if outbox.isFull { send(&outbox) }
            }
            publication.endWaiting()
            publication.askForKeyFrames(at: now)
        }
        waiting.removeAll(keepingCapacity: true)
        if !silenced.isEmpty { sendSilence(into: &outbox, at: now, sending: send) }
        if !mutedTrackPadding.isEmpty { sendMutedTrackPadding(into: &outbox, at: now, sending: send) }
    }

    private func store(
        _ packet: ReceivedPacket, _ bytes: RawSpan, of publication: Publication, from peer: RoomPeer, at now: Instant
    ) {
        let stream = publication.stream(ofReceivedLayer: packet.layer)
        // Subscribers have negotiated the publication's codec only, so packets of another one are not forwarded.
        let format = packet.format ?? packet.redundancy?.format
        guard format == publication.description.format else {
            if let format, publication.codecChange.received(format, at: now) { tell(publication, sends: format) }
            publication.track.passOver(packet.header.sequenceNumber, startsAnew: packet.startsAnew, layer: stream)
            return
        }
        publication.codecChange.receivedUsual()
        let ids = peer.machine.receivedExtensions
        guard
            let published = publication.track.receive(
                packet.header, bytes, layer: stream, extensions: ids, isMuted: publication.isMuted,
                redundancy: packet.redundancy, startsAnew: packet.startsAnew, at: now)
        else {
            // A packet that was restored from a later one has come itself after all, late or sent again. So it was not
            // recovered in the end.
            if publication.recovered > 0, publication.track.has(packet.header.sequenceNumber, layer: stream) {
                publication.recovered -= 1
            }
            return
        }
        if !publication.hasBegun { began(publication) }
        if published.video.startsKeyFrame { publication.keyFrames[stream].keyFrameReceived() }
        if !publication.isMuted, !published.isPadding, let speaker = publication.speaker,
            let range = packet.header.extensionElement(ids.audioLevel, in: bytes),
            let level = bytes.byte(at: range.lowerBound)
        {
            let payload = packet.header.payload(of: bytes)
            let samples = publication.description.format.samples(
                in: payload.extracting(droppingFirst: Int(published.primaryOffset)))
            speakers.observe(
                AudioLevel(byte: level), of: speaker,
                duration: samples.map {
                    Interval(nanoseconds: Int64($0) * 1_000_000_000 / Int64(publication.description.codec.clockRate))
                }
                    ?? Self.soundDuration)
        }
        if published.bringsEarlierSound, publication.track.lacks(published.sequence - 1, layer: stream) {
            recover(before: published, packet.header, bytes, of: publication, at: now)
        }
        enqueue(published, packet.header, bytes, from: ids, of: publication)
    }

    private func enqueue(
        _ packet: PublishedPacket, _ header: RTPHeader, _ bytes: RawSpan, from publisher: HeaderExtensionIDs,
        of publication: Publication
    ) {
        if publication.waiting.isEmpty { waiting.append(publication) }
        let extensions = ForwardedExtensions(
            of: header, bytes, from: publisher, playoutDelay: publication.description.playoutDelay)
        publication.enqueue(WaitingPacket(published: packet, header: header, extensions: extensions), bytes.byteCount)
    }

    /// Restores lost packets of sound from the redundancy in a later one (RFC 2198), and forwards them as the packets
    /// that they were: subscribers without redundancy would not get that sound otherwise.
    private func recover(
        before packet: PublishedPacket, _ header: RTPHeader, _ bytes: RawSpan, of publication: Publication,
        at now: Instant
    ) {
        let payload = header.payload(of: bytes)
        let count = lostSound.read(payload, publication.description.format)
        for distance in (0..<count).reversed() {
            let sequence = packet.sequence - Int64(distance) - 1
            guard publication.track.lacks(sequence, layer: Int(packet.layer)) else { continue }
            let lost = lostSound.packet(distance, before: header, payload)
            guard let header = try? RTPHeader(parsing: lost.span.bytes),
                let published = publication.track.receive(
                    header, lost.span.bytes, layer: Int(packet.layer), extensions: HeaderExtensionIDs(), at: now)
            else { continue }
            publication.recovered += 1
            enqueue(published, header, lost.span.bytes, from: HeaderExtensionIDs(), of: publication)
        }
    }
}

extension [Subscription] {
    /// Goes through some of them without counting references, which the array holds meanwhile. To count one would write
    /// to the object's memory, and so wait for the prefetch that has only just begun.
    @inline(__always) fileprivate func uncounted(_ range: Range<Int>, _ body: (Subscription) -> Void) {
        withUnsafeBytes { bytes in
            let objects = bytes.assumingMemoryBound(to: Unmanaged<Subscription>.self)
            for index in range { objects[index]._withUnsafeGuaranteedRef { body($0) } }
        }
    }
}
