"""libdatachannel as a peer of calls: starts libdatachannel_caller.py and reads what it says."""

import os
from pathlib import Path

import pytest

from peers.aiortc_process import AiortcPeer
from support.evidence import REPOSITORY


def find_libdatachannel_python():
    """$LIBDATACHANNEL_PYTHON, or what Scripts/libdatachannel-environment.sh made; None without one."""
    if named := os.environ.get("LIBDATACHANNEL_PYTHON"):
        return named
    made = REPOSITORY / ".venv" / "libdatachannel" / "bin" / "python"
    return str(made) if made.exists() else None


def need_libdatachannel():
    """Skips where its binding cannot be had."""
    if find_libdatachannel_python() is None:
        pytest.skip(
            "libdatachannel's binding needs Python 3.12 or newer, which Scripts/libdatachannel-environment.sh has not found"
        )


class LibdatachannelPeer(AiortcPeer):
    """libdatachannel in a process of its own, which says the same as aiortc's."""

    program = "libdatachannel_caller.py"
