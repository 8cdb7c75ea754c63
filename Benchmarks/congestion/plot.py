#!/usr/bin/env python3
"""Draws the tables that congestion-links and sockets.py write: one picture of small multiples.

    plot.py DIRECTORY PICTURE COLUMNS NAME...     each NAME.csv of the directory is a panel, COLUMNS of them in a row

A panel has three parts: rates (the link's capacity; what each flow's estimator says, and what of it arrives), the queue's
delay, and packets gone in each second: dropped because the queue was full, or lost behind it.
"""

import csv
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

FLOWS = [("tab:blue", "navy"), ("tab:orange", "saddlebrown")]
"""What arrives, and the target."""
PANEL = (5.4, 3.5)
"""Inches."""


def read(table: pathlib.Path) -> dict[str, list[float]]:
    with table.open() as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def smooth(values, width=10):
    return [sum(values[max(0, i - width + 1) : i + 1]) / min(i + 1, width) for i in range(len(values))]


def each_second(total):
    """How much a sum that was sampled ten times a second has grown in each second."""
    ends = total[9::10]
    return [end - begin for begin, end in zip([0, *ends], ends)]


def draw(panel, title, table, is_left):
    rates, queue, gone = panel.subplots(3, 1, sharex=True, height_ratios=[3.2, 1, 1])
    time, flows = table["time_s"], sum(name.startswith("received_") for name in table)
    rates.step(time, table["capacity_kbps"], where="post", color="black", lw=1.2, label="capacity")
    for flow, (light, dark) in zip(range(flows), FLOWS):
        target = table[f"target_{flow}_kbps"]
        number = f" {flow + 1}" if flows > 1 else ""
        is_call = any(target)
        # Before a flow begins there is nothing to draw.
        target = [value or float("nan") for value in target]
        received = smooth(table[f"received_{flow}_kbps"])
        rates.plot(time, received, color=light, lw=1, label=f"arrives{number}" if is_call else "TCP arrives")
        if is_call:
            rates.plot(time, target, color=dark, lw=1, ls=(0, (3, 1)), label=f"target{number}")
    rates.set_ylim(0, max(table["capacity_kbps"]) * 1.45)
    rates.set_title(title, fontsize=10, fontweight="bold", pad=3)
    rates.legend(loc="upper right", fontsize=7, ncols=3, frameon=False, borderpad=0.1)
    queue.plot(time, table["queue_ms"], color="tab:red", lw=0.8)
    queue.set_ylim(0, max(100, max(table["queue_ms"]) * 1.1))
    seconds = [second + 0.5 for second in range(len(table["dropped"]) // 10)]
    dropped, lost = each_second(table["dropped"]), each_second(table["lost"])
    gone.bar(seconds, lost, width=1, color="tab:gray", label="lost")
    gone.bar(seconds, dropped, width=1, bottom=lost, color="tab:red", label="dropped")
    gone.set_ylim(0, max(10, max(map(sum, zip(lost, dropped))) * 1.1))
    if any(lost) or any(dropped):
        gone.legend(loc="upper right", fontsize=7, ncols=2, frameon=False, borderpad=0.1)
    for axes, what in ((rates, "kbit/s"), (queue, "queue, ms"), (gone, "gone / s")):
        axes.grid(alpha=0.3)
        axes.tick_params(labelsize=7)
        axes.set_xlim(0, round(time[-1]))
        if is_left:
            axes.set_ylabel(what, fontsize=8)
    gone.set_xlabel("s", fontsize=8, labelpad=0)
    panel.align_ylabels()


def title(name):
    """sockets.py's names say who called whom."""
    first, _, rest = name.partition("-")
    second, _, link = rest.partition("-")
    return f"{link}: {first} to {second}" if first in ("roost", "aiortc") else name


def main(directory, picture, columns, names):
    rows = -(-len(names) // columns)
    figure = plt.figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
    panels = figure.subfigures(rows, columns, squeeze=False, hspace=0.03).flat
    for index, (panel, name) in enumerate(zip(panels, names)):
        draw(panel, title(name), read(directory / f"{name}.csv"), is_left=index % columns == 0)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=75)
    print(picture)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
