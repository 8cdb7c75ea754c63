internal import RTCWire

/// Which layers descriptions agree on (RFC 8853 §5).
enum SimulcastNegotiation {
    /// The layers that a section sends, in its order: of alternatives the first, paused ones too.
    static func sent(by section: MediaDescription) -> [String] {
        names(section.first(SDP.Simulcast.self)?.send ?? [], section, .send)
    }

    /// The layers that a section wants, in its order.
    static func wanted(by section: MediaDescription) -> [String] {
        names(section.first(SDP.Simulcast.self)?.receive ?? [], section, .recv)
    }

    private static func names(
        _ streams: [[String]], _ section: MediaDescription, _ direction: SDP.RestrictionID.Direction
    ) -> [String] {
        let known = Set(section.all(SDP.RestrictionID.self).filter { $0.direction == direction }.map(\.id))
        var names: [String] = []
        for stream in streams.prefix(SendEncoding.maximumCount) {
            // RFC 8853 §5.1: `~` marks a layer that begins paused.
            guard let first = stream.first else { continue }
            let name = first.first == "~" ? String(first.dropFirst()) : first
            // §5.2: a name without an `a=rid` line of its direction is ignored.
            if known.contains(name), !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// The layers of the form of before rids: a SIM group, its sources in the order of size.
    static func groupLayers(of section: MediaDescription) -> [ReceiveLayer] {
        let groups = section.all(SDP.SourceGroup.self)
        guard let simulcast = groups.first(where: { $0.semantics == "SIM" }), simulcast.ssrcs.count > 1 else {
            return []
        }
        let pairs = groups.filter { $0.semantics == "FID" && $0.ssrcs.count == 2 }
        let attributes = section.all(SDP.SourceAttribute.self)
        return simulcast.ssrcs.prefix(SendEncoding.maximumCount).enumerated().map { place, ssrc in
            ReceiveLayer(
                rid: "\(place)",
                sources: SignaledSources(
                    primary: ssrc, rtx: pairs.first { $0.ssrcs.first == ssrc }?.ssrcs.last,
                    cname: attributes.first { $0.ssrc == ssrc && $0.attribute == "cname" }?.value))
        }
    }

    /// Of a transceiver's layers those that the peer's section wants (§5.3.2).
    static func wanted(_ layers: [LayerSources], by section: MediaDescription) -> [LayerSources] {
        guard layers.count > 1 else { return [] }
        let names = wanted(by: section)
        return layers.filter { names.contains($0.encoding.rid) }
    }

    /// What a section of ours says of layers: one line for both ways (§5.1).
    static func describe(sent: [LayerSources], received: [String], in section: inout MediaDescription) {
        guard !sent.isEmpty || !received.isEmpty else { return }
        for layer in sent { section.append(SDP.RestrictionID(id: layer.encoding.rid, direction: .send)) }
        for name in received { section.append(SDP.RestrictionID(id: name, direction: .recv)) }
        section.append(
            SDP.Simulcast(
                send: sent.map { [($0.encoding.isActive ? "" : "~") + $0.encoding.rid] },
                receive: received.map { [$0] }))
    }
}
