"""Pictures among the files of `roost serve --data`: their sizes and thumbnails, which Pillow reads, and those of people."""

import io
import threading

import pytest
from PIL import Image

from peers.chat import done, refused
from peers.chat_files import (
    begin, complete, fetch, go_on, is_near, link, noise, picture, send, send_picture)
from support.waiting import wait_until

TEXT = "text/plain"


@pytest.fixture
def channel(team):
    ann, _, workspace = team
    return ann.general(workspace)


@pytest.mark.parametrize("format, options", [
    ("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {}), ("GIF", {}), ("WEBP", {"quality": 90}),
])
def test_a_picture_has_a_size_and_a_thumbnail(team, chat, channel, format, options):
    ann = team[0]
    file = send_picture(ann, channel, picture(format, **options), "a", f"image/{format.lower()}")
    assert (file["width"], file["height"], file["has_thumbnail"]) == (1200, 800, True)
    answer = fetch(chat, link(ann, file, thumbnail="true"))
    assert answer.headers["Content-Type"] == "image/jpeg" and len(answer.content) < 100_000
    small = Image.open(io.BytesIO(answer.content))
    assert small.size == (480, 320)
    assert is_near(small.getpixel((100, 160)), (220, 30, 30)) and is_near(small.getpixel((380, 160)), (30, 30, 220))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_turned_as_its_camera_was(team, chat, channel, orientation):
    ann = team[0]
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = send_picture(ann, channel, picture("JPEG", (600, 300), exif=exif), "a.jpg", "image/jpeg")
    assert (file["width"], file["height"]) == ((300, 600) if orientation >= 5 else (600, 300))
    small = Image.open(io.BytesIO(fetch(chat, link(ann, file, thumbnail="true")).content))
    # Red is at the left or above, but where the camera was turned round or mirrored.
    is_red_first = orientation in (1, 4, 5, 6)
    assert is_near(small.getpixel((20, 20)), (220, 30, 30) if is_red_first else (30, 30, 220)), orientation


def test_what_has_transparent_parts_keeps_them(team, chat, channel):
    ann = team[0]
    data = io.BytesIO()
    Image.new("RGBA", (1000, 1000), (10, 200, 10, 0)).save(data, "PNG")
    file = send_picture(ann, channel, data.getvalue(), "a.png", "image/png")
    small = Image.open(io.BytesIO(fetch(chat, link(ann, file, thumbnail="true")).content))
    assert small.format == "PNG" and small.getpixel((5, 5))[3] == 0


def test_many_pictures_at_once_are_all_there_in_the_end_and_hold_up_nobody(team, chat, channel):
    ann, bob, _ = team
    large = picture("PNG", (5_000, 5_000))
    uploads = [begin(ann, channel, large, f"{number}.png", media_type="image/png") for number in range(6)]
    for upload in uploads:
        go_on(ann, upload, large)
    ear = bob.socket()
    threads = [threading.Thread(target=complete, args=(ann.on_another_device(), upload)) for upload in uploads]
    for thread in threads:
        thread.start()
    # Bob's is not behind all of hers.
    text = send(bob, channel, b"not a picture", "b.txt", TEXT)
    assert not text["has_thumbnail"]
    for thread in threads:
        thread.join()
    ids = [upload["id"] for upload in uploads]
    known = ann.say(channel, "", file_ids=ids)["files"]
    for file in known:
        if not file["has_thumbnail"]:
            shared = ear.wait_for(
                "file_updated", channel_id=channel, where=lambda frame, id=file["id"]: frame["data"]["file"]["id"] == id)
            assert shared["data"]["file"]["has_thumbnail"] and shared["data"]["user_id"] == ann.id
    message = bob.history(channel)[-1]
    assert [(one["id"], one["width"], one["has_thumbnail"]) for one in message["files"]] == [
        (id, 5_000, True) for id in ids]
    wait_until(lambda: not list((chat.folder / "pictures").iterdir()), "no copy of a picture stays")
    ear.close()


def test_a_broken_picture_is_a_file_without_a_thumbnail(team, chat, channel):
    ann = team[0]
    bomb = bytearray(picture("PNG", (8, 8)))
    bomb[16:24] = (60_000).to_bytes(4) * 2
    whole = picture("JPEG")
    for data, media_type in [
        (b"not a picture", "image/png"), (bytes(bomb), "image/png"), (whole[:200], "image/jpeg"),
        (noise(100_000), "image/webp"), (b"GIF89a" + b"\xff" * 500, "image/gif"),
    ]:
        file = send(ann, channel, data, "a", media_type)
        assert not file["has_thumbnail"], media_type
        refused(ann.get(f"/files/{file['id']}/link", thumbnail="true"), 404, "thumbnail_not_found")
        assert fetch(chat, link(ann, file)).content == data
    done(ann.get("/users/me"))


def test_a_picture_of_oneself(team, chat, channel):
    ann, bob, _ = team
    file = send(ann, channel, picture("PNG"), "me.png", "image/png")
    refused(bob.put("/users/me/avatar", file_id=file["id"]), 404, "file_not_found")
    profile = done(ann.put("/users/me/avatar", file_id=file["id"]))["profile"]
    assert done(bob.get(f"/users/{ann.id}"))["avatar_url"] == profile["avatar_url"]
    answer = fetch(chat, profile["avatar_url"])
    assert Image.open(io.BytesIO(answer.content)).size == (480, 320)
    refused(ann.post(f"/channels/{channel}/messages", content="", file_ids=[file["id"]]), 404, "file_not_found")
    none = done(ann.ask("PUT", "/users/me/avatar", json={"file_id": None}))
    assert "avatar_url" not in none["profile"]
    refused(fetch(chat, profile["avatar_url"]), 404, "file_not_found")
