import LiveKitProtocol
import RTCEngine
import SwiftProtobuf

/// Data tracks: who publishes which, who gets them, and their packets' way from the one to the others. What is in them
/// is not looked at.
extension RoomMachine {
    // MARK: Publishing

    func publishDataTrack(_ request: LiveKitPublishDataTrackRequest, of participant: Participant) {
        guard let request = request.known(within: configuration.limits.trackRequestBytes) else {
            return refuse(.invalidRequest, nil, "the description of a data track is too long", to: participant)
        }
        if let (reason, text) = refusal(of: request, by: participant) {
            return refuse(reason, .publishDataTrack(request), text, to: participant)
        }
        let sid = random.sid("DTR_")
        let info = LiveKitDataTrackInfo.with {
            $0.sid = sid
            $0.pubHandle = request.pubHandle
            $0.name = request.name
            $0.encryption = request.encryption
            if request.hasFrameEncoding { $0.frameEncoding = request.frameEncoding }
            if request.hasSchema { $0.schema = request.schema }
        }
        let track = DataTrack(info, of: participant)
        participant.dataTracks.append(track)
        dataTracks[track.sid] = track
        send(.publishDataTrackResponse(.with { $0.info = info }), to: participant)
        tellOfChange(of: participant)
    }

    /// In the order in which LiveKit's server looks (`HandlePublishDataTrackRequest`), and with its reasons.
    private func refusal(
        of request: LiveKitPublishDataTrackRequest, by participant: Participant
    ) -> (LiveKitRequestResponse.Reason, String)? {
        let limits = configuration.limits
        guard participant.grants.mayPublishData else {
            return (.notAllowed, "does not have permission to publish data")
        }
        guard (1...UInt32(UInt16.max)).contains(request.pubHandle) else {
            return (.invalidHandle, "handle should be > 0 AND < 65536")
        }
        guard !request.name.isEmpty, request.name.utf8.count <= limits.trackNameBytes else {
            return (.invalidName, "name should not be empty and should not exceed \(limits.trackNameBytes) characters")
        }
        guard request.namesItsEncodings(limits) else {
            return (.invalidRequest, "encoding identifier is empty or exceeds the maximum length")
        }
        if participant.dataTracks.contains(where: { $0.info.pubHandle == request.pubHandle }) {
            return (.duplicateHandle, "a data track with same handle already exists")
        }
        if participant.dataTracks.contains(where: { $0.info.name == request.name }) {
            return (.duplicateName, "a data track with same name already exists")
        }
        guard participant.dataTracks.count < limits.dataTracksPerParticipant else {
            return (.limitExceeded, "no more than \(limits.dataTracksPerParticipant) data tracks are taken")
        }
        return nil
    }

    func unpublishDataTrack(_ request: LiveKitUnpublishDataTrackRequest, of participant: Participant) {
        guard let track = participant.dataTracks.first(where: { $0.info.pubHandle == request.pubHandle }) else {
            return refuse(
                .notFound, .unpublishDataTrack(request), "there is no such data track", to: participant)
        }
        withdraw(track)
        tellOfChange(of: participant)
    }

    /// Ends one, and tells its publisher that.
    func withdraw(_ track: DataTrack) {
        end(track)
        send(.unpublishDataTrackResponse(.with { $0.info = track.info }), to: track.publisher)
    }

    func end(_ track: DataTrack) {
        track.publisher.dataTracks.removeAll { $0 === track }
        dataTracks[track.sid] = nil
        forgetWishes(for: track)
        for subscription in track.subscriptions { end(subscription) }
    }

    /// What clients have asked for of it, they ask for again if they hear of it again: by then they take it for
    /// another.
    func forgetWishes(for track: DataTrack) {
        for person in people { person.wishes[track.sid] = nil }
    }

    /// A client that is back says which it had: those that the room has not are over. Of those that it has not, it has
    /// missed the answer: it gets that again, and takes the track, or withdraws one that it no longer waits for.
    func checkDataTracks(_ responses: [LiveKitPublishDataTrackResponse], of participant: Participant) {
        let present = Set(participant.dataTracks.map(\.info.sid))
        for response in responses.prefix(configuration.limits.dataTracksPerParticipant)
        where !present.contains(response.info.sid) {
            send(.unpublishDataTrackResponse(response.unpublished), to: participant)
        }
        let known = Set(responses.map(\.info.sid))
        for track in participant.dataTracks where !known.contains(track.info.sid) {
            send(.publishDataTrackResponse(.with { $0.info = track.info }), to: participant)
        }
    }

    // MARK: Subscribing

    /// Clients name tracks that are not there, or not for them, without being told so, as with LiveKit's server: they
    /// may have ended.
    func updateDataSubscription(_ request: LiveKitUpdateDataSubscription, of participant: Participant) {
        // Each once: a request may name one a hundred thousand times. The last word counts.
        let known = request.updates.lazy.filter { self.dataTracks[TrackSID(rawValue: $0.trackSid)] != nil }
        let wishes = Dictionary(known.map { ($0.trackSid, $0.subscribe) }) { $1 }
        for (name, isWanted) in wishes.sorted(by: { $0.key < $1.key }) {
            guard let track = dataTracks[TrackSID(rawValue: name)], track.publisher !== participant,
                !track.publisher.isHidden
            else { continue }
            participant.wishes[track.sid] = isWanted
            introduce(track, to: participant)
        }
    }

    /// The others have been told of what somebody publishes: a client drops a handle of what it does not know.
    func introduceDataTracks(of publisher: Participant) {
        for track in publisher.dataTracks where !track.isTold {
            track.isTold = true
            for other in people { introduce(track, to: other) }
        }
    }

    /// A track is new to somebody, or asked for: they get it, or are told that its publisher does not let them have it.
    func introduce(_ track: DataTrack, to participant: Participant) {
        considerSubscribing(participant, to: track)
        tellRefusal(of: track, to: participant)
    }

    /// Begins or ends a subscription, if what is wanted and allowed has changed.
    func considerSubscribing(_ participant: Participant, to track: DataTrack) {
        let isWanted =
            track.isTold && isConcerned(participant, withPermissionOf: track)
            && track.publisher.subscribers.allow(participant, track.sid)
        switch (isWanted, participant.dataSubscriptions[track.sid]) {
        case (true, nil):
            guard let handle = participant.nextDataHandle() else { return }
            let subscription = DataSubscription(participant, to: track, handle: handle)
            participant.dataSubscriptions[track.sid] = subscription
            participant.dataHandlesUsed.insert(handle)
            track.add(subscription)
            tellHandles(to: participant)
        case (false, let subscription?): end(subscription)
        case (true, .some), (false, nil): break
        }
    }

    /// Whether somebody wants a track and could have it, if its publisher lets them.
    func isConcerned(_ other: Participant, withPermissionOf track: DataTrack) -> Bool {
        other !== track.publisher && !track.publisher.isHidden && other.grants.maySubscribe && !other.mode.isExchange
            && other.wishes[track.sid] ?? other.autoSubscribesToData
    }

    func end(_ subscription: DataSubscription) {
        subscription.track.remove(subscription)
        subscription.subscriber.dataSubscriptions[subscription.track.sid] = nil
        subscription.subscriber.dataHandlesUsed.remove(subscription.handle)
        tellHandles(to: subscription.subscriber)
    }

    func tellRefusal(of track: DataTrack, to participant: Participant) {
        guard isConcerned(participant, withPermissionOf: track),
            !track.publisher.subscribers.allow(participant, track.sid)
        else { return }
        tellPermission(of: track.sid, by: track.publisher, to: participant)
    }

    /// So many data tracks may be told of at once, each time that one comes or goes.
    private static let shortList = 50

    /// All that a subscriber gets, each time: who is told often is told the last of it at the interval's end, and who
    /// gets many the more seldom at once.
    func tellHandles(to participant: Participant) {
        let count = max(participant.dataSubscriptions.count, Self.shortList)
        guard participant.changes.handlesTold < Self.maximumChanges * Self.shortList / count else {
            participant.changes.hasUntoldHandles = true
            return
        }
        participant.changes.handlesTold += 1
        send(.dataTrackSubscriberHandles(participant.dataHandles), to: participant)
    }

    // MARK: Packets

    func forwardDataTrack(_ bytes: [UInt8], of publisher: Participant, at now: Instant) {
        guard let handle = DataTrackPacket.handle(of: bytes),
            let track = publisher.dataTracks.first(where: { $0.info.pubHandle == handle })
        else { return }
        for subscription in track.subscriptions {
            var packet = bytes
            DataTrackPacket.setHandle(subscription.handle, of: &packet)
            sendDataTrack(packet, to: subscription.subscriber, at: now)
        }
    }
}

extension LiveKitPublishDataTrackRequest {
    /// Whether encodings that are not well known have names, and short ones.
    fileprivate func namesItsEncodings(_ limits: RoomLimits) -> Bool {
        func isName(_ text: String) -> Bool { !text.isEmpty && text.utf8.count <= limits.dataEncodingBytes }
        if case .custom(let name)? = frameEncoding.value, !isName(name) { return false }
        if case .custom(let name)? = schema.encoding.value, !isName(name) { return false }
        return schema.name.utf8.count <= limits.trackNameBytes
    }
}

extension LiveKitPublishDataTrackResponse {
    fileprivate var unpublished: LiveKitUnpublishDataTrackResponse { .with { $0.info = info } }
}

extension Participant {
    /// One that none of its tracks has; nil where there is none left.
    fileprivate func nextDataHandle() -> UInt16? {
        guard dataHandlesUsed.count < UInt16.max else { return nil }
        repeat { lastDataHandle &+= 1 } while lastDataHandle == 0 || dataHandlesUsed.contains(lastDataHandle)
        return lastDataHandle
    }

    fileprivate var dataHandles: LiveKitDataTrackSubscriberHandles {
        .with { handles in
            for subscription in dataSubscriptions.values {
                handles.subHandles[UInt32(subscription.handle)] = .with {
                    $0.publisherIdentity = subscription.track.publisher.identity
                    $0.publisherSid = subscription.track.publisher.sid.rawValue
                    $0.trackSid = subscription.track.sid.rawValue
                }
            }
        }
    }
}
