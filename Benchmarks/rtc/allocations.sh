#!/usr/bin/env bash
# Counts instructions, allocations and reference counts of one packet on the packet path, sent and received, with
# callgrind: a run of 200 frames (of 20 packets) less one of 100. Fails when a packet costs an allocation.
# Usage: allocations.sh [FUNCTIONS-TO-LIST]
set -euo pipefail
cd "$(dirname "$0")"
bench=${BENCH:-$(swift build -c release --show-bin-path)/rtc-bench}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
# Valgrind gives up on some of what Swift 6.3 writes for debuggers; names are elsewhere.
objcopy --strip-debug "$bench" "$directory/bench"
for what in receive send; do
    for frames in 100 200; do
        valgrind --quiet --tool=callgrind --callgrind-out-file="$directory/$frames" \
            "$directory/bench" path "$what" "$frames" >"$directory/log" 2>&1 ||
            { cat "$directory/log" >&2; exit 1; }
        # Valgrind succeeds also when it has given up.
        grep -q packets "$directory/log" || { cat "$directory/log" >&2; exit 1; }
    done
    echo "$what"
    ./calls.py 2000 "$directory/100" "$directory/200" "${1:-0}" | tee "$directory/counts"
    # Frames allocate: each is an array of its own that its user keeps, and its packets' feedback is arrays too, about ten
    # in all. Of 20 packets that is one for two; what every packet allocates is at least one more.
    awk '$1 == "allocations" && $2 >= 0.75 { exit 1 }' "$directory/counts" ||
        { echo "packets allocate" >&2; exit 1; }
done
