#!/usr/bin/env bash
# Builds Interop's peer with Pion, .build/peers/pion-peer, from Debian's packages of Go's libraries: sources in
# /usr/share/gocode. Go does nothing when nothing has changed.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .build/peers/src
ln -sfn "$PWD/Interop/peers/pion_peer" .build/peers/src/pion-peer
export CGO_ENABLED=0 GO111MODULE=off GOFLAGS='' GOPATH="$PWD/.build/peers:/usr/share/gocode"
go build -o .build/peers/pion-peer pion-peer
