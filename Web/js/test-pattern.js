// A picture and a sound for those who have no camera or microphone, or do not want to show them.
import { FRAMES, drawCounter } from './frame-counter.js';

const WIDTH = 640;
const HEIGHT = 360;
const RATE = 30;

/**
 * A drawn picture with a clock and a frame counter as a video track. `stop()` ends it.
 *
 * @param {{width?: number, rate?: number}} options in pixels and frames a second; the height follows
 */
export function patternTrack(name, { width = WIDTH, rate = RATE } = {}) {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = (width * HEIGHT) / WIDTH;
  const context = canvas.getContext('2d', { alpha: false });
  // What is drawn is measured in the usual size.
  context.scale(width / WIDTH, width / WIDTH);
  const started = performance.now();
  const isStill = matchMedia('(prefers-reduced-motion: reduce)');
  let drawn = -1;
  const draw = () => {
    const number = Math.floor(((performance.now() - started) * rate) / 1000);
    if (number === drawn) return;
    drawn = number;
    picture(context, number, number / rate, name, isStill.matches);
  };
  draw();
  // A timer and not animation frames: those stop in a hidden tab, and the other side would see a frozen picture.
  const timer = setInterval(draw, 1000 / rate);
  const [track] = canvas.captureStream(rate).getVideoTracks();
  track.contentHint = 'motion';
  return { track, stop: () => (clearInterval(timer), track.stop()) };
}

function picture(context, number, time, name, isStill) {
  const turn = isStill ? 0.6 : (2 * Math.PI * (number % FRAMES)) / FRAMES;
  const sky = context.createLinearGradient(0, 0, WIDTH * (0.5 + 0.5 * Math.cos(turn)), HEIGHT);
  sky.addColorStop(0, '#123a3f');
  sky.addColorStop(1, '#2b7d78');
  context.fillStyle = sky;
  context.fillRect(0, 0, WIDTH, HEIGHT);

  const [x, y, radius] = [150, 150, 92];
  context.lineWidth = 6;
  context.strokeStyle = '#f3eedd';
  context.fillStyle = '#0d1c24';
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  for (let second = 0; second < 10; second += 1) {
    const angle = (2 * Math.PI * second) / 10;
    context.fillStyle = second <= time % 10 ? '#fabe46' : '#4a5d6c';
    context.beginPath();
    context.arc(x + 74 * Math.sin(angle), y - 74 * Math.cos(angle), 5, 0, 2 * Math.PI);
    context.fill();
  }
  const hand = isStill ? (2 * Math.PI * Math.floor(time % 10)) / 10 : 2 * Math.PI * (time % 1);
  context.strokeStyle = '#fa785a';
  context.lineCap = 'round';
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + 56 * Math.sin(hand), y - 56 * Math.cos(hand));
  context.stroke();

  context.fillStyle = '#faf6e8';
  context.font = '600 52px system-ui, sans-serif';
  context.fillText([...name].slice(0, 40).join(''), 290, 130, 320);
  context.font = '500 40px ui-monospace, monospace';
  const clock = new Date(Math.floor(time) * 1000).toISOString().slice(14, 19);
  context.fillText(clock, 290, 190);
  context.font = '400 20px system-ui, sans-serif';
  context.fillText('Test picture', 290, 230, 320);
  drawCounter(context, number % FRAMES, WIDTH, HEIGHT);
}

/** A quiet tone as an audio track, in Hz. `stop()` ends it. */
export function toneTrack(frequency = 440) {
  const context = new AudioContext();
  const oscillator = new OscillatorNode(context, { frequency });
  const volume = new GainNode(context, { gain: 0.2 });
  const out = new MediaStreamAudioDestinationNode(context);
  oscillator.connect(volume).connect(out);
  oscillator.start();
  // Without a gesture on the page the browser holds the sound back; the next gesture lets it out.
  const gestures = new AbortController();
  const resume = () => {
    gestures.abort();
    context.resume();
  };
  if (context.state === 'suspended') {
    for (const gesture of ['pointerdown', 'keydown']) addEventListener(gesture, resume, { signal: gestures.signal });
  }
  const [track] = out.stream.getAudioTracks();
  const stop = () => {
    gestures.abort();
    track.stop();
    context.close();
  };
  return { track, stop };
}
