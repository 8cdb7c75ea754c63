#!/usr/bin/env bash
# Makes Sources/LiveKitProtocol/Generated anew from Sources/LiveKitProtocol/Protos. The result is committed: a build
# needs neither protoc nor its plugin. The plugin comes from the swift-protobuf that Package.swift names and is built
# once, in about a minute; $PROTOC_GEN_SWIFT names one that is there already.
set -euo pipefail
cd "$(dirname "$0")/.."
protos=Sources/LiveKitProtocol/Protos
generated=Sources/LiveKitProtocol/Generated
out=.build-protocol

command -v protoc >/dev/null || { echo "protoc is missing: Debian's package is protobuf-compiler." >&2; exit 1; }
if [ -z "${PROTOC_GEN_SWIFT:-}" ]; then
    swift build --scratch-path "$out" --product protoc-gen-swift
    PROTOC_GEN_SWIFT=$out/debug/protoc-gen-swift
fi
rm -rf "$generated"
mkdir -p "$generated"
protoc --plugin="protoc-gen-swift=$PROTOC_GEN_SWIFT" --proto_path="$protos" \
    --swift_opt=Visibility=Package --swift_opt=UseAccessLevelOnImports=true --swift_out="$generated" "$protos"/*.proto
echo "Made $generated with protoc $(protoc --version | cut -d' ' -f2) and $("$PROTOC_GEN_SWIFT" --version)."
