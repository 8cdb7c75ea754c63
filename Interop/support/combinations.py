"""Which combinations of a test's parameters `make test` runs: as few as bring each value of each parameter once.

A caller, a callee and a codec make twenty calls, and a fault is nearly always one value's, not one combination's: five calls show
it. A test says `@pytest.mark.combinations` where the whole of them costs minutes, with `together=` and names of parameters
whose values belong together; `make interop COMBINATIONS=all` runs every one.
"""

from collections import Counter


def fewest(all_values):
    """Of combinations, each a list of values, the indices of those to run, in their order.

    The one that brings the most that is new comes first; of equals the one whose values have been there the least, so that none is
    beside the same one always.
    """
    missing = {value for values in all_values for value in values}
    uses, chosen = Counter(), []
    while missing:
        best = max(
            range(len(all_values)),
            key=lambda index: (len(missing & set(all_values[index])), -sum(uses[one] for one in all_values[index]), -index),
        )
        chosen.append(best)
        uses.update(all_values[best])
        missing -= set(all_values[best])
    return sorted(chosen)


def _values(item, together=()):
    values = {name: str(value) for name, value in item.callspec.params.items()}
    joint = tuple(values.pop(name) for name in together)
    return [*values.items(), *([(together, joint)] if joint else [])]


def choose(items):
    """Splits collected tests into those to run and those to leave."""
    groups = {}
    for item in items:
        if marker := item.get_closest_marker("combinations"):
            groups.setdefault((item.path, item.originalname), []).append((item, _values(item, **marker.kwargs)))
    left = set()
    for group in groups.values():
        kept = fewest([values for _, values in group])
        left.update(item.nodeid for index, (item, _) in enumerate(group) if index not in kept)
    return [item for item in items if item.nodeid not in left], [item for item in items if item.nodeid in left]
