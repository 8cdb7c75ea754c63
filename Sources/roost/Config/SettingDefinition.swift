internal import ArgumentParser
internal import Foundation

/// An option of `roost serve`: what a file and the environment can set as well.
struct SettingDefinition: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        case option
        /// - Parameter hasNegation: there is `--no-NAME` as well.
        case flag(hasNegation: Bool)
    }

    /// The long name, without hyphens in front.
    let name: String
    let kind: Kind
    let isRepeating: Bool
    let defaultValue: String?
    /// What a value is, as the help has it: `file`, `name:secret`.
    let valueName: String
    /// The heading that it stands under in the help.
    let group: String?

    var variable: String { "ROOST_" + name.uppercased().replacing("-", with: "_") }

    /// All of them. ArgumentParser's own description of a command is the only place that has them: nothing is to be
    /// written twice for an option.
    static func all(of command: any ParsableArguments.Type) -> [SettingDefinition] {
        guard let help = try? JSONDecoder().decode(Help.self, from: Data(command._dumpHelp().utf8)) else { return [] }
        let options = help.command.arguments.compactMap { argument -> (name: String, of: Help.Argument)? in
            guard let name = argument.names?.first(where: { $0.kind == "long" })?.name else { return nil }
            return ["help", "version"].contains(name) ? nil : (name, argument)
        }
        let names = Set(options.map(\.name))
        return options.compactMap { name, argument in
            let isNegation =
                argument.kind == "flag" && name.hasPrefix("no-") && names.contains(String(name.dropFirst(3)))
            if isNegation { return nil }
            let isFlag = argument.kind == "flag"
            return SettingDefinition(
                name: name, kind: isFlag ? .flag(hasNegation: names.contains("no-\(name)")) : .option,
                isRepeating: argument.isRepeating,
                defaultValue: isFlag ? String(argument.defaultValue != nil) : argument.defaultValue,
                valueName: argument.valueName ?? name, group: argument.sectionTitle)
        }
    }

    /// What is read of the description.
    private struct Help: Decodable {
        let command: Command

        struct Command: Decodable { let arguments: [Argument] }

        struct Argument: Decodable {
            let kind: String
            let names: [Name]?
            let isRepeating: Bool
            let defaultValue: String?
            let valueName: String?
            let sectionTitle: String?
        }

        struct Name: Decodable {
            let kind: String
            let name: String
        }
    }

    /// As the command line has it.
    ///
    /// - Parameter place: where it was read, for whoever has to mend it.
    /// - Throws: `CommandError` for a flag that is neither on nor off.
    func arguments(for values: [String], from place: String) throws -> [String] {
        guard case .flag(let hasNegation) = kind else { return values.map { "--\(name)=\($0)" } }
        switch values.last?.lowercased() {
        case "true", "yes", "on", "1": return ["--\(name)"]
        case "false", "no", "off", "0": return hasNegation ? ["--no-\(name)"] : []
        case let other:
            throw CommandError("\(place): '\(name)' is true or false, not '\(other ?? "")'.", status: 64)
        }
    }
}
