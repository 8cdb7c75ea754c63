internal import ArgumentParser
internal import LiveKitProtocol

/// The claim `video` from the command line.
struct GrantOptions: ParsableArguments {
    @Option(help: "The room that the token is for.")
    var room: String?

    @Flag(inversion: .prefixedNo, help: "Whether its bearer may join the room. Default: yes if there is one.")
    var roomJoin: Bool?

    @Flag(help: "Change the room and its participants by the room service.")
    var roomAdmin = false

    @Flag(help: "Make and delete rooms.")
    var roomCreate = false

    @Flag(help: "List the rooms.")
    var roomList = false

    @Flag(help: "Start and stop recordings.")
    var roomRecord = false

    @Flag(help: "Take streams from outside.")
    var ingressAdmin = false

    @Option(help: ArgumentHelp("A room to which participants may be moved or forwarded.", valueName: "room"))
    var destinationRoom: String?

    @Flag(inversion: .prefixedNo, help: "Send tracks.")
    var canPublish: Bool?

    @Option(
        help: ArgumentHelp(
            "Send tracks of this source only: camera, microphone, screen_share or screen_share_audio; may be repeated.",
            valueName: "source"))
    var canPublishSource: [String] = []

    @Flag(inversion: .prefixedNo, help: "Receive tracks.")
    var canSubscribe: Bool?

    @Flag(inversion: .prefixedNo, help: "Send data. Default: as for tracks.")
    var canPublishData: Bool?

    @Flag(inversion: .prefixedNo, help: "Change one's own name, metadata and attributes.")
    var canUpdateOwnMetadata: Bool?

    @Flag(inversion: .prefixedNo, help: "Receive measurements.")
    var canSubscribeMetrics: Bool?

    @Flag(help: "Do not show this participant to others.")
    var hidden = false

    @Flag(help: "Show the room that it is being recorded.")
    var recorder = false

    @Flag(help: "Work as an agent.")
    var agent = false

    func video() throws -> VideoGrants {
        var video = VideoGrants()
        if let room, room.isEmpty { throw CommandError("--room needs a name.") }
        video.room = room ?? ""
        video.roomJoin = roomJoin ?? (room != nil)
        if room == nil, video.roomJoin || roomAdmin {
            let option = video.roomJoin ? "--room-join" : "--room-admin"
            throw CommandError("--room is missing: \(option) is about one room.")
        }
        video.roomAdmin = roomAdmin
        video.roomCreate = roomCreate
        video.roomList = roomList
        video.roomRecord = roomRecord
        video.ingressAdmin = ingressAdmin
        video.destinationRoom = destinationRoom ?? ""
        video.canPublish = canPublish
        video.canPublishSources = try canPublishSource.map { source in
            guard let known = LiveKitTrackSource(claim: source), let name = known.claimName, known != .unknown else {
                throw CommandError(
                    "\"\(source)\" is no source of tracks: camera, microphone, screen_share or screen_share_audio.")
            }
            return name
        }
        video.canSubscribe = canSubscribe
        video.canPublishData = canPublishData
        video.canUpdateOwnMetadata = canUpdateOwnMetadata
        video.canSubscribeMetrics = canSubscribeMetrics
        video.hidden = hidden
        video.recorder = recorder
        video.agent = agent
        guard video.roomJoin || roomAdmin || roomCreate || roomList || roomRecord || ingressAdmin || agent else {
            throw CommandError("This token would allow nothing: name a --room, or something like --room-create.")
        }
        return video
    }
}
