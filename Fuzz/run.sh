#!/usr/bin/env bash
# Fuzzes parsers with libFuzzer under the address sanitizer.
#   Fuzz/run.sh all SECONDS     every target for so long, as many at a time as there are cores
#   Fuzz/run.sh NAME SECONDS    one target, with libFuzzer's own output
#   Fuzz/run.sh NAME FILE…      one target with these inputs only: what crashed, seen again
# A target is a file Fuzz/Targets/NAME.swift with one function `fuzzNAME(_ bytes: RawSpan)` and its line in
# Fuzz/Targets/Support/FuzzTarget.swift. SwiftPM cannot link libFuzzer's main, so this script compiles our sources and
# the targets with swiftc: into one program, and only what has changed. New inputs go to .build-fuzz/corpus; an input
# that crashes is copied to Fuzz/Crashes/NAME/, where an ordinary test replays it for ever.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: Fuzz/run.sh all SECONDS | NAME SECONDS | NAME FILE…" >&2; exit 2; }
target=$1
shift
[ $# -gt 0 ] || set -- 60
[ "$target" = all ] || [ -f "Fuzz/Targets/$target.swift" ] || {
    echo "There is no Fuzz/Targets/$target.swift" >&2
    exit 2
}
# FUZZ_OPTIMIZATION=-Onone builds in a third of the time, which is more than a few seconds of fuzzing gain by -O.
optimization=${FUZZ_OPTIMIZATION:--O}
out=.build-fuzz/build$optimization
corpus=.build-fuzz/corpus
cores=$(nproc)

# A module comes after those that it imports.
modules=(RTCWire SwiftProtobuf RTCEngine LiveKitProtocol SocketIO MediaFiles RTCSecurity SFUCore TURNServer CallSignaling RedisClient
    ClientKit LiveKitCore LiveKitClient LiveKitServer ChatModel ChatCore ChatServer FuzzTargets)

imports() {
    case $1 in
        RTCEngine) echo RTCWire ;;
        MediaFiles | RTCSecurity | SFUCore | TURNServer) echo RTCWire RTCEngine ;;
        LiveKitCore) echo RTCWire ;;
        CallSignaling | ClientKit) echo SocketIO ;;
        LiveKitProtocol) echo SwiftProtobuf ;;
        LiveKitClient) echo SwiftProtobuf LiveKitProtocol RTCWire RTCEngine ;;
        ChatCore) echo ChatModel ;;
        ChatServer) echo ChatModel ChatCore ;;
        FuzzTargets) echo "${modules[@]:0:${#modules[@]}-1}" ;;
    esac
}

sources() { # of a module, without the files that need NIO
    case $1 in
        SocketIO)
            find Sources/SocketIO/{EngineIO,SocketIO} -name '*.swift'
            ls Sources/SocketIO/{WebSocket/{WebSocketReader,UTF8Check},Server/SocketIOHandshake}.swift
            ;;
        TURNServer) find Sources/TURNServer/Machine -name '*.swift' ;;
        CallSignaling) ls Sources/CallSignaling/CallRoomParameters.swift ;;
        LiveKitCore) ls Sources/LiveKitCore/WHIP/TrickleFragment.swift ;;
        LiveKitClient)
            ls Sources/LiveKitClient/{Encryption/{FrameCryptor,KeyProvider},Machine/DataStreams/StreamDecoder}.swift
            ls Sources/LiveKitClient/Model/{DataStreams,Identifiers}.swift
            ;;
        LiveKitServer) ls Sources/LiveKitServer/WHIP/EntityTag.swift ;;
        RedisClient)
            find Sources/RedisClient/RESP -name '*.swift'
            ls Sources/RedisClient/{RedisFault,RedisValue}.swift
            ;;
        ClientKit) find Sources/ClientKit -name '*.swift' ! -name SocketIOCallSignaling.swift ;;
        ChatServer) ls Sources/ChatServer/{API/ChatError+Decoding,Realtime/RealtimeFrames}.swift ;;
        FuzzTargets)
            find Fuzz/Targets -name '*.swift'
            ls Fuzz/LibFuzzer.swift
            ;;
        SwiftProtobuf) find .build/checkouts/swift-protobuf/Sources/SwiftProtobuf -name '*.swift' ;;
        *) find "Sources/$1" -name '*.swift' ;;
    esac | LC_ALL=C sort
}

settings=(-swift-version 6 -wmo -parse-as-library -package-name roost
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
    -enable-upcoming-feature InternalImportsByDefault -enable-experimental-feature Lifetimes
    -Xcc -fmodule-map-file=Sources/COpenSSL/module.modulemap -Xcc -fmodule-map-file=Sources/CZlib/module.modulemap
    -Xcc -fmodule-map-file=Sources/CPrefetch/include/module.modulemap
    -Xcc -fmodule-map-file=Sources/CPacketCiphers/include/module.modulemap
    -I "$out")
# Bodies that nobody inlines are not even looked at for an interface.
for_interface=(-Xfrontend -experimental-skip-non-inlinable-function-bodies)
for_code=("$optimization" -assert-config Debug -gline-tables-only -sanitize=fuzzer,address)
# A library of others: built as it likes it, and not what is fuzzed.
theirs=(-swift-version 6 -wmo -parse-as-library -package-name SwiftProtobuf -enable-upcoming-feature ExistentialAny)

for_module() { # module, what of it is wanted: interface or code; prints the options, one a line
    case $1-$2 in
        SwiftProtobuf-code) printf '%s\n' "${theirs[@]}" "$optimization" ;;
        SwiftProtobuf-interface) printf '%s\n' "${theirs[@]}" "${for_interface[@]}" ;;
        *-code) printf '%s\n' "${settings[@]}" "${for_code[@]}" ;;
        *-interface) printf '%s\n' "${settings[@]}" "${for_interface[@]}" ;;
    esac
}

digest() { # of all that a module is made from
    local name
    {
        echo "$compiler"
        for_module "$1" interface
        for_module "$1" code
        sources "$1" | xargs -d '\n' sha256sum
        for name in $(imports "$1"); do sha256sum "$out/$name.swiftmodule"; done
        [ "$1" != RTCSecurity ] || sha256sum Sources/CPacketCiphers/include/*
    } | sha256sum
}

each() { # function, names…: side by side, one for each core; fails if one of them does
    local function=$1 name process processes=() status=0
    shift
    for name in "$@"; do
        while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do wait -n || true; done
        "$function" "$name" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || status=1; done
    return $status
}

compile() { # module
    local started=$SECONDS options
    mapfile -t options < <(for_module "$1" code)
    sources "$1" | xargs -d '\n' swiftc "${options[@]}" -module-name "$1" -c -o "$out/$1.o" &&
        mv "$out/$1.digest.new" "$out/$1.digest" && echo "compiled $1: $((SECONDS - started)) s"
}

build() {
    local name changed=() objects compiler options code
    compiler=$(swiftc --version 2>/dev/null)
    [ -d .build/checkouts/swift-protobuf ] || swift package resolve
    # The interfaces first, which takes seconds: then no module waits for another's code.
    for name in "${modules[@]}"; do
        digest "$name" >"$out/$name.digest.new"
        if cmp -s "$out/$name.digest.new" "$out/$name.digest"; then continue; fi
        changed+=("$name")
        [ "$name" != FuzzTargets ] || continue
        mapfile -t options < <(for_module "$name" interface)
        sources "$name" | xargs -d '\n' swiftc "${options[@]}" -module-name "$name" \
            -emit-module -emit-module-path "$out/$name.swiftmodule"
    done
    if [ ${#changed[@]} -eq 0 ] && [ -x "$out/fuzz" ] &&
        [ -z "$(find Sources/CPacketCiphers -newer "$out/fuzz" -type f)" ]; then return; fi
    rm -f "$out/fuzz" "$out"/cpacketciphers-*.o
    each compile "${changed[@]}"
    objects=("${modules[@]/#/$out/}")
    for code in Sources/CPacketCiphers/*.c; do
        "$(dirname "$(readlink -f "$(command -v swiftc)")")/clang" -O2 -g -fsanitize=address \
            -ISources/CPacketCiphers/include -c "$code" -o "$out/cpacketciphers-$(basename "$code" .c).o"
    done
    swiftc -use-ld=lld -sanitize=fuzzer,address "${objects[@]/%/.o}" "$out"/cpacketciphers-*.o -lssl -lcrypto -lz -o "$out/fuzz"
}

fuzz() { # target, libFuzzer's arguments
    local name=$1 status=0
    shift
    mkdir -p "$corpus/$name" "Fuzz/Crashes/$name"
    # Swift's own backtraces read the stack where the sanitizer forbids it: they hide the crash behind one of theirs.
    SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=print_legend=0${ASAN_OPTIONS:+:$ASAN_OPTIONS} ROOST_FUZZ_TARGET=$name \
        "$out/fuzz" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="Fuzz/Crashes/$name/" "$@" || status=$?
    rmdir "Fuzz/Crashes/$name" 2>/dev/null || true
    return $status
}

fuzz_for_seconds() { # target
    fuzz "$1" -max_total_time="$seconds" -print_final_stats=1 "$corpus/$1" "Fuzz/Corpus/$1"
}

fuzz_quietly() { # target
    local log=$out/log/$1 input
    if fuzz_for_seconds "$1" >"$log" 2>&1; then
        echo "$1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
        return
    fi
    input=$(sed -n 's/.*Test unit written to //p' "$log")
    # In one piece, whatever the others print meanwhile.
    echo "== $1 failed; $log ends with
$(grep -vE '^#[0-9]+\s+[A-Za-z]+ +cov:|NEW_FUNC' "$log" | tail -n 80 | swift demangle)
== $1 failed. To see it again: Fuzz/run.sh $1 ${input:-$seconds}"
    echo "$1" >>"$out/failed"
    return 1
}

mkdir -p "$out/log"
(
    flock 9
    build
) 9>"$out/lock"

names=()
for file in Fuzz/Targets/*.swift; do names+=("$(basename "$file" .swift)"); done
seconds=$1
if [ "$target" = all ]; then
    rm -f "$out/failed"
    each fuzz_quietly "${names[@]}" && exit
    echo "failed: $(paste -sd ' ' "$out/failed"); inputs that crash are in Fuzz/Crashes" >&2
    exit 1
elif [[ "$seconds" =~ ^[0-9]+$ ]]; then
    fuzz_for_seconds "$target"
else
    fuzz "$target" "$@"
fi
