"""The checks themselves: each finds what it is for, and nothing else. Run by `python3 -m unittest discover Scripts`."""

import importlib.util
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


docs, lines = load("check-docs"), load("check-lines")

SOURCES = [
    """
    public actor Connection {
        public var events: AsyncStream<Event> { stream }
        public func close() {}
        public func send(_ message: Message, to peer: Peer? = nil, then: (Result) -> Void = { _ in }) {}
        public init?(parsing text: String) {}
    }
    """,
    """
    public enum Event { case ended(Reason), opened(by: Peer, at: Instant), idle }
    extension Connection { public func restart<Peer>(with peer: Peer, after delays: [Int: Duration]) {} }
    """,
]


class DocCLinks(unittest.TestCase):
    def setUp(self):
        self.module = docs.Module("Calls", SOURCES)

    def test_what_is_declared_is_found(self):
        for link in (
            "Calls", "Connection", "Connection/events", "Connection/close()", "Connection/send(_:to:then:)",
            "Connection/init(parsing:)", "Connection/restart(with:after:)", "Event/ended(_:)", "Event/opened(by:at:)",
            "Event/idle",
        ):
            self.assertTrue(self.module.has(link), link)

    def test_what_is_not_declared_is_not_found(self):
        for link in (
            "Connections", "Peer", "Connection/event", "Connection/close(_:)", "Connection/send(_:)",
            "Connection/send(_:from:then:)", "Event/events", "Event/ended()", "Event/opened(_:at:)", "Calls/close()",
        ):
            self.assertFalse(self.module.has(link), link)

    def test_a_broken_link_is_told_with_its_line(self):
        with tempfile.TemporaryDirectory(dir=docs.ROOT) as folder:
            page = pathlib.Path(folder, "Page.md")
            page.write_text("# Calls\n\n``Connection/events`` and ``Connection/gone``\n\n- <doc:Page>\n- <doc:Other>\n")
            told = [problem.split(": ", 1) for problem in docs.link_problems(page, self.module)]
        self.assertEqual([place.rsplit(":", 1)[1] for place, _ in told], ["3", "6"])
        self.assertEqual([words for _, words in told], ["Calls declares no Connection/gone", "there is no page Other"])


class LongComments(unittest.TestCase):
    def test_only_comments_that_are_too_long_are_found(self):
        self.assertTrue(lines.is_too_long("    /// " + "word " * 24))
        self.assertFalse(lines.is_too_long("/// " + "x" * 116))
        self.assertFalse(lines.is_too_long('    let text = "' + "x" * 120 + '"'))

    def test_what_is_too_much_goes_into_the_next_line_of_the_paragraph(self):
        words = " ".join(f"word{number:02}" for number in range(30))
        self.assertEqual(
            lines.mended([f"    /// {words}", "    /// goes on.", "    ///", "    var x = 1"]),
            [
                "    /// " + " ".join(f"word{number:02}" for number in range(16)),
                "    /// " + " ".join(f"word{number:02}" for number in range(16, 30)) + " goes on.",
                "    ///", "    var x = 1",
            ],
        )

    def test_an_item_a_paragraph_and_a_declaration_stay_what_they_are(self):
        long = " ".join(["word"] * 24)
        for after in ("    /// - Returns: it", "    ///", "    func f() {}", "    ///     code"):
            result = lines.mended([f"    /// - Parameter x: {long}", after])
            self.assertEqual(result[-1], after)
            self.assertTrue(result[1].startswith("    ///   word"), result)
            self.assertFalse(any(map(lines.is_too_long, result)))

    def test_code_is_not_broken(self):
        result = lines.mended(["/// " + "x" * 100 + " `let value = await something(of: this)` and so on"])
        self.assertEqual(result, ["/// " + "x" * 100, "/// `let value = await something(of: this)` and so on"])

    def test_a_table_and_a_word_without_an_end_are_left(self):
        for line in ("/// | " + "cell " * 30, "/// " + "x" * 130):
            self.assertEqual(lines.mended([line]), [line])


if __name__ == "__main__":
    unittest.main()
