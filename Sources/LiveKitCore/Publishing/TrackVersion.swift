import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore

/// A track in one of its codecs: in the first that its client has announced, or in the second, its backup codec, which
/// the client makes in a section of its own when it hears that somebody needs it.
final class TrackVersion {
    /// Its place in `TrackInfo.codecs`.
    let place: Int
    /// What its client said that it is going to be; nil where it said nothing.
    let announced: PayloadFormat?
    /// The client's ids of it; none as long as it is not going to come.
    var clientIDs: [String]
    /// Of what is to come once its section is over.
    var nextIDs: [String] = []
    /// Of that, too; empty where its client said nothing of sizes.
    var nextLayers: [LiveKitVideoLayer] = []
    /// Where its media come; nil until an offer carries them.
    var transceiver: TransceiverID?
    /// The section's name.
    var mid = ""
    /// How its media are packed; nil until it is published.
    var format: PayloadFormat?
    /// As it was published; the publisher's client knows its layers by that, whatever its encoder has gone over to.
    var publishedCodec = ""
    /// Nil until others can be subscribed to it.
    var publication: PublicationID?
    /// Packets that did not come from the publisher, not even with later ones, as was counted last.
    var lost: Int64 = 0
    /// Those that came with later ones, as was counted last.
    var recovered: Int64 = 0
    /// How many layers less came than were wanted, in the two times before when that was looked at: a publisher that
    /// begins has none of the upper ones yet.
    private var layersMissing = (before: 0, last: 0)

    init(place: Int, announced: PayloadFormat?, clientIDs: [String]) {
        self.place = place
        self.announced = announced
        self.clientIDs = clientIDs
    }

    /// An offer is to bring it, and has not yet.
    var isAwaited: Bool { transceiver == nil && !clientIDs.isEmpty }

    /// It does not come any more, unless its client has said already that it is to, again; it may do so later.
    func end() {
        (transceiver, mid, clientIDs, nextIDs, nextLayers) = (nil, "", nextIDs, [], [])
        (publication, format, publishedCodec, recovered) = (nil, nil, "", 0)
    }

    /// How many layers less than are wanted have come for a while.
    var missingLayers: Int { min(layersMissing.before, layersMissing.last) }

    func noteMissing(layers: Int) { layersMissing = (layersMissing.last, layers) }
}
