/// A change with its place in the order of all changes of its workspace. The realtime socket sends it, and
/// `GET /workspaces/{workspace_id}/events` lists it:
///
/// ```json
/// {"type": "message_sent", "workspace_id": "…", "sequence": 1207, "at": "…", "data": {…}}
/// ```
///
/// Numbers that are missing belong to what the reader may not see.
public struct ChatEvent: Sendable, Equatable, Codable {
    public var workspaceID: WorkspaceID
    /// From 1 on.
    public var sequence: Int64
    public var at: Timestamp
    public var change: ChatChange

    public init(workspaceID: WorkspaceID, sequence: Int64, at: Timestamp, change: ChatChange) {
        self.workspaceID = workspaceID
        self.sequence = sequence
        self.at = at
        self.change = change
    }

    private enum CodingKeys: String, CodingKey {
        case sequence, at
        case workspaceID = "workspace_id"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        workspaceID = try container.decode(WorkspaceID.self, forKey: .workspaceID)
        sequence = try container.decode(Int64.self, forKey: .sequence)
        at = try container.decode(Timestamp.self, forKey: .at)
        change = try ChatChange(from: decoder)
    }

    public func encode(to encoder: any Encoder) throws {
        try change.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(workspaceID, forKey: .workspaceID)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(at, forKey: .at)
    }
}
