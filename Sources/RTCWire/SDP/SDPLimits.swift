/// How much of a session description is accepted. A large conference's offer has some tens of kilobytes.
public enum SDPLimits {
    /// Bytes of the whole text.
    public static let bytes = 256 * 1_024
    /// `m=` lines.
    public static let mediaSections = 256
    /// Candidates of a media section that are kept, those among them that came one by one.
    public static let candidates = 256
    /// Candidates of all media sections of a description together.
    public static let candidatesOfAllSections = 1_024
    /// Lines of the session section, and of each media section.
    public static let linesPerSection = 2_048
}
