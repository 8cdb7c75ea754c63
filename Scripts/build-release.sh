#!/usr/bin/env bash
# Builds the roost command in release. SwiftPM prints its progress; only what went wrong stays on the screen.
set -euo pipefail
cd "$(dirname "$0")/.."
started=$SECONDS
[ -x .build/release/roost ] || echo "Building roost in release: six to nine minutes the first time on two cores."
swift build -c release --product roost
echo "Built in $((SECONDS - started)) s."
