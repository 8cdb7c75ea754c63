/// A message and all that is in it, as `JSONWriter` has it. A test holds it against `JSONEncoder`.
extension Message: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("call", call)
            json.member("channel_id", channelID)
            json.member("client_id", clientID)
            json.member("content", content)
            json.member("created_at", createdAt)
            json.member("deleted_at", deletedAt)
            json.member("edited_at", editedAt)
            json.member("files", files)
            json.member("id", id)
            json.member("kind", kind)
            json.member("last_reply_at", lastReplyAt)
            json.member("mentions", mentions)
            json.member("pinned_at", pinnedAt)
            json.member("reactions", reactions)
            json.member("reply_count", replyCount)
            json.member("sequence", sequence)
            json.member("thread_id", threadID)
            json.member("user", user)
            json.member("version", version)
            json.member("workspace_id", workspaceID)
        }
    }
}

extension MessageKind: JSONWritable {}

extension Mentions: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("channel", isChannel)
            json.member("here", isHere)
            json.member("user_ids", userIDs)
        }
    }
}

extension Reaction: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("count", count)
            json.member("emoji", emoji)
            json.member("user_ids", userIDs)
        }
    }
}

extension FileInfo: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("created_at", createdAt)
            json.member("has_thumbnail", hasThumbnail)
            json.member("height", height)
            json.member("id", id)
            json.member("media_type", mediaType)
            json.member("name", name)
            json.member("size", size)
            json.member("width", width)
        }
    }
}

extension Profile: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("avatar_url", avatarURL)
            json.member("created_at", createdAt)
            json.member("display_name", displayName)
            json.member("id", id)
            json.member("is_deactivated", isDeactivated)
            json.member("status", status)
            json.member("status_text", statusText)
            json.member("updated_at", updatedAt)
            json.member("username", username)
        }
    }
}

extension UserStatus: JSONWritable {}

extension Call: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("channel_id", channelID)
            json.member("end_reason", endReason)
            json.member("ended_at", endedAt)
            json.member("id", id)
            json.member("kind", kind)
            json.member("media", media)
            json.member("message_id", messageID)
            json.member("participants", participants)
            json.member("started_at", startedAt)
            json.member("started_by", startedBy)
            json.member("version", version)
            json.member("workspace_id", workspaceID)
        }
    }
}

extension CallKind: JSONWritable {}
extension CallMedia: JSONWritable {}
extension CallEndReason: JSONWritable {}
extension CallParticipantState: JSONWritable {}

extension CallParticipant: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("joined_at", joinedAt)
            json.member("left_at", leftAt)
            json.member("state", state)
            json.member("user", user)
        }
    }
}

extension Page: JSONWritable where Item: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("after", after)
            json.member("before", before)
            json.member("items", items)
        }
    }
}

extension SearchResult: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("message", message)
            json.member("snippet", snippet)
        }
    }
}

extension SnippetPiece: JSONWritable {
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("is_match", isMatch)
            json.member("text", text)
        }
    }
}
