"""`roost` and its options: help, and what is wrong with a command line."""

import re

import pytest

from support.command import run
from support.evidence import REPOSITORY


def help_of(*subcommand):
    """The same by both ways to ask for it."""
    long, by_help = run(*subcommand, "--help"), run("help", *subcommand)
    assert long.returncode == by_help.returncode == 0
    assert long.stdout == by_help.stdout and long.stderr == ""
    assert "OVERVIEW: " in long.stdout and "USAGE: roost" in long.stdout
    return long.stdout


def test_help_of_every_subcommand():
    listed = re.findall(r"^  (\w+) {2,}[A-Z]", help_of().split("SUBCOMMANDS:")[1], re.M)
    # As many as have a folder in the sources.
    folders = {folder.name.lower() for folder in (REPOSITORY / "Sources" / "roost").iterdir() if folder.is_dir()}
    # The server asks itself to draw small pictures.
    folders.remove("thumbnail")
    assert len(listed) == len(set(listed)) and set(listed) == folders
    for subcommand in listed:
        # Each option is explained.
        blocks = re.split(r"\n  (?=-)", help_of(subcommand).split("OPTIONS:")[1])
        assert len(blocks) > 1
        for block in blocks[1:]:
            explained = re.sub(r"^(-\S+|--\S+|/|<\S+>|,|\s)+", "", block)
            assert re.match(r"[A-Z]", explained), (subcommand, block)


def test_version_is_a_number():
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", run("--version").stdout)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["call"], "--room"),
        (["call", "--room", "1", "--caller"], "--as"),
        (["call", "--room", "1", "--as", "A"], "--caller"),
        (["call", "--room", "1", "--as", "A", "--caller", "--callee"], "--callee"),
        (["call", "--room", "one", "--as", "A", "--caller"], "'one'"),
        (["call", "--room", "1.5", "--as", "A", "--caller"], "'1.5'"),
        (["call", "--room", "99999999999999999999", "--as", "A", "--caller"], "'9999"),
        (["call", "--room", "9007199254740992", "--as", "A", "--caller"], "--room takes"),
        (["call", "--room", "-9007199254740992", "--as", "A", "--caller"], "--room takes"),
        (["call", "--room", "1", "--as", "A", "--caller", "--ice-user", "a"], "are about --ice-server"),
        (
            ["call", "--room", "1", "--as", "A", "--caller", "--stun", "stun:a", "--ice-credential", "b"],
            "are about --ice-server",
        ),
        (["call", "--room", "1", "--as", "A", "--caller", "--duration", "0"], "--duration takes"),
        (["call", "--room", "1", "--as", "A", "--caller", "--duration", "soon"], "'soon'"),
        (["call", "--room", "1", "--as", "A", "--caller", "--duration", "-5s"], "--duration"),
        (["call", "--room", "1", "--as", "A", "--caller", "--wait", "0ms"], "--wait takes"),
        (["call", "--room", "1", "--as", "A", "--caller", "--codec", "av1"], "'av1'"),
        (["call", "--room", "1", "--as", "A", "--caller", "--srtp", "none"], "'none'"),
        (["serve", "--port", "65536"], "--port takes"),
        (["serve", "--signaling-port=-1"], "--signaling-port takes"),
        (["serve", "--tls-key", "key.pem"], "belong together"),
        (["serve", "--echo-room", "9007199254740992"], "--echo-room takes"),
        (["serve", "--allow-origin", "chat.example"], "--allow-origin takes"),
        (["serve", "--data", "chat", "--database", "chat.db"], "--database takes the URL of a PostgreSQL database"),
        (["serve", "--data", "chat", "--database", "mysql://db"], "--database takes the URL of a PostgreSQL database"),
        (["token", "create", "--livekit-dev", "--api-key", "a"], "--livekit-dev is a key"),
        (["serve", "--log-level", "loud"], "'loud'"),
        (["dance"], "dance"),
    ],
)
def test_a_wrong_command_line_is_status_64_and_says_what_is_wrong(arguments, says):
    done = run(*arguments)
    assert done.returncode == 64, done.stderr
    first = done.stderr.splitlines()[0]
    assert first.startswith("Error: ") and says in first, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["call", "--room", "1", "--as", "A", "--caller", "--duration"],
        ["call", "--room", "1", "--as", "A", "--caller", "--restart-ice"],
        ["call", "--room", "1", "--as", "A", "--caller", "--wait"],
        ["demo", "--duration"],
        ["join", "--duration"],
        ["join", "--wait"],
        ["serve", "--drain-timeout"],
        ["serve", "--data", "nowhere", "--ring-time"],
        ["serve", "--shutdown-delay"],
        ["serve", "--turn-relay-ports"],
        ["token", "create", "--valid-for"],
    ],
)
def test_whoever_gives_no_time_is_told_how_one_is_written(arguments):
    done = run(*arguments, "soon")
    assert done.returncode == 64, done.stderr
    first, *rest = done.stderr.splitlines()
    assert f"'soon' is invalid for '{arguments[-1]} <" in first, done.stderr
    assert re.search(r", as \d+(s|m|-\d+)", " ".join(" ".join(rest).split())), done.stderr
