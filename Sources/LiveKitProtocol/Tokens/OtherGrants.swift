// Grants for services beside rooms. Roost has none of these; a cluster that the same tokens reach may.

/// The claim `sip`: telephony.
package struct SIPGrants: Codable, Sendable, Equatable {
    @Claim package var admin = false
    /// Make calls to the outside.
    @Claim package var call = false

    package init() {}
}

/// The claim `agent`: agents that the cluster's operator runs.
package struct AgentGrants: Codable, Sendable, Equatable {
    @Claim package var admin = false
    @Claim package var simulationAdmin = false
    @Claim package var databaseAdmin = false
    @Claim package var dispatchAdmin = false

    package init() {}
}

/// The claim `inference`.
package struct InferenceGrants: Codable, Sendable, Equatable {
    @Claim package var perform = false

    package init() {}
}

/// The claim `observability`.
package struct ObservabilityGrants: Codable, Sendable, Equatable {
    @Claim package var write = false

    package init() {}
}
