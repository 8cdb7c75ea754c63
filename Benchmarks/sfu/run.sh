#!/usr/bin/env bash
# Roost's SFU beside Pion, Janus and the least that forwarding can cost, in turns, as ratios. Usage: run.sh [ROUNDS]
# ONLY="fan bursts audio meetings" chooses parts, COUNTS="1 10 100" numbers of subscribers, PEERS="floor pion janus" peers.
# Installs nothing: `make bench` does. ROOST_BIN names another roost than the release build.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${1:-3}
if [ -z "${ROOST_BIN:-}" ]; then
    ../../Scripts/build-release.sh
    ROOST_BIN=$PWD/../../.build/release/roost
fi
mkdir -p .build/src
cc -O3 -o .build/floor peers/floor.c -lcrypto -lpthread -Wno-deprecated-declarations
for program in load pionsfu; do
    # Debian's packages of Go's libraries are sources in /usr/share/gocode.
    ln -sfn "$PWD/peers/$program" ".build/src/$program"
    GO111MODULE=off GOFLAGS='' GOPATH="$PWD/.build:/usr/share/gocode" go build -o ".build/$program" "$program"
done
# A network of its own, with an interface that is not loopback, for Janus; it goes with the last process in it.
exec unshare --net --map-root-user bash -c '
    set -e
    ip link set lo up
    ip link add other type dummy 2>/dev/null || ip link add other type ifb
    ip address add 127.1.1.1/32 dev other
    ip link set other up
    exec python3 run.py "$@"' run "$rounds" --roost "$ROOST_BIN"
