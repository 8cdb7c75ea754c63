"""Streams of text and bytes for `livekit_peer.py`: what is in them is made from a number, so that whoever reads one can
say what it has to be."""

import hashlib
import random


def text_of(seed, count):
    """So many characters of one to four bytes each, which no packet's end falls between for long."""
    return "".join(random.Random(seed).choices("abcdefgh é世🎈", k=count))


def bytes_of(seed, count):
    """Nothing that can be compressed."""
    return random.Random(seed).randbytes(count)


def digest(content):
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


class Streams:
    """What a peer does with streams; `say` tells, `start` runs beside the rest."""

    def read_streams(self):
        """Of text on the topic of chats and on one of ours, of bytes on another."""
        on_text, on_bytes = self.room.register_text_stream_handler, self.room.register_byte_stream_handler
        on_text("lk.chat", lambda reader, who: self.start(self.read_chat(reader, who)))
        on_text("notes", lambda reader, who: self.start(self.read_text(reader, who)))
        on_bytes("files", lambda reader, who: self.start(self.read_bytes(reader, who)))

    async def read_chat(self, reader, who):
        self.say("text", who=who, text=await reader.read_all(), topic=reader.info.topic)

    async def read_text(self, reader, who):
        text = "".join([piece async for piece in reader])
        self.say("text stream", who=who, topic=reader.info.topic, attributes=reader.info.attributes, count=len(text),
                 digest=digest(text))

    async def read_bytes(self, reader, who):
        data = b"".join([piece async for piece in reader])
        info = reader.info
        self.say("byte stream", who=who, topic=info.topic, attributes=info.attributes, name=info.name,
                 type=info.mime_type, size=info.size, count=len(data), digest=digest(data))

    @property
    def _local(self):
        return self.room.local_participant

    async def write(self, text, topic):
        await self._local.send_text(text, topic=topic)

    async def begin(self, count, topic):
        """So many texts of which nothing comes but the beginning."""
        for _ in range(count):
            await self._local.stream_text(topic=topic)
        self.say("begun")

    async def transcribe(self, pieces, of, segment, is_over=True):
        """As an agent writes down what somebody says, while they say it."""
        writer = await self._local.stream_text(
            topic="lk.transcription", sender_identity=of, attributes={"lk.segment_id": segment})
        for piece in pieces:
            await writer.write(piece)
        if is_over:
            await writer.aclose()
        self.say("transcribed", segment=segment)

    async def send_text(self, seed, count, to=(), attributes=None):
        """At once: the SDK cuts it."""
        await self._local.send_text(
            text_of(seed, count), topic="notes", destination_identities=list(to), attributes=attributes)

    async def stream_text(self, seed, count, pieces, attributes=None):
        """Piece by piece, of which nobody knows how many will come."""
        text = text_of(seed, count)
        writer = await self._local.stream_text(topic="notes", attributes=attributes)
        for piece in range(pieces):
            await writer.write(text[count * piece // pieces : count * (piece + 1) // pieces])
        await writer.aclose()

    async def send_bytes(self, seed, count, name, type, to=(), attributes=None):
        await self._local.send_bytes(
            bytes_of(seed, count), topic="files", name=name, mime_type=type, destination_identities=list(to),
            attributes=attributes)

    async def stream_bytes(self, seed, count, pieces, name, type, attributes=None):
        data = bytes_of(seed, count)
        writer = await self._local.stream_bytes(
            name, total_size=count, mime_type=type, topic="files", attributes=attributes)
        for piece in range(pieces):
            await writer.write(data[count * piece // pieces : count * (piece + 1) // pieces])
        await writer.aclose()
