"""What the page sends: devices, and the test picture and tone in their place."""

import numpy as np

from peers.chromium import ChromiumPeer
from support.call import new_room
from support.evidence import frame_counter
from support.page import ACCESSIBILITY, wait_text
from support.waiting import wait_until


def test_the_frame_counter_is_the_one_of_the_test_media(run):
    pixels = run("""
      const { drawCounter, readCounter } = await import('/js/frame-counter.js');
      const canvas = new OffscreenCanvas(320, 180);
      const context = canvas.getContext('2d', { willReadFrequently: true });
      return argument.map((number) => {
        drawCounter(context, number, 320, 180);
        const image = context.getImageData(0, 0, 320, 180);
        return { read: readCounter(image), luma: [...image.data].filter((_, place) => place % 4 === 1) };
      });
    """, [0, 1, 42, 299, 4095])
    for number, drawn in zip([0, 1, 42, 299, 4095], pixels):
        assert drawn["read"] == number
        assert frame_counter.read_counter(np.array(drawn["luma"], np.uint8).reshape(180, 320)) == number


def test_without_a_camera_the_test_picture_goes_out(browser_without_devices, browser, seed_server):
    room = new_room()
    page = browser_without_devices.new_page()
    page.goto(f"{seed_server}/?room={room}&name=Ann&role=caller&autostart=1")
    wait_text(page, "#room-connection", "Connected")
    partner = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        partner.wait_connected()
        wait_text(page, "#chat-notices", "test picture instead")
        wait_text(page, "#chat-notices", "test tone instead")
        wait_until(lambda: partner.received()[0] > 60 and partner.received()[1] > 3, "picture and sound")
        partner.collect()
        partner.evidence.check_picture()
        partner.evidence.check_sound([440])
        assert page.evaluate(ACCESSIBILITY) == []
    finally:
        partner.close()
        page.context.close()


def test_an_insecure_page_explains_why_there_is_no_camera(new_page, browser, seed_server):
    page, room = new_page(), new_room()
    server = seed_server.replace("127.0.0.1", "roost.test")
    page.goto(f"{server}/?room={room}&name=Ann&role=caller&autostart=1")
    wait_text(page, "#room-connection", "Connected")
    partner = ChromiumPeer(browser, seed_server, room, "Bob", "callee")
    try:
        wait_text(page, "#chat-notices", "only on https:// pages and on localhost")
        wait_text(page, "#chat-state", "In the call")
    finally:
        partner.close()
