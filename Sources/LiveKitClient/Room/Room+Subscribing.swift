internal import RTCNetwork

/// What we receive.
extension Room {
    /// Asks for a track, or says that it is not wanted any more.
    public func setSubscribed(_ sid: TrackSID, _ isWanted: Bool) async {
        machine.setSubscribed(sid, isWanted)
        await apply()
    }

    /// Which size of a picture is wanted; nil for none until later, though it stays subscribed.
    public func setVideoQuality(_ sid: TrackSID, _ quality: VideoQuality?) async {
        machine.setQuality(sid, quality)
        await apply()
    }
}
