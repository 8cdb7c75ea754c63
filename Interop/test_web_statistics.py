"""What the page's statistics make of getStats, whichever browser wrote it."""

RATES = """
const { Statistics } = await import('/js/statistics.js');
const statistics = new Statistics();
const rows = argument.map((entries) => statistics.rows(new Map(entries.map((entry) => [entry.id, entry]))));
return rows.map((all) => Object.fromEntries(all));
"""


def chromium(at, received, lost, transport_bytes, pair, pair_bytes):
    return [
        {"id": "T", "type": "transport", "timestamp": at, "bytesReceived": transport_bytes,
         "bytesSent": 2 * transport_bytes, "selectedCandidatePairId": pair, "srtpCipher": "AES_CM_128_HMAC_SHA1_80"},
        {"id": pair, "type": "candidate-pair", "bytesReceived": pair_bytes, "bytesSent": pair_bytes,
         "currentRoundTripTime": 0.0424},
        {"id": "V", "type": "inbound-rtp", "kind": "video", "packetsReceived": received, "packetsLost": lost,
         "jitter": 0.0061, "frameWidth": 640, "frameHeight": 360, "framesPerSecond": 29.6, "framesDecoded": 90},
    ]


def test_rates_loss_and_round_trip_are_those_of_the_last_second(run):
    first, second = run(RATES, [chromium(1000, 100, 10, 50_000, "P", 9), chromium(3000, 195, 15, 100_000, "P", 9)])
    assert (first["Received"], first["Loss"]) == ("–", "–")
    wanted = {"Received": "200 kbit/s", "Sent": "400 kbit/s", "Loss": "5.0 %", "Round trip": "42 ms", "Jitter": "6 ms"}
    assert {name: second[name] for name in wanted} == wanted
    assert second["Picture"] == "640×360, 30 fps" and second["Cipher"] == "AES-CM 128"


def test_a_change_of_the_path_is_no_negative_rate(run):
    reports = [chromium(1000, 1, 0, 500_000, "P", 400_000), chromium(2000, 1, 0, 512_500, "Q", 1000)]
    assert run(RATES, reports)[1]["Received"] == "100 kbit/s"
    for report in reports:
        del report[0]["bytesReceived"]
    assert run(RATES, reports)[1]["Received"] == "0 kbit/s"


def test_a_browser_that_tells_nothing_of_its_transport(run):
    def firefox(at, received):
        return [
            {"id": "A", "type": "candidate-pair", "timestamp": at, "state": "failed", "selected": False},
            {"id": "B", "type": "candidate-pair", "timestamp": at, "state": "succeeded", "nominated": True,
             "selected": True, "bytesReceived": received, "bytesSent": received, "localCandidateId": "L"},
            {"id": "L", "type": "local-candidate", "candidateType": "host", "protocol": "udp"},
        ]

    rows = run(RATES, [firefox(0, 0), firefox(1000, 12_500)])[1]
    assert rows["Received"] == "100 kbit/s" and rows["Path"].startswith("host")
