internal import RTCNetwork

/// What we receive.
extension Room {
    /// Subscribes to a published track (true), or unsubscribes from it (false), whatever `ConnectOptions.autoSubscribe`
    /// says; in new sessions as well. Back at once: `RoomEvent.trackSubscribed`, `trackUnsubscribed` or
    /// `trackSubscriptionFailed` tells what comes of it.
    public func setSubscribed(_ isSubscribed: Bool, to sid: TrackSID) async {
        machine.setSubscribed(isSubscribed, to: sid)
        await apply()
    }

    /// Says which size of a picture is wanted. With nil the track stays subscribed, but no frames are sent until a size
    /// is wanted again.
    public func setVideoQuality(_ sid: TrackSID, _ quality: VideoQuality?) async {
        machine.setQuality(sid, quality)
        await apply()
    }
}
