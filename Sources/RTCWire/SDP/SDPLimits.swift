/// How much of a session description is accepted.
public enum SDPLimits {
    /// Bytes of the whole text. A section of libwebrtc's to receive pictures in has four to seven thousand, and who is
    /// in a room with hundreds has hundreds of them.
    public static let bytes = 2 << 20
    /// `m=` lines.
    public static let mediaSections = 256
    /// Candidates of a media section that are kept, those among them that came one by one.
    public static let candidates = 256
    /// Candidates of all media sections of a description together.
    public static let candidatesOfAllSections = 1_024
    /// Lines of the whole text: hundreds of sections of libwebrtc's have some forty thousand.
    public static let lines = 65_536
    /// Lines of the session section, and of each media section.
    public static let linesPerSection = 2_048
}
