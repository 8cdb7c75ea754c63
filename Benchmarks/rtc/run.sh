#!/usr/bin/env bash
# The WebRTC stack beside Pion, aiortc and libdatachannel, in turns, as ratios. Usage: run.sh [ROUNDS]
# ONLY="srtp setup packets messages memory" chooses parts, WINDOW=1 shortens what is counted from 3 seconds.
# Installs nothing: `make bench` does. LIBDATACHANNEL_PYTHON names another Python that has libdatachannel's binding.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${1:-3}
export PYTHON=${ROOST_PYTHON:-../../.venv/bin/python}
"$PYTHON" -c 'import aiortc' || { echo "aiortc is missing: \`make test\` installs it (or set ROOST_PYTHON)." >&2; exit 1; }
for python in ${LIBDATACHANNEL_PYTHON:-} ../../.venv/libdatachannel/bin/python; do
    if "$python" -c 'import libdatachannel' 2>/dev/null; then export LIBDATACHANNEL_PYTHON=$python && break; fi
done
[ -n "${LIBDATACHANNEL_PYTHON:-}" ] || echo "libdatachannel is left out: see README.md." >&2

mkdir -p .build/peers/src
if [ -z "${BENCH:-}" ]; then
    swift build -c release --product rtc-bench
    BENCH=$(swift build -c release --show-bin-path)/rtc-bench
fi
export BENCH EVP=.build/peers/evp FLOOR=.build/peers/floor PION=.build/peers/pion-peer
cc -O2 -o "$EVP" peers/evp.c -lcrypto
cc -O2 -o "$FLOOR" peers/floor.c -lcrypto
# Debian's packages of Go's libraries are sources in /usr/share/gocode.
ln -sfn "$PWD/peers/pion" .build/peers/src/pion-peer
GO111MODULE=off GOFLAGS='' GOPATH="$PWD/.build/peers:/usr/share/gocode" go build -o "$PION" pion-peer
python3 run.py "$rounds"
# What a packet costs in instructions, allocations and references, without a clock.
case "${ONLY:-packets}" in *packets*) ;; *) exit 0 ;; esac
command -v valgrind >/dev/null || { echo "Instruction counts are left out: there is no valgrind." >&2; exit 0; }
exec ./allocations.sh
