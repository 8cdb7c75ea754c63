/// The `nal_unit_type` numbers that the stack tells apart (H.264 table 7-1; RFC 6184 table 1 for 24 and up).
public struct H264NALType: RawRepresentable, Hashable, Sendable {
    /// Five bits.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue & 0x1f }

    /// From the first byte of a NAL unit, or of an RTP payload.
    public init(header: UInt8) { self.rawValue = header & 0x1f }

    public static let slice = H264NALType(rawValue: 1)
    public static let dataPartitionA = H264NALType(rawValue: 2)
    public static let idrSlice = H264NALType(rawValue: 5)
    public static let supplementalInformation = H264NALType(rawValue: 6)
    public static let sequenceParameterSet = H264NALType(rawValue: 7)
    public static let pictureParameterSet = H264NALType(rawValue: 8)
    public static let accessUnitDelimiter = H264NALType(rawValue: 9)
    /// RFC 6184 §5.7.1: several units in one packet.
    public static let stapA = H264NALType(rawValue: 24)
    /// RFC 6184 §5.8: a fragment of one unit.
    public static let fuA = H264NALType(rawValue: 28)

    /// A number that a coded stream may hold; 0 is unspecified and 24...31 mean something else in RTP.
    public var isCodedUnit: Bool { (1...23).contains(rawValue) }

    /// Holds picture data (H.264 table 7-1: VCL).
    public var isPictureData: Bool { (1...5).contains(rawValue) }

    /// Carries `first_mb_in_slice` right after its header.
    var hasSliceHeader: Bool { self == .slice || self == .idrSlice || self == .dataPartitionA }

    /// H.264 §7.4.1.2.3: after a picture's slices, one of these is the start of the next access unit.
    var opensAccessUnit: Bool { (6...9).contains(rawValue) || (14...18).contains(rawValue) }
}
