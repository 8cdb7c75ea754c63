#!/usr/bin/env bash
# Counts instructions, allocations and reference counts of one packet on the packet path, sent and received, with
# callgrind: a run of 200 frames (of 20 packets) less one of 100. Fails when a packet costs an allocation.
# Usage: allocations.sh [FUNCTIONS-TO-LIST]
set -euo pipefail
cd "$(dirname "$0")"
bench=${BENCH:-$(swift build -c release --show-bin-path)/rtc-bench}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
for what in receive send; do
    for frames in 100 200; do
        valgrind --quiet --tool=callgrind --callgrind-out-file="$directory/$frames" "$bench" path "$what" "$frames" \
            >/dev/null 2>&1
    done
    echo "$what"
    ./calls.py 2000 "$directory/100" "$directory/200" "${1:-0}" | tee "$directory/counts"
    # Frames allocate: each is an array of its own that its user keeps. Of 20 packets, that is less than one each.
    awk '$1 == "allocations" && $2 >= 0.5 { exit 1 }' "$directory/counts" ||
        { echo "packets allocate" >&2; exit 1; }
done
