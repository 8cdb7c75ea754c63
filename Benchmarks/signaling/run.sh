#!/usr/bin/env bash
# Server CPU per delivered `candidate` (300 bytes) and memory per connection: Roost's Socket.IO server and
# python-socketio's, loaded by the same program in the same run, rounds interleaved. Usage: run.sh [ROUNDS]
# The clock speed of a shared machine drifts: compare the ratios within a run, not figures of different days. At low
# rates every server pays mostly for being woken up; the higher rates show what a message costs.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${1:-3}
python=${ROOST_PYTHON:-../../.venv/bin/python}
[ -x "$python" ] || { echo "$python is missing: \`make test\` installs it (or set ROOST_PYTHON)." >&2; exit 1; }
ulimit -n 20000 2>/dev/null || true

swift build -c release --product relay-server
server=$(swift build -c release --show-bin-path)/relay-server
mkdir -p .build
cc -O2 -o .build/load load.c

results=$(mktemp)
pid=
trap 'rm -f "$results"; [ -z "$pid" ] || kill "$pid" 2>/dev/null || true' EXIT

measure() { # name, scenario, connections, room size, messages a second, command…
    local name=$1 scenario=$2 connections=$3 size=$4 rate=$5
    shift 5
    # Below the ports that the kernel gives out by itself, or a connection of the load program could have it.
    local port=$((20000 + RANDOM % 12000))
    "$@" "$port" >/dev/null 2>&1 &
    pid=$!
    for _ in $(seq 100); do (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.1; done
    echo "$name $scenario $(.build/load "$port" "$pid" "$connections" "$size" "$rate" 5)" | tee -a "$results"
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    pid=
}

echo "server scenario us/delivery KiB/connection delivered lost"
for _ in $(seq "$rounds"); do
    echo "kernel one-send $(.build/load floor)" | tee -a "$results"
    measure roost pairs-2000/s 200 2 2000 "$server"
    measure roost pairs-10000/s 200 2 10000 "$server"
    measure python-socketio pairs-2000/s 200 2 2000 "$python" relay_server.py
    measure roost rooms-of-200-50/s 200 200 50 "$server"
    measure roost rooms-of-200-200/s 200 200 200 "$server"
    measure python-socketio rooms-of-200-50/s 200 200 50 "$python" relay_server.py
    measure roost 2000-connections 2000 2 10 "$server"
done

awk '
    { key = $1 " " $2; values[key] = values[key] " " $3; memory[key] = memory[key] " " $4; lost[key] += $6 }
    function median(text,   parts, n, i, j, t) {
        n = split(text, parts, " ")
        for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (parts[j] + 0 < parts[i] + 0) { t = parts[i]; parts[i] = parts[j]; parts[j] = t }
        return parts[int((n + 1) / 2)]
    }
    END {
        print ""
        print "medians                          us per delivery   KiB per connection   lost"
        for (key in values) printf "%-32s %15.1f %20.1f %6d\n", key, median(values[key]), median(memory[key]), lost[key]
        pair = median(values["roost pairs-2000/s"]); fan = median(values["roost rooms-of-200-50/s"])
        print ""
        printf "roost / the kernel\047s own cost of one send:  rooms of 200 %.1fx\n", fan / median(values["kernel one-send"])
        printf "python-socketio / roost:  pairs %.1fx   rooms of 200 %.1fx\n", \
            median(values["python-socketio pairs-2000/s"]) / pair, median(values["python-socketio rooms-of-200-50/s"]) / fan
        busy = median(values["roost pairs-10000/s"]); busyfan = median(values["roost rooms-of-200-200/s"])
        print "The official Node server is not on this machine. Its first figures, from another day: 48 to 64 us to one,"
        print "12 to 15 us in a fan-out, 27 to 53 KiB a connection. Against those (a hint, not a measurement):"
        printf "node / roost, low rates:   pairs %.1fx to %.1fx   fan-out %.1fx to %.1fx\n", \
            48 / pair, 64 / pair, 12 / fan, 15 / fan
        printf "node / roost, high rates:  pairs %.1fx to %.1fx   fan-out %.1fx to %.1fx\n", \
            48 / busy, 64 / busy, 12 / busyfan, 15 / busyfan
    }' "$results"
