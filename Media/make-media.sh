#!/usr/bin/env bash
# Makes the test media of this folder anew: ten seconds of a moving picture with a machine-readable frame counter as
# H.264 and as VP8, and ten tones as Opus; three seconds of both, smaller, as VP9, AV1, H.265 and G.711. Needs ffmpeg and numpy. The results are committed; run this after a change.
set -euo pipefail
cd "$(dirname "$0")"
python=../.venv/bin/python
[ -x "$python" ] && "$python" -c 'import numpy' 2>/dev/null || python=${PYTHON:-python3}
counter() { "$python" frame_counter.py "$@"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
counter draw > "$work/picture"
counter sound > "$work/sound"

# The same bytes from every run: one thread, no dates, no encoder names in the container.
ffmpeg=(ffmpeg -v error -nostdin -y)
exact=(-map_metadata -1 -fflags +bitexact -flags +bitexact -threads 1)
picture=(-f rawvideo -pix_fmt rgb24 -video_size 640x360 -framerate 30 -i "$work/picture"
    -vf scale=out_color_matrix=bt709:out_range=tv -pix_fmt yuv420p -colorspace bt709)

# Constrained baseline, which every WebRTC peer decodes: no B-frames, a key frame each second. The filter removes the
# encoder's settings, which x264 writes into the stream as SEI.
"${ffmpeg[@]}" "${picture[@]}" -c:v libx264 -profile:v baseline -level 3.0 -preset veryslow -tune animation -bf 0 \
    -g 30 -keyint_min 30 -sc_threshold 0 -b:v 520k -maxrate 800k -bufsize 800k "${exact[@]}" \
    -bsf:v filter_units=remove_types=6 -movflags +faststart webRtcTestVideo.mp4

# No alternate references: those are frames that a decoder does not show, and 300 frames should be 300 pictures.
"${ffmpeg[@]}" "${picture[@]}" -c:v libvpx -deadline good -cpu-used 0 -auto-alt-ref 0 -g 30 -keyint_min 30 \
    -b:v 520k -maxrate 800k -bufsize 800k -qmin 4 -qmax 40 "${exact[@]}" webRtcTestVideo.ivf

"${ffmpeg[@]}" -f s16le -ar 48000 -ac 2 -i "$work/sound" -c:a libopus -b:a 64k -vbr off -frame_duration 20 "${exact[@]}" \
    webRtcTestVideo.ogg

# One thread and one layer, as a call has it: no frame that is not shown.
short=(-t 3 -f rawvideo -pix_fmt rgb24 -video_size 640x360 -framerate 30 -i "$work/picture"
    -vf scale=320:180:out_color_matrix=bt709:out_range=tv -pix_fmt yuv420p -colorspace bt709)
"${ffmpeg[@]}" "${short[@]}" -c:v libvpx-vp9 -deadline realtime -cpu-used 5 -auto-alt-ref 0 -lag-in-frames 0 -g 30 \
    -keyint_min 30 -b:v 200k "${exact[@]}" webRtcTestVideo-vp9.ivf
"${ffmpeg[@]}" "${short[@]}" -c:v libaom-av1 -usage realtime -cpu-used 8 -lag-in-frames 0 -g 30 -keyint_min 30 \
    -b:v 200k "${exact[@]}" webRtcTestVideo-av1.ivf
# No B-frames, closed groups, and no SEI of the encoder's; `hvc1`, which Apple's players ask for.
"${ffmpeg[@]}" "${short[@]}" -c:v libx265 -preset medium -profile:v main -tag:v hvc1 -b:v 200k -x265-params \
    "bframes=0:keyint=30:min-keyint=30:scenecut=0:open-gop=0:info=0:pools=1:frame-threads=1:log-level=error" \
    "${exact[@]}" -movflags +faststart webRtcTestVideo-h265.mp4
"${ffmpeg[@]}" -f s16le -ar 48000 -ac 2 -t 3 -i "$work/sound" -ar 8000 -ac 1 -c:a pcm_mulaw "${exact[@]}" \
    webRtcTestVideo-pcmu.wav

for file in webRtcTestVideo.mp4 webRtcTestVideo.ivf webRtcTestVideo-vp9.ivf webRtcTestVideo-av1.ivf webRtcTestVideo-h265.mp4; do echo "$file $(counter read $file | tail -n 1)"; done
echo "webRtcTestVideo.ogg $(counter tone webRtcTestVideo.ogg | tail -n 1)"
ls -l webRtcTestVideo*
