/// Values as lines of text, one for each property, and the lines in which two of them differ.
enum Description {
    /// A value as text that is indented by `indent`.
    static func text(of value: Any, indent: String = "  ") -> String {
        lines(of: value).map { indent + $0 }.joined(separator: "\n")
    }

    /// A line for each difference with `−` for what was expected and `+` for what there is, and what is around it.
    static func difference(_ expected: Any, _ actual: Any) -> String {
        let old = lines(of: expected)
        let new = lines(of: actual)
        let changes = new.difference(from: old)
        guard !changes.isEmpty else {
            return
                "  − \(expected)\n  + \(actual)\n\n  (Expected: −, Actual: +. They are described alike, but are not equal.)"
        }
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in changes {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var result: [(text: String, isSame: Bool)] = []
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            if removed.contains(left) {
                result.append(("  − \(old[left])", false))
                left += 1
            } else if inserted.contains(right) {
                result.append(("  + \(new[right])", false))
                right += 1
            } else {
                result.append(("    \(new[right])", true))
                left += 1
                right += 1
            }
        }
        return shortened(result).joined(separator: "\n") + "\n\n  (Expected: −, Actual: +)"
    }

    /// The lines that differ with the three before and after; instead of others, how many there are.
    private static func shortened(_ lines: [(text: String, isSame: Bool)]) -> [String] {
        var result: [String] = []
        var left = 0
        for index in lines.indices {
            let around = lines[max(0, index - 3)...min(lines.endIndex - 1, index + 3)]
            if around.allSatisfy(\.isSame) {
                left += 1
                continue
            }
            if left > 0 { result.append("    … (\(count(left, "line")) alike)") }
            left = 0
            result.append(lines[index].text)
        }
        if left > 0 { result.append("    … (\(count(left, "line")) alike)") }
        return result
    }

    private static func lines(of value: Any, label: String = "", depth: Int = 0) -> [String] {
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .optional {
            guard let wrapped = mirror.children.first?.value else { return [label + "nil"] }
            return lines(of: wrapped, label: label, depth: depth)
        }
        // A registrar of observation describes itself as empty, and says nothing about a state.
        let children = mirror.children.filter { !"\(type(of: $0.value))".hasPrefix("ObservationStateRegistrar") }
        guard !children.isEmpty, depth < 12 else { return [label + leaf(value, mirror)] }
        let (open, close) = brackets(value, mirror)
        let inside = mirror.displayStyle == .enum ? payload(of: children[0].value) : children
        var parts = inside.map { child in
            let name = child.label.map { $0.hasPrefix(".") ? "" : "\($0): " } ?? ""
            return lines(of: child.value, label: name, depth: depth + 1).map { "  " + $0 }
        }
        // Equal sets and dictionaries may keep their elements in different orders.
        if mirror.displayStyle == .set || mirror.displayStyle == .dictionary {
            parts.sort { $0.lexicographicallyPrecedes($1) }
        }
        return [label + open] + parts.joined() + [close]
    }

    /// What a case holds: the values of a tuple, or a single one.
    private static func payload(of value: Any) -> [Mirror.Child] {
        let mirror = Mirror(reflecting: value)
        return mirror.displayStyle == .tuple ? Array(mirror.children) : [(nil, value)]
    }

    private static func leaf(_ value: Any, _ mirror: Mirror) -> String {
        switch mirror.displayStyle {
        case .struct?, .class?: "\(type(of: value))(\(value is any CustomStringConvertible ? "\(value)" : ""))"
        case .enum?: ".\(value)"
        case .collection?, .set?: "[]"
        case .dictionary?: "[:]"
        default: value is String ? "\"\(value)\"" : "\(value)"
        }
    }

    private static func brackets(_ value: Any, _ mirror: Mirror) -> (String, String) {
        switch mirror.displayStyle {
        case .collection?, .set?, .dictionary?: ("[", "]")
        case .tuple?: ("(", ")")
        case .enum?: (".\(mirror.children.first?.label ?? "")(", ")")
        default: ("\(type(of: value))(", ")")
        }
    }
}
