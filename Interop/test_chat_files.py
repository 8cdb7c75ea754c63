"""Files of `roost serve --data`: uploads in parts that go on where they were, links, ranges, HEAD, and a store that speaks
S3's protocol (moto's server). Of pictures is `test_chat_pictures.py`."""

import contextlib
import hashlib
import io
import re
import socket
import subprocess
import sys
import threading
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from PIL import Image

from peers.chat import Chat, done, refused
from peers.chat_files import begin, complete, fetch, go_on, link, noise, part, picture, send, send_picture
from support.command import RoostProcesses
from support.ports import free_port
from support.waiting import PATIENCE, wait_until

TEXT = "text/plain"


@pytest.fixture
def channel(team):
    ann, _, workspace = team
    return ann.general(workspace)


# Uploads


def test_a_file_comes_in_parts_and_is_what_was_sent(team, chat, channel):
    ann, bob, workspace = team
    data = noise(9_500_000)
    with contextlib.closing(bob.socket()) as ear:
        upload = begin(ann, channel, data, "backup.tar", sha256=hashlib.sha256(data).hexdigest().upper())
        assert upload["offset"] == 0 and upload["part_size"] == 4 << 20
        go_on(ann, upload, data)
        file = complete(ann, upload)
        assert (file["id"], file["size"], file["name"]) == (upload["id"], len(data), "backup.tar")
        message = ann.say(channel, "", file_ids=[file["id"]])
        assert message["files"] == [file]
        assert ear.wait_for("message_sent", id=message["id"])["data"]["files"] == [file]
    assert bob.history(channel)[-1]["files"] == [file]
    answer = fetch(chat, link(bob, file))
    assert answer.status_code == 200 and answer.content == data
    listed = done(bob.get(f"/workspaces/{workspace}/files"))["items"]
    assert [(one["file"]["id"], one["message_id"]) for one in listed] == [(file["id"], message["id"])]


def test_an_upload_that_broke_off_goes_on(team, chat, channel):
    ann = team[0]
    data = noise(5 << 20)
    upload = begin(ann, channel, data)
    assert part(ann, upload["id"], data[:1_000], 0).status_code == 204
    # Half a part, and the connection is gone.
    with socket.create_connection(("127.0.0.1", chat.process.port), PATIENCE) as connection:
        head = (f"PATCH /api/v1/uploads/{upload['id']} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ann.token}\r\n"
                "Upload-Offset: 1000\r\nContent-Length: 1000000\r\n\r\n")
        connection.sendall(head.encode() + data[1_000:400_000])
    assert done(ann.get(f"/uploads/{upload['id']}"))["offset"] == 1_000
    for offset in (0, 999, 1_001, 1 << 40):
        answer = part(ann, upload["id"], b"x", offset)
        refused(answer, 409, "wrong_offset")
        assert answer.headers["Upload-Offset"] == "1000"
    go_on(ann, upload, data)
    assert fetch(chat, link(ann, complete(ann, upload))).content == data


def test_two_parts_at_once_are_taken_one_after_the_other_or_refused(team, chat, channel):
    ann = team[0]
    data = noise(2 << 20)
    upload = begin(ann, channel, data)
    other = ann.on_another_device()
    answers = []
    threads = [
        threading.Thread(target=lambda who=who: answers.append(part(who, upload["id"], data[:1 << 20], 0)))
        for who in (ann, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [204, 409], [answer.text for answer in answers]
    go_on(ann, upload, data)
    assert fetch(chat, link(ann, complete(ann, upload))).content == data


def test_an_upload_outlives_a_server_that_is_killed(roost, tmp_path):
    data = noise(24 << 20)
    chat = Chat(roost.serve("--data", tmp_path), tmp_path)
    ann = chat.person("ann")
    channel = ann.general(ann.workspace()["workspace"]["id"])
    upload = begin(ann, channel, data, sha256=hashlib.sha256(data).hexdigest())
    taken = []

    def upload_until_it_dies():
        size = 1 << 20
        with contextlib.suppress(requests.RequestException):
            for offset in range(0, len(data), size):
                answer = part(ann, upload["id"], data[offset:offset + size], offset)
                assert answer.status_code == 204, answer.text
                taken.append(offset + size)

    sender = threading.Thread(target=upload_until_it_dies)
    sender.start()
    wait_until(lambda: len(taken) >= 3, "three parts")
    chat.process.kill()
    sender.join()
    after = Chat(roost.serve("--data", tmp_path), tmp_path)
    ann.chat, ann.session = after, after.session()
    offset = done(ann.get(f"/uploads/{upload['id']}"))["offset"]
    # All that was acknowledged is there.
    assert offset >= taken[-1], (offset, taken)
    go_on(ann, upload, data)
    assert fetch(after, link(ann, complete(ann, upload))).content == data


def test_what_arrives_is_what_was_announced_or_is_thrown_away(team, channel):
    ann = team[0]
    upload = begin(ann, channel, b"12345", sha256=hashlib.sha256(b"54321").hexdigest())
    go_on(ann, upload, b"12345")
    refused(ann.post(f"/uploads/{upload['id']}/complete"), 400, "wrong_digest")
    refused(ann.get(f"/uploads/{upload['id']}"), 404, "upload_not_found")
    refused(ann.get(f"/files/{upload['id']}"), 404, "file_not_found")
    upload = begin(ann, channel, b"12345")
    assert part(ann, upload["id"], b"123", 0).status_code == 204
    refused(ann.post(f"/uploads/{upload['id']}/complete"), 409, "upload_incomplete")
    refused(part(ann, upload["id"], b"456", 3), 413, "part_too_large")
    assert ann.delete(f"/uploads/{upload['id']}").status_code == 204
    refused(part(ann, upload["id"], b"45", 3), 404, "upload_not_found")


def test_what_is_too_large_or_too_much_is_refused(team, channel):
    ann, bob, _ = team
    refused(ann.post(f"/channels/{channel}/uploads", name="a", size=(100 << 20) + 1), 413, "file_too_large")
    refused(ann.post(f"/channels/{channel}/uploads", name="a", size=0), 400, "invalid_size")
    upload = begin(bob, channel, noise(10 << 20))
    answer = part(bob, upload["id"], noise((4 << 20) + 1), 0)
    assert answer.status_code == 413 and answer.json()["error"]["code"] == "payload_too_large", answer.text
    for _ in range(19):
        begin(bob, channel)
    refused(bob.post(f"/channels/{channel}/uploads", name="a", size=1), 409, "too_many_uploads")


def test_an_upload_is_its_senders_alone(team, chat, channel):
    ann, bob, _ = team
    upload = begin(ann, channel, b"12345")["id"]
    refused(bob.get(f"/uploads/{upload}"), 404, "upload_not_found")
    refused(part(bob, upload, b"12345", 0), 404, "upload_not_found")
    refused(bob.post(f"/uploads/{upload}/complete"), 404, "upload_not_found")
    refused(bob.delete(f"/uploads/{upload}"), 404, "upload_not_found")
    refused(chat.person("eve").post(f"/channels/{channel}/uploads", name="a", size=1), 404, "channel_not_found")


# Messages


def test_files_come_into_one_message_and_go_with_it(team, chat, channel):
    ann, bob, workspace = team
    one, two = send(ann, channel, b"one", "one.txt", TEXT), send(ann, channel, b"two", "two.txt", TEXT)
    refused(bob.get(f"/files/{one['id']}"), 404, "file_not_found")
    refused(bob.post(f"/channels/{channel}/messages", content="", file_ids=[one["id"]]), 404, "file_not_found")
    refused(ann.post(f"/channels/{channel}/messages", content="", file_ids=[]), 400, "invalid_content")
    message = ann.say(channel, "flotsam", file_ids=[two["id"], one["id"]])
    assert message["files"] == [two, one]
    refused(ann.post(f"/channels/{channel}/messages", content="", file_ids=[one["id"]]), 404, "file_not_found")
    refused(ann.delete(f"/files/{one['id']}"), 409, "file_in_message")
    found = done(bob.get(f"/workspaces/{workspace}/search", query="flotsam", has="file"))["items"]
    assert [result["message"]["files"] for result in found] == [[two, one]]
    url = link(bob, one)
    assert fetch(chat, url).content == b"one"
    path = chat.folder / "files" / one["id"][-2:] / one["id"]
    assert path.read_bytes() == b"one" and path.stat().st_mode & 0o077 == 0
    assert ann.delete(f"/messages/{message['id']}").status_code == 204
    refused(fetch(chat, url), 404, "file_not_found")
    refused(bob.get(f"/files/{one['id']}"), 404, "file_not_found")
    assert done(bob.get(f"/workspaces/{workspace}/files"))["items"] == []
    wait_until(lambda: not path.exists(), "the file is taken away")


def test_a_file_that_is_not_sent_can_be_taken_back(team, chat, channel):
    ann, bob, _ = team
    file = send(ann, channel, b"one")
    refused(bob.delete(f"/files/{file['id']}"), 404, "file_not_found")
    assert ann.delete(f"/files/{file['id']}").status_code == 204
    refused(ann.get(f"/files/{file['id']}"), 404, "file_not_found")
    wait_until(lambda: not (chat.folder / "files" / file["id"][-2:] / file["id"]).exists(), "it is taken away")


@pytest.mark.parametrize("name, kept", [
    ("../../../etc/passwd", "......etcpasswd"), ("..\\..\\boot.ini", "....boot.ini"), ("/etc/shadow", "etcshadow"),
    ("a\x00b.txt", "ab.txt"), ("a\r\nSet-Cookie: x=y.txt", "aSet-Cookie: x=y.txt"), ("photo\u202egpj.exe", "photogpj.exe"),
    ("e\u0301.txt", "\xe9.txt"), ('quote".txt', 'quote".txt'), ("a%2f..%2fb", "a%2f..%2fb"),
    ("x" * 300 + ".txt", "x" * 251 + ".txt"), ("文件.txt", "文件.txt"),
])
def test_a_name_is_shown_and_is_no_path(team, chat, channel, name, kept):
    ann = team[0]
    file = send(ann, channel, b"data", name, TEXT)
    assert file["name"] == kept
    answer = fetch(chat, link(ann, file))
    assert answer.content == b"data"
    quoted = answer.headers["Content-Disposition"].removeprefix("attachment; filename*=UTF-8''")
    assert re.fullmatch(r"(%[0-9A-F]{2}|[A-Za-z0-9._~-])+", quoted) and requests.utils.unquote(quoted) == kept
    assert (chat.folder / "files" / file["id"][-2:] / file["id"]).is_file()


@pytest.mark.parametrize("name", ["", "..", "/", "\u202e", " "])
def test_a_name_of_nothing_is_refused(team, channel, name):
    refused(team[0].post(f"/channels/{channel}/uploads", name=name, size=1), 400, "invalid_name")


# Links


@pytest.mark.parametrize("header, status, start, end", [
    ("bytes=0-0", 206, 0, 1), ("bytes=10-19", 206, 10, 20), ("bytes=290000-", 206, 290_000, 300_000),
    ("bytes=-7", 206, 299_993, 300_000), ("bytes=0-999999999", 206, 0, 300_000), ("bytes=5-4", 200, 0, 300_000),
    ("bytes=0-1,5-6", 200, 0, 300_000), ("lines=1-2", 200, 0, 300_000), ("bytes=300000-", 416, 0, 0),
])
def test_a_range_is_what_was_asked_for(team, chat, channel, header, status, start, end):
    ann = team[0]
    data = noise(300_000)
    url = link(ann, send(ann, channel, data))
    answer = fetch(chat, url, Range=header)
    assert answer.status_code == status
    if status == 416:
        assert answer.headers["Content-Range"] == "bytes */300000"
    else:
        assert answer.content == data[start:end]
    if status == 206:
        assert answer.headers["Content-Range"] == f"bytes {start}-{end - 1}/300000"


def test_a_link_is_of_one_file_and_cannot_be_forged(team, chat, channel):
    ann = team[0]
    one, two = send(ann, channel, b"one"), send(ann, channel, b"two")
    url = link(ann, one)
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    path, signature, expires = urlsplit(url).path, query["signature"], query["expires"]
    for forged in (
        url.replace(one["id"], two["id"]), f"{path}?expires={int(expires) + 1}&signature={signature}",
        f"{path}?expires={expires}&signature={signature[:-2]}", f"{path}?expires={expires}", path,
        f"{path}?thumbnail=true&expires={expires}&signature={signature}",
        f"{path}?expires={expires}&signature={'A' * len(signature)}",
    ):
        refused(fetch(chat, forged), 403, "bad_link")
    assert fetch(chat, url).content == b"one"
    tag = fetch(chat, url).headers["ETag"]
    assert fetch(chat, url, **{"If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize("media_type, is_inline", [
    ("image/png", True), ("image/svg+xml", False), ("text/html", False), ("application/pdf", False),
    ("video/mp4", True), ("application/xhtml+xml", False),
])
def test_what_is_served_is_never_a_page_of_the_servers(team, chat, channel, media_type, is_inline):
    ann = team[0]
    headers = fetch(chat, link(ann, send(ann, channel, b"<script>", "a", media_type))).headers
    assert headers["Content-Type"] == media_type
    assert headers["Content-Disposition"].startswith("inline" if is_inline else "attachment")
    assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"].startswith("private")


def test_who_reads_slowly_fills_no_memory(team, chat, channel):
    ann = team[0]
    data = noise(64 << 20)
    url = link(ann, send(ann, channel, data))

    def memory():
        with open(f"/proc/{chat.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    before = memory()
    connections = []
    try:
        for _ in range(8):
            connections.append(socket.create_connection(("127.0.0.1", chat.process.port), PATIENCE))
            connections[-1].sendall(f"GET {url} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        for connection in connections:
            assert connection.recv(1_000).startswith(b"HTTP/1.1 200")
        assert memory() - before < 64 << 10, "kibibytes"
    finally:
        for connection in connections:
            connection.close()


def test_a_head_is_what_a_get_would_say(team, chat, channel):
    ann = team[0]
    data = noise(1_000)
    url = chat.process.url + link(ann, send(ann, channel, data, "a.bin"))
    with chat.session() as session:
        whole, head = session.get(url, timeout=PATIENCE), session.head(url, timeout=PATIENCE)
        assert head.status_code == 200 and head.content == b"" and head.headers["Content-Length"] == "1000"
        assert {name: value for name, value in head.headers.items() if name != "Date"} == {
            name: value for name, value in whole.headers.items() if name != "Date"}
        part = session.head(url, headers={"Range": "bytes=0-9"}, timeout=PATIENCE)
        assert part.status_code == 200 and "Content-Range" not in part.headers
        # The connection goes on behind it.
        assert session.get(url, timeout=PATIENCE).content == data
        assert session.head(url + "A", timeout=PATIENCE).status_code == 403
    picture_file = send_picture(ann, channel, picture("PNG", (60, 40)), "me.png", "image/png")
    avatar = done(ann.put("/users/me/avatar", file_id=picture_file["id"]))["profile"]["avatar_url"]
    with chat.session() as session:
        whole = session.get(chat.process.url + avatar, timeout=PATIENCE)
        head = session.head(chat.process.url + avatar, timeout=PATIENCE)
        assert head.headers["Content-Length"] == str(len(whole.content)) and head.content == b""
        assert head.headers["Content-Type"] == whole.headers["Content-Type"]


# A store that speaks S3's protocol


@pytest.fixture(scope="module")
def s3():
    """moto's server, with a bucket; its address."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"

    asker = requests.Session()
    asker.trust_env = False

    def is_there():
        with contextlib.suppress(requests.RequestException):
            return asker.put(f"{url}/files-of-roost", timeout=PATIENCE).status_code == 200
        return False

    try:
        wait_until(is_there, "moto's server")
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture(scope="module")
def s3_chat(s3, tmp_path_factory):
    processes = RoostProcesses()
    folder = tmp_path_factory.mktemp("s3")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ROOST_S3_ACCESS_KEY", "an-access-key")
        environment.setenv("ROOST_S3_SECRET_KEY", "a-secret-key")
        process = processes.serve("--data", folder, "--s3-endpoint", s3, "--s3-bucket", "files-of-roost")
    yield Chat(process, folder)
    processes.close()


def test_files_are_in_the_store_and_links_lead_there(s3, s3_chat):
    ann = s3_chat.person("ann")
    channel = ann.general(ann.workspace()["workspace"]["id"])
    data = noise(12 << 20)
    upload = begin(ann, channel, data, "big.bin", sha256=hashlib.sha256(data).hexdigest())
    size = upload["part_size"]
    assert size == 5 << 20
    # S3 takes no short parts but the last.
    refused(part(ann, upload["id"], data[:100], 0), 400, "invalid_part")
    assert part(ann, upload["id"], data[:size], 0).status_code == 204
    refused(part(ann, upload["id"], data[:size], 0), 409, "wrong_offset")
    assert done(ann.get(f"/uploads/{upload['id']}"))["offset"] == size
    go_on(ann, upload, data)
    file = complete(ann, upload)
    url = link(ann, file)
    assert url.startswith(f"{s3}/files-of-roost/files/{file['id']}?") and "X-Amz-Signature=" in url
    assert "a-secret-key" not in url
    answer = fetch(s3_chat, url)
    assert answer.content == data
    assert fetch(s3_chat, url, Range="bytes=5-9").content == data[5:10]
    message = ann.say(channel, "", file_ids=[file["id"]])
    assert ann.delete(f"/messages/{message['id']}").status_code == 204
    # Without leave to list the bucket, a store does not tell what is missing from what is refused.
    wait_until(lambda: fetch(s3_chat, url).status_code in (403, 404), "the store has taken the file away")
    assert not list(s3_chat.folder.glob("files/*/*"))


def test_a_picture_in_the_store_has_a_thumbnail_and_an_upload_can_be_given_up(s3_chat):
    ann = s3_chat.person("ann")
    channel = ann.general(ann.workspace()["workspace"]["id"])
    file = send_picture(ann, channel, picture("PNG"), "a.png", "image/png")
    small = Image.open(io.BytesIO(fetch(s3_chat, link(ann, file, thumbnail="true")).content))
    assert small.size == (480, 320)
    upload = begin(ann, channel, noise(100))
    assert ann.delete(f"/uploads/{upload['id']}").status_code == 204
    refused(ann.get(f"/uploads/{upload['id']}"), 404, "upload_not_found")
    assert "a-secret-key" not in s3_chat.process.transcript()
