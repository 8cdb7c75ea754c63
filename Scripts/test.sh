#!/usr/bin/env bash
# Runs the tests. Usage: Scripts/test.sh [lint|unit|interop]; without an argument all of them.
set -uo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
export ROOST_STRICT=1 # warnings are errors in our own modules
failed=()

step() { # name, command…
    local name=$1 started=$SECONDS
    shift
    echo "== $name"
    "$@" || failed+=("$name")
    echo "== $name: $((SECONDS - started)) s"
}

if [ "$what" = all ] || [ "$what" = lint ]; then
    step "format" swift format lint --strict --recursive --parallel Sources Tests Fuzz Package.swift
    step "imports" python3 Scripts/check-imports.py
    step "documents" python3 Scripts/check-docs.py
fi
if [ "$what" = all ] || [ "$what" = unit ]; then
    step "build" swift build --build-tests
    [ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
    # The thousand calls keep every core busy; tests with real peers have deadlines, so they do not run beside them.
    step "swift tests" swift test --skip-build --skip ThousandSeedsTests
    step "simulation" swift test --skip-build --filter ThousandSeedsTests
fi
if [ "$what" = all ] || [ "$what" = interop ]; then
    # The binary that `make run` builds: a fault of the optimizer is a fault of ours.
    step "build roost" env -u ROOST_STRICT swift build -c release --product roost
    export ROOST_BIN=${ROOST_BIN:-$PWD/.build/release/roost}
    step "interop tests" .venv/bin/python -m pytest -q -n 2 Interop
fi

if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
echo "All of it passed."
