internal import RTCNetwork

/// What we receive.
extension Room {
    /// Subscribes to a published track (true), or unsubscribes from it (false), whatever `ConnectOptions.autoSubscribe`
    /// says; in new sessions as well, until the track is unpublished or the room is left. Back at once:
    /// `RoomEvent.trackSubscribed`, `trackUnsubscribed` or `trackSubscriptionFailed` tells what comes of it. Outside of
    /// a room it is kept for the next one.
    public func setSubscribed(_ isSubscribed: Bool, to sid: TrackSID) async {
        machine.setSubscribed(isSubscribed, to: sid)
        await apply()
    }

    /// Says which size of a picture is wanted. With nil the track stays subscribed, but no frames are sent until a size
    /// is wanted again. Kept as `setSubscribed` is.
    public func setVideoQuality(_ sid: TrackSID, _ quality: VideoQuality?) async {
        machine.setQuality(sid, quality)
        await apply()
    }
}
