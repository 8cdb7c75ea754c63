#!/usr/bin/env bash
# Compiles the sources that exist only for Apple's platforms, against declarations of what they use there
# (Tests/AppleDeclarations). It needs neither a Mac nor a network, and proves types and isolation, not behaviour.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

compile() { # module, options…
    local module=$1
    shift
    swiftc -parse-as-library -package-name roost -I "$out" -module-name "$module" \
        -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility \
        -enable-upcoming-feature InternalImportsByDefault -enable-experimental-feature Lifetimes \
        "$@" && return
    echo "$module does not compile as on Apple's platforms."
    return 1
}
sources() { find "$1" -name '*.swift' | sort; }
declare_module() { compile "$1" -emit-module -emit-module-path "$out/$1.swiftmodule" "${@:2}"; }

# The declarations refuse what the headers do not have: each line marked so has to be an error, and no other.
refuse() { # file
    local marked refused
    marked=$(grep -n '// refused$' "$1" | cut -d: -f1)
    refused=$(swiftc -typecheck -swift-version 6 -warnings-as-errors -parse-as-library -I "$out" "$1" 2>&1 |
        sed -n 's/^[^ ]*Mismatches.swift:\([0-9]*\):[0-9]*: error:.*/\1/p' | sort -nu)
    [ "$marked" = "$refused" ] && return
    echo "$1: expected errors at lines" $marked "and got them at" $refused
    return 1
}

# For library evolution, so that its enums stay open as those of C are (it warns that Foundation is not). In Swift 5 mode,
# so that `@preconcurrency import` means what it means for a library of Objective-C that says nothing about Sendable.
declare_module WebRTC -swift-version 5 -suppress-warnings -enable-library-evolution \
    $(sources Tests/AppleDeclarations/WebRTC) &
webrtc=$!
declare_module ComposableArchitectureStandIn -swift-version 6 -experimental-skip-non-inlinable-function-bodies \
    $(sources Sources/ComposableArchitectureStandIn) && wait $webrtc || exit 1

refuse Tests/AppleDeclarations/Mismatches.swift &
refusal=$!
# A full compile: what may cross isolation is only checked after the types are.
compile WebRTCCore -swift-version 6 -warnings-as-errors -c -wmo -Onone -o "$out/WebRTCCore.o" \
    $(sources Sources/WebRTCCore)
compiled=$?
wait $refusal && [ $compiled -eq 0 ] || exit 1
echo "The sources for Apple's platforms fit their declarations."
