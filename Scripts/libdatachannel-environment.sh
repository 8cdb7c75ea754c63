#!/usr/bin/env bash
# Makes .venv/libdatachannel with libdatachannel's Python binding; does nothing when it is there and up to date. The
# binding has wheels for Python 3.12 and newer: Debian 12 has none, so pyenv's are looked at too. Without any, tests with
# this peer are skipped, and benchmarks go on without it.
set -euo pipefail
cd "$(dirname "$0")/.."
requirement=libdatachannel-py==2026.1.0
environment=.venv/libdatachannel
stamp=$environment/requirement.stamp
[ "$(cat "$stamp" 2>/dev/null)" = "$requirement" ] && exit 0
for python in python3 python3.14 python3.13 python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || continue
    echo "Making the environment for libdatachannel ($environment)"
    if "$python" -m venv --clear "$environment" &&
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$requirement"; then
        echo "$requirement" >"$stamp"
        exit 0
    fi
    rm -rf "$environment"
    echo "$requirement could not be installed: libdatachannel is left out." >&2
    exit 0
done
echo "There is no Python 3.12 or newer: libdatachannel is left out." >&2
