#!/usr/bin/env bash
# Roost's chat, and ejabberd's under the same load in the same run: fan-out to a channel of a thousand, sends, history
# and search on a million messages, sockets that say nothing. Usage: run.sh [ROUNDS]
# ONLY="fan requests idle" chooses parts, SERVERS="roost ejabberd ejabberd-spinning ejabberd-archive" whom fan and idle
# are of; MEMBERS=1000 RATES=10,20 SECONDS_EACH=6 MESSAGES=1000000 SOCKETS=5000 sizes.
# Installs nothing: `make bench` does. ROOST_BIN names another roost than the release build.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${1:-3}
roost=${ROOST_BIN:-../../.build/release/roost}
if [ ! -x "$roost" ]; then
    (cd ../.. && swift build -c release --product roost)
fi
ulimit -n 20000 2>/dev/null || ulimit -n "$(ulimit -Hn)"
mkdir -p .build/src
# Debian's packages of Go's libraries are sources in /usr/share/gocode.
ln -sfn "$PWD/peers/load" .build/src/load
CGO_ENABLED=0 GO111MODULE=off GOFLAGS='' GOPATH="$PWD/.build:/usr/share/gocode" go build -o .build/load load
exec python3 run.py "$rounds" --roost "$roost"
