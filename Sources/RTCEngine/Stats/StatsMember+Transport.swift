/// W3C's names for what the entries about the transport hold.
extension PeerConnectionStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("dataChannelsOpened", dataChannelsOpened)
        members.add("dataChannelsClosed", dataChannelsClosed)
    }
}

extension DataChannelStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("label", label)
        members.add("protocol", `protocol`)
        members.add("dataChannelIdentifier", dataChannelIdentifier)
        members.add("state", state)
        members.add("messagesSent", messagesSent)
        members.add("bytesSent", bytesSent)
        members.add("messagesReceived", messagesReceived)
        members.add("bytesReceived", bytesReceived)
    }
}

extension SCTPTransportStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("transportId", transportID)
        members.add("smoothedRoundTripTime", smoothedRoundTripTime)
        members.add("congestionWindow", congestionWindow)
        members.add("receiverWindow", receiverWindow)
        members.add("mtu", mtu)
        members.add("unackData", unackData)
        members.add("packetsSent", packetsSent)
        members.add("packetsReceived", packetsReceived)
        members.add("bytesSent", bytesSent)
        members.add("bytesReceived", bytesReceived)
        members.add("retransmissions", retransmissions)
    }
}

extension TransportStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("packetsSent", packetsSent)
        members.add("packetsReceived", packetsReceived)
        members.add("bytesSent", bytesSent)
        members.add("bytesReceived", bytesReceived)
        members.add("packetsDropped", packetsDropped)
        members.add("srtpFailures", srtpFailures)
        members.add("iceRole", iceRole)
        members.add("iceLocalUsernameFragment", iceLocalUsernameFragment)
        members.add("iceState", iceState)
        members.add("dtlsState", dtlsState)
        members.add("dtlsRole", dtlsRole)
        members.add("tlsVersion", tlsVersion)
        members.add("dtlsCipher", dtlsCipher)
        members.add("srtpCipher", srtpCipher)
        members.add("localCertificateId", localCertificateID)
        members.add("remoteCertificateId", remoteCertificateID)
        members.add("selectedCandidatePairId", selectedCandidatePairID)
        members.add("selectedCandidatePairChanges", selectedCandidatePairChanges)
    }
}

extension CandidatePairStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("transportId", transportID)
        members.add("localCandidateId", localCandidateID)
        members.add("remoteCandidateId", remoteCandidateID)
        members.add("state", state)
        members.add("nominated", nominated)
        members.add("packetsSent", packetsSent)
        members.add("packetsReceived", packetsReceived)
        members.add("bytesSent", bytesSent)
        members.add("bytesReceived", bytesReceived)
        members.add("lastPacketSentTimestamp", lastPacketSentTimestamp)
        members.add("lastPacketReceivedTimestamp", lastPacketReceivedTimestamp)
        members.add("totalRoundTripTime", totalRoundTripTime)
        members.add("currentRoundTripTime", currentRoundTripTime)
        members.add("availableOutgoingBitrate", availableOutgoingBitrate)
        members.add("requestsSent", requestsSent)
        members.add("requestsReceived", requestsReceived)
        members.add("responsesSent", responsesSent)
        members.add("responsesReceived", responsesReceived)
        members.add("consentRequestsSent", consentRequestsSent)
    }
}

extension CandidateStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("transportId", transportID)
        members.add("address", address)
        members.add("port", port)
        members.add("protocol", transportProtocol)
        members.add("candidateType", candidateType)
        members.add("priority", priority)
        members.add("foundation", foundation)
        members.add("relatedAddress", relatedAddress)
        members.add("relatedPort", relatedPort)
        members.add("usernameFragment", usernameFragment)
        members.add("tcpType", tcpType)
        members.add("relayProtocol", relayProtocol)
        members.add("url", url)
    }
}

extension CertificateStats {
    func list(in members: inout StatsMembers) {
        members.begin(id, timestamp)
        members.add("fingerprint", fingerprint)
        members.add("fingerprintAlgorithm", fingerprintAlgorithm)
        members.add("base64Certificate", base64Certificate)
    }
}
