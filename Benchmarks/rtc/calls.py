#!/usr/bin/env python3
"""What one packet costs in instructions, allocations and reference counts: callgrind counts of a run with 2N packets
minus those of a run with N, so that starting up and connecting cancel out.

    calls.py PACKETS-OF-DIFFERENCE FIRST.callgrind SECOND.callgrind [NUMBER-OF-FUNCTIONS]
"""

import collections
import re
import sys

GROUPS = {
    "allocations": re.compile(r"^(malloc|calloc|realloc|posix_memalign|aligned_alloc)$"),
    "objects": re.compile(r"^swift_(allocObject|slowAlloc.*|bufferAllocate)$"),
    "retains": re.compile(r"^swift_(retain(_n)?|bridgeObjectRetain(_n)?|unknownObjectRetain(_n)?)$"),
    "releases": re.compile(r"^swift_(release(_n)?|bridgeObjectRelease(_n)?|unknownObjectRelease(_n)?)$"),
    "exclusivity": re.compile(r"^swift_beginAccess$"),
}


def read(path):
    """Calls of each function, and the instructions that it took itself."""
    names, calls, cost = {}, collections.Counter(), collections.Counter()
    function, after_calls = None, False

    def name(text):
        number, _, rest = text.partition(" ")
        if rest:
            names[number] = rest
        return names.get(number, number)

    for line in open(path):
        if line.startswith("fn="):
            function = name(line[3:].strip())
        elif line.startswith("cfn="):
            called = name(line[4:].strip())
        elif line.startswith("calls="):
            calls[called] += int(line[6:].split()[0])
            after_calls = True
        elif line[:1] in "0123456789+-*" and function is not None:
            if not after_calls:
                cost[function] += int(line.split()[1])
            after_calls = False
    # Recursion and the compiler's clones carry a suffix.
    plain = lambda counter: sum_by(counter, lambda key: key.split("'")[0])
    return plain(calls), plain(cost)


def sum_by(counter, key):
    result = collections.Counter()
    for item, count in counter.items():
        result[key(item)] += count
    return result


def main():
    packets = int(sys.argv[1])
    (calls1, cost1), (calls2, cost2) = read(sys.argv[2]), read(sys.argv[3])
    print(f"instructions a packet  {(sum(cost2.values()) - sum(cost1.values())) / packets:10.1f}")
    for group, pattern in GROUPS.items():
        count = sum(calls2[f] - calls1[f] for f in calls2 if pattern.match(f))
        print(f"{group:22} {count / packets:10.3f}")
    for function, count in (cost2 - cost1).most_common(int(sys.argv[4]) if len(sys.argv) > 4 else 0):
        print(f"{count / packets:12.1f} {(calls2[function] - calls1[function]) / packets:8.2f} calls  {function[:150]}")


main()
