extension HMACSHA1 {
    /// Whether `code` is that of `message`, in a time that does not tell where it differs.
    public func verifies(_ code: RawSpan, of message: RawSpan) -> Bool {
        let expected = authenticate(message)
        return constantTimeEqual(code, expected.span.bytes)
    }
}
