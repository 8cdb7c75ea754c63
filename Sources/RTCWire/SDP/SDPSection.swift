/// What the session section and a media section have in common: lines, with attributes among them. Typed accessors
/// read the lines each time; a description is read when a call changes, never per packet.
public protocol SDPSection {
    /// Every line after the section's head, in order.
    var lines: [SDPLine] { get set }
}

extension SDPSection {
    /// The attributes in order.
    public var attributes: [SDPAttribute] {
        lines.compactMap { line in
            switch line {
            case .attribute(let attribute): attribute
            case .other: nil
            }
        }
    }

    /// The raw values of the attributes of a name; a property attribute gives an empty one.
    public func values(of name: String) -> [String] {
        lines.compactMap { line in
            guard case .attribute(let attribute) = line, attribute.name == name else { return nil }
            return attribute.value ?? ""
        }
    }

    /// The first attribute of a kind whose value can be read.
    public func first<Value: SDPAttributeValue>(_ type: Value.Type) -> Value? {
        for line in lines {
            guard case .attribute(let attribute) = line, attribute.name == Value.name,
                let value = Value(attributeValue: attribute.value ?? "")
            else { continue }
            return value
        }
        return nil
    }

    /// All attributes of a kind whose values can be read, in order.
    public func all<Value: SDPAttributeValue>(_ type: Value.Type) -> [Value] {
        let name = Value.name
        var values: [Value] = []
        for case .attribute(let attribute) in lines where attribute.name == name {
            if let value = Value(attributeValue: attribute.value ?? "") { values.append(value) }
        }
        return values
    }

    /// Whether a property attribute is there.
    public func has(_ flag: SDP.Flag) -> Bool {
        lines.contains(.attribute(SDPAttribute(flag.rawValue)))
    }

    public mutating func append(_ value: some SDPAttributeValue) {
        lines.append(.attribute(SDPAttribute(type(of: value).name, value.attributeValue)))
    }

    public mutating func append(_ flag: SDP.Flag) {
        lines.append(.attribute(SDPAttribute(flag.rawValue)))
    }

    public mutating func append(_ attribute: SDPAttribute) {
        lines.append(.attribute(attribute))
    }

    public mutating func removeAttributes(named name: String) {
        lines.removeAll { line in
            guard case .attribute(let attribute) = line else { return false }
            return attribute.name == name
        }
    }
}
