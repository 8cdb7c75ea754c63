#!/usr/bin/env bash
# The links in virtual time, in half a minute; after `run.sh sockets` also over real sockets, beside aiortc: a quarter of
# an hour, as root. Prints the tables of README.md, draws plots/ anew and leaves the samples in out/.
# NETEM=--netem uses the kernel's `tc netem` for the sockets; BIN names a directory with programs that are built already.
set -euo pipefail
cd "$(dirname "$0")"
python=${ROOST_PYTHON:-../../.venv/bin/python}
"$python" -c 'import aiortc, matplotlib' || { echo "Missing: $python -m pip install -r requirements.txt" >&2; exit 1; }
if [ -z "${BIN:-}" ]; then
    swift build --package-path ../.. --product congestion-links
    swift build --package-path ../.. --product congestion-peer
    BIN=$(swift build --package-path ../.. --show-bin-path)
fi

"$BIN/congestion-links" out/simulated
"$python" plot.py out/simulated plots/simulated.png 3 \
    steady step loss bufferbloat download two-calls radio long-way jitter
"$BIN/congestion-links" out/simulated libwebrtc-capacity libwebrtc-loss libwebrtc-tcp
"$python" plot.py out/simulated plots/libwebrtc.png 3 libwebrtc-capacity libwebrtc-loss libwebrtc-tcp

[ "${1:-}" = sockets ] || exit 0
for pair in roost-roost aiortc-aiortc roost-aiortc aiortc-roost; do
    "$python" sockets.py ${NETEM:-} "$BIN/congestion-peer" out/sockets "$pair"
done
links=(steady step loss bufferbloat download two-calls long-way)
"$python" plot.py out/sockets plots/sockets.png 2 $(for link in "${links[@]}"; do echo {roost-roost,aiortc-aiortc}-$link; done)
"$python" plot.py out/sockets plots/mixed.png 2 $(for link in "${links[@]}"; do echo {roost-aiortc,aiortc-roost}-$link; done)
