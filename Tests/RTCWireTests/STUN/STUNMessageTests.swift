import Testing

@testable import RTCWire

@Suite struct STUNMessageTests {
    private let id = STUNTransactionID(high: 1, low: 2)
    private let key = HMACSHA1(password: "a password of some length")

    private func parse(_ bytes: [UInt8]) -> Result<STUNMessage, STUNError> {
        do throws(STUNError) {
            return .success(try STUNMessage(parsing: bytes.span.bytes))
        } catch {
            return .failure(error)
        }
    }

    private var everyAttribute: [STUNAttribute] {
        [
            .mappedAddress(TransportAddress(.v4(0x0a00_0001), port: 1)),
            .mappedAddress(TransportAddress(.v6(1, 2), port: 3)),
            .xorMappedAddress(TransportAddress(.v4(0xffff_ffff), port: 65_535)),
            .xorMappedAddress(TransportAddress(.v6(0xfe80 << 48, 7), port: 0)),
            .username("abcd:efgh"), .errorCode(.roleConflict), .errorCode(STUNErrorCode(699, reason: "")),
            .unknownAttributes([1, 2, 3]), .realm("example.org"), .nonce([1, 2, 3]), .software("Roost"),
            .priority(0x6e7f_ffff), .useCandidate, .iceControlled(tieBreaker: .max), .iceControlling(tieBreaker: 0),
            .other(type: 0xc057, value: [0, 1, 2, 3, 4]),
        ]
    }

    @Test(arguments: [STUNClass.request, .indication, .success, .error], [0x001, 0x003, 0x080, 0x0ff] as [UInt16])
    func `every class and method survives the way there and back`(kind: STUNClass, method: UInt16) throws {
        let message = STUNMessage(kind, STUNMethod(rawValue: method), transactionID: id)
        let read = try parse(message.encoded(fingerprint: false)).get()
        #expect(read == message)
    }

    @Test func `every attribute survives the way there and back`() throws {
        let message = STUNMessage(.success, transactionID: id, attributes: everyAttribute)
        let bytes = message.encoded(key: key)
        let read = try parse(bytes).get()
        #expect(read.attributes == everyAttribute)
        #expect(read.hasFingerprint)
        #expect(read.isAuthentic(in: bytes, key: key))
        #expect(bytes.count % 4 == 0)
    }

    @Test func `a message cut anywhere does not parse`() {
        let bytes = STUNMessage(.request, transactionID: id, attributes: everyAttribute).encoded(key: key)
        for count in 0..<bytes.count {
            #expect(throws: STUNError.self) { try parse(Array(bytes.prefix(count))).get() }
        }
        #expect(throws: STUNError.wrongLength) { try parse(bytes + [0, 0, 0, 0]).get() }
    }

    @Test func `one flipped bit anywhere is seen by the fingerprint or the parser`() {
        let bytes = STUNMessage(.request, transactionID: id, attributes: everyAttribute).encoded(key: key)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1 << UInt8(index % 8)
            // A change to FINGERPRINT's own type makes it an unknown optional attribute.
            guard case .success(let message) = parse(changed) else { continue }
            #expect(!message.hasFingerprint)
        }
    }

    @Test func `integrity covers all that precedes it`() throws {
        let bytes = STUNMessage(.request, transactionID: id, attributes: [.username("a:b"), .priority(7)])
            .encoded(key: key, fingerprint: false)
        for index in 8..<bytes.count - 24 {
            var changed = bytes
            changed[index] ^= 1
            guard case .success(let message) = parse(changed) else { continue }
            #expect(!message.isAuthentic(in: changed, key: key))
        }
    }

    @Test func `what stands behind MESSAGE-INTEGRITY is ignored`() throws {
        var bytes = STUNMessage(.request, transactionID: id, attributes: [.username("a:b")])
            .encoded(key: key, fingerprint: false)
        bytes.append(uint16: 0x0025)
        bytes.append(uint16: 0)
        bytes.set(uint16: UInt16(bytes.count - 20), at: 2)
        let message = try parse(bytes).get()
        #expect(message.attributes == [.username("a:b")])
        #expect(!message.usesCandidate)
        #expect(message.isAuthentic(in: bytes, key: key))
    }

    @Test func `a second MESSAGE-INTEGRITY does not replace the first`() throws {
        let other = HMACSHA1(password: "another")
        var bytes = STUNMessage(.request, transactionID: id, attributes: [.priority(1)])
            .encoded(key: other, fingerprint: false)
        bytes.append(uint16: 0x0008)
        bytes.append(uint16: 20)
        bytes.append(contentsOf: [UInt8](repeating: 0, count: 20))
        bytes.set(uint16: UInt16(bytes.count - 20), at: 2)
        let message = try parse(bytes).get()
        #expect(message.isAuthentic(in: bytes, key: other))
        #expect(!message.isAuthentic(in: bytes, key: key))
    }

    @Test func `a fingerprint that is not last does not parse`() {
        var bytes = STUNMessage(.request, transactionID: id).encoded()
        bytes.append(uint16: 0x8022)
        bytes.append(uint16: 0)
        bytes.set(uint16: UInt16(bytes.count - 20), at: 2)
        #expect(throws: STUNError.wrongFingerprint) { try parse(bytes).get() }
    }

    @Test func `unknown comprehension-required attributes are told apart from optional ones`() throws {
        let message = STUNMessage(
            .request, transactionID: id,
            attributes: [.other(type: 0x7777, value: []), .other(type: 0x8777, value: []), .priority(1)])
        #expect(try parse(message.encoded()).get().unknownRequiredAttributes == [0x7777])
    }

    @Test(
        arguments: [
            (0x0001, [0, 1, 0, 1, 1, 2, 3]), (0x0001, [0, 3, 0, 1, 1, 2, 3, 4]), (0x0001, [0, 2, 0, 1, 1, 2, 3, 4]),
            (0x0020, []), (0x0006, [0xff, 0xfe]), (0x0006, [UInt8](repeating: 65, count: 509)),
            (0x0009, [0, 0, 2, 0]), (0x0009, [0, 0, 4, 100]), (0x0009, [0, 0, 4]), (0x000a, [1]), (0x0024, [1, 2, 3]),
            (0x0025, [1]), (0x8029, [1, 2, 3, 4]), (0x802a, []), (0x0008, [1, 2, 3, 4]),
        ] as [(UInt16, [UInt8])])
    func `a value of impossible form does not parse`(type: UInt16, value: [UInt8]) {
        let bytes = STUNMessage(.request, transactionID: id, attributes: [.other(type: type, value: value)])
            .encoded(fingerprint: false)
        #expect(throws: STUNError.malformedAttribute(type: type)) { try parse(bytes).get() }
    }

    @Test func `who answers what is malformed is told its types, and the rest as it is`() throws {
        let message = STUNMessage(
            .request, .allocate, transactionID: id,
            attributes: [
                .other(type: 0x0019, value: [17]), .username("ann"), .other(type: 0x0022, value: [1, 2, 3]),
                .other(type: 0x0012, value: [0, 3, 0, 0, 0, 0, 0, 0]), .realm("roost"),
            ])
        let bytes = message.encoded(key: key)
        #expect(throws: STUNError.malformedAttribute(type: 0x0019)) { try parse(bytes).get() }
        let parsed = try STUNMessage(parsing: bytes.span.bytes, keepingMalformed: true)
        #expect(parsed.malformedAttributes == [0x0019, 0x0022, 0x0012])
        #expect(parsed.attributes == [.username("ann"), .realm("roost")])
        #expect(parsed.isAuthentic(in: bytes.span.bytes, key: key) && parsed.hasFingerprint)
        // Integrity that is none, and what runs past the end.
        for (type, length) in [(0x0008, 4), (0x001c, 4), (0x0019, 8)] as [(UInt16, UInt16)] {
            var bytes = STUNMessage(.request, transactionID: id).encoded(fingerprint: false)
            bytes.append(uint16: type)
            bytes.append(uint16: length)
            bytes.append(uint32: 0)
            bytes.set(uint16: 8, at: 2)
            let datagram = bytes
            #expect(throws: STUNError.malformedAttribute(type: type)) {
                try STUNMessage(parsing: datagram.span.bytes, keepingMalformed: true)
            }
        }
    }

    @Test func `other protocols and too many attributes are refused`() {
        #expect(throws: STUNError.notSTUN) { try parse([]).get() }
        #expect(throws: STUNError.notSTUN) { try parse([UInt8](repeating: 0x80, count: 40)).get() }
        #expect(throws: STUNError.notSTUN) { try parse([0, 1] + [UInt8](repeating: 0, count: 18)).get() }
        let many = STUNMessage(
            .request, transactionID: id, attributes: .init(repeating: .useCandidate, count: 65))
        #expect(throws: STUNError.tooManyAttributes) { try parse(many.encoded(fingerprint: false)).get() }
    }

    @Test func `random bytes behind an honest header never crash the parser`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let count = Int.random(in: 0...40, using: &random) * 4
            var bytes = STUNMessage(.request, transactionID: id).encoded(fingerprint: false)
            bytes.append(contentsOf: (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
            bytes.set(uint16: UInt16(count), at: 2)
            if case .success(let message) = parse(bytes) { expect(message, readFrom: bytes) }
        }
    }

    @Test func `attributes with random values are refused, or read as they are written`() {
        var random = SystemRandomNumberGenerator()
        var count = 0
        for _ in 0..<2_000 {
            let attributes = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                let type = UInt16.random(in: 0...0x30, using: &random) | (Bool.random(using: &random) ? 0x8000 : 0)
                let size = [0, 1, 4, 8, 20].randomElement(using: &random) ?? 0
                let value = (0..<size).map { _ in UInt8.random(in: 0...3, using: &random) }
                return STUNAttribute.other(type: type, value: value)
            }
            let bytes = STUNMessage(.success, transactionID: id, attributes: attributes).encoded(fingerprint: false)
            guard case .success(let message) = parse(bytes) else { continue }
            count += 1
            expect(message, readFrom: bytes)
        }
        #expect(count > 100)
    }

    /// What is true of every message, whoever has written it.
    private func expect(
        _ message: STUNMessage, readFrom bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(message.transactionID == id, sourceLocation: sourceLocation)
        #expect(!message.hasFingerprint, sourceLocation: sourceLocation)
        #expect(!message.isAuthentic(in: bytes, key: key), sourceLocation: sourceLocation)
        let again = try? parse(message.encoded(fingerprint: false)).get()
        #expect(again?.attributes == message.attributes, "\(bytes)", sourceLocation: sourceLocation)
    }
}
