#!/usr/bin/env python3
"""Checks what the documents point at: linked files, files in `code`, and the symbols or tests named behind them.

    `RTCWire/STUN/SHA1.swift:digest`          a word that has to stand in that file
    `RTCWireTests/STUN/HashTests.swift:...`   likewise; a test's sentence, word for word
Paths are relative to the document, the repository, its Sources or its Tests.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "Sources").rglob("README.md")),
]

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"([\w.+@-]+(?:/[\w.+@-]+)+\.(?:swift|py|sh|md|c|h|js|html|json|sdp|mp4|ivf|ogg))(?::(.+))?")


def find(path: str, document: pathlib.Path) -> pathlib.Path | None:
    for base in (document.parent, ROOT, ROOT / "Sources", ROOT / "Tests"):
        if (base / path).exists():
            return base / path
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
    print("\n".join(found) or f"{len(DOCUMENTS)} documents point at what is there.")
    sys.exit(bool(found))
