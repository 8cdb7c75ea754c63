#!/usr/bin/env python3
"""Checks what the documents point at: linked files, files in `code`, and the symbols or tests named behind them.

    `RTCWire/Digests/SHA1.swift:digest`          a word that has to stand in that file
    `RTCWireTests/Digests/HashTests.swift:...`   likewise; a test's sentence, word for word
Paths are relative to the document, the repository, its Sources or its Tests; a name without a folder may also be that
of a file below the document's folder. Of Interop's tests each has to be named in its README.

Also the links of DocC's pages, which DocC itself checks only in `make docs`, after a build:

    ``PeerConnection/events``                 a type of the page's module, and a member of it
    ``RTPSender/send(_:)``                    a function with these labels
    <doc:PlacingACall>                        a page beside this one
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["Sources", "Tests", "Interop", "Examples", "Benchmarks"]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("README.md") if ".build" not in path.parts),
]

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"([\w.+@-]+(?:/[\w.+@-]+)*\.(?:swift|py|sh|md|c|h|js|html|json|sdp|mp4|ivf|ogg|go|txt))(?::(.+))?")


def find(path: str, document: pathlib.Path) -> pathlib.Path | None:
    for base in (document.parent, ROOT, ROOT / "Sources", ROOT / "Tests"):
        if (base / path).exists():
            return base / path
    if "/" not in path and document.parent != ROOT:
        return next((file for file in document.parent.rglob(path) if ".build" not in file.parts), None)
    return None


def problems(document: pathlib.Path):
    for number, line in enumerate(document.read_text().splitlines(), 1):
        place = f"{document.relative_to(ROOT)}:{number}"
        for target in LINK.findall(line):
            if "://" not in target and find(target, document) is None:
                yield f"{place}: {target} does not exist"
        for code in CODE.findall(line):
            if not (match := PATH.fullmatch(code)):
                continue
            path, name = match.groups()
            if (file := find(path, document)) is None:
                yield f"{place}: {path} does not exist"
            elif name and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", file.read_text()):
                yield f"{place}: {path} does not say {name!r}"


SYMBOL = re.compile(r"``([^`]+)``")
PAGE = re.compile(r"<doc:([^>]+)>")
DECLARED_TYPE = re.compile(r"\b(?:class|struct|enum|actor|protocol|typealias) (\w+)")
HOME = r"\b(?:class|struct|enum|actor|protocol|extension) (?:\w+\.)*{name}\b"


def labels(text: str, start: int) -> str:
    """Of the parameters whose parenthesis opens at `start`, as DocC writes them: `_:to:`."""
    depth, names, piece = 0, [], ""
    for character in text[start:]:
        depth += character in "([{<"
        # The arrow of a function's type closes nothing.
        depth -= character in ")]}" or character == ">" and not piece.endswith("-")
        if depth == 0 or depth == 1 and character == ",":
            # An enum's case may have values without names.
            first = re.match(r"[\s(]*(?:@\w+\s+)*(\w+)(?:\s+\w+)?\s*:", piece)
            if piece.strip("( \n"):
                names.append(first[1] if first else "_")
            piece = ""
            if depth == 0:
                break
        else:
            piece += character
    return "".join(f"{name}:" for name in names)


class Module:
    """The declarations of a module, as far as links need them."""

    def __init__(self, name: str, sources: list[str]):
        self.name, self.sources = name, sources
        self.types = {type for source in sources for type in DECLARED_TYPE.findall(source)}

    def has(self, link: str) -> bool:
        type, _, member = link.partition("/")
        if type not in self.types and link != self.name:
            return False
        # In a file that declares or extends the type: whose braces a member stands in is the compiler's business.
        homes = [source for source in self.sources if re.search(HOME.format(name=type), source)]
        return not member or any(self.declares(home, member) for home in homes)

    @staticmethod
    def declares(source: str, member: str) -> bool:
        name, parenthesis, wanted = member.partition("(")
        if not parenthesis:
            kinds = rf"\b(?:var|let|typealias|class|struct|enum) `?|\bcase (?:[^\n]*[ (])?"
            return bool(re.search(rf"(?:{kinds}){re.escape(name)}\b", source))
        kinds = rf"\b(?:func `?|case (?:[^\n]*, )?){re.escape(name)}`?" if name != "init" else r"\binit[?!]?"
        found = (labels(source, match.end() - 1) for match in re.finditer(rf"{kinds}(?:<[^>(]*>)?\(", source))
        return wanted.rstrip(")") in found


def link_problems(page: pathlib.Path, module: Module):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        place = f"{page.relative_to(ROOT)}:{number}"
        for link in SYMBOL.findall(line):
            if not module.has(link):
                yield f"{place}: {module.name} declares no {link}"
        for name in PAGE.findall(line):
            if not (page.parent / f"{name}.md").exists():
                yield f"{place}: there is no page {name}"


def page_problems():
    for catalog in sorted((ROOT / "Sources").rglob("*.docc")):
        folder = catalog.parent
        module = Module(folder.name, [path.read_text() for path in sorted(folder.rglob("*.swift"))])
        for page in sorted(catalog.rglob("*.md")):
            yield from link_problems(page, module)


if __name__ == "__main__":
    found = [problem for document in DOCUMENTS for problem in problems(document)]
    listed = (ROOT / "Interop" / "README.md").read_text()
    tests = sorted((ROOT / "Interop").glob("test_*.py"))
    found += [f"Interop/README.md: {test.name} is not described" for test in tests if f"`{test.name}`" not in listed]
    found += page_problems()
    print("\n".join(found) or f"{len(DOCUMENTS)} documents point at what is there.")
    sys.exit(bool(found))
