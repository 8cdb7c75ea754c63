"""Our .proto files against the descriptors of LiveKit's own package: a client of theirs and a server of ours mean the
same by every name and number.
"""

import importlib
import pkgutil
import subprocess

import livekit.protocol
import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from protocol.left_out import PROTOS, LeftOut


@pytest.fixture(scope="module")
def left_out():
    return LeftOut()


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """File name to descriptor, as protoc reads our files."""
    compiled = tmp_path_factory.mktemp("protos") / "ours.bin"
    files = sorted(PROTOS.glob("*.proto"))
    subprocess.run(["protoc", f"--proto_path={PROTOS}", f"--descriptor_set_out={compiled}", *files], check=True)
    described = descriptor_pb2.FileDescriptorSet.FromString(compiled.read_bytes())
    return {file.name: file for file in described.file}


@pytest.fixture(scope="module")
def theirs():
    """File name to descriptor, of all that LiveKit's package declares."""
    found = {}
    for entry in pkgutil.walk_packages(livekit.protocol.__path__, "livekit.protocol."):
        module = importlib.import_module(entry.name)
        if hasattr(module, "DESCRIPTOR"):
            file = descriptor_pb2.FileDescriptorProto()
            module.DESCRIPTOR.CopyToProto(file)
            found[file.name] = file
    return found


def name_of(enum, value):
    return enum.Name(value).split("_", 1)[1].lower()


def types(file):
    """Names of a file's messages and enums, without the package, to what they declare."""
    found = {}

    def add(prefix, messages, enums):
        for enum in enums:
            found[prefix + enum.name] = {value.name: value.number for value in enum.value}
        for message in messages:
            if not message.options.map_entry:
                found[prefix + message.name] = fields(message)
            nested = [inner for inner in message.nested_type if not inner.options.map_entry]
            add(f"{prefix}{message.name}.", nested, message.enum_type)

    add("", file.message_type, file.enum_type)
    return found


def fields(message):
    """Names of a message's fields to all that matters on the wire, in JSON and in code."""
    entries = {
        entry.name: [(field.number, type_of(field)) for field in entry.field]
        for entry in message.nested_type
        if entry.options.map_entry
    }
    return {
        field.name: {
            "number": field.number,
            "label": name_of(FieldDescriptorProto.Label, field.label),
            "type": entries.get(field.type_name.rsplit(".", 1)[-1]) or type_of(field),
            "json": field.json_name or json_name(field.name),
            "optional": field.proto3_optional,
            "oneof": message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None,
            "deprecated": field.options.deprecated,
        }
        for field in message.field
    }


def json_name(name):
    """As protoc makes it where a file does not say another; descriptors in Python leave those out."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def type_of(field):
    return field.type_name or name_of(FieldDescriptorProto.Type, field.type)


def test_each_file_is_ours_too_or_left_out_on_purpose(ours, theirs, left_out):
    assert set(ours) | left_out.files == set(theirs)
    assert not set(ours) & left_out.files


@pytest.mark.parametrize("name", sorted(path.name for path in PROTOS.glob("*.proto")))
def test_each_message_and_enum_says_the_same(name, ours, theirs, left_out):
    assert (ours[name].package, ours[name].syntax) == (theirs[name].package, theirs[name].syntax)
    mine, real = types(ours[name]), types(theirs[name])
    absent = {kind for kind in real if kind.split(".")[0] in left_out.types}
    assert set(mine) == set(real) - absent
    for kind, declared in mine.items():
        wanted = {
            field: described for field, described in real[kind].items() if f"{kind}.{field}" not in left_out.fields
        }
        assert declared == wanted, f"{kind} in {name}"


def test_what_is_left_out_is_really_there_and_its_numbers_are_kept_free(ours, theirs, left_out):
    declared = {}
    for name in ours:
        declared |= types(theirs[name])
    assert left_out.types <= set(declared)
    reserved = {
        message.name: {number for part in message.reserved_range for number in range(part.start, part.end)}
        for file in ours.values()
        for message in file.message_type
    }
    for entry in left_out.fields:
        message, field = entry.split(".")
        assert declared[message][field]["number"] in reserved[message], entry
