#!/usr/bin/env bash
# Fuzzes one parser, or all of them, with libFuzzer. Usage: Fuzz/run.sh TARGET|all SECONDS
# A target is a file Fuzz/Targets/NAME.swift with one function `fuzzNAME(_ bytes: RawSpan)`. SwiftPM cannot link
# libFuzzer's main, so this script compiles our sources and the target with swiftc. New inputs go to .build-fuzz/corpus;
# an input that crashes is copied to Fuzz/Crashes/NAME/, where an ordinary test replays it for ever.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:?target or all}
seconds=${2:-60}
out=.build-fuzz
mkdir -p "$out"

if [ "$target" = all ]; then
    crashed=()
    for file in Fuzz/Targets/*.swift; do
        name=$(basename "$file" .swift)
        echo "== $name"
        "$0" "$name" "$seconds" || crashed+=("$name")
    done
    [ ${#crashed[@]} -eq 0 ] || { echo "crashed: ${crashed[*]}; the inputs are in Fuzz/Crashes" >&2; exit 1; }
    exit 0
fi
[ -f "Fuzz/Targets/$target.swift" ] || { echo "There is no Fuzz/Targets/$target.swift" >&2; exit 2; }

settings=(-swift-version 6 -O -g -sanitize=fuzzer,address -parse-as-library
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
    -enable-upcoming-feature InternalImportsByDefault -enable-experimental-feature Lifetimes -I "$out")

module() { # name, folders below Sources (default: the module's own); the objects are linked at the end
    local name=$1
    shift
    local folders=("${@:-$name}")
    local object="$out/$name.o"
    local newest
    newest=$(find "${folders[@]/#/Sources/}" -name '*.swift' -newer "$object" 2>/dev/null | head -n 1 || true)
    if [ ! -f "$object" ] || [ -n "$newest" ]; then
        find "${folders[@]/#/Sources/}" -name '*.swift' -print0 | xargs -0 swiftc "${settings[@]}" -wmo -emit-module \
            -emit-module-path "$out/$name.swiftmodule" -module-name "$name" -c -o "$object" \
            -Xcc -fmodule-map-file=Sources/COpenSSL/module.modulemap
    fi
    objects+=("$object")
}

objects=()
libraries=()
if grep -qE 'import (RTC|MediaFiles)' "Fuzz/Targets/$target.swift"; then
    for name in RTCWire RTCEngine; do module $name; done
fi
if grep -qE 'import (RTCSecurity)' "Fuzz/Targets/$target.swift"; then module RTCSecurity; libraries+=(-lssl -lcrypto); fi
if grep -qE 'import (MediaFiles)' "Fuzz/Targets/$target.swift"; then module MediaFiles; fi
# The codecs of Socket.IO alone, and of what is built on it: the rest of these modules is built on NIO.
if grep -qE 'import (SocketIO|CallSignaling|ClientKit)' "Fuzz/Targets/$target.swift"; then
    module SocketIO SocketIO/EngineIO SocketIO/SocketIO SocketIO/WebSocket/WebSocketReader.swift \
        SocketIO/WebSocket/UTF8Check.swift SocketIO/Server/SocketIOHandshake.swift
fi
if grep -qE 'import (CallSignaling)' "Fuzz/Targets/$target.swift"; then
    module CallSignaling CallSignaling/CallRoomParameters.swift
fi
if grep -qE 'import (ClientKit)' "Fuzz/Targets/$target.swift"; then
    mapfile -t parts < <(cd Sources && find ClientKit -name '*.swift' ! -name SocketIOCallSignaling.swift)
    module ClientKit "${parts[@]}"
fi

cat > "$out/$target-main.swift" <<SWIFT
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzerTestOneInput(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    fuzz$target(UnsafeRawBufferPointer(start: data, count: size).bytes)
    return 0
}
SWIFT
swiftc "${settings[@]}" -module-name "Fuzz$target" "Fuzz/Targets/$target.swift" "$out/$target-main.swift" \
    -Xcc -fmodule-map-file=Sources/COpenSSL/module.modulemap "${objects[@]}" "${libraries[@]}" -o "$out/fuzz-$target"

mkdir -p "$out/corpus/$target" "Fuzz/Crashes/$target"
"$out/fuzz-$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="Fuzz/Crashes/$target/" "$out/corpus/$target" "Fuzz/Corpus/$target"
rmdir "Fuzz/Crashes/$target" 2>/dev/null || true
