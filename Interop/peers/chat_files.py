"""Files of the chat, as those see them who send and fetch them; pictures are Pillow's."""

import hashlib
import io

from PIL import Image

from peers.chat import done
from support.waiting import PATIENCE, wait_until


def noise(size, seed=b"roost"):
    """The same bytes in each run, of which no two parts are the same."""
    return hashlib.shake_128(seed).digest(size)


def begin(person, channel, data=b"x", name="a.bin", **options):
    return done(person.post(f"/channels/{channel}/uploads", name=name, size=len(data), **options), 201)


def part(person, upload, data, offset):
    return person.ask("PATCH", f"/uploads/{upload}", data=data, headers={
        "Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"})


def go_on(person, upload, data):
    """What is missing of an upload, part by part; from where the server says that it is."""
    offset = done(person.get(f"/uploads/{upload['id']}"))["offset"]
    while offset < len(data):
        answer = part(person, upload["id"], data[offset:offset + upload["part_size"]], offset)
        assert answer.status_code == 204, answer.text
        assert int(answer.headers["Upload-Offset"]) == min(offset + upload["part_size"], len(data))
        offset = int(answer.headers["Upload-Offset"])


def complete(person, upload):
    return done(person.post(f"/uploads/{upload['id']}/complete"), 201)


def send(person, channel, data, name="a.bin", media_type="application/octet-stream"):
    """A file that waits for its message."""
    upload = begin(person, channel, data, name, media_type=media_type, sha256=hashlib.sha256(data).hexdigest())
    go_on(person, upload, data)
    return complete(person, upload)


def send_picture(person, channel, data, name, media_type):
    """The same of a picture, once the server has looked into it."""
    file = send(person, channel, data, name, media_type)
    wait_until(lambda: done(person.get(f"/files/{file['id']}"))["has_thumbnail"], "the picture has a thumbnail")
    return done(person.get(f"/files/{file['id']}"))


def link(person, file, **query):
    return done(person.get(f"/files/{file['id']}/link", **query))["url"]


def fetch(chat, url, **headers):
    """By the link alone."""
    with chat.session() as session:
        whole = url if "://" in url else chat.process.url + url
        return session.get(whole, headers=headers, timeout=PATIENCE)


def picture(format, size=(1200, 800), **options):
    """Red on the left, blue on the right."""
    image = Image.new("RGB", size, (220, 30, 30))
    image.paste((30, 30, 220), (size[0] // 2, 0, *size))
    data = io.BytesIO()
    image.save(data, format, **options)
    return data.getvalue()


def is_near(colour, other):
    return all(abs(one - another) < 40 for one, another in zip(colour[:3], other))
