#!/usr/bin/env bash
# Runs the Swift tests under a sanitizer, and then roost itself under it, with peers that we did not write. Usage:
# Scripts/sanitize.sh [address|thread …]; without an argument both. ONLY="swift" or ONLY="peers" is one of the two.
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
# Reports of programs whose output no test looks at; what is there fails the run.
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
# Media, rooms, the relay, signaling, and chat with its databases: some ten minutes. Pictures in chat and a disk that is full
# are not among them, for those programs are limited in memory and in the size of files, and a sanitizer needs more of both;
# nor are narrow links, which have to be filled.
interop=(Interop/test_{calls,data_channels,livekit_{sdk,service,cluster},roost_join,turn_{server,rooms},whip}.py)
interop+=(Interop/test_chat_{realtime,calls,nodes}.py)
failed=()
# Suites that start other programs and talk to them through NIO.
peers='PythonClientTests|PythonServerTests|BrowserTests|CallRoomInteropTests'
for sanitizer in "$@"; do
    echo "== $sanitizer"
    build=(--sanitize="$sanitizer" --scratch-path ".build-$sanitizer")
    if [ "${ONLY:-peers}" = peers ]; then
        swift build --product roost "${build[@]}" || { failed+=("$sanitizer: roost"); continue; }
        echo "== $sanitizer: roost with its peers"
        ROOST_BIN=$PWD/.build-$sanitizer/debug/roost \
            ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$reports/address TSAN_OPTIONS=$TSAN_OPTIONS:log_path=$reports/thread \
            .venv/bin/python -m pytest -q -n "${INTEROP_WORKERS:-3}" -k "not cannot_be_written" "${interop[@]}" ||
            failed+=("$sanitizer: peers")
    fi
    [ "${ONLY:-swift}" = swift ] || continue
    # By product, as in Scripts/test.sh: a build of everything has swift-protobuf's protoc in it.
    swift build --product roostPackageTests "${build[@]}" || { failed+=("$sanitizer"); continue; }
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
for report in "$reports"/*; do
    [ ! -e "$report" ] || { swift demangle --simplified <"$report"; failed+=("a report"); }
done
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; }
