extension Permission {
    /// Throws what a verdict other than `allowed` is answered with.
    ///
    /// - Parameter what: the thing that is asked for, as it is named when it is absent.
    package func check(_ standing: Standing, of what: String) throws(ChatError) {
        switch rule.verdict(on: standing) {
        case .allowed: return
        case .absent: throw .notFound(what)
        case .refused(.notOwn) where rule.roles == .nobody:
            throw .forbidden("not_yours", "Only who made it may do this.")
        case .refused(let refusal): throw ChatError(refusal)
        }
    }
}

extension ChatError {
    init(_ refusal: Verdict.Refusal) {
        self =
            switch refusal {
            case .role: .forbidden("role_required", "Your role in this workspace does not allow it.")
            case .notOwn: .forbidden("not_yours", "Only who made it, or an admin, may do this.")
            case .notInChannel: .forbidden("not_in_channel", "Join the channel first.")
            case .archived: .conflict("channel_archived", "The channel is archived.")
            case .direct: .conflict("direct_message", "Direct and group messages do not have this.")
            case .closed:
                .forbidden("server_owner_required", "On this server only its owners may do this.")
            }
    }
}
