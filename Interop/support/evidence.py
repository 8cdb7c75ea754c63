"""What a peer received, and the checks that tell a live picture and sound from frozen or repeated ones."""

import sys
from dataclasses import dataclass, field
from itertools import dropwhile, groupby
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MEDIA = REPOSITORY / "Media"
sys.path.insert(0, str(MEDIA))

import frame_counter  # noqa: E402

TONES = frame_counter.TONES
FRAMES = frame_counter.FRAMES
PIECE = 0.5
"""Seconds of sound that are judged at once: shorter than a note, long enough to tell the notes apart."""


def loudest(samples, rate):
    """The loudest frequency in 16-bit samples, in Hz; None for silence."""
    if abs(samples).max() <= 200:
        return None
    return round(float(frame_counter.dominant(samples)) * rate / frame_counter.SAMPLE_RATE, 1)


@dataclass
class Evidence:
    """Counters of the decoded frames in order (None: not readable), and the loudest frequency of each piece of sound,
    in Hz (None: silence).
    """

    who: str
    counters: list = field(default_factory=list)
    hertz: list = field(default_factory=list)
    codec: str | None = None
    cipher: str | None = None
    tones: list = field(default_factory=lambda: list(TONES))
    """What the other side sends: the notes of the test sound one after the other, or one tone."""
    returns: int = 0
    """How often the picture may go back to pictures of the last second, as a receiver does that is made anew."""

    @property
    def readable(self):
        return [number for number in self.counters if number is not None]

    def check_picture(self, least=30, unreadable=0.2, moving=0.7, standing=0.5, missing=3, stalls=0):
        """Enough different frames whose counter goes forward: a frozen, looped or torn picture fails.

        `moving` is the part of the steps from frame to frame that has to go forward, `standing` for how many seconds
        one picture may be repeated, `missing` how many seconds of pictures may be left out in one go, as a receiver does
        that freezes. The counter goes round after ten seconds, so a stall of five to eight looks like a
        step back by five to two; only `stalls` of these are taken for a stall.
        """
        readable = self.readable
        assert len(self.counters) >= least, f"{self.who} decoded only {len(self.counters)} frames"
        assert len(readable) >= (1 - unreadable) * len(self.counters), (
            f"{self.who} could read {len(readable)} of {len(self.counters)} counters"
        )
        steps = [(after - before) % FRAMES for before, after in zip(readable, readable[1:])]
        stalled = sum(FRAMES // 2 < step <= FRAMES * 8 // 10 for step in steps)
        returned = sum(step >= FRAMES - frame_counter.RATE for step in steps)
        backwards = sum(step > FRAMES // 2 for step in steps) - min(stalled, stalls) - min(returned, self.returns)
        forward = sum(0 < step <= FRAMES // 2 for step in steps)
        still = max((len(list(run)) for step, run in groupby(steps) if step == 0), default=0)
        assert backwards == 0, f"{self.who} saw the counter go back {backwards} times: {readable}"
        assert forward >= moving * len(steps), f"{self.who} saw a picture that mostly stands: {readable}"
        gap = max((step for step in steps if step <= FRAMES // 2), default=0)
        assert gap <= missing * frame_counter.RATE, f"{self.who} saw nothing of {gap} frames: {readable}"
        assert still <= standing * frame_counter.RATE, (
            f"{self.who} saw the picture freeze for {still} frames: {readable}"
        )

    def check_sound(self, tones=None, seconds=2.0, wrong=0.34, sticking=2.0, tolerance=12):
        """The tones that were sent, for long enough, and hardly any silence or hum from the first of them on.

        A sender of several has to be heard going from one to the next: `sticking` is how many seconds one may last.
        Coders and resamplers move a tone by a few Hz, within `tolerance`.
        """
        tones = tones or self.tones
        heard = [self._tone(piece, tones, tolerance) for piece in dropwhile(lambda piece: piece is None, self.hertz)]
        right = [tone for tone in heard if tone is not None]
        account = f"{self.who} heard {self.hertz}, wanted {tones}"
        assert PIECE * len(right) >= seconds, f"{account}: not enough of it"
        assert len(right) >= (1 - wrong) * len(heard), f"{account}: too much silence or something else"
        if len(tones) > 1:
            longest = PIECE * max(len(list(run)) for tone, run in groupby(heard) if tone is not None)
            assert len(set(right)) > 1 and longest <= sticking, f"{account}: one tone for {longest} s"

    @staticmethod
    def _tone(hertz, tones, tolerance):
        """Which of the tones that is; None for silence and for anything else."""
        nearest = min(tones, key=lambda tone: abs(tone - (hertz or 0)))
        return nearest if hertz is not None and abs(nearest - hertz) < tolerance else None

    def check(self, **limits):
        """What a call over a clean link has to bring."""
        self.check_picture(**limits)
        self.check_sound()
