extension Schema {
    /// Whether the icon of a device's app is known to show no number: of those before this step nothing is known.
    static let icons = Step(
        "icons",
        "ALTER TABLE devices ADD COLUMN icon_is_clear BIGINT NOT NULL DEFAULT 0")
}
