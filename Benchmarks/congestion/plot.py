#!/usr/bin/env python3
"""Draws the tables that congestion-links and sockets.py write: one picture a link.

    plot.py DIRECTORY [NAME...]        every NAME.csv of the directory becomes NAME.png
"""

import csv
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = ["tab:blue", "tab:orange", "tab:green"]


def smooth(values, width=5):
    return [sum(values[max(0, i - width + 1) : i + 1]) / min(i + 1, width) for i in range(len(values))]


def draw(table: pathlib.Path) -> pathlib.Path:
    with table.open() as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    time = [row["time_s"] for row in rows]
    flows = [name.split("_")[1] for name in rows[0] if name.startswith("received_")]
    figure, (rates, queue) = plt.subplots(
        2, 1, figsize=(9, 5.5), sharex=True, gridspec_kw={"height_ratios": [3, 1]}, layout="constrained"
    )
    rates.step(time, [row["capacity_kbps"] for row in rows], where="post", color="black", lw=1, label="capacity")
    for flow, colour in zip(flows, COLOURS):
        target = [row[f"target_{flow}_kbps"] for row in rows]
        if any(target):
            rates.plot(time, target, color=colour, lw=1.5, label=f"target {flow}")
        received = smooth([row[f"received_{flow}_kbps"] for row in rows])
        rates.plot(time, received, color=colour, lw=0.8, alpha=0.5, label=f"received {flow}, 0.5 s mean")
    top = max(row["capacity_kbps"] for row in rows)
    rates.set_ylim(0, top * 1.5)
    rates.set_ylabel("kbit/s")
    rates.set_title(table.stem)
    rates.legend(loc="upper right", fontsize=8, ncols=2)
    rates.grid(alpha=0.3)
    queue.plot(time, [row["queue_ms"] for row in rows], color="tab:red", lw=0.8)
    queue.set_ylabel("queue, ms")
    queue.set_xlabel("s")
    queue.set_ylim(bottom=0)
    queue.grid(alpha=0.3)
    picture = table.with_suffix(".png")
    figure.savefig(picture, dpi=80)
    plt.close(figure)
    return picture


if __name__ == "__main__":
    directory = pathlib.Path(sys.argv[1])
    names = sys.argv[2:] or sorted(path.stem for path in directory.glob("*.csv"))
    for name in names:
        print(draw(directory / f"{name}.csv"))
