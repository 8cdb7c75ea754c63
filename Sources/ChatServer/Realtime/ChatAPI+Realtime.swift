internal import ChatCore
internal import ChatModel
internal import Logging
internal import SocketIO

/// What is done with what a client says on its realtime socket, in the order in which it says it.
extension ChatAPI {
    /// Whoever is connected and does not say who they are is closed after this.
    static let patience = Duration.seconds(10)

    /// - Parameter site: where the socket comes from.
    func take(
        _ step: RealtimeConnection.Step, _ connection: RealtimeConnection, from site: String, over hub: RealtimeHub
    ) async {
        switch (step, connection.visitor) {
        case (.opened, .expected(let caller, let resume)):
            await welcome(caller, resume: resume, connection, over: hub)
        case (.opened, .stranger): connection.waitForName(Self.patience)
        case (.request(let request), .stranger): await meet(request, connection, from: site, over: hub)
        case (.request(let request), .present(let caller)): await answer(request, of: caller, connection, over: hub)
        case (.closed, .present(let caller)):
            service.statistics.realtime.socketClosed(by: caller.user)
            await hub.disconnect(connection, of: caller.user)
        case (.closed, .stranger): try? await limits.take(.strangers(site), at: service.now())
        case (.opened, .present), (.opened, .refused), (.request, .expected), (.request, .refused),
            (.closed, .expected), (.closed, .refused):
            break
        }
    }

    private func welcome(
        _ caller: Caller, resume: [WorkspaceID: Int64], _ connection: RealtimeConnection, over hub: RealtimeHub
    ) async {
        do {
            // What is read for a new socket costs as much as a request.
            try await limits.take(.requests(caller.user), at: service.now())
        } catch {
            connection.turnsOut(to: .refused)
            return connection.close(RealtimeConnection.Reason.tooFast)
        }
        connection.turnsOut(to: .present(caller))
        service.statistics.realtime.socketOpened(by: caller.user)
        await hub.connect(connection, caller, resume: resume)
    }

    /// The first frame is to bring the token. One that is wrong counts with what strangers ask for.
    private func meet(
        _ request: Result<ClientRequest, BadFrame>, _ connection: RealtimeConnection, from site: String,
        over hub: RealtimeHub
    ) async {
        var met: (caller: Caller, places: [WorkspaceID: Int64])?
        if case .success(let first) = request, case .authenticate(let token, let places) = first.frame {
            do {
                met = (try await caller(with: token, at: service.now()), places)
            } catch let error as ChatError where error.kind == .unauthenticated {
                // Counted below.
            } catch {
                // Nobody can be asked who it is.
                connection.turnsOut(to: .refused)
                return connection.close(RealtimeConnection.Reason.broken)
            }
        }
        guard let met else {
            connection.turnsOut(to: .refused)
            var refusal = ChatError.badToken
            do {
                try await limits.take(.strangers(site), at: service.now())
            } catch {
                refusal = error
            }
            connection.send(ServerFrame.error(refusal, id: nil))
            return connection.close(RealtimeConnection.Reason.sessionOver)
        }
        await welcome(met.caller, resume: met.places, connection, over: hub)
    }

    private func answer(
        _ request: Result<ClientRequest, BadFrame>, of caller: Caller, _ connection: RealtimeConnection,
        over hub: RealtimeHub
    ) async {
        var id: String?
        do {
            try await limits.take(.requests(caller.user), at: service.now())
            switch request {
            case .failure(let bad):
                id = bad.id
                throw bad.error
            case .success(let request):
                id = request.id
                let answer = try await perform(request, of: caller, connection, over: hub)
                if let answer { connection.send(answer) }
            }
        } catch let error as ChatError {
            service.statistics.countRefusal(error, ofFrame: true)
            connection.send(ServerFrame.error(error, id: id))
        } catch {
            logger.error("a realtime request failed", metadata: ["error": "\(error)"])
            connection.send(ServerFrame.error(ChatError(telling: error), id: id))
        }
    }

    /// - Returns: the answer; nil where none is asked for.
    private func perform(
        _ request: ClientRequest, of caller: Caller, _ connection: RealtimeConnection, over hub: RealtimeHub
    ) async throws -> [UInt8]? {
        let user = caller.user
        switch request.frame {
        case .authenticate: throw ChatError.conflict("logged_in", "This socket is somebody's already.")
        case .ping: return ServerFrame.pong()
        case .resume(let places):
            try connection.resumeBegins(at: service.now())
            try await hub.resume(places, connection, of: user)
        case .joinChannel(let channel):
            let (workspace, newest) = try await service.read { chat in
                let workspace = try chat.mayRead(channel, by: user)
                return (workspace, try chat.sequence(of: workspace))
            }
            await hub.watch(channel, in: workspace, after: newest, connection, of: user)
        case .leaveChannel(let channel): await hub.stopWatching(channel, connection)
        case .sendMessage(let channel, let body):
            let new = ChatTransaction.NewMessage(
                content: body.content, threadID: body.threadID, clientID: body.clientID, fileIDs: body.fileIDs ?? [],
                peopleHere: try await peopleCalled(by: body.content, in: channel))
            let message = try await service.write { try $0.send(new, to: channel, by: user).message }
            return request.id.map { ServerFrame.ack($0, message) }
        case .typing(let channel, let thread):
            try await hub.typing(in: channel, thread: thread, by: user, isTyping: true)
        case .stopTyping(let channel): try await hub.typing(in: channel, thread: nil, by: user, isTyping: false)
        case .markRead(let mark):
            _ = try await service.write { try $0.read(mark.channelID, upTo: mark.lastRead, by: user) }
        }
        return request.id.map { ServerFrame.ack($0) }
    }
}
