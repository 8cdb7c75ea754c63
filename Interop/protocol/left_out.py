"""What our .proto files leave out on purpose: Sources/LiveKitProtocol/Protos/left-out.toml."""

import tomllib
from pathlib import Path

PROTOS = Path(__file__).resolve().parents[2] / "Sources/LiveKitProtocol/Protos"


class LeftOut:
    def __init__(self):
        listed = tomllib.loads((PROTOS / "left-out.toml").read_text())
        self.files = set(listed["files"])
        self.types = {name for group in listed["messages"].values() for name in group["names"]}
        self.fields = set(listed["fields"])
