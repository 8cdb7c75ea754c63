import RTCWire

/// Descriptors of one stream, each after a byte with its length: what is read can be written and is read the same.
func fuzzDependencyDescriptor(_ bytes: RawSpan) {
    var first = DependencyDescriptorReader()
    var second = DependencyDescriptorReader()
    var reader = ByteReader(bytes)
    while let size = reader.readUInt8(), let data = reader.readSpan(min(Int(size), reader.remaining)) {
        guard let descriptor = first.read(data), let structure = first.structure else { continue }
        var written: [UInt8] = []
        guard descriptor.write(structure, into: &written) else { fatalError("what is read can be written") }
        let again = second.read(written.span.bytes)
        precondition(again == descriptor, "and is read the same")
    }
}
