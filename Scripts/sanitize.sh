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
# Suites that start other programs and talk to them through NIO.
peers='PythonClientTests|PythonServerTests|BrowserTests|CallRoomInteropTests'
for sanitizer in "$@"; do
    echo "== $sanitizer"
    build=(--sanitize="$sanitizer" --scratch-path ".build-$sanitizer")
    swift build --build-tests "${build[@]}" || { failed+=("$sanitizer"); continue; }
    # The thread sanitizer crashes in libdispatch's event loop where Foundation starts other programs beside NIO.
    skipped=()
    [ "$sanitizer" = address ] || skipped=(--skip "$peers")
    # A module at a time: a crash in one leaves the others their say. Tests in turn, not in parallel: they have deadlines
    # for what hangs, and nothing is as fast as they are used to.
    for module in Tests/*Tests; do
        echo "== $sanitizer: ${module#Tests/}"
        swift test --skip-build "${build[@]}" --no-parallel --filter "^${module#Tests/}\." "${skipped[@]}" ||
            failed+=("$sanitizer: ${module#Tests/}")
    done
done
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; }
