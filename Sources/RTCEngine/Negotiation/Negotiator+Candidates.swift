public import RTCWire

/// Where a candidate of ours belongs, for signaling it (W3C: RTCIceCandidate).
public struct CandidatePlace: Sendable, Hashable {
    public var mid: String
    public var mLineIndex: Int
    public var usernameFragment: String
}

/// Our candidates of the present generation of ICE, so that descriptions made later show them.
struct LocalCandidates: Sendable {
    private var usernameFragment: String?
    private var lines: [SDP.Candidate] = []
    private var isComplete = false

    mutating func add(_ candidate: ICECandidate, of fragment: String) {
        begin(fragment)
        let line = SDP.Candidate(candidate)
        if !lines.contains(line) { lines.append(line) }
    }

    mutating func remove(_ candidates: [ICECandidate]) {
        let gone = candidates.map { SDP.Candidate($0) }
        lines.removeAll { gone.contains($0) }
    }

    mutating func end(_ fragment: String) {
        begin(fragment)
        isComplete = true
    }

    private mutating func begin(_ fragment: String) {
        guard usernameFragment != fragment else { return }
        usernameFragment = fragment
        lines = []
        isComplete = false
    }

    /// Puts what is missing into the sections that show it.
    ///
    /// - Parameter section: the one that stands for the bundle; nil before an answer has chosen it.
    func complete(_ description: inout SessionDescription, section: Int?) {
        for index in description.sectionsWithCandidates(agreed: section) {
            guard let fragment = description.media[index].iceUsernameFragment, fragment == usernameFragment
            else { continue }
            let known = description.media[index].all(SDP.Candidate.self)
            for line in lines where !known.contains(line) { description.media[index].append(line) }
            if isComplete, !description.media[index].has(.endOfCandidates) {
                description.media[index].append(.endOfCandidates)
            }
        }
    }
}

extension Negotiator {
    /// Takes a candidate that our agent has found, so that `localDescription` shows it.
    ///
    /// - Returns: where it belongs, for telling the peer; nil when no local description has its generation yet. One
    ///   that is set later will contain it.
    public mutating func addLocalCandidate(_ candidate: ICECandidate) -> CandidatePlace? {
        let present = transport.localICE?.usernameFragment
        // A late one of the generation before has no description to go into.
        guard let fragment = candidate.usernameFragment ?? present, present == nil || fragment == present else {
            return nil
        }
        localCandidates.add(candidate, of: fragment)
        completeLocalDescriptions()
        return localCandidatePlace(of: fragment)
    }

    /// These candidates of ours are no more: descriptions that are made from now on do not show them. Those that were
    /// told stand as they are.
    mutating func removeLocalCandidates(_ candidates: [ICECandidate]) { localCandidates.remove(candidates) }

    /// Our agent has found all candidates of this generation, and says so once. Descriptions that are made later show
    /// it, also where none has the generation yet, or none any more: of a first offer that was taken back the agent
    /// keeps what it has found.
    ///
    /// - Parameter usernameFragment: the agent's; nil for that of the present description.
    /// - Returns: the section to name when telling the peer; nil when no local description has the generation.
    public mutating func endOfLocalCandidates(of usernameFragment: String? = nil) -> CandidatePlace? {
        let present = transport.localICE?.usernameFragment
        guard let fragment = usernameFragment ?? present, present == nil || fragment == present else { return nil }
        localCandidates.end(fragment)
        completeLocalDescriptions()
        return localCandidatePlace(of: fragment)
    }

    private mutating func completeLocalDescriptions() {
        if var description = pendingLocalDescription {
            localCandidates.complete(&description.sdp, section: transport.section)
            pendingLocalDescription = description
        }
        if var description = currentLocalDescription {
            localCandidates.complete(&description.sdp, section: transport.section)
            currentLocalDescription = description
        }
    }

    private func localCandidatePlace(of fragment: String) -> CandidatePlace? {
        for description in [pendingLocalDescription, currentLocalDescription] {
            guard let sdp = description?.sdp,
                let index = sdp.sectionsWithCandidates(agreed: transport.section).first,
                sdp.media[index].iceUsernameFragment == fragment
            else { continue }
            return CandidatePlace(mid: sdp.media[index].mid ?? "", mLineIndex: index, usernameFragment: fragment)
        }
        return nil
    }

    /// Takes a candidate that the peer has signaled (W3C: addIceCandidate).
    ///
    /// - Parameters:
    ///   - candidate: `candidate:…`; empty for the end of candidates.
    ///   - mid: the section's name; goes before the index.
    ///   - usernameFragment: the generation; nil for the newest, or what the candidate itself says.
    /// - Returns: what the transport is to do; empty for a candidate that is of no use to us, and for one of an offer
    ///   that has no answer yet: it comes among the actions of our answer.
    public mutating func addRemoteCandidate(
        _ candidate: String, mid: String?, mLineIndex: Int?, usernameFragment: String? = nil
    ) throws(NegotiationError) -> [NegotiationAction] {
        try change { next throws(NegotiationError) in
            guard next.remoteDescription != nil else { throw .noRemoteDescription }
            var parsed: ICECandidate?
            if !candidate.isEmpty {
                guard mid != nil || mLineIndex != nil else { throw .candidateWithoutSection }
                do throws(ICECandidateError) {
                    parsed = try ICECandidate(parsing: candidate)
                } catch {
                    switch error {
                    // RFC 8839 §5.1: names and transports that we do not know are not errors.
                    case .address, .unknownTransport, .type: break
                    case .truncated, .foundation, .component, .priority, .port, .tooLong:
                        throw .malformedCandidate(error)
                    }
                }
            }
            let fragment = usernameFragment ?? parsed?.usernameFragment
            let fact: RemoteCandidateFact =
                candidate.isEmpty ? .endOfCandidates : parsed.map { .candidate($0) } ?? .unusable
            try next.noteRemoteCandidate(fact, mid, mLineIndex, fragment)
        }
    }

    private enum RemoteCandidateFact: Equatable {
        case candidate(ICECandidate)
        case endOfCandidates
        /// Of a kind that we do not know: its place is checked, and then nothing would ever use it.
        case unusable
    }

    private mutating func noteRemoteCandidate(
        _ fact: RemoteCandidateFact, _ mid: String?, _ mLineIndex: Int?, _ fragment: String?
    ) throws(NegotiationError) {
        var isSectionKnown = false
        // W3C WebRTC §4.4.2: the newest description whose generation it is gets it.
        for isPending in [true, false] {
            guard var description = isPending ? pendingRemoteDescription : currentRemoteDescription else { continue }
            guard let index = try section(in: description.sdp, mid, mLineIndex) else { continue }
            isSectionKnown = true
            let generation = (try? PeerTransport(reading: description.sdp, section: index))?.ice.parameters
            if let fragment, fragment != generation?.usernameFragment { continue }
            // A peer that never stops signaling candidates makes us keep no more than a description may hold.
            switch fact {
            case .candidate(let candidate):
                guard hasRoom(for: index, in: description.sdp) else { return }
                description.sdp.media[index].append(SDP.Candidate(candidate))
            case .endOfCandidates:
                // W3C WebRTC §4.4.2: without mid and index it is the end in all sections.
                let sections = mid == nil && mLineIndex == nil ? Array(description.sdp.media.indices) : [index]
                for section in sections where !description.sdp.media[section].has(.endOfCandidates) {
                    description.sdp.media[section].append(.endOfCandidates)
                }
            case .unusable: return
            }
            if isPending {
                pendingRemoteDescription = description
            } else {
                currentRemoteDescription = description
            }
            if let generation, generation == transport.remoteICE?.parameters { apply(fact, section: index) }
            return
        }
        throw isSectionKnown ? .unknownGeneration : .unknownSection
    }

    private mutating func apply(_ fact: RemoteCandidateFact, section: Int) {
        switch fact {
        case .candidate(let candidate): addToTransport(candidate)
        // A peer that gathers for each section before it knows of the bundle ends one after the other; those behind the
        // bundle's own are of transports that nobody uses.
        case .endOfCandidates where section > transport.section ?? section: break
        case .endOfCandidates: transport.isRemoteComplete = true
        case .unusable: break
        }
    }

    /// Whether one more candidate is kept. A peer that never stops telling them fills no more than its section's share,
    /// and those of sections behind the bundle's own, which nobody uses, only what all of them may hold together.
    private func hasRoom(for index: Int, in description: SessionDescription) -> Bool {
        let section = description.media[index]
        guard section.lines.count < SDPLimits.linesPerSection, section.candidateCount < SDPLimits.candidates
        else { return false }
        if index <= transport.section ?? description.firstUsableSection ?? 0 { return true }
        return description.media.reduce(0) { $0 + $1.candidateCount } < SDPLimits.candidatesOfAllSections
    }

    /// Nil when the description has no such section. Without mid and index, the end of candidates is for all, and the
    /// first stands for them.
    private func section(
        in description: SessionDescription, _ mid: String?, _ mLineIndex: Int?
    ) throws(NegotiationError) -> Int? {
        if let mid, let index = description.media.indices.first(where: { description.sectionName($0) == mid }) {
            return index
        }
        // Some peers leave the mid empty and count on the index.
        if mid == nil || mid == "", let mLineIndex {
            return description.media.indices.contains(mLineIndex) ? mLineIndex : nil
        }
        return mid == nil ? description.firstUsableSection ?? description.media.indices.first : nil
    }
}

extension MediaDescription {
    fileprivate var candidateCount: Int {
        lines.count { if case .attribute(let line) = $0 { line.name == SDP.Candidate.name } else { false } }
    }
}
