#!/usr/bin/env python3
"""Draws the curves of the last run that `run.py` wrote: plot.py RESULTS.jsonl PICTURE.png"""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

CURVES = {
    "audio": ("Ten who speak, and so many who hear them", "subscribers"),
    "meetings": ("Meetings of five, all with picture and sound", "rooms"),
}


def last_run(rows, part):
    """Steps grow within a run."""
    run = []
    for row in (row for row in rows if row["part"] == part):
        run = [*run, row] if run and row["step"] > run[-1]["step"] else [row]
    return run


def draw(axes, run, title, unit):
    steps = [row["step"] for row in run]
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(unit)
    axes.plot(steps, [row["cpu_percent"] for row in run], "o-", color="tab:blue", label="server's CPU, % of a core")
    axes.plot(steps, [row["load_cpu_percent"] for row in run], "o--", color="tab:gray", label="load's CPU, % of a core")
    axes.set_ylim(0, 200)
    axes.set_ylabel("%")
    for row in run:
        axes.annotate(f"{row['forwarded_per_second'] / 1000:.0f}k/s", (row["step"], row["cpu_percent"]),
                      textcoords="offset points", xytext=(0, 6), fontsize=7, ha="center", color="tab:blue")
    late = axes.twinx()
    late.plot(steps, [row["latency_us_p99"] / 1000 for row in run], "s-", color="tab:red", label="p99 latency, ms")
    late.set_ylim(bottom=0)
    late.set_ylabel("ms", color="tab:red")
    lines = axes.get_lines() + late.get_lines()
    axes.legend(lines, [line.get_label() for line in lines], fontsize=7, loc="upper left")


def main():
    with open(sys.argv[1]) as file:
        rows = [json.loads(line) for line in file]
    figure, panels = plt.subplots(1, len(CURVES), figsize=(11, 4), constrained_layout=True)
    for axes, (part, (title, unit)) in zip(panels, CURVES.items()):
        draw(axes, last_run(rows, part), title, unit)
    figure.savefig(sys.argv[2], dpi=110)


if __name__ == "__main__":
    main()
