/// The `nal_unit_type` numbers that the stack tells apart (H.265 table 7-1; RFC 7798 §4.4 for 48 and up).
public struct H265NALType: RawRepresentable, Hashable, Sendable {
    /// Six bits.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue & 0x3f }

    /// From the first byte of a NAL unit, or of an RTP payload: a bit that is zero, then the type.
    public init(header: UInt8) { self.rawValue = header >> 1 & 0x3f }

    public static let videoParameterSet = H265NALType(rawValue: 32)
    public static let sequenceParameterSet = H265NALType(rawValue: 33)
    public static let pictureParameterSet = H265NALType(rawValue: 34)
    public static let accessUnitDelimiter = H265NALType(rawValue: 35)
    public static let prefixInformation = H265NALType(rawValue: 39)
    /// RFC 7798 §4.4.2: several units in one packet.
    public static let aggregation = H265NALType(rawValue: 48)
    /// RFC 7798 §4.4.3: a fragment of one unit.
    public static let fragmentation = H265NALType(rawValue: 49)

    /// A number that a coded stream may hold; from 48 on it means something else in RTP, or nothing.
    public var isCodedUnit: Bool { rawValue < 48 }

    /// Holds picture data (H.265 table 7-1: VCL).
    public var isPictureData: Bool { rawValue < 32 }

    /// A decoder can begin at this picture (IRAP: BLA, IDR, CRA; H.265 §3).
    public var isRandomAccess: Bool { (16...23).contains(rawValue) }

    /// H.265 §7.4.2.4.4: behind a picture's slices, one of these is the start of the next access unit.
    var opensAccessUnit: Bool {
        (32...35).contains(rawValue) || rawValue == 39 || (41...44).contains(rawValue)
    }

    /// Precedes whatever else an access unit has.
    var isCertainStart: Bool {
        self == .videoParameterSet || self == .sequenceParameterSet || self == .accessUnitDelimiter
    }
}
