"""The test picture in several sizes, as files."""

import subprocess

from support.evidence import MEDIA


def make_layers(folder, sizes, frames, key_frame_every=9999):
    """VP8, a file for each size, by name: a counter on each of its pictures, and key frames at the same places."""
    files = {}
    for name, (width, height) in sizes.items():
        files[name] = folder / f"{name}.ivf"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-i", MEDIA / "webRtcTestVideo.ivf", "-vf", f"scale={width}:{height}", "-c:v",
             "libvpx", "-deadline", "realtime", "-cpu-used", "16", "-auto-alt-ref", "0", "-g", str(key_frame_every),
             "-keyint_min", str(key_frame_every), "-b:v", f"{width // 4}k", "-frames:v", str(frames), files[name]],
            check=True)
    return files
