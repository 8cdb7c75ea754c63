#!/usr/bin/env python3
"""Checks what the documents point at: linked files, files in `code`, and the symbols or tests named behind them.

    `RTCWire/STUN/SHA1.swift:digest`          a word that has to stand in that file
    `RTCWireTests/STUN/HashTests.swift:...`   likewise; a test's sentence, word for word
Paths are relative to the document, the repository, its Sources or its Tests; a name without a folder may also be that
of a file below the document's folder. Of Interop's tests each has to be named in its README.
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


if __name__ == "__main__":
    found = [problem for document in DOCUMENTS for problem in problems(document)]
    listed = (ROOT / "Interop" / "README.md").read_text()
    tests = sorted((ROOT / "Interop").glob("test_*.py"))
    found += [f"Interop/README.md: {test.name} is not described" for test in tests if f"`{test.name}`" not in listed]
    print("\n".join(found) or f"{len(DOCUMENTS)} documents point at what is there.")
    sys.exit(bool(found))
