import LiveKitProtocol

/// A data track of a participant's: frames of bytes on the channel `_data_track`, of which some may be lost.
final class DataTrack {
    let sid: TrackSID
    unowned let publisher: Participant
    /// As everybody is told of it; its handle is the one in the publisher's packets.
    let info: LiveKitDataTrackInfo
    /// The others have been told of it.
    var isTold = false
    private(set) var subscriptions: [DataSubscription] = []

    init(_ info: LiveKitDataTrackInfo, of publisher: Participant) {
        sid = TrackSID(rawValue: info.sid)
        self.info = info
        self.publisher = publisher
    }

    func add(_ subscription: DataSubscription) { subscriptions.append(subscription) }

    func remove(_ subscription: DataSubscription) { subscriptions.removeAll { $0 === subscription } }
}

/// What a participant gets of somebody else's data track.
final class DataSubscription {
    unowned let track: DataTrack
    unowned let subscriber: Participant
    /// The track's in the packets that this participant gets.
    let handle: UInt16

    init(_ subscriber: Participant, to track: DataTrack, handle: UInt16) {
        self.track = track
        self.subscriber = subscriber
        self.handle = handle
    }
}
