internal import RTCEngine
internal import RTCNetwork

/// Messages, calls of methods, and what others see of us.
extension Room {
    /// Sends a message to the named participants, or to everybody if none is named. Returns when the message was handed
    /// to the data channel, or is queued for a connection that is being made. For a reliable message it waits first
    /// while 4 MiB of others are still to be sent, or 2 MiB are queued for the connection.
    ///
    /// - Parameter isReliable: repeated until it arrives, in order; otherwise sent once.
    /// - Throws: `dataTooLarge` beyond 64,000 bytes with topic, recipients and what the protocol adds: some 100 bytes,
    ///   and each name; `notConnected` outside of a room, `dataBacklog` for a lossy one when too much waits for the
    ///   connection, `notEncryptable` where messages are encrypted and there is no key.
    public func publish(
        data: [UInt8], isReliable: Bool = true, to destinations: [ParticipantIdentity] = [], topic: String? = nil
    ) async throws(RoomError) {
        if isReliable { await waitForRoom() }
        do throws(RoomError) {
            try machine.sendData(
                data, isReliable: isReliable, to: destinations, topic: topic, at: NetworkLoop.now)
        } catch {
            await apply()
            throw error
        }
        await apply()
    }

    /// Calls a method of another participant (LiveKit's RPC) and waits for its response, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - method: the name that the other participant has registered it under.
    ///   - payload: at most 15 KiB of UTF-8 for a participant that knows RPC version 1 only, else 4 MiB.
    ///   - responseTimeout: how long to wait in all; 15 seconds unless something else is said. The method has 7 seconds
    ///     less than that, for the way there and back, but at least one second.
    /// - Returns: what the method has returned.
    /// - Throws: an error that the method has chosen, or one of `RPCError`'s own: `recipientNotFound` when nobody of
    ///   that identity is in the room, `requestPayloadTooLarge`, `sendFailed` when we have left the room, too much
    ///   waits to be sent, or there is no key to encrypt with, `connectionTimeout` when the call was not acknowledged
    ///   in 7 seconds, `responseTimeout`, also where the task is cancelled, `recipientDisconnected` when the other
    ///   participant or we leave before the response, `unsupportedMethod`, `unsupportedVersion`,
    ///   `responsePayloadTooLarge`, and `applicationError` when the method threw something else or its response cannot
    ///   be decoded.
    public func performRPC(
        _ method: String, payload: String, of destination: ParticipantIdentity, responseTimeout: Duration? = nil
    ) async throws(RPCError) -> String {
        guard !Task.isCancelled else { throw .responseTimeout }
        let id = nextRequest()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                callers[id] = continuation
                machine.performRPC(
                    method, payload: payload, of: destination, timeout: responseTimeout.map(Interval.init),
                    request: id, at: NetworkLoop.now)
                // As in `request`.
                Task { await self.apply() }
            }
        } onCancel: {
            Task { await self.callerGone(id) }
        }
        return try result.get()
    }

    /// The machine goes on waiting for the answer, which is nobody's then.
    private func callerGone(_ id: RequestID) {
        callers.removeValue(forKey: id)?.resume(returning: .failure(.responseTimeout))
    }

    /// Lets others call a method of ours, in this room and in those that are joined later; takes the place of a handler
    /// of the same name. With nil the method is no longer there: calls are answered with `RPCError.unsupportedMethod`.
    public func registerRPCMethod(_ method: String, _ handler: RPCHandler?) {
        methods[method] = handler
        if handler == nil { machine.calls.methods.remove(method) } else { machine.calls.methods.insert(method) }
    }

    /// Changes what others see of us, where the token allows it. What is nil stays; an attribute is removed by an empty
    /// value. Back when the server has confirmed the change.
    ///
    /// - Throws: `requestRefused`, such as `notAllowed`; `timedOut` when the server has not confirmed it in 10 seconds;
    ///   `notConnected` outside of a room; `disconnected`, or the error that ended the connection, when the room is
    ///   lost meanwhile.
    public func updateMetadata(
        name: String? = nil, metadata: String? = nil, attributes: [String: String] = [:]
    ) async throws(RoomError) {
        _ = try await request { machine, request, now in
            machine.updateMetadata(
                name: name, metadata: metadata, attributes: attributes, request: request, at: now)
        }
    }

    // MARK: Methods of ours

    func invoke(_ call: RPCInvocation) {
        guard let handler = methods[call.method] else { return }
        invocations[call.requestID] = Task { [weak self] in
            let outcome: Result<String, RPCError>
            do {
                outcome = .success(try await handler(call))
            } catch {
                outcome = .failure((error as? RPCError) ?? .applicationError)
            }
            // Otherwise the call is forgotten already, and another one may have its number.
            if !Task.isCancelled { await self?.answer(call, outcome) }
        }
    }

    func answer(_ call: RPCInvocation, _ outcome: Result<String, RPCError>) async {
        // Whoever calls again and again does not make us keep more and more answers.
        await waitForRoom()
        // Nobody waits for it any more, and another call may have its number.
        guard !Task.isCancelled else { return }
        invocations[call.requestID] = nil
        machine.answerRPC(call.requestID, outcome, at: NetworkLoop.now)
        await apply()
    }
}
