#!/usr/bin/env bash
# Runs the Swift tests under a sanitizer. Usage: Scripts/sanitize.sh [address|thread …]; without an argument both.
# Each has a build folder of its own: the first time takes as long as a first build. Everything runs several times slower
# than usual, so the modules that simulations run through are optimized, as for `make test`, and a tenth of the simulated
# calls has to do.
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- address thread
export ROOST_STRICT=1 ROOST_SEEDS=${ROOST_SEEDS:-100}
# Swift's own backtraces read the stack where the address sanitizer forbids it, and hide the crash behind one of theirs.
export SWIFT_BACKTRACE=enable=no
# What OpenSSL and Swift's runtime keep until the process ends is no leak of ours, and neither tells the two apart.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
# Every race is told, and any of them fails the run at its end.
export TSAN_OPTIONS=${TSAN_OPTIONS:-suppressions=$PWD/Scripts/thread-sanitizer.supp}
failed=()
for sanitizer in "$@"; do
    echo "== $sanitizer"
    # In turn, not in parallel: tests have deadlines for what hangs, and nothing is as fast as they are used to.
    swift test --sanitize="$sanitizer" --scratch-path ".build-$sanitizer" --no-parallel || failed+=("$sanitizer")
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
