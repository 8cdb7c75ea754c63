#!/usr/bin/env bash
# Runs the tests. Usage: Scripts/test.sh [lint|unit|interop]; without an argument all of them.
# INTEROP_WORKERS: how many processes run the interop tests (4: they wait as much as they reckon).
# COMBINATIONS=all: of a test with several parameters every combination, and not only as many as bring each value once.
set -uo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
# What pytest makes of modules it keeps; without that each process makes it of 440 modules anew.
unset PYTHONDONTWRITEBYTECODE
export ROOST_STRICT=1 # warnings are errors in our own modules
# Swift Testing begins all tests at once, a thousand of them, and then those with sockets starve until their deadlines.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-8}
failed=()
unsteady=()
left_out=()

step() { # name, command…
    local name=$1 started=$SECONDS
    shift
    echo "== $name"
    "$@" || failed+=("$name")
    echo "== $name: $((SECONDS - started)) s"
}

# Tests with real peers have deadlines, and CI's machine may be busy with other work. There, what failed runs once more;
# what passes only then is named at the end: a fault to find, and no reason to lose a day's work. On a person's machine
# the first failure counts.
in_ci() { [ "${CI:-}" = true ]; }
# Of random rooms, which are most of the engine tests' time, CI lives through a hundred of each kind: it has a time
# limit, and builds everything from nothing first.
if in_ci; then export ROOST_ROOM_SEEDS=${ROOST_ROOM_SEEDS:-100}; fi
limited() { # seconds, command: CI ends what hangs; a person presses Ctrl-C, which `timeout` would swallow
    if in_ci; then timeout -k 10 "$@"; else "${@:2}"; fi
}
# A whole run takes CI some 45 minutes. On a day on which its machine is half as fast it would take longer than CI waits,
# and then nothing of it counts: what is late is left out then, fuzzing first and interop tests at the end, and is named.
fuzz_until=1500      # seconds from the beginning
interop_until=3300   # no interop test begins later, but ten minutes are given them always
end_by=5000
left() { # seconds at least: what is left until the end, in seconds
    echo $((end_by > SECONDS + $1 ? end_by - SECONDS : $1))
}
steady() { # name, the command, and after -- the command for the second run
    local name=$1 first=()
    shift
    while [ "$1" != -- ]; do first+=("$1"); shift; done
    shift
    "${first[@]}" && return
    status=$?
    in_ci || return 1
    echo "== $name failed; once more"
    "$@" && unsteady+=("$name")
}

# Product by product: a build of everything has swift-protobuf's protoc in it, 438 compilations of C++ for a program that
# nothing here runs.
programs=(roost congestion-links congestion-peer)
for folder in Examples/*/; do
    # A library of theirs.
    [ "$folder" = Examples/ExampleSupport/ ] || programs+=("$(basename "$folder")")
done
build() { # products
    local product
    for product in "$@"; do swift build --product "$product" || return 1; done
}

[ -t 1 ] || export NO_COLOR=1
swift_tests=(.build/debug/roostPackageTests.xctest --testing-library swift-testing)
# What reckons in virtual time (a thousand calls, and calls of an hour) keeps every core busy and hardly looks at a clock:
# it is given the time that steps beside it leave, which have deadlines.
engines='^(RTCWire|RTCEngine|SFUCore|LiveKitCore|MediaFiles|FuzzReplay)Tests\.'
# Not `nice`: the threads of libdispatch set theirs themselves, where they may.
idly=$(command -v chrt >/dev/null && echo chrt --idle 0)
reckon() { exec $idly "${swift_tests[@]}" --filter "$engines" >.build/engine-tests.log 2>&1; }
reckoned() {
    local status=0
    # Nothing else runs any more.
    in_ci && { timeout "$(left 300)" tail --pid="$reckoning" -f /dev/null || kill "$reckoning"; }
    wait "$reckoning" || status=1
    # Of what passed, how much it was.
    if [ $status -eq 0 ]; then tail -n 1 .build/engine-tests.log; else cat .build/engine-tests.log; fi
    return $status
}
# What runs in the background does not hear Ctrl-C.
trap 'kill $(jobs -p) 2>/dev/null' EXIT

# Making them is mostly waiting, so it is done beside the first steps.
if [ "$what" = all ]; then
    mkdir -p .build
    Scripts/environments.sh >.build/environments.log 2>&1 &
    environments=$!
fi
finish_environments() { wait "$environments" || { cat .build/environments.log; return 1; }; }

if [ "$what" = all ] || [ "$what" = lint ]; then
    step "format" swift format lint --strict --recursive --parallel Sources Tests Fuzz Examples Package.swift
    step "imports" python3 Scripts/check-imports.py
    step "comments" python3 Scripts/check-lines.py
    step "documents" python3 Scripts/check-docs.py
    step "checks" python3 -m unittest discover --quiet Scripts
    step "Apple's sources" Scripts/check-apple.sh
fi
if [ "$what" = all ] || [ "$what" = unit ]; then
    step "build" build roostPackageTests "${programs[@]}"
    [ "$what" != all ] || step "Python environments" finish_environments
    [ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
    # Packages of their own, which nothing else here builds.
    step "benchmarks" Scripts/check-benchmarks.sh
    reckon &
    reckoning=$!
    # The binary for the interop tests is built meanwhile: both have whole modules to compile, one core each.
    if [ "$what" = all ]; then
        env -u ROOST_STRICT swift build -c release --product roost >.build/release.log 2>&1 &
        releasing=$!
    fi
    # Every parser, for as long as one waits for in a test; `make fuzz` takes its time.
    if in_ci && [ $SECONDS -gt $fuzz_until ]; then
        left_out+=("fuzz")
    else
        step "fuzz" limited 1500 env FUZZ_OPTIMIZATION=-Onone Fuzz/run.sh all 2
    fi
    # What is wrong with it is told where it is built to its end, below.
    [ "$what" != all ] || wait "$releasing"
    # Each of these starts interpreters and browsers: one after the other, or starting up takes longer than the deadlines.
    peers='PythonClientTests|PythonServerTests|BrowserTests|CallRoomInteropTests'
    tests=(limited 900 "${swift_tests[@]}" --skip "$engines" --skip "$peers")
    step "swift tests" steady "swift tests" "${tests[@]}" -- "${tests[@]}"
    tests=(limited 900 "${swift_tests[@]}" --no-parallel --filter "$peers")
    step "swift tests with peers" steady "swift tests with peers" "${tests[@]}" -- "${tests[@]}"
    [ "$what" = all ] || step "engine tests" reckoned
fi
if [ "$what" = all ] || [ "$what" = interop ]; then
    # The binary that `make run` builds: a fault of the optimizer is a fault of ours.
    step "build roost" env -u ROOST_STRICT swift build -c release --product roost
    export ROOST_BIN=${ROOST_BIN:-$PWD/.build/release/roost}
    # The programs of Examples, as the build for the Swift tests leaves them.
    [ "$what" = all ] || step "build examples" build "${programs[@]}"
    export ROOST_EXAMPLES=${ROOST_EXAMPLES:-$PWD/.build/debug}
    step "build the Pion peer" Scripts/pion-peer.sh
    interop=(.venv/bin/python -m pytest -q Interop)
    [ "${COMBINATIONS:-}" != all ] || interop+=(--all-combinations)
    if in_ci; then
        now=$(date +%s)
        interop_until=$((interop_until > SECONDS + 600 ? interop_until : SECONDS + 600))
        interop+=(--begin-no-test-after $((now + interop_until - SECONDS)))
        # What an earlier run says has failed.
        rm -f Interop/.pytest_cache/v/cache/lastfailed
    fi
    # After a run that did not come to its end (pytest's exit code is not 1) nobody knows what has failed.
    again() {
        [ "$status" -eq 1 ] || return 1
        limited "$(left 60)" "${interop[@]}" --last-failed --begin-no-test-after "$((now + end_by))"
    }
    step "interop tests" steady "interop tests" limited "$(left 900)" "${interop[@]}" -n "${INTEROP_WORKERS:-4}" -- again
    if in_ci && [ $SECONDS -gt $interop_until ]; then left_out+=("interop tests that had not begun, see there"); fi
    [ "$what" != all ] || step "engine tests" reckoned
fi

if [ ${#unsteady[@]} -gt 0 ]; then
    echo "Passed only the second time: ${unsteady[*]}. See above what failed the first time."
fi
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
if [ ${#left_out[@]} -gt 0 ]; then
    printf 'Left out, for there was no time: %s\n' "${left_out[@]}"
    echo "All else passed."
else
    echo "All of it passed."
fi
