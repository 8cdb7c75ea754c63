#!/usr/bin/env bash
# Makes the Python environments of the interop tests; does nothing when they are there and up to date.
set -euo pipefail
cd "$(dirname "$0")/.."
Scripts/python-environment.sh
Scripts/libdatachannel-environment.sh
Scripts/agents-environment.sh
