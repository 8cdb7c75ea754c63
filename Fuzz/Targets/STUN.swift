import RTCWire

/// Any bytes: the parser neither crashes nor runs long, and what it has understood survives being written and read.
func fuzzSTUN(_ bytes: RawSpan) {
    // What a socket that many peers share looks at, before anything is known to be a message.
    if STUNMessage.isBindingRequest(bytes), let fragment = STUNMessage.receiverFragment(ofCheck: bytes) {
        precondition(!fragment.contains(":"))
    }
    // What a server looks at that answers what is malformed.
    let lenient = try? STUNMessage(parsing: bytes, keepingMalformed: true)
    guard let message = try? STUNMessage(parsing: bytes) else {
        precondition(lenient?.malformedAttributes.isEmpty != true)
        return
    }
    precondition(lenient == message)
    let key = HMACSHA1(password: "a password of some length")
    _ = message.isAuthentic(in: bytes, key: key)
    _ = (message.username, message.reflexiveAddress, message.errorCode, message.unknownRequiredAttributes)

    let written = message.encoded(key: key)
    guard let again = try? STUNMessage(parsing: written.span.bytes) else {
        // Invalid UTF-8 in a text for people is repaired, by which it may outgrow the length field or its limit.
        precondition(written.count > 0xffff || message.attributes.contains(where: \.holdsFreeText))
        return
    }
    precondition(again.kind == message.kind && again.method == message.method)
    precondition(again.transactionID == message.transactionID)
    precondition(again.attributes == message.attributes)
    precondition(again.isAuthentic(in: written.span.bytes, key: key))
    let longKey = STUNIntegrityKey.sha256(HMACSHA256(key: Array("a key of some length".utf8)))
    _ = message.isAuthentic(in: bytes, key: longKey)
    let signed = message.encoded(signedWith: longKey, fingerprint: true)
    guard let third = try? STUNMessage(parsing: signed.span.bytes) else {
        precondition(signed.count > 0xffff || message.attributes.contains(where: \.holdsFreeText))
        return
    }
    precondition(third.isAuthentic(in: signed.span.bytes, key: longKey))
}

extension STUNAttribute {
    fileprivate var holdsFreeText: Bool {
        switch self {
        case .software, .errorCode, .turn(.addressErrorCode): true
        case .mappedAddress, .xorMappedAddress, .username, .unknownAttributes, .realm, .nonce, .priority, .useCandidate,
            .iceControlled, .iceControlling, .userHash, .passwordAlgorithm, .passwordAlgorithms, .alternateServer,
            .alternateDomain, .turn, .other:
            false
        }
    }
}
