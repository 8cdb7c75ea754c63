internal import Foundation
internal import SwiftProtobuf

/// About how many bytes a message takes: those of its texts and data, and some for every field. Nothing is written or
/// copied to find out.
struct MessageSize: SwiftProtobuf.Visitor {
    /// For a field's number and length, or a number that it holds; never less than in binary.
    private static let perField = 16

    private(set) var bytes = 0

    static func of(_ message: some SwiftProtobuf.Message) -> Int {
        var size = MessageSize()
        // Nothing here throws.
        try? message.traverse(visitor: &size)
        return size.bytes
    }

    private mutating func add(_ count: Int = 0) { bytes += Self.perField + count }

    mutating func visitSingularDoubleField(value: Double, fieldNumber: Int) throws { add() }
    mutating func visitSingularInt64Field(value: Int64, fieldNumber: Int) throws { add() }
    mutating func visitSingularUInt64Field(value: UInt64, fieldNumber: Int) throws { add() }
    mutating func visitSingularBoolField(value: Bool, fieldNumber: Int) throws { add() }
    mutating func visitSingularStringField(value: String, fieldNumber: Int) throws { add(value.utf8.count) }
    mutating func visitSingularBytesField(value: Data, fieldNumber: Int) throws { add(value.count) }
    mutating func visitSingularEnumField<E: SwiftProtobuf.Enum>(value: E, fieldNumber: Int) throws { add() }
    mutating func visitUnknown(bytes: Data) throws { add(bytes.count) }

    mutating func visitSingularMessageField<M: SwiftProtobuf.Message>(value: M, fieldNumber: Int) throws {
        add()
        try value.traverse(visitor: &self)
    }

    mutating func visitMapField<KeyType, ValueType: MapValueType>(
        fieldType: _ProtobufMap<KeyType, ValueType>.Type, value: _ProtobufMap<KeyType, ValueType>.BaseType,
        fieldNumber: Int
    ) throws {
        for (key, value) in value {
            add()
            try KeyType.visitSingular(value: key, fieldNumber: 1, with: &self)
            try ValueType.visitSingular(value: value, fieldNumber: 2, with: &self)
        }
    }

    mutating func visitMapField<KeyType, ValueType>(
        fieldType: _ProtobufEnumMap<KeyType, ValueType>.Type, value: _ProtobufEnumMap<KeyType, ValueType>.BaseType,
        fieldNumber: Int
    ) throws where ValueType.RawValue == Int {
        for (key, value) in value {
            add()
            try KeyType.visitSingular(value: key, fieldNumber: 1, with: &self)
            try visitSingularEnumField(value: value, fieldNumber: 2)
        }
    }

    mutating func visitMapField<KeyType, ValueType>(
        fieldType: _ProtobufMessageMap<KeyType, ValueType>.Type,
        value: _ProtobufMessageMap<KeyType, ValueType>.BaseType, fieldNumber: Int
    ) throws {
        for (key, value) in value {
            add()
            try KeyType.visitSingular(value: key, fieldNumber: 1, with: &self)
            try visitSingularMessageField(value: value, fieldNumber: 2)
        }
    }
}
