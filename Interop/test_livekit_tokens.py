"""Access tokens and webhooks: those of `roost token` for LiveKit's own Python package, and its for ours."""

import datetime
import json
import os
import subprocess

import jwt
import pytest
from livekit import api
from livekit.api import access_token
from livekit.protocol.agent_dispatch import RoomAgentDispatch
from livekit.protocol.room import RoomConfiguration

from peers.roost_peer import find_roost
from support.evidence import REPOSITORY
from support.waiting import PATIENCE

KEY, SECRET = "APIroost", "a-secret-of-forty-two-bytes-for-the-tests!"
EVENT = REPOSITORY / "Tests/Vectors/livekit/webhook-event.json"


def roost(*arguments, key=KEY, secret=SECRET, text=None):
    """`roost token …`, with the API key in the environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIVEKIT_")}
    environment |= {"LIVEKIT_API_KEY": key, "LIVEKIT_API_SECRET": secret}
    environment = {name: value for name, value in environment.items() if value is not None}
    return subprocess.run(
        [find_roost(), "token", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
        env=environment, cwd=REPOSITORY, **({"input": text} if text else {"stdin": subprocess.DEVNULL}),
    )


def created(*arguments, **options):
    """The token that was printed: alone, on one line."""
    done = roost("create", *arguments, **options)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.count("\n") == 1 and done.stdout.endswith("\n")
    return done.stdout.strip()


def inspected(token, **options):
    done = roost("inspect", token, **options)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads(done.stdout)


def refused(*arguments, says, **options):
    """One sentence on standard error, nothing on standard output, and a status that is not zero."""
    done = roost(*arguments, **options)
    assert done.returncode == 1 and not done.stdout, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith("roost: ") and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.rstrip()[-1] in ".?!" and says in done.stderr, done.stderr
    assert SECRET not in done.stderr


def verifier(key=KEY, secret=SECRET):
    return api.TokenVerifier(key, secret)


def token(identity="ann"):
    return api.AccessToken(KEY, SECRET).with_identity(identity)


JOIN = api.VideoGrants(room_join=True, room="standup")


# Ours, for LiveKit's package


def test_a_token_for_a_room_leaves_permissions_to_their_defaults():
    text = created("--identity", "ann", "--room", "standup")
    claims = verifier().verify(text)
    assert claims.identity == "ann"
    assert claims.video == api.VideoGrants(room_join=True, room="standup")
    payload = jwt.decode(text, SECRET, algorithms=["HS256"])
    assert payload["exp"] - payload["nbf"] == 6 * 3600 and payload["iat"] == payload["nbf"]
    assert set(payload["video"]) == {"room", "roomJoin"}
    assert jwt.get_unverified_header(text) == {"alg": "HS256", "typ": "JWT"}


def test_every_option_is_a_claim_that_livekit_understands():
    text = created(
        "--identity", "ann", "--name", "Ann ї", "--kind", "agent", "--valid-for", "90s", "--metadata", '{"seat": 4}',
        "--attribute", "seat=4", "--attribute", "note=a=b", "--attribute", "empty=", "--room", "standup",
        "--room-admin", "--room-create", "--room-list", "--room-record", "--ingress-admin",
        "--destination-room", "other", "--no-can-publish", "--can-publish-source", "camera",
        "--can-publish-source", "SCREEN_SHARE", "--no-can-subscribe", "--can-publish-data", "--can-update-own-metadata",
        "--can-subscribe-metrics", "--hidden", "--recorder", "--agent",
        "--room-config", '{"name": "standup", "emptyTimeout": 30, "tags": {"k": "v"}}',
        "--dispatch-agent", "clerk", "--dispatch-agent", "robot",
    )
    claims = verifier().verify(text)
    assert (claims.name, claims.kind, claims.metadata) == ("Ann ї", "agent", '{"seat": 4}')
    assert claims.attributes == {"seat": "4", "note": "a=b", "empty": ""}
    assert claims.video == api.VideoGrants(
        room_join=True, room="standup", room_admin=True, room_create=True, room_list=True, room_record=True,
        ingress_admin=True, destination_room="other", can_publish=False,
        can_publish_sources=["camera", "screen_share"], can_subscribe=False, can_publish_data=True,
        can_update_own_metadata=True, can_subscribe_metrics=True, hidden=True, recorder=True, agent=True,
    )
    agents = [RoomAgentDispatch(agent_name=name) for name in ("clerk", "robot")]
    assert claims.room_config == RoomConfiguration(name="standup", empty_timeout=30, tags={"k": "v"}, agents=agents)
    payload = jwt.decode(text, SECRET, algorithms=["HS256"])
    assert payload["exp"] - payload["nbf"] == 90


def test_a_token_for_the_room_service_needs_no_identity():
    claims = verifier().verify(created("--room-create", "--room-list"))
    assert claims.identity == "" and claims.video.room_create and claims.video.room_list and not claims.video.room_join


def test_the_key_comes_from_options_before_the_environment():
    other = "another-secret-of-more-than-32-bytes"
    text = created("--identity", "ann", "--room", "r", "--api-key", "other", "--api-secret", other)
    assert verifier("other", other).verify(text).identity == "ann"
    with pytest.raises(jwt.InvalidSignatureError):
        verifier().verify(text)


def test_a_short_secret_is_taken_when_that_is_asked_for():
    text = created("--identity", "ann", "--room", "r", "--allow-short-secret", key="devkey", secret="secret")
    assert verifier("devkey", "secret").verify(text).identity == "ann"
    text = created("--identity", "bob", "--room", "r", "--livekit-dev", key=None, secret=None)
    assert verifier("devkey", "secret").verify(text).identity == "bob"


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--room", "r"], "needs --identity"),
        (["--identity", "ann"], "would allow nothing"),
        (["--identity", "ann", "--room-join"], "--room is missing"),
        (["--identity", "ann", "--room-admin"], "--room is missing"),
        (["--identity", "ann", "--room", ""], "--room needs a name"),
        (["--identity", "ann", "--room", "r", "--kind", "robot"], '"robot" is no kind'),
        (["--identity", "ann", "--room", "r", "--can-publish-source", "unknown"], '"unknown" is no source'),
        (["--identity", "ann", "--room", "r", "--attribute", "seat"], 'not "seat"'),
        (["--identity", "ann", "--room", "r", "--attribute", "=4"], 'not "=4"'),
        (["--identity", "ann", "--room", "r", "--attribute", "a=1", "--attribute", "a=2"], "two attributes"),
        (["--identity", "ann", "--room", "r", "--room-config", '{"nme": 1}'], "--room-config takes a JSON object"),
        (["--room-list", "--dispatch-agent", "clerk"], "--dispatch-agent is for tokens that let somebody join a --room"),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(arguments, says):
    refused("create", *arguments, says=says)


def test_keys_that_cannot_be_used():
    wanted = ["create", "--identity", "ann", "--room", "r"]
    refused(*wanted, key=None, says="give --api-key, or set LIVEKIT_API_KEY")
    refused(*wanted, secret=None, says="give --api-secret, or set LIVEKIT_API_SECRET")
    refused(*wanted, secret="", says="give --api-secret, or set LIVEKIT_API_SECRET")
    refused(*wanted, secret="s" * 31, says="has 31 bytes and needs at least 32, so that nobody can guess it. --allow-short-secret takes it")
    refused(*wanted, "--api-secret", "", says="has no secret")
    refused(*wanted, "--api-key", "", says="needs a name")


def test_help_tells_what_there_is():
    for command, words in {
        "create": ["--identity", "--room", "--valid-for", "--can-publish", "LIVEKIT_API_SECRET"],
        "inspect": ["--api-key", "standard input"],
        "webhook": ["curl", "--data-binary"],
    }.items():
        done = roost(command, "--help")
        assert done.returncode == 0 and all(word in done.stdout for word in words), done.stdout
    assert roost("create", "--valid-for", "0s", "--room", "r").returncode == 64


# LiveKit's, for us


def test_a_token_of_livekit_s_package_is_read():
    text = (
        token().with_name("Ann ї").with_kind("agent").with_metadata("m").with_attributes({"a": "1"})
        .with_grants(api.VideoGrants(room_join=True, room="standup", can_publish_sources=["microphone"]))
        .with_sip_grants(api.SIPGrants(call=True))
        .with_room_config(RoomConfiguration(name="standup", max_participants=5)).to_jwt()
    )
    report = inspected(text)
    assert report["identity"] == "ann"
    claims = report["claims"]
    assert (claims["name"], claims["kind"], claims["metadata"]) == ("Ann ї", "agent", "m")
    assert claims["attributes"] == {"a": "1"} and claims["sip"] == {"call": True}
    assert claims["roomConfig"] == {"name": "standup", "maxParticipants": 5}
    assert claims["video"] == {
        "room": "standup", "roomJoin": True, "canPublish": True, "canSubscribe": True, "canPublishData": True,
        "canPublishSources": ["microphone"],
    }
    assert report["may"] == {"publish": True, "subscribe": True, "publishData": True, "updateOwnMetadata": False}


def test_every_grant_of_livekit_s_package_is_known():
    """A grant that a newer package has and we have not shows up here."""
    grants = {
        "video": (access_token.VideoGrants, "with_grants"), "sip": (access_token.SIPGrants, "with_sip_grants"),
        "agent": (access_token.AgentGrants, "with_agent_grants"),
        "inference": (access_token.InferenceGrants, "with_inference_grants"),
        "observability": (access_token.ObservabilityGrants, "with_observability_grants"),
    }
    for claim, (kind, method) in grants.items():
        filled = kind()
        for name, field in kind.__dataclass_fields__.items():
            is_text, is_list = "str" in str(field.type), "List" in str(field.type)
            setattr(filled, name, ["camera"] if is_list else name if is_text else True)
        text = getattr(token(), method)(filled).to_jwt()
        wanted = {access_token.snake_to_lower_camel(name): value for name, value in vars(filled).items()}
        assert inspected(text)["claims"][claim] == wanted


def test_a_token_comes_from_standard_input_too():
    assert json.loads(roost("inspect", "-", text=token("bob").with_grants(JOIN).to_jwt()).stdout)["identity"] == "bob"


def test_tokens_that_are_not_good_are_refused():
    good = token().with_grants(JOIN)
    head, payload, signature = good.to_jwt().split(".")
    refused("inspect", f"{head}.{payload}.{signature[:-4]}AAAA", says="signature is wrong")
    refused("inspect", good.to_jwt(), secret="x" * 32, says="signature is wrong")
    refused("inspect", good.to_jwt(), key="other", says="API key that is not known")
    refused("inspect", good.with_ttl(datetime.timedelta(seconds=-61)).to_jwt(), says="expired at")
    assert roost("inspect", good.with_ttl(datetime.timedelta(seconds=-30)).to_jwt()).returncode == 0
    claims = {"iss": KEY, "sub": "ann", "exp": 4_000_000_000}
    refused("inspect", jwt.encode(claims, "", algorithm="none"), says="not signed with HS256")
    refused("inspect", jwt.encode(claims, SECRET, algorithm="HS512"), says="not signed with HS256")
    refused("inspect", jwt.encode(claims | {"exp": None}, SECRET), says="no time at which it expires")
    refused("inspect", jwt.encode(claims | {"nbf": 3_999_999_999}, SECRET), says="not good before")
    refused("inspect", "nonsense", says="not a JSON Web Token")


# Webhooks


def receive(body, authorization, key=KEY, secret=SECRET):
    return api.WebhookReceiver(verifier(key, secret)).receive(body, authorization)


def test_livekit_s_receiver_takes_our_webhook():
    signed = roost("webhook", EVENT)
    assert signed.returncode == 0 and signed.stdout.count("\n") == 1
    event = receive(EVENT.read_text(), signed.stdout.strip())
    assert (event.event, event.id, event.created_at) == ("participant_joined", "EV_1", 1_767_323_045)
    assert (event.room.sid, event.room.name, event.room.creation_time) == ("RM_1", "standup ї", 1_767_323_000)
    assert (event.participant.identity, event.participant.state) == ("ann", 2)
    assert dict(event.participant.attributes) == {"seat": "4"}


def test_livekit_s_receiver_refuses_another_body_and_another_key(tmp_path):
    authorization = roost("webhook", EVENT).stdout.strip()
    with pytest.raises(Exception, match="hash mismatch"):
        receive(EVENT.read_text() + " ", authorization)
    with pytest.raises(jwt.InvalidSignatureError):
        receive(EVENT.read_text(), authorization, secret="x" * 32)
    with pytest.raises(Exception, match="sha256 was not found"):
        receive(EVENT.read_text(), created("--room-list"))
    refused("webhook", tmp_path / "nothing.json", says="cannot be read")
