"""What a peer received, and the checks that tell a live picture and sound from frozen or repeated ones."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MEDIA = REPOSITORY / "Media"
sys.path.insert(0, str(MEDIA))

import frame_counter  # noqa: E402

TONES = frame_counter.TONES
FRAMES = frame_counter.FRAMES


@dataclass
class Evidence:
    """Counters of the decoded frames in order (None: not readable), and the loudest frequencies heard, in Hz."""

    who: str
    counters: list = field(default_factory=list)
    hertz: list = field(default_factory=list)
    codec: str | None = None
    cipher: str | None = None

    @property
    def readable(self):
        return [number for number in self.counters if number is not None]

    def check_picture(self, least=30, unreadable=0.2, stalls=0):
        """Enough different frames whose counter goes forward: a frozen, looped or torn picture fails.

        The counter goes round after ten seconds, so a stall of five to eight looks like a step back by five to
        two; only so many of these are taken for a stall.
        """
        readable = self.readable
        assert len(self.counters) >= least, f"{self.who} decoded only {len(self.counters)} frames"
        assert len(readable) >= (1 - unreadable) * len(self.counters), (
            f"{self.who} could read {len(readable)} of {len(self.counters)} counters"
        )
        steps = [(after - before) % FRAMES for before, after in zip(readable, readable[1:])]
        stalled = sum(FRAMES // 2 < step <= FRAMES * 8 // 10 for step in steps)
        backwards = sum(step > FRAMES // 2 for step in steps) - min(stalled, stalls)
        forward = sum(0 < step <= FRAMES // 2 for step in steps)
        assert backwards == 0, f"{self.who} saw the counter go back {backwards} times: {readable}"
        assert forward >= 0.5 * least, f"{self.who} saw a picture that stands: {readable}"

    def check_sound(self, tones=TONES, least=1, tolerance=12):
        """A tone that was sent, and not hum or silence. Coders and resamplers move it by a few Hz."""
        right = [found for found in self.hertz if any(abs(found - tone) < tolerance for tone in tones)]
        assert len(right) >= least, f"{self.who} heard {self.hertz}, wanted one of {tones}"
        assert len(right) >= 0.5 * len(self.hertz), f"{self.who} heard mostly something else: {self.hertz}"

    def check(self, **picture):
        self.check_picture(**picture)
        self.check_sound()
