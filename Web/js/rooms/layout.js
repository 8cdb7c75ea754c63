// Where tiles stand: rectangles in pixels, of a stage of some size.

const RATIO = 16 / 9;
const GAP = 8;
/** Smaller ones would not be worth their pixels; the stage scrolls instead. */
const SMALLEST = 136;
const STRIP = { least: 96, most: 240, part: 0.18 };
const SMALLEST_IN_STRIP = 54;

/** What is drawn in a cell: not wider than pictures are; a narrow cell is filled up to a square. */
const tileIn = ({ width, height }) => ({ width: Math.min(width, height * RATIO), height: Math.min(height, width) });

/** The grid whose tiles have the largest area; a short last row stands in the middle. */
function grid(count, { left = 0, top = 0, width, height }, { canScroll }) {
  let best = null;
  for (let columns = 1; columns <= count; columns += 1) {
    const rows = Math.ceil(count / columns);
    const cell = { width: (width - GAP * (columns - 1)) / columns, height: (height - GAP * (rows - 1)) / rows };
    const tile = tileIn(cell);
    if (!best || tile.width * tile.height > best.tile.width * best.tile.height) best = { columns, rows, tile };
  }
  if (canScroll && best.tile.width < SMALLEST) {
    const columns = Math.max(1, Math.floor((width + GAP) / (SMALLEST + GAP)));
    const cellWidth = (width - GAP * (columns - 1)) / columns;
    best = { columns, rows: Math.ceil(count / columns), tile: tileIn({ width: cellWidth, height: cellWidth / RATIO }) };
  }
  const { columns, rows, tile } = best;
  const spare = Math.max(0, height - rows * tile.height - GAP * (rows - 1)) / 2;
  return Array.from({ length: count }, (_, place) => {
    const row = Math.floor(place / columns);
    const inRow = row === rows - 1 ? count - row * columns : columns;
    const across = inRow * tile.width + GAP * (inRow - 1);
    return {
      left: left + (width - across) / 2 + (place % columns) * (tile.width + GAP),
      top: top + spare + row * (tile.height + GAP),
      ...tile,
    };
  });
}

/**
 * @param {number} count
 * @param {{width: number, height: number}} stage
 * @param {number} enlarged which of them is, or -1
 */
export function arrange(count, stage, enlarged = -1) {
  if (count === 0) return [];
  if (enlarged < 0 || count === 1) return grid(count, stage, { canScroll: true });
  const isWide = stage.width > stage.height;
  const along = isWide ? stage.width : stage.height;
  const least = SMALLEST_IN_STRIP * Math.ceil(((count - 1) * SMALLEST_IN_STRIP) / (isWide ? stage.height : stage.width));
  const thickness = Math.min(along / 2, Math.max(least, Math.min(STRIP.most, Math.max(STRIP.least, along * STRIP.part))));
  const main = isWide
    ? { left: 0, top: 0, width: along - thickness - GAP, height: stage.height }
    : { left: 0, top: 0, width: stage.width, height: along - thickness - GAP };
  const strip = isWide
    ? { left: along - thickness, top: 0, width: thickness, height: stage.height }
    : { left: 0, top: along - thickness, width: stage.width, height: thickness };
  const rest = grid(count - 1, strip, { canScroll: false });
  return [...rest.slice(0, enlarged), main, ...rest.slice(enlarged)];
}
