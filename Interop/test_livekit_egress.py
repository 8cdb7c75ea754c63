"""Recording by the server: livekit.Egress of `roost serve` for LiveKit's own package, with its SDK in the rooms. What
is recorded is decoded.
"""

import datetime
import json
import signal
import subprocess

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from livekit import api
from livekit.protocol import egress as egress_messages

from peers import whip_client
from peers.exchange_peers import ChromiumExchange
from peers.livekit_room import KEY, SECRET, Server, token
from peers.livekit_service import Webhooks, call, without_nothing
from peers.roost_peer import find_roost, read_counters, read_tones
from support.evidence import MEDIA, Evidence
from support.process import JSONProcess
from support.waiting import wait_until

OVER = {"EGRESS_COMPLETE", "EGRESS_FAILED", "EGRESS_ABORTED", "EGRESS_LIMIT_REACHED"}


@pytest.fixture(scope="module")
def hooks(namespace):
    webhooks = Webhooks(namespace)
    yield webhooks
    webhooks.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="module")
def sfu(namespace, hooks, folder):
    server = Server(namespace, "--livekit-recordings", folder, "--livekit-webhook", hooks.url)
    yield server
    assert server.close() == 0


class Service:
    def __init__(self, server):
        self.server = server

    def egress(self, method, message, **fields):
        return call(self.server, "egress", method, message, **fields)

    def room(self, method, message, **fields):
        return call(self.server, "room", method, message, **fields)

    def record(self, room, track, filepath=""):
        return self.egress(
            "start_track_egress", "TrackEgressRequest", room_name=room, track_id=track, file={"filepath": filepath})

    def record_room(self, room, filepath="", **template):
        """Each track of it into a file of its own."""
        return self.egress(
            "start_egress", "StartEgressRequest", room_name=room, template=template, preset="PASSTHROUGH",
            outputs=[{"file": {"filepath": filepath}}])

    def stop(self, egress):
        return self.egress("stop_egress", "StopEgressRequest", egress_id=egress)

    def list(self, **which):
        return self.egress("list_egress", "ListEgressRequest", **which)["answer"].get("items", [])

    def one(self, egress):
        return self.list(egress_id=egress)[0]

    def wait_for(self, egress, *states):
        """Its information, once it is in one of the states. What is the first of an enum is left out in JSON."""
        def state():
            return self.one(egress).get("status", "EGRESS_STARTING")

        wait_until(lambda: state() in states, lambda: f"one of {states}: {self.one(egress)}")
        return self.one(egress)

    def is_recorded(self, room):
        listed = self.room("list_rooms", "ListRoomsRequest", names=[room])["answer"]["rooms"]
        return listed[0].get("active_recording", False)


@pytest.fixture
def service(sfu):
    return Service(sfu)


def index_of(folder, info):
    return json.loads((folder / info["manifest_location"]).read_text())


def check_camera(path, least=30):
    Evidence("the recording", counters=read_counters(path)).check_picture(least=least)


def check_microphone(path, hertz, seconds=1.0):
    Evidence("the recording", hertz=read_tones(path)[1:]).check_sound([hertz], seconds)


def wait_for_size(path, size, what):
    wait_until(lambda: path.exists() and path.stat().st_size > size, what)


def test_a_track_is_recorded_until_it_is_stopped(sfu, service, hooks, folder, room):
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    camera, _ = ann.publish()
    bob.wait_for_picture(15)
    before = sfu.metrics()
    begun = service.record(room, camera, "films/{publisher_identity}-{track_type}-{track_source}.mp4")["answer"]
    assert begun["egress_id"].startswith("EG_") and begun["room_name"] == room and begun["room_id"].startswith("RM_")
    assert begun["track"]["track_id"] == camera and "status" not in begun
    active = service.wait_for(begun["egress_id"], "EGRESS_ACTIVE")
    assert [one["egress_id"] for one in service.list(room_name=room, active=True)] == [begun["egress_id"]]
    assert service.is_recorded(room)
    # Services see the recorder, and nobody else does.
    people = service.room("list_participants", "ListParticipantsRequest", room=room)["answer"]["participants"]
    recorder = next(one for one in people if one.get("kind") == "EGRESS")
    assert recorder["permission"]["hidden"] and recorder["permission"]["recorder"]
    # What the track is coded in decides what the file is.
    film = folder / active["file_results"][0]["filename"]
    assert film == folder / "films/ann-video-camera.webm"
    recording = index_of(folder, active)["recordings"]
    assert [(one["participant"], one["track"], one["complete"]) for one in recording] == [("ann", camera, False)]
    wait_for_size(film, 60_000, "enough is recorded")

    assert service.stop(begun["egress_id"])["answer"]["status"] == "EGRESS_ENDING"
    done = service.wait_for(begun["egress_id"], *OVER)
    assert done["status"] == "EGRESS_COMPLETE" and "error" not in done
    result = done["file_results"][0]
    assert int(result["size"]) == film.stat().st_size
    assert int(result["ended_at"]) > int(result["started_at"]) > 1_600_000_000 * 10**9
    assert 0.5e9 < int(result["duration"]) <= int(result["ended_at"]) - int(result["started_at"]) + 1e9
    assert index_of(folder, done)["recordings"][0]["complete"]
    check_camera(film)
    assert service.list(room_name=room, active=True) == []
    counted = {name: value - before[name] for name, value in sfu.metrics().items() if "_egress_" in name}
    assert counted == {
        "roost_livekit_egress_tracks": 0, "roost_livekit_egress_active": 0, "roost_livekit_egress_started_total": 1,
        'roost_livekit_egress_ended_total{outcome="complete"}': 1,
        'roost_livekit_egress_ended_total{outcome="failed"}': 0,
        'roost_livekit_egress_ended_total{outcome="aborted"}': 0, "roost_livekit_egress_omitted_total": 0,
        "roost_livekit_egress_recorded_bytes_total": film.stat().st_size}
    wait_until(lambda: not service.is_recorded(room), "the recorder has left")
    again = service.stop(begun["egress_id"])
    assert again["code"] == "failed_precondition" and "EGRESS_COMPLETE" in again["message"]

    def told():
        events = [event for event in hooks.received() if event.egress_info.egress_id == begun["egress_id"]]
        return [(one.event, api.EgressStatus.Name(one.egress_info.status)) for one in events]

    wait_until(lambda: told() and told()[-1][0] == "egress_ended", "the last webhook has come")
    assert told() == [
        ("egress_started", "EGRESS_STARTING"), ("egress_updated", "EGRESS_ACTIVE"),
        ("egress_updated", "EGRESS_ENDING"), ("egress_ended", "EGRESS_COMPLETE")]
    for someone in (ann, bob):
        assert not any("EG_" in str(line) for line in someone.process.events)


def test_a_track_whose_codec_changes_goes_on_in_another_file(sfu, service, folder, room, browser):
    ann = sfu.join(room, "ann")
    page = ChromiumExchange(browser, sfu, "/whip", token(room, "page"), 660)
    camera = ann.wait_for("subscribed", name="camera")["sid"]
    begun = service.record(room, camera)["answer"]
    service.wait_for(begun["egress_id"], "EGRESS_ACTIVE")

    def recorded():
        info = service.one(begun["egress_id"])
        return [(one["complete"], folder / one["file"]) for one in index_of(folder, info)["recordings"]]

    wait_until(lambda: len(read_counters(recorded()[0][1])) >= 45, "enough of the first codec is recorded")
    page.encode("video/H264")
    wait_until(lambda: len(recorded()) == 2, lambda: f"a second file: {recorded()}")
    wait_for_size(recorded()[1][1], 60_000, "enough of the second codec is recorded")
    service.stop(begun["egress_id"])
    assert service.wait_for(begun["egress_id"], *OVER)["status"] == "EGRESS_COMPLETE"
    page.close()
    assert [complete for complete, _ in recorded()] == [True, True]
    assert [path.suffix for _, path in recorded()] == [".webm", ".mp4"]
    for _, path in recorded():
        check_camera(path)


def test_layers_in_one_stream_are_recorded_as_pictures_of_the_largest(sfu, service, folder, room):
    """A key picture of VP9 has a frame of each layer: what reads the file finds their ends, and shows only the last."""
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    camera, _ = ann.publish(codec="VP9", width=960, height=540, scalability="L3T3_KEY")
    # An encoder that has too little time sends smaller ones at first, and a file keeps to its first picture's size.
    bob.wait_until("camera", lambda report: report["sizes"][-15:] == [[960, 540]] * 15, "pictures of the largest layer")
    begun = service.record(room, camera)["answer"]
    active = service.wait_for(begun["egress_id"], "EGRESS_ACTIVE")
    film = folder / active["file_results"][0]["filename"]
    assert film.suffix == ".ivf"
    wait_until(lambda: len(read_counters(film)) >= 45, "enough is recorded")
    service.stop(begun["egress_id"])
    assert service.wait_for(begun["egress_id"], *OVER)["status"] == "EGRESS_COMPLETE"
    check_camera(film)
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0", film],
        capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["960,540"]


def test_tracks_are_recorded_as_they_are_published(sfu, service, folder, room):
    made = service.room(
        "create_room", "CreateRoomRequest", name=room, egress={"tracks": {"filepath": "auto/{track_source}-{track_id}"}})
    assert "code" not in made, made
    assert not made["answer"].get("active_recording", False)
    ann = sfu.join(room, "ann")
    ann.publish(hertz=660)
    wait_until(lambda: len(service.list(room_name=room, active=True)) == 2, "both tracks are recorded")
    ids = [one["egress_id"] for one in service.list(room_name=room)]
    for one in ids:
        active = service.wait_for(one, "EGRESS_ACTIVE")
        wait_for_size(folder / active["file_results"][0]["filename"], 15_000, "enough is recorded")
    # Withdrawn, or gone: it ends with its track.
    ann.do("unpublish", name="camera")
    camera = next(one for one in map(service.one, ids) if "camera" in one["file_results"][0]["filename"])
    camera = service.wait_for(camera["egress_id"], *OVER)
    ann.leave()
    finished = [service.wait_for(one, *OVER) for one in ids]
    assert [one["status"] for one in finished] == ["EGRESS_COMPLETE"] * 2
    names = {one["file_results"][0]["filename"].split("-")[0]: one["file_results"][0]["filename"] for one in finished}
    assert set(names) == {"auto/camera", "auto/microphone"}
    check_camera(folder / names["auto/camera"], least=15)
    check_microphone(folder / names["auto/microphone"], 660)
    # A room of which nothing but the recorder is left ends as an empty one.
    wait_until(
        lambda: not service.room("list_rooms", "ListRoomsRequest", names=[room])["answer"].get("rooms"),
        "the empty room is gone")


def test_a_whole_room_is_recorded_until_it_ends(sfu, service, folder, room):
    ann = sfu.join(room, "ann")
    ann.publish(hertz=880)
    begun = service.record_room(room)["answer"]
    assert begun["egress"]["preset"] == "PASSTHROUGH"
    service.wait_for(begun["egress_id"], "EGRESS_ACTIVE")
    # Another client library, another codec.
    bob = JSONProcess(
        "bob",
        sfu.namespace.command(
            find_roost(), "join", "--url", sfu.url, "--token", token(room, "bob"), "--json", "--publish",
            MEDIA / "webRtcTestVideo.mp4", "--publish", MEDIA / "webRtcTestVideo.ogg"))
    try:
        wait_until(
            lambda: len(service.one(begun["egress_id"]).get("file_results", [])) == 4,
            lambda: f"all have their files: {service.one(begun['egress_id'])}\n{bob.transcript()}")
        info = service.one(begun["egress_id"])
        for one in info["file_results"]:
            wait_for_size(folder / one["filename"], 15_000, "enough is recorded")
        service.room("delete_room", "DeleteRoomRequest", room=room)
        done = service.wait_for(begun["egress_id"], *OVER)
    finally:
        bob.kill()
        bob.finish()
    assert done["status"] == "EGRESS_COMPLETE" and "details" not in done
    assert "file" not in done and len(done["file_results"]) == 4
    index = index_of(folder, done)
    assert index["room"] == room and all(one["complete"] for one in index["recordings"])
    files = {(one["participant"], one["source"]): folder / one["file"] for one in index["recordings"]}
    assert {path.name.split(".")[-1] for path in files.values()} == {"webm", "mp4", "ogg"}
    check_camera(files["ann", "camera"])
    check_microphone(files["ann", "microphone"], 880)
    check_camera(files["bob", "camera"])
    assert read_tones(files["bob", "microphone"])


def test_sound_alone_of_a_room(sfu, service, folder, room):
    ann = sfu.join(room, "ann")
    ann.publish(hertz=550)
    begun = service.record_room(room, "sound/{publisher_identity}", audio_only=True)["answer"]
    wait_until(lambda: service.one(begun["egress_id"]).get("file_results"), "there is a file")
    name = service.one(begun["egress_id"])["file_results"][0]["filename"]
    assert name == "sound/ann.ogg"
    wait_for_size(folder / name, 15_000, "enough is recorded")
    service.stop(begun["egress_id"])
    done = service.wait_for(begun["egress_id"], *OVER)
    assert done["status"] == "EGRESS_COMPLETE" and len(done["file_results"]) == 1
    check_microphone(folder / name, 550)


def test_names_lead_nowhere_else(sfu, service, folder, room):
    ann = sfu.join(room, "../../ann")
    ann.do("publish_audio")
    microphone = ann.wait_for("own_track", name="microphone")["sid"]
    begun = service.record(room, microphone, "/../../escape/{publisher_identity}/../x")["answer"]
    active = service.wait_for(begun["egress_id"], "EGRESS_ACTIVE")
    assert active["file_results"][0]["filename"] == "_./_./escape/______ann/_./x.ogg"
    assert (folder / active["file_results"][0]["filename"]).is_file()
    assert not (folder.parent / "escape").exists()


def test_a_file_that_cannot_be_written_disturbs_nobody(sfu, service, folder, room):
    (folder / "taken").write_text("no folder")
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    camera, microphone = ann.publish()
    bob.wait_for_picture(15)
    failing, other = service.record(room, camera, "taken/x")["answer"], service.record(room, microphone)["answer"]
    done = service.wait_for(failing["egress_id"], *OVER)
    assert done["status"] == "EGRESS_FAILED" and done["error"] == "The file cannot be written."
    assert str(folder) not in json.dumps(done)
    assert service.wait_for(other["egress_id"], "EGRESS_ACTIVE")
    bob.report("camera", fresh=True)
    bob.check_picture(30)
    service.stop(other["egress_id"])
    assert service.wait_for(other["egress_id"], *OVER)["status"] == "EGRESS_COMPLETE"


class Cramped:
    """A namespace in which programs see a disk of a few blocks at `folder`."""

    def __init__(self, namespace, folder, size):
        self.namespace, self.folder, self.size = namespace, folder, size
        self.address = namespace.address

    def command(self, *command):
        script = 'mount -t tmpfs -o "size=$1" none "$2" && shift 2 && exec "$@"'
        return self.namespace.command(
            "unshare", "--mount", "sh", "-c", script, "sh", self.size, self.folder, *command)


def test_a_full_disk_ends_the_recording_and_nothing_else(namespace, tmp_path):
    cramped = Server(
        Cramped(namespace, tmp_path, "96k"), "--livekit-recordings", tmp_path, "--livekit-recordings-limit", 1)
    cramped.namespace = namespace
    service = Service(cramped)
    try:
        ann, bob = cramped.join("room", "ann"), cramped.join("room", "bob")
        camera, microphone = ann.publish()
        bob.wait_for_picture(15)
        begun = service.record("room", camera)["answer"]
        refused = service.record("room", microphone)
        assert refused["code"] == "resource_exhausted" and "1 tracks" in refused["message"]
        done = service.wait_for(begun["egress_id"], *OVER)
        assert done["status"] == "EGRESS_FAILED" and done["error"] == "The disk is full."
        assert int(done["file_results"][0]["size"]) > 0 and str(tmp_path) not in json.dumps(done)
        bob.report("camera", fresh=True)
        bob.check_picture(30)
    finally:
        assert cramped.close() == 0


def test_a_server_that_goes_down_makes_its_files_whole(namespace, hooks, tmp_path):
    server = Server(namespace, "--livekit-recordings", tmp_path, "--livekit-webhook", hooks.url)
    service = Service(server)
    ann = server.join("room", "ann")
    camera, _ = ann.publish()
    begun = service.record("room", camera)["answer"]
    active = service.wait_for(begun["egress_id"], "EGRESS_ACTIVE")
    film = tmp_path / active["file_results"][0]["filename"]
    wait_for_size(film, 40_000, "enough is recorded")
    server.process.send(signal.SIGTERM)
    assert server.process.wait() == 0
    server.leave_all()
    server.process.finish()
    assert index_of(tmp_path, active)["recordings"][0]["complete"]
    check_camera(film)
    ended = [one for one in hooks.received() if one.event == "egress_ended" and
             one.egress_info.egress_id == begun["egress_id"]]
    assert [one.egress_info.status for one in ended] == [api.EgressStatus.EGRESS_COMPLETE]


def test_the_index_of_a_room_that_is_deleted_is_made_up_for(sfu, service, folder, room):
    sfu.join(room, "ann").publish()
    begun = service.record_room(room)["answer"]
    wait_until(lambda: len(service.one(begun["egress_id"]).get("file_results", [])) == 2, "both are recorded")
    # Something is where it is written to first.
    obstacle = folder / (begun["manifest_location"] + ".part")
    wait_until(lambda: len(index_of(folder, begun)["recordings"]) == 2, "the index has both")
    obstacle.mkdir()
    service.room("delete_room", "DeleteRoomRequest", room=room)
    assert service.wait_for(begun["egress_id"], *OVER)["status"] == "EGRESS_COMPLETE"
    assert [one["complete"] for one in index_of(folder, begun)["recordings"]] == [False, False]
    obstacle.rmdir()
    wait_until(lambda: all(one["complete"] for one in index_of(folder, begun)["recordings"]), "the index is made up for")


def test_the_recorder_needs_no_way_through_the_nat(namespace, tmp_path):
    # From the server's own machine its public address often leads nowhere.
    server = Server(
        namespace, "--livekit-recordings", tmp_path, "--media-public-address", "203.0.113.7", "--no-media-tcp")
    service = Service(server)
    try:
        service.room("create_room", "CreateRoomRequest", name="room")
        begun = service.record_room("room")["answer"]
        service.wait_for(begun["egress_id"], "EGRESS_ACTIVE")
        service.stop(begun["egress_id"])
        assert service.wait_for(begun["egress_id"], *OVER)["status"] == "EGRESS_COMPLETE"
    finally:
        assert server.close() == 0


def ask(server, method, body, **grants):
    """By a token with these grants alone, which LiveKit's package would add to by itself."""
    made = api.AccessToken(KEY, SECRET).with_grants(api.VideoGrants(**grants))
    made = made.with_ttl(datetime.timedelta(minutes=1)).to_jwt()
    path, body = f"/twirp/livekit.Egress/{method}", json.dumps(body)
    return json.loads(whip_client.ask(server, "POST", path, body, made, Content_Type="application/json").body)


def test_what_is_refused_says_what_is_possible(sfu, service, room):
    for method in ("StartTrackEgress", "StartEgress", "ListEgress", "StopEgress", "StartWebEgress"):
        refused = ask(sfu, method, {}, room_admin=True, room=room, room_create=True)
        assert refused["code"] == "unauthenticated", method
    assert "items" in ask(sfu, "ListEgress", {}, room_record=True)
    assert ask(sfu, "StartNothing", {}, room_record=True)["code"] == "bad_route"

    assert service.record(room, "TR_x")["code"] == "not_found"
    ann = sfu.join(room, "ann")
    ann.do("publish_audio")
    track = ann.wait_for("own_track", name="microphone")["sid"]
    unknown = service.record(room, "TR_x")
    assert (unknown["code"], unknown["message"]) == ("not_found", "track is not found")
    assert service.stop("EG_x")["code"] == "not_found"

    composites = [
        ("start_room_composite_egress", "RoomCompositeEgressRequest", {"room_name": room}),
        ("start_web_egress", "WebEgressRequest", {"url": "http://localhost/"}),
        ("start_participant_egress", "ParticipantEgressRequest", {"room_name": room, "identity": "ann"}),
        ("start_track_composite_egress", "TrackCompositeEgressRequest", {"room_name": room}),
        ("start_egress", "StartEgressRequest", {"room_name": room, "template": {}, "preset": "H264_720P_30"}),
        ("start_egress", "StartEgressRequest", {"room_name": room, "web": {}, "preset": "PASSTHROUGH"}),
    ]
    for method, message, fields in composites:
        refused = service.egress(method, message, **fields)
        assert refused["code"] == "unimplemented" and "StartTrackEgress" in refused["message"], method
    to_a_cloud = {"filepath": "x", "s3": {"bucket": "b"}}
    assert "folder" in service.egress(
        "start_track_egress", "TrackEgressRequest", room_name=room, track_id=track, file=to_a_cloud)["message"]
    assert "file" in service.egress(
        "start_track_egress", "TrackEgressRequest", room_name=room, track_id=track, websocket_url="ws://x")["message"]
    streamed = service.egress(
        "start_egress", "StartEgressRequest", room_name=room, template={}, preset="PASSTHROUGH",
        outputs=[{"stream": {"urls": ["rtmp://x"]}}])
    assert streamed["code"] == "invalid_argument"
    assert service.room(
        "create_room", "CreateRoomRequest", name=f"{room} b", egress={"room": {"layout": "grid"}}
    )["code"] == "unimplemented"
    assert service.list(room_name=room) == []


def test_a_server_without_a_folder_records_nothing(namespace):
    server = Server(namespace)
    service = Service(server)
    try:
        for refused in (
            service.record("room", "TR_x"), service.record_room("room"), service.stop("EG_x"),
            service.egress("list_egress", "ListEgressRequest"),
            service.egress("start_room_composite_egress", "RoomCompositeEgressRequest", room_name="room"),
            service.room("create_room", "CreateRoomRequest", name="room", egress={"tracks": {}}),
        ):
            assert refused["code"] == "failed_precondition" and "--livekit-recordings" in refused["message"]
        assert not service.room("list_rooms", "ListRoomsRequest")["answer"].get("rooms")
    finally:
        assert server.close() == 0


def test_json_is_what_protobuf_makes_of_it(sfu, service, room):
    ann = sfu.join(room, "ann")
    ann.do("publish_audio")
    track = ann.wait_for("own_track", name="microphone")["sid"]
    for begun in (service.record(room, track, "json/"), service.record_room(room, "json/")):
        egress = begun["answer"]["egress_id"]
        wait_until(lambda: service.one(egress).get("file_results"), "there is a file")
        service.stop(egress)
        service.wait_for(egress, "EGRESS_COMPLETE")
    ours = ask(sfu, "ListEgress", {"room_name": room}, room_record=True)
    message = egress_messages.ListEgressResponse()
    # A reader in Python of what it writes itself: what is empty is there, and nothing that nobody knows.
    ParseDict(without_nothing(ours), message)
    assert without_nothing(ours) == MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    assert len(ours["items"]) == 2 and all(one["file_results"][0]["size"] != "0" for one in ours["items"])


def test_a_token_may_ask_for_it(sfu, service, folder, room):
    """Of the room that its bearer brings into being."""
    made = api.AccessToken(KEY, SECRET).with_identity("ann")
    made = made.with_grants(api.VideoGrants(room_join=True, room=room)).with_room_config(
        api.RoomConfiguration(egress=api.RoomEgress(tracks=api.AutoTrackEgress(filepath="token/{track_source}"))))
    command = sfu.namespace.command(
        find_roost(), "join", "--url", sfu.url, "--token", made.to_jwt(), "--json", "--publish",
        MEDIA / "webRtcTestVideo.ivf")
    ann = JSONProcess("ann", command)
    try:
        wait_until(lambda: service.list(room_name=room), "it is recorded")
        begun = service.list(room_name=room)[0]["egress_id"]
        active = service.wait_for(begun, "EGRESS_ACTIVE")
        film = folder / active["file_results"][0]["filename"]
        wait_for_size(film, 40_000, "enough is recorded")
    finally:
        ann.finish()
    assert service.wait_for(begun, *OVER)["status"] == "EGRESS_COMPLETE"
    check_camera(film, least=15)
