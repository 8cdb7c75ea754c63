internal import RTCWire

/// What the server answers (RFC 8656 §7.3, §8.3, §10.3, §12.3; RFC 8489 §9.2.5).
extension TURNAllocation {
    /// A nonce may grow old once and again, but not with every request.
    private static let maximumChallenges = 4
    /// Beginning the allocation anew: without a ticket, with another family, from another address.
    private static let maximumRetries = 4

    mutating func receiveResponse(_ response: STUNMessage, _ datagram: RawSpan, at now: Instant) {
        guard let transaction = transactions.find(response.transactionID), transaction.method == response.method
        else { return }
        switch response.kind {
        case .success:
            // RFC 8489 §9.2.5: what is not signed as we signed was never received.
            if transaction.isSigned {
                guard let key = authentication.key, response.isAuthentic(in: datagram, key: key) else { return }
            }
            guard response.unknownRequiredAttributes.isEmpty else { return }
            transactions.finish(transaction.id)
            succeeded(transaction.purpose, response, at: now)
        case .error:
            // Errors need not be signed: those about the credential cannot be. A wrong signature is a forgery.
            if response.integrityOffset != nil || response.sha256Integrity != nil, let key = authentication.key,
                transaction.isSigned, !response.isAuthentic(in: datagram, key: key)
            {
                return
            }
            transactions.finish(transaction.id)
            refused(transaction, response, at: now)
        case .request, .indication: return
        }
    }

    private mutating func succeeded(
        _ purpose: TURNTransactions.Purpose, _ response: STUNMessage, at now: Instant
    ) {
        switch purpose {
        case .allocate:
            let relayed = usable(response.relayedAddresses)
            guard phase == .allocating, !relayed.isEmpty else { return fail(.malformed) }
            let grant = Grant(relayed: relayed, mapped: response.reflexiveAddress)
            self.grant = grant
            prolong(response, at: now)
            put(.allocated(grant))
        case .refresh:
            prolong(response, at: now)
        case .permission(let ip):
            permissions.granted(ip, at: now)
            sendHeld(to: ip)
        case .channel(let number):
            channels.bound(number, at: now)
        case .release: released(at: now)
        }
    }

    /// One address of each family, which somebody could be behind.
    private func usable(_ addresses: [TransportAddress]) -> [TransportAddress] {
        var usable: [TransportAddress] = []
        for address in addresses where address.port != 0 && !address.ip.isUnspecified && !address.ip.isMulticast {
            if !usable.contains(where: { $0.ip.isIPv6 == address.ip.isIPv6 }) { usable.append(address) }
        }
        return usable
    }

    private mutating func prolong(_ response: STUNMessage, at now: Instant) {
        // RFC 8656 §7.2 has the server name it; ten minutes are what it gives by default. What it says is kept within
        // reason: an hour at most, and not so short that we would do nothing but refresh.
        let seconds = min(max(Int64(response.lifetime ?? 600), 4), 3_600)
        let lifetime = Interval.seconds(seconds)
        activate(until: now + lifetime, at: now)
        refreshAt = now + lifetime - min(configuration.margin, lifetime / 4)
        if let ticket = response.mobilityTicket, !ticket.isEmpty, wishes.ticket { self.ticket = ticket }
    }

    // MARK: Errors

    private mutating func refused(
        _ transaction: TURNTransactions.Transaction, _ response: STUNMessage, at now: Instant
    ) {
        guard let error = response.errorCode else { return conclude(transaction.purpose, .malformed, at: now) }
        let failure = TURNFailure.refused(code: error.code, reason: String(error.reason.prefix(127)))
        switch error.code {
        case STUNErrorCode.unauthenticated.code:
            // RFC 8489 §9.2.5: our credential was there and is wrong.
            if transaction.isSigned { return fail(.wrongCredentials) }
            challenged(transaction, response, failure, at: now)
        case STUNErrorCode.staleNonce.code:
            challenged(transaction, response, failure, at: now)
        case STUNErrorCode.allocationMismatch.code:
            mismatched(transaction.purpose, failure, at: now)
        default:
            conclude(transaction.purpose, failure, at: now)
        }
    }

    /// 437: the server knows an allocation of ours that we do not, or none where we know one.
    private mutating func mismatched(
        _ purpose: TURNTransactions.Purpose, _ failure: TURNFailure, at now: Instant
    ) {
        switch purpose {
        case .allocate: conclude(purpose, failure, at: now)
        case .refresh, .permission, .channel: fail(.expired)
        case .release: released(at: now)
        }
    }

    /// The same request again, with the realm and nonce that came along.
    private mutating func challenged(
        _ transaction: TURNTransactions.Transaction, _ response: STUNMessage, _ failure: TURNFailure, at now: Instant
    ) {
        guard transaction.challenges < Self.maximumChallenges, authentication.take(response) else {
            return conclude(transaction.purpose, failure, at: now)
        }
        guard let request = try? STUNMessage(parsing: transaction.datagram.span.bytes) else { return }
        let attributes = request.attributes.filter { if case .turn = $0 { true } else { false } }
        self.request(
            transaction.purpose, transaction.method, attributes, challenges: transaction.challenges + 1, at: now)
    }

    /// An error that is not about the credential.
    private mutating func conclude(
        _ purpose: TURNTransactions.Purpose, _ failure: TURNFailure, at now: Instant
    ) {
        switch purpose {
        case .allocate: allocationRefused(failure, at: now)
        case .refresh: refreshRefused(failure, at: now)
        case .permission(let ip): permissionRefused(ip, at: now)
        case .channel(let number): channels.refused(number)
        case .release: released(at: now)
        }
    }

    /// RFC 8656 §7.4, and RFC 8016 §3.1 for 405.
    private mutating func allocationRefused(_ failure: TURNFailure, at now: Instant) {
        guard retries < Self.maximumRetries else { return fail(failure) }
        retries += 1
        switch failure.code {
        case 405 where wishes.ticket:
            wishes.ticket = false
            allocate(at: now)
        case 440 where wishes.family == nil:
            // No IPv4, which is what a request without a family means. Perhaps IPv6.
            wishes.family = .ipv6
            allocate(at: now)
        case 400 where wishes.ticket || wishes.additionalIPv6, 420 where wishes.ticket || wishes.additionalIPv6:
            // Both may be passed over by a server that does not know them; some refuse instead.
            wishes.ticket = false
            wishes.additionalIPv6 = false
            allocate(at: now)
        case 437:
            put(.wantsAnotherPath)
        default:
            // 403, 441, 442, 486, 508: asking again at once would change nothing.
            fail(failure)
        }
    }

    private mutating func refreshRefused(_ failure: TURNFailure, at now: Instant) {
        switch phase {
        // RFC 8016 §3.2: the ticket is no good, or mobility is not allowed.
        case .moving: fail(failure)
        case .active(let until):
            // The server has trouble of its own: it may be over before the lifetime is.
            guard failure.code >= 500 else { return fail(failure) }
            refreshAt = min(until, now + .seconds(Int64(5)))
        case .idle, .allocating, .ended: return
        }
    }
}
