"""Calls of `roost call` with itself, Chromium, Firefox, aiortc and libdatachannel over our own server, in both roles."""

import subprocess

import pytest

from peers.aiortc_process import AiortcPeer
from peers.chromium import ChromiumPeer
from peers.firefox import FirefoxPeer
from peers.libdatachannel_process import LibdatachannelPeer, need_libdatachannel
from peers.page_peer import PagePeer
from peers.room_listener import RoomListener
from peers.roost_peer import RoostPeer, start_server
from peers.wire_listener import WireListener
from support.call import hold_call, new_room
from support.evidence import MEDIA
from support.waiting import wait_until


@pytest.fixture
def peers(browser_called, namespace, roost_server, tmp_path):
    """Makes the makers of a call's two peers."""
    room = new_room()

    def peer(kind, role, codec=None, name=None, **options):
        name = name or {"caller": "Ann", "callee": "Bob"}[role]
        match kind:
            case "roost":
                return lambda: RoostPeer(namespace, roost_server, room, name, role, tmp_path / role, codec, **options)
            case "chromium":
                browser = browser_called(kind)
                return lambda: ChromiumPeer(browser, roost_server, room, name, role, codec, **options)
            case "firefox":
                firefox = browser_called(kind)
                return lambda: FirefoxPeer(firefox, roost_server, room, name, role, **options)
            case "aiortc":
                return lambda: AiortcPeer(namespace, roost_server, room, name, role, codec or "VP8", **options)
            case "libdatachannel":
                need_libdatachannel()
                return lambda: LibdatachannelPeer(namespace, roost_server, room, name, role, codec or "VP8", **options)

    peer.room = room
    return peer


WITH_BOTH_CODECS = [
    "roost-roost", "roost-chromium", "chromium-roost", "roost-aiortc", "aiortc-roost", "chromium-chromium",
    "roost-libdatachannel", "libdatachannel-roost",
]
# Firefox prefers it. Its H.264 is a download, which a machine without a network does not have. Asked for one codec only,
# it offers feedback for others as well, which Chromium refuses.
WITH_VP8 = ["roost-firefox", "firefox-roost", "firefox-chromium", "chromium-firefox"]


OURS = {"roost"}


@pytest.mark.combinations
@pytest.mark.parametrize(
    "kinds, codec",
    [
        *((kinds, codec) for codec in ("VP8", "H264") for kinds in WITH_BOTH_CODECS),
        *((kinds, "VP8") for kinds in WITH_VP8),
    ],
)
def test_picture_and_sound_flow_both_ways(kinds, codec, peers):
    caller, callee = kinds.split("-")
    result = hold_call(peers(caller, "caller", codec), peers(callee, "callee", codec))
    # Between two browsers nothing but the signaling is ours, and on a busy machine the one's encoder has stood still for
    # four seconds.
    limits = {} if {caller, callee} & OURS else {"missing": 4.5}
    for evidence in (result.caller, result.callee):
        evidence.check(**limits)
        assert evidence.codec == codec


# The wire's name of each profile, and OpenSSL's.
SRTP_PROFILES = {
    "cm": ("SRTP_AES128_CM_HMAC_SHA1_80", "SRTP_AES128_CM_SHA1_80"),
    "gcm": ("SRTP_AEAD_AES_128_GCM", "SRTP_AEAD_AES_128_GCM"),
    "gcm-256": ("SRTP_AEAD_AES_256_GCM", "SRTP_AEAD_AES_256_GCM"),
}


@pytest.mark.combinations(together=("kind", "srtp"))
@pytest.mark.parametrize("role", ["caller", "callee"])
@pytest.mark.parametrize("kind, srtp", [*(("aiortc", srtp) for srtp in SRTP_PROFILES), ("roost", "cm"), ("roost", "gcm")])
def test_a_peer_with_one_srtp_profile(kind, srtp, role, peers, namespace):
    """`srtp` is all that the other peer has; Roost, without a choice of ours, has to agree to it."""
    other = peers(kind, role, srtp=srtp)
    ours = peers("roost", "callee" if role == "caller" else "caller")
    wire = WireListener(namespace)
    try:
        result = hold_call(other, ours) if role == "caller" else hold_call(ours, other)
        assert wire.profiles() == {SRTP_PROFILES[srtp][0]}
    finally:
        wire.close()
    for evidence in (result.caller, result.callee):
        evidence.check()
    if kind == "aiortc":
        chosen = (result.caller if role == "caller" else result.callee).cipher
        assert chosen == SRTP_PROFILES[srtp][1]


@pytest.mark.parametrize("srtp, cipher", [("cm", "SRTP_AES128_CM_HMAC_SHA1_80"), ("gcm", "SRTP_AEAD_AES_128_GCM")])
def test_chromium_uses_the_srtp_profile_that_roost_insists_on(srtp, cipher, peers):
    result = hold_call(peers("chromium", "caller"), peers("roost", "callee", srtp=srtp))
    for evidence in (result.caller, result.callee):
        evidence.check()
    assert result.caller.cipher == cipher


@pytest.mark.parametrize(
    "kinds", ["chromium-roost", "roost-chromium", "chromium-chromium", "firefox-roost", "roost-firefox"]
)
def test_a_browser_restarts_ice_in_mid_call(kinds, peers):
    def restart(*both):
        pages = [peer for peer in both if isinstance(peer, PagePeer)]
        first = pages[0].statistics()["pair"]
        pages[0].restart_ice()
        pages[0].wait_ice_restarted()
        for page in pages[1:]:
            page.wait_ice_restarted(side="remote")
        assert pages[0].statistics()["pair"] != first

    caller, callee = kinds.split("-")
    result = hold_call(peers(caller, "caller"), peers(callee, "callee"), during=restart)
    for evidence in (result.caller, result.callee):
        evidence.check()


@pytest.mark.parametrize("other", ["chromium", "firefox", "roost"])
def test_roost_restarts_ice_in_mid_call(other, peers, namespace, roost_server):
    """What the two agree on a third person in the room hears, and that they nominate a pair with it, the wire shows."""
    eve, wire = RoomListener(namespace, roost_server, peers.room), WireListener(namespace)

    def restarted(caller, callee):
        eve.wait_ice_restarted()
        for generation in (0, 1):
            wire.wait_nominated(*(eve.credentials(kind)[generation] for kind in ("offer", "answer")))
        if other != "roost":
            callee.wait_ice_restarted()

    try:
        result = hold_call(
            peers("roost", "caller", restart_ice="2s"), peers(other, "callee"), frames=120, during=restarted
        )
    finally:
        eve.close()
        wire.close()
    for kind in ("offer", "answer"):
        assert len(eve.credentials(kind)) == 2
    if other != "roost":
        # Candidates of both sides say to which generation they belong.
        named = {candidate.get("usernameFragment") for candidate in eve.heard("candidate")}
        assert named == set(eve.credentials("offer")) | set(eve.credentials("answer"))
    for evidence in (result.caller, result.callee):
        evidence.check()


PICTURES = """
async () => {
    const report = await globalThis.roost.call.connection.getStats();
    const video = [...report.values()].find(({type, kind}) => type === 'inbound-rtp' && kind === 'video');
    return {decoded: video?.framesDecoded ?? 0, asked: video?.pliCount ?? 0};
}
"""


def test_pictures_go_on_when_roost_offers_more_than_the_browser_did(peers, tmp_path):
    """A browser's offer names fewer header extensions than it agrees to in ours, so that they change in mid-call."""
    # A film of half a minute with one key frame, for the next one would hide what goes wrong before it.
    film = tmp_path / "film.ivf"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-stream_loop", "9", "-i", MEDIA / "webRtcTestVideo.ivf", "-t", "30", "-c:v", "libvpx",
         "-deadline", "realtime", "-cpu-used", "16", "-auto-alt-ref", "0", "-g", "9999", "-b:v", "1M", film],
        check=True)

    def restarted(browser, roost):
        before = browser.page.evaluate(PICTURES)["asked"]
        browser.wait_ice_restarted(side="remote")
        decoded = browser.page.evaluate(PICTURES)["decoded"]
        wait_until(lambda: browser.page.evaluate(PICTURES)["decoded"] > decoded + 60, "pictures go on")
        # Who cannot decode asks for a key frame, after three seconds.
        assert browser.page.evaluate(PICTURES)["asked"] == before

    sends = ["--video", film, "--codec", "vp8"]
    result = hold_call(
        peers("chromium", "caller", "VP8"), peers("roost", "callee", restart_ice="2s", options=sends), during=restarted)
    for evidence in (result.caller, result.callee):
        evidence.check()


def test_the_page_reaches_somebody_whose_name_it_shows_in_another_form(peers):
    """Two spaces, one that does not break, a mark of direction, more code points than letters: a room takes it all."""
    name = "Ann  Lee\u00a0\u200e" + "e\u0301" * 40
    result = hold_call(peers("chromium", "caller"), peers("roost", "callee", name=name))
    for evidence in (result.caller, result.callee):
        evidence.check()


def test_one_person_alone_calls_the_echo_peer(namespace, browser):
    """What a newcomer does after `make run`: the test picture comes, and one's own voice, here a tone, comes back."""
    process, port = start_server(namespace, "127.0.0.1", "--echo", "--address", namespace.address)
    page = ChromiumPeer(browser, f"http://127.0.0.1:{port}", 1, "Ann", "caller", tone=700)
    try:
        page.wait_connected()
        wait_until(lambda: page.received()[0] > 60 and page.received()[1] > 4, "picture and sound")
        page.collect()
        page.evidence.check_picture()
        page.evidence.check_sound([700])
    finally:
        page.close()
        process.finish()
