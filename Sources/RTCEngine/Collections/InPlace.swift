extension Optional {
    /// Looks at the value where it lies. A look by optional chaining copies it first, which for one of kilobytes costs
    /// more than the look.
    @inline(__always)
    mutating func inPlace<Result>(_ look: (inout Wrapped) -> Result?) -> Result? {
        self == nil ? nil : look(&self!)
    }
}
