/// What a spatial layer of a publication is.
public enum LayerArrangement: Sendable, Hashable {
    /// A stream of its own; also of a publication with a single stream and no spatial layers.
    case simulcast
    /// A layer inside the only stream that is sent (SVC), which may be another than the first where several were
    /// announced.
    case scalable(stream: UInt8 = 0)
}
