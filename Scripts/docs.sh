#!/usr/bin/env bash
# Makes the documentation of RoostRTC's public interface with DocC, which comes with Swift; a broken link is an error.
# It is a folder of web pages: serve .build-docs/RTCNetwork.doccarchive, or look at it with `docc preview`.
set -euo pipefail
cd "$(dirname "$0")/.."
out=.build-docs
graphs=$out/symbol-graphs
mkdir -p "$graphs"
swift build --scratch-path "$out" --target RTCNetwork -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir \
    -Xswiftc "$PWD/$graphs"
mkdir -p "$out/only"
cp "$graphs"/RTCNetwork*.symbols.json "$out/only/"
"$(dirname "$(readlink -f "$(command -v swift)")")/docc" convert Sources/RTCNetwork/RTCNetwork.docc \
    --additional-symbol-graph-dir "$out/only" --output-path "$out/RTCNetwork.doccarchive" \
    --fallback-display-name RTCNetwork --fallback-bundle-identifier roost.RTCNetwork --warnings-as-errors
echo "The pages are in $out/RTCNetwork.doccarchive"
