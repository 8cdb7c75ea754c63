internal import ChatCore
internal import ChatModel

/// What servers that are one tell each other. Words alone: what is true is in the database, and a word that is lost
/// costs time, and nothing else.
struct NodeMessage: Codable, Sendable, Equatable {
    /// Who says it.
    let node: NodeID
    /// How often it has changed who is connected to that node, this word counted.
    let version: UInt64
    let word: Word

    enum Word: Codable, Sendable, Equatable {
        /// It has begun, or can be heard again: the others are to say that they are there.
        case hello
        /// Said every few seconds.
        case alive
        /// It goes, and those who are connected to it look for another one.
        case goodbye
        /// It has written something.
        case changed(ChatChanges)
        /// Somebody of a workspace is connected to it.
        case came(UserID, WorkspaceID)
        /// Somebody is connected to it no more.
        case went(UserID)
        /// That node is to say who is connected to it, for something has been missed.
        case ask(NodeID)
        /// Who is connected to it.
        case everybody([WorkspaceID: Set<UserID>])
        case typing(Typists.Typist, thread: MessageID?, isTyping: Bool)
    }
}
