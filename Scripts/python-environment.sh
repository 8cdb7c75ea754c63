#!/usr/bin/env bash
# Makes .venv with the pinned peers of Interop/requirements.txt; does nothing when it is there and up to date.
set -euo pipefail
cd "$(dirname "$0")/.."
stamp=.venv/requirements.stamp
if cmp -s Interop/requirements.txt "$stamp"; then exit 0; fi
echo "Making the Python environment for the interop tests (.venv)"
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r Interop/requirements.txt
cp Interop/requirements.txt "$stamp"
