"""getStats of both ends of one connection: ours and a browser's tell the same."""

import re

import pytest

from peers.examples import Example
from support.evidence import MEDIA
from support.waiting import wait_until
from test_codecs import INBOUND, OUTBOUND, PICTURE, RECEIVE, connect

ALL = "return [...(await globalThis.connection.getStats()).values()].map((entry) => ({ ...entry }));"

# The rows of the page's statistics after a second.
OVERLAY = """
const { Statistics } = await import('/js/statistics.js');
const statistics = new Statistics();
statistics.rows(await globalThis.connection.getStats());
await new Promise((done) => setTimeout(done, 1000));
return Object.fromEntries(statistics.rows(await globalThis.connection.getStats()));
"""


class Report:
    def __init__(self, entries):
        self.entries = {entry["id"]: entry for entry in entries}

    def all(self, kind):
        return [entry for entry in self.entries.values() if entry["type"] == kind]

    def one(self, kind):
        found = self.all(kind)
        assert len(found) == 1, found
        return found[0]

    @property
    def pair(self):
        return self.entries[self.one("transport")["selectedCandidatePairId"]]


def printed(program):
    assert program.end() == 0
    return Report(program.wait_for("statistics")["stats"].values())


def check_transport(ours, theirs):
    """What both ends have to agree on."""
    mine, other = ours.one("transport"), theirs.one("transport")
    for name in ("tlsVersion", "dtlsCipher", "srtpCipher", "dtlsState"):
        assert mine[name] == other[name], name
    assert {mine["iceRole"], other["iceRole"]} == {"controlling", "controlled"}
    assert {mine["dtlsRole"], other["dtlsRole"]} == {"client", "server"}
    for one, two in ((ours, theirs), (theirs, ours)):
        here = one.entries[one.pair["localCandidateId"]]
        there = two.entries[two.pair["remoteCandidateId"]]
        for name in ("port", "protocol", "usernameFragment"):
            assert here[name] == there[name], name
        assert one.one("transport")["iceLocalUsernameFragment"] == here["usernameFragment"]


def check_certificates(ours, theirs):
    for one, two in ((ours, theirs), (theirs, ours)):
        local = one.entries[one.one("transport")["localCertificateId"]]
        remote = two.entries[two.one("transport")["remoteCertificateId"]]
        for name in ("fingerprint", "fingerprintAlgorithm", "base64Certificate"):
            assert local[name] == remote[name], name


def collected_from_now(run):
    """Chromium answers with its last report for 50 ms: the first that is another than the answer of now."""
    last, found = Report(run(ALL)).one("outbound-rtp")["timestamp"], []

    def is_new():
        found[:] = [Report(run(ALL))]
        return found[0].one("outbound-rtp")["timestamp"] > last

    wait_until(is_new, "another report is collected")
    return found[0]


@pytest.fixture
def save(namespace, tmp_path):
    process = Example(namespace, "save-to-disk", tmp_path)
    yield process
    process.finish()


def test_what_chromium_sends(run, save):
    connect(run, save, PICTURE, ["VP8"])
    wait_until(lambda: run(OUTBOUND)["frames"] >= 60, "60 pictures are sent")
    wait_until(lambda: Report(run(ALL)).all("remote-inbound-rtp"), "a report comes back")
    theirs = Report(run(ALL))
    ours = printed(save)
    check_transport(ours, theirs)
    check_certificates(ours, theirs)
    received, sent = ours.one("inbound-rtp"), theirs.one("outbound-rtp")
    later = collected_from_now(run).one("outbound-rtp")
    assert (received["ssrc"], received["mid"]) == (sent["ssrc"], sent["mid"])
    assert received["rtxSsrc"] == sent["rtxSsrc"]
    assert received["trackIdentifier"] == theirs.one("media-source")["trackIdentifier"]
    assert 0.8 * sent["framesSent"] <= received["framesReceived"] <= later["framesSent"]
    assert 0 < received["keyFramesReceived"] <= later["keyFramesEncoded"]
    assert received["pliCount"] >= sent["pliCount"] and received["nackCount"] >= sent["nackCount"]
    # Both count what RTX repeats with the stream that it belongs to, probes for bandwidth among it.
    assert received["packetsReceived"] <= later["packetsSent"]
    codec, named = ours.entries[received["codecId"]], theirs.entries[sent["codecId"]]
    for name in ("mimeType", "payloadType", "clockRate"):
        assert codec[name] == named[name], name
    # Its sender reports count as its statistics do.
    told = ours.entries[received["remoteId"]]
    assert 0 < told["packetsSent"] <= later["packetsSent"]
    assert 0 < told["bytesSent"]
    assert received["packetsLost"] == 0
    # What Chromium has heard from us about the stream.
    heard = theirs.entries[sent["remoteId"]]
    assert heard["packetsLost"] == 0
    assert heard["jitter"] == pytest.approx(received["jitter"], abs=0.05)
    assert ours.pair["packetsReceived"] >= received["packetsReceived"]


def test_what_firefox_sends(run_in, save):
    """It tells nothing of certificates; what it tells is enough for the page's overlay."""
    run = run_in("firefox")
    connect(run, save, PICTURE, ["VP8"])
    wait_until(lambda: run(OUTBOUND)["frames"] >= 60, "60 pictures are sent")
    wait_until(lambda: Report(run(ALL)).all("remote-inbound-rtp"), "a report comes back")
    rows = run(OVERLAY)
    theirs = Report(run(ALL))
    ours = printed(save)
    check_transport(ours, theirs)
    received, sent = ours.one("inbound-rtp"), theirs.one("outbound-rtp")
    later = collected_from_now(run).one("outbound-rtp")
    assert (received["ssrc"], received["mid"]) == (sent["ssrc"], sent["mid"])
    assert 0.8 * sent["framesSent"] <= received["framesReceived"] <= later["framesSent"]
    # Firefox does not count RTX with the stream, which its probes for bandwidth come by.
    own = received["packetsReceived"] - received["retransmittedPacketsReceived"]
    assert 0 < own <= later["packetsSent"]
    assert received["packetsLost"] == theirs.entries[sent["remoteId"]]["packetsLost"] == 0
    assert re.fullmatch(r"[1-9]\d* kbit/s", rows["Sent"]) and re.fullmatch(r"\d+ ms", rows["Round trip"])
    assert (rows["Cipher"], rows["Path"]) == ("AES-GCM 128", "host → host, udp")


def test_what_we_send(run, namespace):
    player = Example(namespace, "play-from-disk", MEDIA / "webRtcTestVideo.ivf", MEDIA / "webRtcTestVideo.ogg")
    try:
        player.tell(run(RECEIVE, player.description("offer")))
        # Chromium keeps what it knew of certificates when it was asked first, which had better not be too early.
        wait_until(lambda: run("return globalThis.connection.connectionState;") == "connected", "the connection")
        wait_until(lambda: run(INBOUND)["frames"] + run(INBOUND)["samples"] > 60, "something is decoded")
        wait_until(lambda: len(Report(run(ALL)).all("remote-outbound-rtp")) == 2, "both streams' reports arrive")
        theirs = Report(run(ALL))
        ours = printed(player)
        check_transport(ours, theirs)
        check_certificates(ours, theirs)
        for received in theirs.all("inbound-rtp"):
            sent = next(entry for entry in ours.all("outbound-rtp") if entry["ssrc"] == received["ssrc"])
            source = ours.entries[sent["mediaSourceId"]]
            assert (sent["mid"], sent["kind"]) == (received["mid"], received["kind"])
            assert source["trackIdentifier"] == received["trackIdentifier"]
            # With RTX and padding, which Chromium takes for retransmissions as well. Its report may be older than ours.
            assert 0 < received["packetsReceived"] <= sent["packetsSent"]
            assert sent["active"] is True and sent["targetBitrate"] > 0
            # Chromium repeats what our sender reports said, which is an earlier moment of what we know.
            told = theirs.entries[received["remoteId"]]
            assert 0 < told["packetsSent"] <= sent["packetsSent"] and told["bytesSent"] <= sent["bytesSent"]
            if received["kind"] == "video":
                assert received["framesReceived"] <= sent["framesSent"]
                assert received["keyFramesDecoded"] <= sent["keyFramesSent"]
                assert received["pliCount"] <= sent["pliCount"] and received["nackCount"] <= sent["nackCount"]
        for heard in ours.all("remote-inbound-rtp"):
            assert heard["fractionLost"] == 0 and heard["packetsLost"] == 0
            assert 0 < heard.get("roundTripTime", 0.001) < 1
        assert {entry["mimeType"] for entry in ours.all("codec")} == {"video/VP8", "audio/opus"}
    finally:
        player.finish()
