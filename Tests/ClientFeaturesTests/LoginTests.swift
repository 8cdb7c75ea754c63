import ClientKit
import Testing

@testable import ClientFeatures

@MainActor @Suite struct `The login screen` {
    private let store = MemoryStore()

    private func screen() -> LoginViewModel {
        LoginViewModel(store: QuickCallLoginStore(preferences: store, secrets: store))
    }

    @Test func `continues only with both fields filled`() {
        let login = screen()
        #expect(!login.state.canContinue)
        login.send(.usernameChanged("Anna"))
        #expect(!login.state.canContinue)
        login.send(.roomChanged("  "))
        #expect(!login.state.canContinue)
        login.send(.roomChanged("1"))
        #expect(login.state.canContinue)
    }

    @Test(
        arguments: [
            ("", "1", "Please enter your name.", nil),
            (" \n", "1", "Please enter your name.", nil),
            (String(repeating: "я", count: 65), "1", "Please choose a name of at most 64 characters.", nil),
            ("An\nna", "1", "Please choose a name of one line, without control characters.", nil),
            ("An\u{202e}na", "1", "Please choose a name of one line, without control characters.", nil),
            (String(repeating: "👨‍👩‍👧", count: 64), "1", "Please choose a name of at most 64 characters.", nil),
            ("Anna", "", nil, "Please enter the number of the room."),
            ("Anna", "one", nil, "The room is a whole number, for example 1."),
            ("Anna", "1.5", nil, "The room is a whole number, for example 1."),
            ("Anna", "1-2", nil, "The room is a whole number, for example 1."),
            ("Anna", "-", nil, "The room is a whole number, for example 1."),
            ("Anna", "٣", nil, "The room is a whole number, for example 1."),
            ("Anna", "9007199254740992", nil, "This number is too large for a room."),
            ("Anna", "99999999999999999999", nil, "This number is too large for a room."),
            ("", "", "Please enter your name.", "Please enter the number of the room."),
        ] as [(String, String, String?, String?)])
    func `says exactly what is wrong`(username: String, room: String, usernameProblem: String?, roomProblem: String?) {
        let login = screen()
        var continued: [QuickCallLogin] = []
        login.onContinue = { continued.append($0) }
        login.send(.usernameChanged(username))
        login.send(.roomChanged(room))
        #expect(login.state.usernameProblem == nil && login.state.roomProblem == nil)
        login.send(.continueTapped)
        #expect(login.state.usernameProblem == usernameProblem)
        #expect(login.state.roomProblem == roomProblem)
        #expect(continued == [])
        #expect(store.value(for: QuickCallLoginStore.username) == nil)
    }

    @Test func `takes a problem back while it is being mended`() {
        let login = screen()
        login.send(.usernameChanged("Anna"))
        login.send(.continueTapped)
        #expect(login.state.roomProblem != nil)
        login.send(.roomChanged("7"))
        #expect(login.state.roomProblem == nil)
    }

    @Test(arguments: [
        ("1", 1), (" 42 ", 42), ("0", 0), ("-3", -3), ("+5", 5), ("9007199254740991", 9_007_199_254_740_991),
    ])
    func `takes whole numbers`(typed: String, number: Int) throws {
        let login = screen()
        var continued: [QuickCallLogin] = []
        login.onContinue = { continued.append($0) }
        login.send(.usernameChanged(" Оля "))
        login.send(.roomChanged(typed))
        login.send(.continueTapped)
        #expect(continued == [QuickCallLogin(username: "Оля", room: try #require(CallRoomID(number)))])
        #expect(store.value(for: QuickCallLoginStore.username) == "Оля")
        #expect(store.secret(for: QuickCallLoginStore.room) == String(number))
    }

    @Test func `shows again what was stored, and clears it`() {
        store.setValue("Anna", for: QuickCallLoginStore.username)
        store.setSecret("3", for: QuickCallLoginStore.room)
        let login = screen()
        #expect(login.restore()?.room == CallRoomID(3))
        #expect(login.state.username == "Anna")
        #expect(login.state.room == "3")
        login.clear()
        #expect(login.state == LoginState())
        #expect(store.value(for: QuickCallLoginStore.username) == nil)
        #expect(store.secret(for: QuickCallLoginStore.room) == nil)
    }

    @Test func `starts empty when only a part was stored`() {
        store.setValue("Anna", for: QuickCallLoginStore.username)
        store.setSecret("x", for: QuickCallLoginStore.room)
        let login = screen()
        #expect(login.restore() == nil)
        #expect(login.state == LoginState())
    }

    @Test func `says that the store is damaged, and goes on without it`() {
        let login = LoginViewModel(store: QuickCallLoginStore(preferences: DamagedStore(), secrets: store))
        var continued: [QuickCallLogin] = []
        login.onContinue = { continued.append($0) }
        #expect(login.restore() == nil)
        let damage = "What was stored in p.json is damaged and cannot be read."
        #expect(login.state.notice == damage + " Please enter your name and room again.")
        login.send(.usernameChanged("Anna"))
        login.send(.roomChanged("1"))
        login.send(.continueTapped)
        #expect(login.state.notice == damage)
        #expect(continued.count == 1)
    }

    @Test func `tells its changes to a listener`() async {
        let login = screen()
        var changes = login.stateChanges.makeAsyncIterator()
        login.send(.usernameChanged("A"))
        login.send(.usernameChanged("A"))
        login.send(.usernameChanged("An"))
        #expect(await changes.next()?.username == "")
        #expect(await changes.next()?.username == "A")
        #expect(await changes.next()?.username == "An")
    }
}

private struct DamagedStore: PreferencesStore {
    func value(for key: StoreKey) throws(StoreError) -> String? { throw .damaged(path: "p.json") }
    func setValue(_ value: String?, for key: StoreKey) throws(StoreError) { throw .damaged(path: "p.json") }
}
