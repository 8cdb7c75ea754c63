#!/usr/bin/env bash
# Compiles the programs of Benchmarks/rtc and Benchmarks/signaling against the modules that `swift build` has left in
# .build/debug. They are packages of their own, so that no product lists them, and a build of theirs would build all
# that they depend on once more; this takes seconds. As far as SIL: `-typecheck` alone does not find what is wrong with
# the ownership of noncopyable values.
set -uo pipefail
cd "$(dirname "$0")/.."
built=.build/debug
[ -d "$built/Modules" ] || { echo "$built/Modules is missing: build first." >&2; exit 1; }

# The C modules behind the Swift ones: maps that their packages have, maps that SwiftPM has made, and their headers.
options=(-Xcc -fmodule-map-file=Sources/COpenSSL/module.modulemap)
for directory in Sources/CDatagram Sources/CPrefetch Sources/CPacketCiphers Benchmarks/rtc/Sources/CCallgrind .build/checkouts/*/Sources/*; do
    [ -d "$directory/include" ] || continue
    for map in "$directory/include/module.modulemap" "$built/$(basename "$directory").build/module.modulemap"; do
        [ -f "$map" ] && options+=(-Xcc "-fmodule-map-file=$map" -Xcc "-I$directory/include") && break
    done
done

failed=0
compile() { # folder, options…
    local sources
    mapfile -t sources < <(find "$1" -name '*.swift' | sort)
    [ ${#sources[@]} -gt 0 ] || { echo "$1 has no sources." >&2; failed=1; return; }
    swiftc -emit-sil -wmo -Onone -o /dev/null -swift-version 6 -warnings-as-errors -I "$built/Modules" \
        -module-name "$(basename "$1" | tr - _)" "${options[@]}" "${@:2}" "${sources[@]}" && return
    echo "$1 does not compile." >&2
    failed=1
}
(compile Benchmarks/rtc/Sources/rtc-bench -parse-as-library; exit $failed) &
first=$!
compile Benchmarks/signaling/Sources/relay-server
wait $first || failed=1
[ $failed -eq 0 ] && echo "The benchmarks compile."
exit $failed
