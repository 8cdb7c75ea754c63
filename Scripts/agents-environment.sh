#!/usr/bin/env bash
# Makes .venv/agents with LiveKit's framework for agents; does nothing when it is there and up to date. It wants an older
# version of LiveKit's SDK than the other tests have, so it has an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
requirement=livekit-agents==1.8.9
environment=.venv/agents
stamp=$environment/requirement.stamp
[ "$(cat "$stamp" 2>/dev/null)" = "$requirement" ] && exit 0
echo "Making the environment for LiveKit Agents ($environment)"
python3 -m venv --clear "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$requirement"
echo "$requirement" >"$stamp"
