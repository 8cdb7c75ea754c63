#!/usr/bin/env python3
"""Checks that no comment in Swift is longer than a line may be: the formatter breaks code, but leaves comments alone.

    Scripts/check-lines.py            names the lines
    Scripts/check-lines.py --fix      moves what is too much into the next line of the same paragraph
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["Sources", "Tests", "Fuzz", "Examples", "Benchmarks"]
LONGEST = 120

COMMENT = re.compile(r"(\s*///?)( *)(.*)")
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
# What is no running text: tables, fences, headings, code.
FIXED = re.compile(r"[|#]|```|    ")


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.swift")):
            # What protoc makes is not ours to format.
            if not {"Generated", ".build"} & set(path.relative_to(ROOT).parts):
                yield path
    yield ROOT / "Package.swift"


def is_too_long(line):
    return len(line) > LONGEST and COMMENT.fullmatch(line) is not None


def place_to_break(line, least):
    """The last space that leaves a line that is short enough; not one inside of `code`."""
    for place in range(LONGEST, least, -1):
        if line[place] == " " and line.count("`", 0, place) % 2 == 0:
            return place
    return None


def mended(lines):
    """The same lines with comments that are short enough, as far as there is a place to break them."""
    waiting, result = list(reversed(lines)), []
    while waiting:
        line = waiting.pop()
        result.append(line)
        if not is_too_long(line):
            continue
        marker, space, text = COMMENT.fullmatch(line).groups()
        place = place_to_break(line, len(marker + space))
        if place is None or FIXED.match(text) or len(space) > 4:
            continue
        result[-1], rest = line[:place], line[place + 1 :]
        item = ITEM.match(text)
        # What follows an item stands below its text.
        prefix = marker + space + (" " * len(item[0]) if item else "")
        if waiting and continues(waiting[-1], prefix):
            waiting.append(f"{prefix}{rest} {waiting.pop()[len(prefix) :]}")
        else:
            waiting.append(prefix + rest)
    return result


def continues(line, prefix):
    """Whether this line goes on with the paragraph whose lines begin so."""
    text = line[len(prefix) :]
    return (
        line.startswith(prefix) and prefix.rstrip() != line.rstrip() and not text.startswith((" ", "/"))
        and not ITEM.match(text) and not FIXED.match(text)
    )


def main(arguments):
    found = []
    for path in sources():
        lines = path.read_text().split("\n")
        if "--fix" in arguments and any(map(is_too_long, lines)):
            lines = mended(lines)
            path.write_text("\n".join(lines))
        for number, line in enumerate(lines, 1):
            if is_too_long(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: a comment of {len(line)} columns")
    print("\n".join(found) or f"No comment is longer than {LONGEST} columns.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
