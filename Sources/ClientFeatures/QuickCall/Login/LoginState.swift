internal import ClientKit

/// What the login screen shows.
public struct LoginState: Hashable, Sendable {
    /// As typed.
    public var username = ""
    /// As typed.
    public var room = ""
    /// What is wrong with the name; shown from the first attempt to continue on.
    public internal(set) var usernameProblem: String?
    /// What is wrong with the room; shown from the first attempt to continue on.
    public internal(set) var roomProblem: String?
    /// Something to know that does not stand in the way, for example that the login could not be stored.
    public internal(set) var notice: String?
    /// Whether somebody has tried to continue.
    var isChecked = false

    public init() {}

    /// Whether both fields hold something.
    public var canContinue: Bool {
        !username.trimmed.isEmpty && !room.trimmed.isEmpty
    }
}

/// What the user does on the login screen.
public enum LoginIntent: Hashable, Sendable {
    case usernameChanged(String)
    case roomChanged(String)
    case continueTapped
}

/// Reads the two fields.
enum LoginCheck {
    /// The name, or what is wrong with it.
    static func username(_ typed: String) -> Result<String, LoginProblem> {
        let name = typed.trimmed
        return switch CallName.problem(with: name) {
        case nil: .success(name)
        case .empty: .failure(.usernameMissing)
        case .tooLong: .failure(.usernameTooLong(limit: CallName.limit))
        case .unprintable: .failure(.usernameUnprintable)
        }
    }

    /// The room, or what is wrong with it.
    static func room(_ typed: String) -> Result<CallRoomID, LoginProblem> {
        let text = typed.trimmed
        if text.isEmpty { return .failure(.roomMissing) }
        guard text.allSatisfy({ $0.isASCII && $0.isNumber || $0 == "-" || $0 == "+" }) else {
            return .failure(.roomNotWhole)
        }
        let digits = text.drop { $0 == "-" || $0 == "+" }
        guard !digits.isEmpty, text.count - digits.count <= 1, digits.allSatisfy(\.isNumber) else {
            return .failure(.roomNotWhole)
        }
        guard let room = Int(text).flatMap({ CallRoomID($0) }) else { return .failure(.roomTooLarge) }
        return .success(room)
    }
}

/// What is wrong with a field.
enum LoginProblem: Error, Hashable {
    case usernameMissing
    case usernameTooLong(limit: Int)
    case usernameUnprintable
    case roomMissing
    case roomNotWhole
    case roomTooLarge

    var sentence: String {
        switch self {
        case .usernameMissing: "Please enter your name."
        case .usernameTooLong(let limit): "Please choose a name of at most \(limit) characters."
        case .usernameUnprintable: "Please choose a name of one line, without control characters."
        case .roomMissing: "Please enter the number of the room."
        case .roomNotWhole: "The room is a whole number, for example 1."
        case .roomTooLarge: "This number is too large for a room."
        }
    }
}

extension String {
    var trimmed: String {
        var text = self[...]
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
