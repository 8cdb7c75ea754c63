"""Writes Tests/Vectors/livekit/messages.jsonl: messages of LiveKit's own Python package with every field filled, one
for each case of a oneof, as bytes and as JSON. The Swift tests read both and find the same in them.

    .venv/bin/python Interop/protocol/make_vectors.py
"""

import base64
import json
from pathlib import Path

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from livekit.protocol import models, room, rtc, webhook

from left_out import LeftOut

VECTORS = Path(__file__).resolve().parents[2] / "Tests/Vectors/livekit/messages.jsonl"
MESSAGES = [
    rtc.SignalRequest, rtc.SignalResponse, rtc.JoinRequest, rtc.WrappedJoinRequest, models.DataPacket,
    models.EncryptedPacketPayload, room.CreateRoomRequest, room.RoomConfiguration, room.SendDataRequest,
    room.UpdateParticipantRequest, room.MuteRoomTrackRequest, room.ListParticipantsResponse, webhook.WebhookEvent,
]
DEEPEST = 6

left_out = LeftOut()


def value(field, number):
    """Something else for each number, and a type's largest value now and then."""
    kind = FieldDescriptor
    match field.type:
        case kind.TYPE_BOOL:
            return True
        case kind.TYPE_STRING:
            return f"{field.name} ї {number}"
        case kind.TYPE_BYTES:
            return bytes([0, 255, number % 256])
        case kind.TYPE_ENUM:
            values = [entry.number for entry in field.enum_type.values]
            return values[1 + number % (len(values) - 1)] if len(values) > 1 else values[0]
        case kind.TYPE_FLOAT | kind.TYPE_DOUBLE:
            return number + 0.5
        case kind.TYPE_INT64:
            return -(2**63) if number % 3 == 0 else 2**53 + number
        case kind.TYPE_UINT64:
            return 2**64 - 1 if number % 3 == 0 else 2**53 + number
        case kind.TYPE_INT32:
            return -(2**31) if number % 3 == 0 else number
        case kind.TYPE_UINT32:
            return 2**32 - 1 if number % 3 == 0 else number
    raise ValueError(field.full_name)


def fill(message, depth=0, chosen=None):
    """Every field; of a oneof its first case, or the chosen one."""
    name = message.DESCRIPTOR.full_name.removeprefix("livekit.")
    for number, field in enumerate(message.DESCRIPTOR.fields, 1):
        if f"{name}.{field.name}" in left_out.fields:
            continue
        group = field.containing_oneof
        if group and len(group.fields) > 1 and field is not (chosen or cases(group)[0]):
            continue
        is_map = field.message_type and field.message_type.GetOptions().map_entry
        if is_map:
            entry = field.message_type.fields_by_name["value"]
            key = field.message_type.fields_by_name["key"]
            if entry.message_type:
                fill(getattr(message, field.name)[value(key, number)], depth + 1)
            else:
                getattr(message, field.name)[value(key, number)] = value(entry, number)
        elif field.message_type:
            if depth >= DEEPEST:
                continue
            inner = getattr(message, field.name)
            if field.is_repeated:
                fill(inner.add(), depth + 1)
            elif field.message_type.full_name == "google.protobuf.Timestamp":
                inner.FromMilliseconds(1_700_000_000_000 + number)
            else:
                inner.SetInParent()
                fill(inner, depth + 1)
        elif field.is_repeated:
            getattr(message, field.name).extend([value(field, number), value(field, number + 1)])
        else:
            setattr(message, field.name, value(field, number))
    return message


def cases(group):
    name = group.containing_type.full_name.removeprefix("livekit.")
    return [field for field in group.fields if f"{name}.{field.name}" not in left_out.fields]


def filled(kind):
    """One message, or one for each case of the first real oneof."""
    groups = [group for group in kind.DESCRIPTOR.oneofs if len(group.fields) > 1]
    for case in cases(groups[0]) if groups else [None]:
        yield fill(kind(), chosen=case)


if __name__ == "__main__":
    with VECTORS.open("w") as file:
        for kind in MESSAGES:
            for message in filled(kind):
                line = {
                    "type": kind.DESCRIPTOR.full_name,
                    "bytes": base64.b64encode(message.SerializeToString(deterministic=True)).decode(),
                    "json": MessageToDict(message),
                }
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
