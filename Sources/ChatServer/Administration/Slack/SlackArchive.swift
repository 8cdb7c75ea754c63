package import ChatCore
internal import ChatModel
package import Foundation

/// A Slack export, unpacked, as the records of an export of ours. It is read day by day.
package struct SlackArchive: ImportSource {
    private let folder: SlackFolder
    private var text = SlackText()
    private var pending: ArraySlice<PlacedRecord> = []
    private var channels: [Conversation] = []
    /// Names of files, each with the places in `channels` that have it.
    private var days: ArraySlice<(name: String, channels: [Int])> = []
    private var members: [ExportedMember] = []
    private var users: Set<String> = []
    private var lastRead: [String: String] = [:]
    private var count = 0
    private var isEnded = false
    /// The oldest channel's beginning.
    private var founded = Timestamp(milliseconds: 0)

    private struct Conversation {
        let channel: SlackChannel
        let kind: ChannelKind
        let folder: String
    }

    /// The author of what apps have posted.
    private static let apps = "apps"

    /// - Parameters:
    ///   - url: of the folder.
    ///   - name: of the workspace; Slack's exports do not have it.
    package init(_ url: URL, name: String) throws(ImportFault) {
        folder = SlackFolder(url: url)
        guard let users = try folder.list("users.json", of: SlackUser.self) else {
            throw .refused("This is no export of Slack's: it has no users.json.")
        }
        try readChannels()
        founded = channels.compactMap { Self.time(ofSeconds: $0.channel.created) }.min() ?? founded
        let digest = FileDigest()
        for day in days {
            for channel in day.channels {
                let path = "\(channels[channel].folder)/\(day.name)"
                digest.add(Array("\(path) \(folder.size(of: path))\n".utf8))
            }
        }
        let team = users.compactMap(\.teamId).first ?? ""
        put(.export(ExportHeader(id: "slack \(team) \(digest.text() ?? "")", exportedAt: founded)), "users.json")
        put(.workspace(ExportedWorkspace(name: name, slug: nil, createdAt: founded)), "users.json")
        for user in users { take(user) }
        for conversation in channels { take(conversation) }
    }

    package mutating func next() throws(ImportFault) -> PlacedRecord? {
        while pending.isEmpty {
            if let day = days.popFirst() {
                try read(day.name, of: day.channels)
            } else if !isEnded {
                isEnded = true
                end()
            } else {
                return nil
            }
        }
        return pending.popFirst()
    }

    private mutating func put(_ record: ExportRecord, _ place: String) {
        pending.append(PlacedRecord(record: record, place: place))
    }

    // MARK: People

    private mutating func take(_ user: SlackUser) {
        guard !users.contains(user.id) else { return }
        let isProgram = user.isBot == true || user.id == "USLACKBOT"
        let names = [user.profile?.displayName, user.profile?.realName, user.realName, user.name]
        put(
            user: user.id, name: user.name ?? user.id, displayName: names.lazy.compactMap { $0 }.first { !$0.isEmpty },
            email: isProgram ? nil : user.profile?.email, isGone: isProgram || user.deleted == true)
        guard !isProgram else { return }
        members.append(ExportedMember(userID: user.id, role: Self.role(of: user), joinedAt: founded))
    }

    private static func role(of user: SlackUser) -> Role {
        if user.isPrimaryOwner == true || user.isOwner == true { return .owner }
        if user.isAdmin == true { return .admin }
        return user.isRestricted == true || user.isUltraRestricted == true ? .guest : .member
    }

    private mutating func put(user id: String, name: String, displayName: String?, email: String?, isGone: Bool) {
        users.insert(id)
        text.users[id] = name
        put(
            .user(
                ExportedUser(
                    id: id, username: name, displayName: displayName ?? name, email: email, createdAt: founded,
                    deactivatedAt: isGone ? founded : nil)), "users.json")
    }

    /// Somebody who is not in users.json: of another company, or deleted altogether.
    private mutating func name(_ id: String, _ profile: SlackMessage.Profile? = nil) {
        guard !users.contains(id) else { return }
        let names = [profile?.displayName, profile?.realName, profile?.name].compactMap { $0 }
        put(
            user: id, name: profile?.name ?? id, displayName: names.first { !$0.isEmpty }, email: nil, isGone: true)
    }

    // MARK: Channels

    private mutating func readChannels() throws(ImportFault) {
        let lists: [(file: String, kind: ChannelKind)] = [
            ("channels.json", .public), ("groups.json", .private), ("dms.json", .direct), ("mpims.json", .group),
        ]
        var files: [String: [Int]] = [:]
        for (file, kind) in lists {
            for channel in try folder.list(file, of: SlackChannel.self) ?? [] {
                guard !kind.isDirect || channel.members?.isEmpty == false else { continue }
                let name = kind == .direct ? channel.id : channel.name ?? channel.id
                for day in try folder.days(of: name) { files[day, default: []].append(channels.count) }
                channels.append(Conversation(channel: channel, kind: kind, folder: name))
                if !kind.isDirect { text.channels[channel.id] = channel.name ?? channel.id }
            }
        }
        days = files.keys.sorted().map { (name: $0, channels: files[$0] ?? []) }[...]
    }

    private mutating func take(_ conversation: Conversation) {
        let channel = conversation.channel
        let people = channel.members ?? []
        let creator = channel.creator.flatMap { $0.isEmpty ? nil : $0 } ?? people.first ?? Self.apps
        if creator == Self.apps { nameApps() }
        for person in people + [creator] { name(person) }
        let createdAt = Self.time(ofSeconds: channel.created) ?? founded
        put(
            .channel(
                ExportedChannel(
                    id: channel.id, kind: conversation.kind,
                    name: conversation.kind.isDirect ? nil : channel.name ?? channel.id,
                    topic: text.markdown(channel.topic?.value ?? "").content,
                    purpose: text.markdown(channel.purpose?.value ?? "").content,
                    userIDs: conversation.kind.isDirect ? people : [], createdBy: creator, createdAt: createdAt,
                    archivedAt: channel.isArchived == true ? createdAt : nil)), "channels.json")
    }

    private mutating func nameApps() {
        guard !users.contains(Self.apps) else { return }
        put(user: Self.apps, name: "slack-apps", displayName: "Slack apps", email: nil, isGone: true)
    }

    /// Everything has been read: Slack does not tell what has not.
    private mutating func end() {
        for conversation in channels {
            let channel = conversation.channel
            for person in channel.members ?? [] {
                put(
                    .channelMember(
                        ExportedChannelMember(
                            channelID: channel.id, userID: person, joinedAt: founded, lastRead: lastRead[channel.id])),
                    "channels.json")
            }
        }
        for member in members { put(.member(member), "users.json") }
        put(.end(ExportEnd(messages: count)), "users.json")
    }

    // MARK: Messages

    /// Of all channels in the order in which they were written.
    private mutating func read(_ day: String, of places: [Int]) throws(ImportFault) {
        var found: [(time: Timestamp, message: SlackMessage, place: Int)] = []
        for place in places {
            for message in try folder.list(channels[place].folder, day, of: SlackMessage.self) ?? [] {
                guard let time = Self.time(message.ts) else { continue }
                found.append((time, message, place))
            }
        }
        found.sort { ($0.time, $0.message.ts) < ($1.time, $1.message.ts) }
        for entry in found {
            let conversation = channels[entry.place]
            take(entry.message, at: entry.time, in: conversation, "\(conversation.folder)/\(day)")
        }
    }

    /// What people and apps have said; not who came and went.
    private static let subtypes: Set<String?> = [
        nil, "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment", "tombstone",
    ]

    private mutating func take(
        _ message: SlackMessage, at time: Timestamp, in conversation: Conversation, _ place: String
    ) {
        guard Self.subtypes.contains(message.subtype) else { return }
        let (id, channel) = ("\(conversation.channel.id) \(message.ts)", conversation.channel.id)
        let isDeleted = message.subtype == "tombstone"
        guard !isDeleted || message.replyCount ?? 0 > 0 else { return }
        var (content, mentions) = text.markdown(message.text ?? "")
        content = Self.content(of: message, content, text)
        guard !content.isEmpty || isDeleted else { return }
        let author: String
        if let user = message.user, message.subtype != "bot_message" {
            author = user
            name(user, message.userProfile)
        } else {
            author = Self.apps
            nameApps()
            if let name = message.username ?? message.botProfile?.name { content = "**\(name)**: \(content)" }
        }
        let reactions = (message.reactions ?? []).flatMap { reaction in
            // With a skin's tone it is `wave::skin-tone-2`.
            let emoji = ":" + (reaction.name.split(separator: ":").first ?? "") + ":"
            return (reaction.users ?? []).map { ExportedReaction(emoji: emoji, userID: $0, createdAt: time) }
        }
        for reaction in reactions { name(reaction.userID) }
        mentions.userIDs.removeAll { $0 == author }
        let thread = message.threadTs.flatMap { $0 == message.ts ? nil : "\(channel) \($0)" }
        put(
            .message(
                ExportedMessage(
                    id: id, channelID: channel, userID: author, threadID: thread, content: isDeleted ? "" : content,
                    createdAt: time, editedAt: message.edited.map { Self.time($0.ts ?? "") ?? time },
                    deletedAt: isDeleted ? time : nil,
                    pinnedAt: message.pinnedTo?.contains(channel) == true ? time : nil,
                    mentions: isDeleted ? ExportedMentions() : mentions, reactions: isDeleted ? [] : reactions)), place)
        lastRead[channel] = id
        count += 1
    }

    /// A message's words, what apps have attached, and where its files are. Slack's links to the bytes have a key in
    /// them, which is not kept.
    private static func content(of message: SlackMessage, _ content: String, _ text: SlackText) -> String {
        var lines = content.isEmpty ? [] : [message.subtype == "me_message" ? "_\(content)_" : content]
        if content.isEmpty {
            for attachment in message.attachments ?? [] {
                let parts = [attachment.title, attachment.text ?? attachment.fallback].compactMap { $0 }
                lines += parts.filter { !$0.isEmpty }.map { text.markdown($0).content }
            }
        }
        for file in message.files ?? [] {
            guard let name = file.name ?? file.title else { continue }
            let url = file.permalink ?? file.urlPrivate.map { String($0.prefix { $0 != "?" }) }
            lines.append(url.map { SlackText.link($0, name) } ?? name)
        }
        return lines.joined(separator: "\n")
    }

    /// `1503435956.000247`; nil for what is no time.
    private static func time(_ ts: String) -> Timestamp? {
        let parts = ts.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let second = time(ofSeconds: Int64(parts[0])) else { return nil }
        let fraction = parts.count > 1 ? String((parts[1] + "000").prefix(3)) : "0"
        return Int64(fraction).map { second.advanced(by: .milliseconds($0)) }
    }

    /// Since 1970; nil for what is before, or after the year 9999.
    private static func time(ofSeconds seconds: Int64?) -> Timestamp? {
        guard let seconds, (0...253_402_300_799).contains(seconds) else { return nil }
        return Timestamp(milliseconds: seconds * 1_000)
    }
}
