internal import Foundation
internal import LiveKitProtocol
internal import LiveKitRecorder
internal import Logging

/// Where rooms are recorded to, each with an index of its own, and what is owed of these.
extension Egresses {
    /// Where there are as many folders, none of a room that is over is kept for the index that it owes.
    private static let folderLimit = 100

    /// A room has one index, however often a recorder comes and goes.
    func folder(of room: LiveKitRoom) -> RecordingFolder {
        if let folder = folders[room.sid] { return folder }
        let logger = logger
        let folder = RecordingFolder(configuration.folder, index: Self.indexName(room), loop: loop) { notice in
            // Neither people nor rooms are logged, and files are called by them.
            switch notice {
            case .track(_, _, let failure), .file(_, let failure):
                logger.warning("a track is not recorded to its end", metadata: ["reason": "\(failure)"])
            case .index: logger.warning("the index of a room's recordings cannot be written")
            }
        }
        folders[room.sid] = folder
        return folder
    }

    /// What a room's index is called, without its extension.
    static func indexName(_ room: LiveKitRoom) -> String {
        var subject = RecordingPath.Subject(time: Date())
        (subject.roomName, subject.roomID) = (room.name, room.sid)
        return RecordingPath("{room_name}-{room_id}", of: subject).description
    }

    /// A room's last recorder has left, and the room may have been over before that, or even before it came.
    func recorderLeft(_ room: LiveKitRoom) async {
        guard await surroundings.look(room.name)?.room.sid != room.sid else { return }
        await forget(room.sid)
    }

    /// A room is over: once all of it is recorded nobody needs its folder any more, unless the index could not be
    /// written.
    func forget(_ room: String) async {
        guard !isRecorded(room), let folder = folders[room] else { return }
        let isWhole = await folder.writeOwedIndex()
        if isWhole || folders.count > Self.folderLimit { folders[room] = nil }
    }

    /// Those that could not be written before; for as long as our patience lasts.
    func writeOwedIndexes() async {
        let kept = Array(folders.values)
        guard !kept.isEmpty, !isOutOfPatience else { return }
        Task {
            for folder in kept { await folder.writeOwedIndex() }
            owedIndexesAreWritten = true
            tellIdle()
        }
        while !owedIndexesAreWritten, !isOutOfPatience { await withCheckedContinuation { waitingForIdle.append($0) } }
    }
}
