#!/usr/bin/env python3
"""Checks that modules import only what ARCHITECTURE.md allows: arrows go down, never up or in a circle."""
import pathlib
import re
import sys

# Module -> our own modules that it may import. Nothing else of ours is allowed.
ALLOWED = {
    "RTCWire": set(),
    "RTCEngine": {"RTCWire", "CPrefetch"},
    "RTCSecurity": {"RTCEngine", "RTCWire", "COpenSSL", "CPacketCiphers"},
    "MediaFiles": {"RTCEngine", "RTCWire"},
    "RTCNetwork": {"RTCEngine", "RTCSecurity", "RTCWire", "MediaFiles", "CDatagram"},
    "SFUCore": {"RTCEngine", "RTCWire"},
    "TURNServer": {"RTCNetwork", "RTCEngine", "RTCSecurity", "RTCWire"},
    "SocketIO": set(),
    "CallSignaling": {"SocketIO"},
    "RedisClient": {"COpenSSL"},
    "LiveKitProtocol": {"COpenSSL", "CZlib"},
    "LiveKitCore": {"LiveKitProtocol", "SFUCore", "RTCEngine", "RTCWire"},
    "LiveKitServer": {
        "LiveKitCore", "LiveKitProtocol", "LiveKitRecorder", "LiveKitClient", "SFUCore", "RTCNetwork", "RTCEngine",
        "RTCSecurity", "RTCWire", "SocketIO",
    },
    "LiveKitClient": {
        "LiveKitProtocol", "RTCNetwork", "RTCEngine", "RTCWire", "MediaFiles", "SocketIO",
    },
    "LiveKitRecorder": {"LiveKitClient", "MediaFiles", "RTCNetwork", "RTCEngine", "RTCWire"},
    "ChatModel": set(),
    "ChatCore": {"ChatModel"},
    "ChatStoreSQLite": {"ChatCore", "ChatModel", "CFileBirth"},
    "ChatStorePostgres": {"ChatCore", "ChatModel", "CPostgres"},
    "ChatServer": {"ChatCore", "ChatModel", "RedisClient", "LiveKitProtocol", "SocketIO", "COpenSSL", "CPictures"},
    "ClientKit": {"SocketIO"},
    "ClientFeatures": {"ClientKit"},
    "ClientRTC": {"ClientKit", "RTCNetwork", "RTCEngine", "RTCWire", "MediaFiles"},
    "ComposableArchitectureStandIn": set(),
    "ComposableArchitectureStandInTesting": {"ComposableArchitectureStandIn"},
    # On a Mac the library itself and libwebrtc stand in the first and second place.
    "WebRTCCore": {"ComposableArchitectureStandIn", "RTCNetwork", "RTCEngine"},
    "roost": {
        "CallSignaling", "SocketIO", "ClientKit", "ClientFeatures", "ClientRTC", "WebRTCCore", "LiveKitProtocol",
        "LiveKitClient", "LiveKitRecorder", "LiveKitServer", "ComposableArchitectureStandIn",
        "RTCNetwork", "RTCSecurity", "RTCEngine", "RTCWire", "MediaFiles", "TURNServer",
        "ChatServer", "ChatStoreSQLite", "ChatStorePostgres", "ChatCore", "ChatModel",
    },
}
# Modules, and folders of modules, without I/O and without a clock: bytes, values and a time go in, values come out.
PURE = {"RTCWire", "RTCEngine", "SFUCore", "TURNServer/Machine"}
FORBIDDEN_IN_PURE = {"Foundation", "FoundationEssentials", "Glibc", "Musl", "Darwin", "Dispatch", "NIOCore", "NIOPosix"}
# Other modules that take the time as an argument.
TIMELESS = {"ChatModel", "ChatCore", "ChatStoreSQLite", "ChatStorePostgres", "LiveKitProtocol", "LiveKitCore", "LiveKitClient/Machine"}
CLOCKS = re.compile(r"ContinuousClock|SuspendingClock|DispatchTime|clock_gettime|Date\(\)")
IMPORT = re.compile(r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public |package |internal |private |fileprivate )?import\s+(?:\w+ )?(\w+)")

root = pathlib.Path(__file__).resolve().parent.parent
faults = []
for folder in sorted((root / "Sources").iterdir()):
    module = folder.name
    if not any(folder.rglob("*.swift")):
        continue
    if module not in ALLOWED:
        faults.append(f"Sources/{module}: no rule for this module in {pathlib.Path(__file__).name}")
        continue
    for file in sorted(folder.rglob("*.swift")):
        # In a folder that is pure only what is pure itself may be imported.
        part = "/".join(file.relative_to(root / "Sources").parts[:2])
        is_pure = module in PURE or part in PURE
        allowed = ALLOWED[module] & PURE if part in PURE else ALLOWED[module]
        for number, line in enumerate(file.read_text().splitlines(), 1):
            where = f"{file.relative_to(root)}:{number}"
            if (is_pure or module in TIMELESS or part in TIMELESS) and CLOCKS.search(line) and not line.lstrip().startswith("//"):
                faults.append(f"{where}: {module} reads no clock")
            match = IMPORT.match(line)
            if not match:
                continue
            imported = match.group(1)
            if imported in ALLOWED or imported.startswith("C") and (root / "Sources" / imported).is_dir():
                if imported not in allowed:
                    faults.append(f"{where}: {module} may not import {imported}")
            if is_pure and imported in FORBIDDEN_IN_PURE:
                faults.append(f"{where}: {module} does no I/O and may not import {imported}")

for fault in faults:
    print(fault)
print(f"imports: {len(faults)} faults")
sys.exit(1 if faults else 0)
