package import LiveKitProtocol
package import SocketIO

/// How a `LiveKitCluster` is.
package struct LiveKitClusterConfiguration: Sendable {
    package var server: RemoteServer
    /// The cluster's keys: what they have signed goes on to it.
    package var keys: APIKeys
    /// Signs the webhooks that are handed on.
    package var signingKey: APIKey
    /// Where the cluster's events are handed on to.
    package var webhooks: [WebhookURL] = []
    /// Told of each of them, in their order; not to block.
    package var heard: (@Sendable (LiveKitWebhookEvent) -> Void)?
    /// How often the cluster is asked whether it is there, and how long its answer may take.
    package var checkInterval: Duration = .seconds(10)
    package var checkTimeout: Duration = .seconds(5)
    /// How long `PerformRpc` may take: ten minutes are the longest that it waits for a participant.
    package var rpcTimeout: Duration = .seconds(610)

    package init(server: RemoteServer, keys: APIKeys, signingKey: APIKey) {
        self.server = server
        self.keys = keys
        self.signingKey = signingKey
    }
}
