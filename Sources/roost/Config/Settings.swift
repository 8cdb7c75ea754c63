internal import ArgumentParser
internal import Foundation

/// What holds for `roost serve`, and because of what: the command line first, then the environment, then a file.
struct Settings {
    struct Setting {
        let definition: SettingDefinition
        let values: [Value]
    }

    struct Value {
        let text: String
        let origin: Origin
    }

    enum Origin: Equatable {
        case commandLine
        case environment(variable: String)
        case file(path: String, line: Int)
        case usual

        /// For people.
        var place: String {
            switch self {
            case .commandLine: "command line"
            case .environment(let variable): variable
            case .file(let path, let line): "\(path), line \(line)"
            case .usual: "default"
            }
        }
    }

    /// Of all that is set, or has a usual value.
    let settings: [Setting]
    /// What the command line would be that says all of it.
    let arguments: [String]

    /// What the environment has besides options, and is not to be printed.
    static let secrets = ["ROOST_LIVEKIT_KEYS", "ROOST_S3_ACCESS_KEY", "ROOST_S3_SECRET_KEY", "ROOST_SMTP_PASSWORD"]

    /// What it has of programs around this one.
    private static let otherVariables: Set = [
        "ROOST_BIN", "ROOST_EXAMPLES", "ROOST_HOME", "ROOST_LIFELINE", "ROOST_STRICT", "ROOST_SEEDS",
        "ROOST_ROOM_SEEDS", "ROOST_FIRST_SEED",
    ]

    /// - Parameters:
    ///   - arguments: behind the command's name.
    ///   - environment: where `ROOST_NAME` is `--name`; a list has spaces between its values.
    /// - Throws: `CommandError` that says where something is wrong.
    init(_ arguments: [String], environment: [String: String]) throws {
        let definitions = SettingDefinition.all(of: Serve.self)
        let known = Dictionary(uniqueKeysWithValues: definitions.map { ($0.name, $0) })
        let given = Self.read(arguments, known)
        try Self.checkNames(of: environment, definitions)
        let path = given["config"]?.last ?? environment["ROOST_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        let file = try path.map { try ConfigurationFile(path: $0) }
        if let file { try Self.check(file, known) }
        var settings: [Setting] = []
        var more: [String] = []
        for definition in definitions {
            if let values = given[definition.name] {
                settings.append(Setting(definition, values, .commandLine))
                continue
            }
            guard let found = Self.find(definition, environment, file) else {
                if let value = definition.defaultValue {
                    settings.append(Setting(definition, [value], .usual))
                }
                continue
            }
            settings.append(found)
            more += try definition.arguments(
                for: found.values.map(\.text), from: found.values.last?.origin.place ?? "")
        }
        try Self.checkUse(of: settings)
        self.settings = settings
        self.arguments = more + arguments
    }

    /// The environment says it, or else the file.
    private static func find(
        _ definition: SettingDefinition, _ environment: [String: String], _ file: ConfigurationFile?
    ) -> Setting? {
        if let text = environment[definition.variable], !text.isEmpty {
            let values = definition.isRepeating ? text.split(whereSeparator: \.isWhitespace).map { String($0) } : [text]
            return Setting(definition, values, .environment(variable: definition.variable))
        }
        let values = (file?.entries ?? []).filter { $0.name == definition.name }.map { entry in
            Value(text: entry.value, origin: .file(path: file?.path ?? "", line: entry.line))
        }
        return values.isEmpty ? nil : Setting(definition: definition, values: values)
    }

    /// What ArgumentParser, or a command, says of wrong values, with the places of those that nobody has just typed.
    func explained(_ message: String) -> String {
        var lines: [String] = []
        // Behind the first line is help, which speaks of other options, too.
        let fault = message.prefix { !$0.isNewline }
        for setting in settings where fault.names("--\(setting.definition.name)") {
            for value in setting.values where ![.commandLine, .usual].contains(value.origin) {
                let shown = setting.definition.shown(value.text)
                lines.append("--\(setting.definition.name) is '\(shown)' in \(value.origin.place).")
            }
        }
        return ([message] + lines).joined(separator: "\n")
    }

    /// What the command line says, as far as it is understood; of the rest ArgumentParser speaks.
    private static func read(_ arguments: [String], _ known: [String: SettingDefinition]) -> [String: [String]] {
        var given: [String: [String]] = [:]
        var rest = arguments[...]
        while let argument = rest.popFirst(), argument != "--" {
            guard argument.hasPrefix("--") else { continue }
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts.first ?? "")
            if let definition = known[name] {
                switch definition.kind {
                case .flag: given[name] = ["true"]
                case .option:
                    if let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() {
                        given[name, default: []].append(value)
                    }
                }
            } else if name.hasPrefix("no-"), known[String(name.dropFirst(3))] != nil {
                given[String(name.dropFirst(3))] = ["false"]
            }
        }
        return given
    }

    // MARK: What is of no use

    /// Groups of options that say how something is done, and the option that asks for it.
    private static let purposes = ["Chat": "data", "Files of the chat": "data"]

    /// Nobody is left to believe that something holds which is not looked at.
    private static func checkUse(of settings: [Setting]) throws {
        let set = settings.filter { $0.values.contains { $0.origin != .usual } }
        let names = Set(set.map(\.definition.name))
        for setting in set {
            let name = setting.definition.name
            guard let group = setting.definition.group, let purpose = purposes[group], purpose != name,
                !names.contains(purpose)
            else { continue }
            guard let value = setting.values.last, value.origin != .commandLine else {
                let isNegated = setting.definition.kind != .option && setting.values.last?.text == "false"
                throw CommandError(
                    "--\(isNegated ? "no-" : "")\(name) needs --\(purpose): it is about the chat.", status: 64)
            }
            throw CommandError(
                "\(value.origin.place): '\(name)' needs '\(purpose)': it is about the chat.", status: 64)
        }
    }

    // MARK: Names that are wrong

    private static func check(_ file: ConfigurationFile, _ known: [String: SettingDefinition]) throws {
        var seen: Set<String> = []
        for entry in file.entries {
            let place = "\(file.path), line \(entry.line)"
            guard let definition = known[entry.name], entry.name != "config" else {
                throw CommandError(
                    "\(place): there is no setting '\(entry.name)'\(suggestion(for: entry.name, Array(known.keys))).",
                    status: 64)
            }
            guard seen.insert(entry.name).inserted || definition.isRepeating else {
                throw CommandError("\(place): '\(entry.name)' is there twice, and is no list.", status: 64)
            }
        }
    }

    /// The environment is others' as well, so only what looks like one of ours with a slip in it is an error.
    private static func checkNames(of environment: [String: String], _ definitions: [SettingDefinition]) throws {
        let known = Set(definitions.map(\.variable))
        for name in environment.keys.sorted() where name.hasPrefix("ROOST_") && name.utf8.count >= 12 {
            guard !known.contains(name), !secrets.contains(name), !otherVariables.contains(name) else { continue }
            guard let near = nearest(to: name, Array(known)), near.distance <= 2 else { continue }
            throw CommandError(
                "The environment has \(name), which is no setting; \(near.name) is one.", status: 64)
        }
    }

    private static func suggestion(for name: String, _ names: [String]) -> String {
        guard let near = nearest(to: name, names.filter { $0 != "config" }), near.distance <= max(2, name.count / 3)
        else { return "" }
        return "; '\(near.name)' is one"
    }

    private static func nearest(to name: String, _ names: [String]) -> (name: String, distance: Int)? {
        names.sorted().map { ($0, distance(Array(name.utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }
    }

    /// How many letters are to be put in, taken out or exchanged (Levenshtein).
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (line, letter) in one.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, with) in other.enumerated() {
                let changed = diagonal + (letter == with ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(changed, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
    }
}

extension Settings.Setting {
    fileprivate init(_ definition: SettingDefinition, _ values: [String], _ origin: Settings.Origin) {
        self.init(definition: definition, values: values.map { Settings.Value(text: $0, origin: origin) })
    }
}

extension Substring {
    /// Whether an option stands in it, and not as the beginning of another one's name.
    fileprivate func names(_ option: String) -> Bool {
        ranges(of: option).contains { range in
            range.upperBound == endIndex || !(self[range.upperBound].isLetter || self[range.upperBound] == "-")
        }
    }
}
