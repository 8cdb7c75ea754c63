internal import Foundation
internal import LiveKitClient

/// A line of standard input: what to do, and with what.
struct JoinCommand: Decodable {
    enum Action: String, Decodable {
        case data, rpc, register, answer, mute, unmute, publish, unpublish, subscribe, quality, attributes, simulate
        case publishDataTrack = "publish_data_track"
        case push
        case unpublishDataTrack = "unpublish_data_track"
        case subscribeDataTrack = "subscribe_data_track"
        case sendText = "send_text"
        case sendFile = "send_file"
        case readText = "read_text"
        case readFiles = "read_files"
        case leave
    }

    /// One identity, or a list of them.
    struct Recipients: Decodable {
        let identities: [String]

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            identities = try (try? value.decode(String.self)).map { [$0] } ?? value.decode([String].self)
        }
    }

    var `do`: Action
    var text: String?
    var to: Recipients?
    var reliable: Bool?
    var topic: String?
    var method: String?
    var payload: String?
    var timeout: Double?
    var id: String?
    var code: UInt32?
    var message: String?
    var track: String?
    var file: String?
    var layers: [String]?
    var folder: String?
    var limit: Int?
    var type: String?
    var wanted: Bool?
    var quality: VideoQuality.RawValue?
    var name: String?
    var metadata: String?
    var attributes: [String: String]?
    var scenario: SimulatedScenario.RawValue?
    var timestamp: UInt64?
}

extension JoinRunner {
    /// Does what a line says; false when that is to leave. A line that makes no sense is said to.
    func obey(_ line: String) async -> Bool {
        let command: JoinCommand
        do {
            command = try JSONDecoder().decode(JoinCommand.self, from: Data(line.utf8))
        } catch {
            let reason = JoinCommand.reason(error)
            output.say(
                "command_refused", "This is no command, for \(reason): \(line)",
                ["line": .text(line), "reason": .text(reason)])
            return true
        }
        if command.do == .leave { return false }
        switch command.do {
        // They wait for somebody else, and keep nothing waiting: an event tells what has come of them.
        case .rpc, .publishDataTrack, .sendFile: start { [self] in await tried(command) }
        // In their order.
        case .data, .register, .answer, .mute, .unmute, .publish, .unpublish, .subscribe, .quality, .attributes,
            .simulate, .push, .unpublishDataTrack, .subscribeDataTrack, .sendText, .readText, .readFiles, .leave:
            await tried(command)
        }
        return true
    }

    private func tried(_ command: JoinCommand) async {
        do {
            try await perform(command)
        } catch {
            failed(command, error)
        }
    }

    func failed(_ command: JoinCommand, _ error: any Error) {
        output.say(
            "command_failed", "\(command.do.rawValue): \(error)",
            ["do": .text(command.do.rawValue), "reason": .text("\(error)")])
    }

    private func perform(_ command: JoinCommand) async throws {
        switch command.do {
        case .data:
            try await room.publish(
                data: Array(try command.needed(\.text, "text").utf8), isReliable: command.reliable ?? true,
                to: command.recipients, topic: command.topic)
        case .rpc: try await call(command)
        case .register: await register(try command.needed(\.method, "method"))
        case .answer: try answer(command)
        case .mute: try await publication(command).setMuted(true)
        case .unmute: try await publication(command).setMuted(false)
        case .publish:
            await publish(try JoinFile(path: command.needed(\.file, "file"), layers: command.layers ?? []))
        case .unpublish:
            let publication = try publication(command)
            publications.removeAll { $0 === publication }
            await publication.unpublish()
        case .subscribe:
            await room.setSubscribed(command.wanted ?? true, to: TrackSID(try command.needed(\.track, "track")))
        case .quality:
            let name = try command.needed(\.quality, "quality")
            guard name == "off" || VideoQuality(rawValue: name) != nil else {
                throw CommandError("there is no quality \(name): low, medium, high or off")
            }
            await room.setVideoQuality(
                TrackSID(try command.needed(\.track, "track")), VideoQuality(rawValue: name))
        case .attributes:
            try await room.updateMetadata(
                name: command.name, metadata: command.metadata, attributes: command.attributes ?? [:])
        case .simulate:
            let name = try command.needed(\.scenario, "scenario")
            guard let scenario = SimulatedScenario(rawValue: name) else {
                throw CommandError("there is no scenario \(name)")
            }
            await room.simulate(scenario)
        case .publishDataTrack: try await publishDataTrack(command)
        case .push: try await push(command)
        case .unpublishDataTrack: try await unpublishDataTrack(command)
        case .subscribeDataTrack: try await subscribeDataTrack(command)
        case .sendText: try await sendText(command)
        case .sendFile: try await sendFile(command)
        case .readText: await readText(command)
        case .readFiles: try await readFiles(command)
        case .leave: break
        }
    }

    private func call(_ command: JoinCommand) async throws {
        let method = try command.needed(\.method, "method")
        let recipients = try command.needed(\.to, "to").identities
        guard let who = recipients.first, recipients.count == 1 else {
            throw CommandError("\"to\" is to name one participant")
        }
        do throws(RPCError) {
            let answer = try await room.performRPC(
                method, payload: command.payload ?? "", of: ParticipantIdentity(who),
                // More than a day is cut down further on in any case.
                responseTimeout: command.timeout.map { .milliseconds(Int64(min(max($0, 0), 86_400) * 1_000)) })
            output.say(
                "rpc_answered", "\(who) answers \(method): \(answer)",
                ["method": .text(method), "participant": .text(who), "payload": .text(answer)])
        } catch {
            output.say(
                "rpc_failed", "\(who) does not answer \(method): \(error)",
                [
                    "method": .text(method), "participant": .text(who), "code": .number(Double(error.code)),
                    "reason": .text(error.message),
                ])
        }
    }

    /// Lets others call a method: each call is printed, and answered by a command.
    private func register(_ method: String) async {
        await room.registerRPCMethod(method) { [weak self] call in
            guard let self else { throw RPCError.applicationError }
            return try await self.answer(to: call)
        }
    }

    private func answer(to call: RPCInvocation) async throws -> String {
        output.say(
            "rpc_called", "\(call.caller) calls \(call.method): \(call.payload)",
            [
                "id": .text(call.requestID), "participant": .text(call.caller.rawValue), "method": .text(call.method),
                "payload": .text(call.payload),
            ])
        // Of a call that is not answered in time nothing is left.
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    calls[call.requestID] = continuation
                }
            }
        } onCancel: {
            Task { @MainActor in
                self.calls.removeValue(forKey: call.requestID)?.resume(throwing: CancellationError())
            }
        }
    }

    private func answer(_ command: JoinCommand) throws {
        let id = try command.needed(\.id, "id")
        guard let call = calls.removeValue(forKey: id) else { throw CommandError("no call \(id) waits for an answer") }
        if let code = command.code {
            call.resume(throwing: RPCError(code: code, message: command.message ?? ""))
        } else {
            call.resume(returning: command.payload ?? "")
        }
    }

    /// A track of ours, by its sid, source or name.
    private func publication(_ command: JoinCommand) throws -> LocalTrackPublication {
        let track = try command.needed(\.track, "track")
        guard
            let found = publications.first(where: {
                $0.sid.rawValue == track || $0.source.rawValue == track || $0.name == track
            })
        else { throw CommandError("we publish no track \(track)") }
        return found
    }
}

extension JoinCommand {
    /// Whom it is for; nobody stands for everybody.
    var recipients: [ParticipantIdentity] { (to?.identities ?? []).map { ParticipantIdentity($0) } }

    /// Why a line could not be read; a part of a sentence.
    static func reason(_ error: any Error) -> String {
        switch error as? DecodingError {
        case .keyNotFound(let key, _)?: return "\"\(key.stringValue)\" is missing"
        case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?, .dataCorrupted(let context)?:
            guard let key = context.codingPath.first?.stringValue else { return "it is no object of JSON" }
            return key == "do" ? "what it says to \"do\" is none" : "\"\(key)\" is not what it can be"
        case nil: return "it is no object of JSON"
        @unknown default: return "it cannot be read"
        }
    }

    func needed<Value>(_ field: KeyPath<JoinCommand, Value?>, _ name: String) throws -> Value {
        guard let value = self[keyPath: field] else { throw CommandError("\"\(name)\" is missing") }
        return value
    }
}
