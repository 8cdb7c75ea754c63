internal import ChatCore
internal import ChatModel
internal import Foundation

extension Administration {
    /// Writes a workspace out as lines of JSON: docs/specs/chat-export.md. What comes while it is written is not in it.
    /// Each page is a transaction of its own, so the server goes on meanwhile, and all is never in memory at once.
    ///
    /// - Parameters:
    ///   - name: the workspace's address or identifier.
    ///   - write: takes a line, without its end.
    package func export(_ name: String, to write: @escaping (String) throws -> Void) async throws {
        let (workspace, newest) = try await service.read { chat in
            let workspace = try chat.workspace(named: name)
            return (workspace, try chat.sequence(of: workspace.id))
        }
        let lines = ExportLines(write)
        try lines.write(
            .export(ExportHeader(id: UUID().uuidString.lowercased(), exportedAt: service.now())))
        try lines.write(
            .workspace(
                ExportedWorkspace(name: workspace.name, slug: workspace.slug, createdAt: workspace.createdAt)))
        let members = try await exportMembers(of: workspace.id, to: lines)
        try await exportChannels(of: workspace.id, to: lines)
        let count = try await exportMessages(of: workspace.id, upTo: newest, to: lines)
        try await exportChannelMembers(of: workspace.id, upTo: newest, to: lines)
        for member in members { try lines.write(.member(member)) }
        try lines.write(.end(ExportEnd(messages: count)))
    }

    private func exportMembers(
        of workspace: WorkspaceID, to lines: ExportLines
    ) async throws -> [ExportedMember] {
        var (members, last): ([ExportedMember], String) = ([], "")
        while true {
            let page = try await service.read { [last] in try $0.exportedMembers(of: workspace, after: last) }
            guard let end = page.last else { return members }
            for entry in page { try lines.write(.user(entry.user)) }
            members += page.map(\.member)
            last = end.user.username
        }
    }

    /// Those who are named and have not been written yet: they are not in the workspace any more.
    private func exportStrangers(_ people: [String], to lines: ExportLines) async throws {
        let strangers = Set(people).subtracting(lines.users).sorted().compactMap { UserID($0) }
        guard !strangers.isEmpty else { return }
        for user in try await service.read({ chat in try strangers.map { try chat.exportedStranger($0) } }) {
            try lines.write(.user(user))
        }
    }

    private func exportChannels(of workspace: WorkspaceID, to lines: ExportLines) async throws {
        var last: ChannelID?
        while true {
            let page = try await service.read { [last] in try $0.exportedChannels(of: workspace, after: last) }
            guard let end = page.last else { return }
            try await exportStrangers(page.flatMap { [$0.createdBy] + $0.userIDs }, to: lines)
            for channel in page { try lines.write(.channel(channel)) }
            last = ChannelID(end.id)
        }
    }

    private func exportMessages(
        of workspace: WorkspaceID, upTo newest: Int64, to lines: ExportLines
    ) async throws -> Int {
        var (count, place): (Int, Int64?) = (0, 0)
        while let start = place {
            let page = try await service.read {
                try $0.exportedMessages(of: workspace, from: start, upTo: newest)
            }
            // Channels that are newer than the list of them are not in this export.
            let messages = page.messages.filter { lines.channels.contains($0.channelID) }
            try await exportStrangers(messages.flatMap(\.people), to: lines)
            for message in messages { try lines.write(.message(message)) }
            count += messages.count
            place = page.next
        }
        return count
    }

    private func exportChannelMembers(
        of workspace: WorkspaceID, upTo newest: Int64, to lines: ExportLines
    ) async throws {
        var last: (channel: ChannelID, user: UserID)?
        while true {
            let page = try await service.read { [last] in
                try $0.exportedChannelMembers(of: workspace, after: last, upTo: newest)
            }
            guard let end = page.last, let channel = ChannelID(end.channelID), let user = UserID(end.userID) else {
                return
            }
            let known = page.filter { lines.channels.contains($0.channelID) }
            try await exportStrangers(known.map(\.userID), to: lines)
            for member in known { try lines.write(.channelMember(member)) }
            last = (channel, user)
        }
    }
}

/// The lines of an export, and whom they have named so far. Used by one task.
private final class ExportLines {
    private let put: (String) throws -> Void
    private let encoder = JSONEncoder()
    private(set) var users: Set<String> = []
    private(set) var channels: Set<String> = []

    init(_ put: @escaping (String) throws -> Void) {
        self.put = put
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    }

    func write(_ record: ExportRecord) throws {
        switch record {
        case .user(let user): users.insert(user.id)
        case .channel(let channel): channels.insert(channel.id)
        case .export, .workspace, .message, .channelMember, .member, .end: break
        }
        try put(String(decoding: try encoder.encode(record), as: UTF8.self))
    }
}
