#!/usr/bin/env python3
"""Draws the test picture and reads its frame counter back; makes the test sound and checks its tones.

    frame_counter.py draw               300 raw RGB frames (640x360) on standard output
    frame_counter.py sound              10 s of raw 16-bit stereo (48 kHz) on standard output
    frame_counter.py read FILE          the counter of each decoded frame as JSON lines, then a summary
    frame_counter.py tone FILE          the dominant frequency of each second as JSON lines, then a summary

The counter is two rows of 20 cells over the lowest 2/15 of the picture. The upper row holds, white for 1:
1 0, twelve bits of the number (high bit first), four bits of CRC (x^4 + x + 1), 0 1. The lower row is its
complement, so a cell is read by comparing two areas and no brightness or contrast matters. The geometry is
relative to the picture: scaling does not matter either. Sources/MediaFiles/FrameCounter.swift reads the same.
"""

import argparse
import json
import subprocess
import sys

import numpy as np

WIDTH, HEIGHT, FRAMES, RATE = 640, 360, 300, 30
CELLS, BITS = 20, 12
COLUMNS = np.arange(CELLS)
SAMPLE_RATE, SECONDS = 48_000, 10
# One note a second, far enough apart for a 1 s window: A major from A4 up.
TONES = [440, 494, 554, 587, 659, 740, 831, 880, 988, 1109]


# The counter


def check_bits(number):
    """CRC-4 (x^4 + x + 1) over the twelve bits of `number`."""
    remainder = number << 4
    for shift in range(BITS - 1, -1, -1):
        if remainder >> (shift + 4) & 1:
            remainder ^= 0b10011 << shift
    return remainder


def cells(number):
    bits = number << 4 | check_bits(number)
    return [1, 0] + [bits >> shift & 1 for shift in range(BITS + 3, -1, -1)] + [0, 1]


def means(rows, left, right):
    """Of the areas between these columns. All at once: peers read each picture that they get."""
    sums = np.concatenate(([0], rows.sum(axis=0, dtype=np.int64).cumsum()))
    return (sums[right] - sums[left]) / (len(rows) * (right - left))


def read_counter(luma):
    """The number in one gray picture; None when there is none to trust."""
    height, width = luma.shape
    # The middle half of each cell: its edges are blurred by scaling and coding.
    left, right = width * (4 * COLUMNS + 1) // (4 * CELLS), width * (4 * COLUMNS + 3) // (4 * CELLS)
    upper = luma[height * 53 // 60 : height * 55 // 60]
    lower = luma[height * 57 // 60 : height * 59 // 60]
    if upper.size == 0 or lower.size == 0 or (left == right).any():
        return None
    difference = means(upper, left, right) - means(lower, left, right)
    if abs(difference).min() < 40:
        return None
    bits = [int(cell) for cell in difference > 0]
    number = int("".join(map(str, bits[2 : 2 + BITS])), 2)
    return number if bits == cells(number) else None


# The picture


def smooth(distance, edge=1.2):
    """Coverage of a shape from its signed distance: 1 inside, 0 outside, soft at the edge."""
    return np.clip(0.5 - distance / edge, 0, 1)[..., None]


def blend(image, coverage, color):
    return image * (1 - coverage) + np.array(color, dtype=np.float32) * coverage


def capsule(x, y, ax, ay, bx, by, radius):
    """Signed distance to a thick line with round ends."""
    dx, dy = bx - ax, by - ay
    along = np.clip(((x - ax) * dx + (y - ay) * dy) / max(dx * dx + dy * dy, 1e-6), 0, 1)
    return np.hypot(x - ax - along * dx, y - ay - along * dy) - radius


# Seven segments as lines of a 1x2 box: top, upper left, upper right, middle, lower left, lower right, bottom.
SEGMENTS = [(0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 1, 1), (0, 1, 1, 1), (0, 1, 0, 2), (1, 1, 1, 2), (0, 2, 1, 2)]
DIGITS = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]


def digit_distance(x, y, left, top, size, digit):
    distance = np.full(x.shape, 1e6, dtype=np.float32)
    for lit, (ax, ay, bx, by) in zip(DIGITS[digit], SEGMENTS):
        if lit == "1":
            line = capsule(x, y, left + ax * size, top + ay * size, left + bx * size, top + by * size, size * 0.13)
            distance = np.minimum(distance, line)
    return distance


def picture(number, x, y):
    time = number / RATE
    turn = 2 * np.pi * number / FRAMES
    # Slow waves of two colours that come round after ten seconds, so the loop has no seam.
    wave = np.sin(x / 90 + turn) + np.sin(y / 70 - 2 * turn) + np.sin((x + y) / 120 + turn)
    mix = ((wave + 3) / 6)[..., None]
    image = np.array([18, 40, 62], np.float32) * (1 - mix) + np.array([38, 128, 132], np.float32) * mix

    # A dial: the hand goes round once a second, a dot for each second.
    cx, cy, radius = 150.0, 150.0, 92.0
    image = blend(image, smooth(np.hypot(x - cx, y - cy) - radius) * 0.8, [12, 22, 36])
    image = blend(image, smooth(np.abs(np.hypot(x - cx, y - cy) - radius) - 3), [240, 236, 220])
    for mark in range(SECONDS):
        angle = 2 * np.pi * mark / SECONDS
        dot = np.hypot(x - cx - 74 * np.sin(angle), y - cy + 74 * np.cos(angle)) - 5
        image = blend(image, smooth(dot), [250, 190, 70] if mark <= int(time) else [70, 86, 104])
    angle = 2 * np.pi * (time % 1)
    hand = capsule(x, y, cx, cy, cx + 58 * np.sin(angle), cy - 58 * np.cos(angle), 3.5)
    image = blend(image, smooth(hand), [250, 120, 90])

    # The clock: seconds and hundredths.
    hundredths = number * 100 // RATE
    places = [hundredths // 1000, hundredths // 100 % 10, hundredths // 10 % 10, hundredths % 10]
    for place, digit in enumerate(places):
        left = 300 + 72 * place + (24 if place > 1 else 0)
        shadow = digit_distance(x, y, left + 3, 103, 42, digit)
        image = blend(image, smooth(shadow, 4) * 0.5, [6, 14, 24])
        image = blend(image, smooth(digit_distance(x, y, left, 100, 42, digit)), [250, 246, 232])
    image = blend(image, smooth(np.hypot(x - 432, y - 184) - 6), [250, 246, 232])

    # A ball that bounces along below the clock.
    ball_x = 300 + 280 * (1 - np.cos(2 * turn)) / 2
    ball_y = 286 - 62 * abs(np.sin(5 * turn))
    image = blend(image, smooth(np.hypot(x - ball_x, (y - 292) * 3) - 16, 8) * 0.4, [6, 14, 24])
    image = blend(image, smooth(np.hypot(x - ball_x, y - ball_y) - 15), [250, 190, 70])
    image = blend(image, smooth(np.hypot(x - ball_x + 5, y - ball_y + 5) - 4, 4) * 0.7, [255, 240, 205])

    row = HEIGHT // 15
    for column, bit in enumerate(cells(number)):
        area = slice(WIDTH * column // CELLS, WIDTH * (column + 1) // CELLS)
        image[HEIGHT - 2 * row : HEIGHT - row, area] = 235 if bit else 16
        image[HEIGHT - row :, area] = 16 if bit else 235
    return np.clip(image, 0, 255).astype(np.uint8)


def draw(out):
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    for number in range(FRAMES):
        out.write(picture(number, x, y).tobytes())


# The sound


def sound(out):
    time = np.arange(SAMPLE_RATE) / SAMPLE_RATE
    # 20 ms of fade at both ends of a note: no clicks.
    envelope = np.clip(np.minimum(time, 1 - time) / 0.02, 0, 1)
    for tone in TONES:
        note = np.sin(2 * np.pi * tone * time) + 0.2 * np.sin(4 * np.pi * tone * time)
        samples = (note * envelope * 0.3 * 32767).astype("<i2")
        out.write(np.repeat(samples, 2).tobytes())


# Reading files


def decoded(path, *options):
    """What ffmpeg decodes from a file, as a pipe."""
    command = ["ffmpeg", "-v", "error", "-nostdin", "-i", path, *options, "-"]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def read(path):
    process = decoded(path, "-vf", f"scale={WIDTH}:{HEIGHT}", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray")
    numbers, size = [], WIDTH * HEIGHT
    while len(data := process.stdout.read(size)) == size:
        number = read_counter(np.frombuffer(data, np.uint8).reshape(HEIGHT, WIDTH))
        print(json.dumps({"frame": len(numbers), "counter": number}))
        numbers.append(number)
    known = [number for number in numbers if number is not None]
    steps = [(after - before) % FRAMES for before, after in zip(known, known[1:])]
    summary = {
        "frames": len(numbers),
        "readable": len(known),
        "distinct": len(set(known)),
        "missing": sum(step - 1 for step in steps if 1 < step <= FRAMES // 2),
        "repeated": sum(1 for step in steps if step == 0),
        "backwards": sum(1 for step in steps if step > FRAMES // 2),
    }
    print(json.dumps({"summary": summary}))
    return 0 if process.wait() == 0 and known else 1


def dominant(samples):
    """The strongest frequency in Hz, between the bins of the transform by a parabola through its peak."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    peak = int(spectrum[1:-1].argmax()) + 1
    before, at, after = spectrum[peak - 1 : peak + 2]
    bend = before - 2 * at + after
    shift = 0.5 * (before - after) / bend if bend else 0.0
    return (peak + shift) * SAMPLE_RATE / len(samples)


def tone(path):
    process = decoded(path, "-f", "s16le", "-ac", "1", "-ar", str(SAMPLE_RATE))
    samples = np.frombuffer(process.stdout.read(), "<i2").astype(np.float64)
    right = 0
    seconds = len(samples) // SAMPLE_RATE
    for second in range(seconds):
        # The middle 0.8 s: the fades, and the codec's delay, do not matter.
        window = samples[second * SAMPLE_RATE + 4_800 : (second + 1) * SAMPLE_RATE - 4_800]
        found, expected = dominant(window), TONES[second % SECONDS]
        is_right = bool(abs(found - expected) < 8)
        right += is_right
        print(json.dumps({"second": second, "hertz": round(found, 1), "expected": expected, "right": is_right}))
    print(json.dumps({"summary": {"seconds": seconds, "right": right}}))
    return 0 if process.wait() == 0 and right == seconds and seconds > 0 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("draw")
    commands.add_parser("sound")
    commands.add_parser("read").add_argument("file")
    commands.add_parser("tone").add_argument("file")
    arguments = parser.parse_args()
    match arguments.command:
        case "draw":
            draw(sys.stdout.buffer)
        case "sound":
            sound(sys.stdout.buffer)
        case "read":
            sys.exit(read(arguments.file))
        case "tone":
            sys.exit(tone(arguments.file))


if __name__ == "__main__":
    main()
