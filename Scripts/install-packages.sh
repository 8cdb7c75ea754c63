#!/usr/bin/env bash
# Installs the Debian packages that a task needs and that are missing; names them, asks nothing.
# Usage: Scripts/install-packages.sh run|demo|test|bench|fuzz
set -euo pipefail

run=(libssl-dev libpq-dev libsqlite3-dev pkg-config zlib1g-dev libjpeg62-turbo-dev libpng-dev libwebp-dev)
# Seals media in two thirds of OpenSSL's time or less. Debian has it for these processors; it is not needed.
[ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ] || run+=(libipsec-mb-dev)
demo=("${run[@]}" ffmpeg)
gstreamer=(python3-gst-1.0 gir1.2-gst-plugins-base-1.0 gir1.2-gst-plugins-bad-1.0 gstreamer1.0-nice
    gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad)
pion=(golang-go golang-github-pion-webrtc.v3-dev)
test=("${demo[@]}" chromium firefox-esr fonts-dejavu-core iproute2 util-linux coturn openssl postgresql redis-server unzip python3 python3-venv
    protobuf-compiler libprotobuf-dev "${pion[@]}" "${gstreamer[@]}")
bench=("${run[@]}" python3 python3-venv gcc libc6-dev "${pion[@]}" golang-github-gorilla-websocket-dev janus ejabberd
    postgresql iproute2 util-linux valgrind)
fuzz=("${run[@]}") # libFuzzer and the sanitizers come with Swift, and a test machine has these too

case "${1:-}" in
    run) wanted=("${run[@]}") ;;
    demo) wanted=("${demo[@]}") ;;
    test) wanted=("${test[@]}") ;;
    bench) wanted=("${bench[@]}") ;;
    fuzz) wanted=("${fuzz[@]}") ;;
    *) echo "usage: $0 run|demo|test|bench|fuzz" >&2; exit 2 ;;
esac

if ! command -v swift >/dev/null; then
    echo "Swift is missing. Install Swift 6.3 or newer from https://www.swift.org/install and run this again." >&2
    exit 1
fi
if ! command -v dpkg-query >/dev/null; then
    echo "This is not a Debian system: please see to it that these are installed: ${wanted[*]}" >&2
    exit 0
fi

missing=()
for package in "${wanted[@]}"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "Missing Debian packages: ${missing[*]}. Install them as root, then run this again." >&2
        exit 1
    }
    as_root=(sudo)
fi
echo "Installing Debian packages: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    >/dev/null
echo "Installed."
