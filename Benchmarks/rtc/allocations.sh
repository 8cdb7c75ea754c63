#!/usr/bin/env bash
# Counts instructions, allocations and reference counts of one packet on the packet path, with callgrind: received and put
# together to frames, received and taken as packets, sent. A run of 200 frames (of 20 packets) less one of 100. Fails when a
# packet costs more than is written down here.
# Usage: allocations.sh [FUNCTIONS-TO-LIST]
set -euo pipefail
cd "$(dirname "$0")"
bench=${BENCH:-$(swift build -c release --show-bin-path)/rtc-bench}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
# Valgrind gives up on some of what Swift 6.3 writes for debuggers; names are elsewhere.
objcopy --strip-debug "$bench" "$directory/bench"
# Way, allocations and references counted up a packet, at most: what they were when this was written, and a tenth more.
# Frames allocate: each is an array of its own that its user keeps, and feedback about packets is arrays too. A reference is
# counted for each packet, that to the SRTP contexts, and one by the bench when it hands one over. Who makes the path cheaper
# lowers its bounds.
while read -r what allocations references; do
    for frames in 100 200; do
        valgrind --quiet --tool=callgrind --callgrind-out-file="$directory/$frames" \
            "$directory/bench" path "$what" "$frames" >"$directory/log" 2>&1 ||
            { cat "$directory/log" >&2; exit 1; }
        # Valgrind succeeds also when it has given up.
        grep -q packets "$directory/log" || { cat "$directory/log" >&2; exit 1; }
    done
    echo "$what"
    ./calls.py 2000 "$directory/100" "$directory/200" "${1:-0}" | tee "$directory/counts"
    awk -v allocations="$allocations" -v references="$references" '
        $1 == "allocations" && $2 > allocations || $1 == "retains" && $2 > references { print "too many " $1; bad = 1 }
        END { exit bad }' "$directory/counts" >&2 || failed=1
done <<END
receive 0.41 6.3
take 0.13 2.7
send 0.03 1.6
END
exit "${failed:-0}"
