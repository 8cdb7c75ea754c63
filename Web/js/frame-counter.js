// The machine-readable frame counter of the test picture; Media/frame_counter.py has the layout and its reasons.
// Two rows of 20 cells over the lowest 2/15: 1 0, twelve bits, four bits of CRC (x^4 + x + 1), 0 1; below it the
// complement, so that neither brightness nor contrast nor scaling matters.

export const CELLS = 20;
export const BITS = 12;
/** The counter goes round after ten seconds of 30 frames, as in the test files. */
export const FRAMES = 300;

function checkBits(number) {
  let remainder = number << 4;
  for (let shift = BITS - 1; shift >= 0; shift -= 1) {
    if ((remainder >> (shift + 4)) & 1) remainder ^= 0b10011 << shift;
  }
  return remainder;
}

/** The upper row's cells for a number, 1 for white. */
export function cells(number) {
  const bits = (number << 4) | checkBits(number);
  return [1, 0, ...Array.from({ length: BITS + 4 }, (_, place) => (bits >> (BITS + 3 - place)) & 1), 0, 1];
}

/** Draws the counter over the lowest 2/15 of a picture. */
export function drawCounter(context, number, width, height) {
  const row = height / 15;
  cells(number).forEach((bit, column) => {
    const left = (width * column) / CELLS;
    context.fillStyle = bit ? '#ebebeb' : '#101010';
    context.fillRect(left, height - 2 * row, width / CELLS + 1, row);
    context.fillStyle = bit ? '#101010' : '#ebebeb';
    context.fillRect(left, height - row, width / CELLS + 1, row + 1);
  });
}

/** The number in a picture (`ImageData`); null when there is none to trust. */
export function readCounter({ data, width, height }) {
  const part = (whole, numerator, denominator) => Math.floor((whole * numerator) / denominator);
  const mean = (top, bottom, left, right) => {
    let sum = 0;
    for (let y = top; y < bottom; y += 1) {
      for (let x = left; x < right; x += 1) sum += data[4 * (y * width + x) + 1];
    }
    return sum / ((bottom - top) * (right - left));
  };
  let read = 0;
  for (let column = 0; column < CELLS; column += 1) {
    // The middle half of each cell: its edges are blurred by scaling and coding.
    const left = part(width, 4 * column + 1, 4 * CELLS);
    const right = part(width, 4 * column + 3, 4 * CELLS);
    const upper = mean(part(height, 53, 60), part(height, 55, 60), left, right);
    const lower = mean(part(height, 57, 60), part(height, 59, 60), left, right);
    if (!(Math.abs(upper - lower) >= 40)) return null;
    read = (read << 1) | (upper > lower ? 1 : 0);
  }
  const number = (read >> 6) & ((1 << BITS) - 1);
  return cells(number).reduce((sum, bit) => (sum << 1) | bit, 0) === read ? number : null;
}
