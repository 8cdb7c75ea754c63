"""A worker of agents by LiveKit's own framework (`livekit-agents`), which runs in an environment of its own: its jobs are
processes that it forks, as in production. Says what happens as JSON lines; takes commands as JSON lines.
"""

import argparse
import asyncio
import json
import logging
import os
import sys
import threading

import numpy as np
from livekit import rtc
from livekit.agents import AgentServer, AutoSubscribe, JobContext, JobRequest
from livekit.agents.worker import ServerType, WorkerPermissions

RATE, LENGTH = 48_000, 480
options = None


def say(event, **fields):
    os.write(1, (json.dumps({"event": event, **fields}) + "\n").encode())


async def play_tone(room, hertz):
    """What the agent says: a tone, as long as it is in the room."""
    source = rtc.AudioSource(RATE, 1)
    track = rtc.LocalAudioTrack.create_audio_track("voice", source)
    await room.local_participant.publish_track(track, rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE))
    phase = np.arange(LENGTH) * 2 * np.pi * hertz / RATE
    for number in range(1_000_000):
        samples = (np.sin(phase + number * LENGTH * 2 * np.pi * hertz / RATE) * 12_000).astype(np.int16)
        await source.capture_frame(rtc.AudioFrame(samples.tobytes(), RATE, 1, LENGTH))


async def entrypoint(ctx: JobContext):
    job = ctx.job
    about = dict(job=job.id, dispatch=job.dispatch_id, room=job.room.name, metadata=job.metadata,
                 attributes=dict(job.attributes), who=job.participant.identity, worker=ctx.worker_id)
    say("job", **about, pid=os.getpid())
    orders = json.loads(job.metadata) if job.metadata.startswith("{") else {}
    if orders.get("do") == "crash":
        raise RuntimeError("as it was told")
    room = ctx.room

    @room.on("participant_connected")
    def came(participant):
        say("seen", job=job.id, who=participant.identity)

    @room.on("data_received")
    def received(packet):
        text = packet.data.decode()
        say("heard", job=job.id, text=text)
        if text == "goodbye":
            ctx.shutdown("as it was told")
        elif text == "die":
            os._exit(3)
        else:
            asyncio.ensure_future(room.local_participant.publish_data(f"you said {text}"))

    async def over(reason):
        await asyncio.sleep(orders.get("slow", 0))
        say("job_over", job=job.id, reason=reason)

    ctx.add_shutdown_callback(over)
    await ctx.connect(auto_subscribe=AutoSubscribe.AUDIO_ONLY)
    say("in_room", job=job.id, identity=room.local_participant.identity,
        others=sorted(room.remote_participants), attributes=dict(room.local_participant.attributes))
    ctx.proc.userdata["tone"] = asyncio.create_task(play_tone(room, 660))


async def on_request(request: JobRequest):
    say("asked", job=request.id, room=request.room.name)
    if request.job.metadata == "not for me":
        await request.reject()
    else:
        await request.accept(name="Robot", metadata="made of tin", attributes={"mood": "calm"})


async def main():
    server = AgentServer(
        ws_url=options.url, api_key=options.key, api_secret=options.secret, num_idle_processes=1, port=0, host="127.0.0.1",
        load_fnc=(lambda: options.load), permissions=WorkerPermissions(hidden=options.hidden), drain_timeout=10)
    server.rtc_session(
        entrypoint, agent_name=options.name, type=ServerType[options.type.upper()], on_request=on_request)
    server.on("worker_registered", lambda id, info: say(
        "registered", id=id, version=info.version, protocol=info.protocol, agent_protocol=info.agent_protocol))
    running = asyncio.ensure_future(server.run(devmode=False, unregistered=False))
    loop = asyncio.get_running_loop()

    async def obey(order):
        if order["do"] == "load":
            options.load = order["load"]
        elif order["do"] == "drain":
            await server.drain()
            say("drained")
        elif order["do"] == "end":
            await server.aclose()

    def read():
        for line in sys.stdin:
            asyncio.run_coroutine_threadsafe(obey(json.loads(line)), loop)

    threading.Thread(target=read, daemon=True).start()
    await running
    say("ended")


def parse():
    parser = argparse.ArgumentParser()
    for name in ("url", "key", "secret"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--type", default="room")
    parser.add_argument("--hidden", action="store_true")
    parser.add_argument("--load", type=float, default=0.0)
    return parser.parse_args()


if __name__ == "__main__":
    options = parse()
    logging.basicConfig(level=logging.INFO, stream=sys.stdout)
    asyncio.run(main())
