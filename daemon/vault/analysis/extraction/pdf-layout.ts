/** A run of text on a page, in points; `y` is its baseline and grows upwards. */
export interface Fragment {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  /** Size of the font. */
  readonly height: number;
  readonly isRightToLeft: boolean;
}

/** Share of the font's size by which baselines of one line may differ: indices and exponents. */
const BASELINE_SHARE = 0.5;
/** Gap between letters, as a share of the font's size, that separates words. */
const WORD_GAP = 0.15;
/** Overlap from which texts are different ones, drawn one upon the other. */
const OVERLAP = 0.5;
/** Gap that separates columns. */
const COLUMN_GAP = 1;
/** Rows that share a gap before they are taken for columns. */
const COLUMN_ROWS_MIN = 2;
/** Typical length of a line of running text in a column; cells of tables are shorter. */
const PROSE_CHARACTERS = 25;
/** Fragments of one page that are put in order; a page with more keeps the order of drawing. */
const FRAGMENTS_MAX = 20_000;

/** Rows that are compared to find columns; a page has fewer. */
const ROWS_MAX = 400;
/** Columns within columns that are looked for. */
const DEPTH_MAX = 16;

/** Neighbouring fragments of one line without a wide gap between them. */
interface Segment {
  readonly left: number;
  readonly right: number;
  readonly text: string;
  /** Position in the order of drawing. */
  readonly order: number;
}

interface Row {
  readonly segments: readonly Segment[];
}

/**
 * Returns the lines of a page in reading order: from top to bottom, words by their position, columns one after the other.
 * Columns are told from the cells of a table by the length of their lines, or by the order of drawing.
 */
export function toReadingOrder(fragments: readonly Fragment[]): string[] {
  const shown = withoutRepeats(fragments.filter(({ text }) => text.trim() !== ""));
  if (shown.length > FRAGMENTS_MAX) return shown.map(({ text }) => text);
  return toLines(toRows(shown));
}

/** Leaves out text that is drawn again at its place, which programs do for bold letters and shadows. */
function withoutRepeats(fragments: readonly Fragment[]): Fragment[] {
  const seen = new Map<string, Fragment[]>();
  return fragments.filter((one) => {
    const same = seen.get(one.text) ?? [];
    const isNear = (other: Fragment) =>
      Math.abs(other.x - one.x) + Math.abs(other.y - one.y) < one.height * WORD_GAP;
    if (same.slice(-REPEATS_COMPARED).some(isNear)) return false;
    seen.set(one.text, [...same.slice(-REPEATS_COMPARED), one]);
    return true;
  });
}

/** Places of one text that are compared: a repeat follows soon. */
const REPEATS_COMPARED = 8;

function toRows(fragments: readonly Fragment[]): Row[] {
  const ordered = fragments.map((fragment, order) => ({ ...fragment, order }));
  const sorted = ordered.toSorted((a, b) => b.y - a.y || a.x - b.x);
  const rows: (typeof sorted)[] = [];
  let baseline = 0;
  let size = 0;
  for (const fragment of sorted) {
    const row = rows.at(-1);
    const height = Math.max(size, fragment.height);
    if (row !== undefined && baseline - fragment.y < height * BASELINE_SHARE) {
      row.push(fragment);
      // A tall letter at the beginning of a line has the baseline of the smaller ones beside it.
      size = Math.min(size, fragment.height);
    } else {
      rows.push([fragment]);
      baseline = fragment.y;
      size = fragment.height;
    }
  }
  return rows.map((row) => ({ segments: toSegments(row) }));
}

type Ordered = Fragment & { readonly order: number };

function toSegments(row: readonly Ordered[]): Segment[] {
  const segments: Ordered[][] = [];
  let right = -Infinity;
  for (const fragment of row.toSorted((a, b) => a.x - b.x)) {
    const last = segments.at(-1);
    if (last === undefined || fragment.x - right > fragment.height * COLUMN_GAP)
      segments.push([fragment]);
    else last.push(fragment);
    right = Math.max(right, fragment.x + fragment.width);
  }
  return segments.map((segment) => ({
    left: segment[0]?.x ?? 0,
    right: Math.max(...segment.map(({ x, width }) => x + width)),
    text: joinFragments(segment),
    order: Math.min(...segment.map(({ order }) => order)),
  }));
}

/** Joins fragments that are sorted from left to right, with spaces where there are gaps. */
function joinFragments(fragments: readonly Ordered[]): string {
  const isRightToLeft = fragments.filter((one) => one.isRightToLeft).length * 2 > fragments.length;
  let text = "";
  let edge: number | undefined;
  for (const one of isRightToLeft ? fragments.toReversed() : fragments) {
    const [start, end] = isRightToLeft ? [-one.x - one.width, -one.x] : [one.x, one.x + one.width];
    const gap = edge === undefined ? 0 : start - edge;
    const isApart = gap > one.height * WORD_GAP || gap < -one.height * OVERLAP;
    text += isApart && !/\s$/.test(text) && !/^\s/.test(one.text) ? ` ${one.text}` : one.text;
    edge = end;
  }
  return text.trim();
}

type Gap = readonly [from: number, to: number];

function toLines(rows: readonly Row[], depth = 0): string[] {
  const lines: string[] = [];
  for (let at = 0; at < rows.length;) {
    const columns = depth < DEPTH_MAX ? findColumns(rows, at) : undefined;
    if (columns === undefined) {
      lines.push((rows[at]?.segments ?? []).map(({ text }) => text).join("\t"));
      at += 1;
      continue;
    }
    const { end, middle } = columns;
    const block = rows.slice(at, end);
    for (const isSide of [isLeftOf(middle), isRightOf(middle)])
      lines.push(
        ...toLines(
          block.flatMap(({ segments }) => {
            const side = segments.filter(isSide);
            return side.length === 0 ? [] : [{ segments: side }];
          }),
          depth + 1,
        ),
      );
    at = end;
  }
  return lines;
}

const isLeftOf = (middle: number) => (segment: Segment) => segment.left < middle;
const isRightOf = (middle: number) => (segment: Segment) => segment.left >= middle;

/** Finds the rows from `start` on that share a gap between columns. */
function findColumns(
  rows: readonly Row[],
  start: number,
): { readonly end: number; readonly middle: number } | undefined {
  let gaps = toGaps(rows[start]?.segments ?? []);
  let end = start + 1;
  const last = Math.min(rows.length, start + ROWS_MAX);
  for (; end < last && gaps.length > 0; end += 1) {
    const shared = intersect(gaps, rows[end]?.segments ?? []);
    if (shared.length === 0) break;
    gaps = shared;
  }
  const widest = gaps.toSorted((a, b) => b[1] - b[0] - (a[1] - a[0]))[0];
  if (widest === undefined) return undefined;
  const middle = (widest[0] + widest[1]) / 2;
  // Rows at the end of which only one side has text may belong to what follows.
  while (end > start && !isDivided(rows[end - 1], middle)) end -= 1;
  const block = rows.slice(start, end);
  const divided = block.filter((row) => isDivided(row, middle));
  if (divided.length < COLUMN_ROWS_MIN) return undefined;
  return isProse(block, middle) || isDrawnByColumn(block, middle) ? { end, middle } : undefined;
}

const isDivided = (row: Row | undefined, middle: number) =>
  row !== undefined && row.segments.some(isLeftOf(middle)) && row.segments.some(isRightOf(middle));

function toGaps(segments: readonly Segment[]): Gap[] {
  return segments
    .slice(1)
    .map(({ left }, index): Gap => [
      Math.max(...segments.slice(0, index + 1).map(({ right }) => right)),
      left,
    ]);
}

/** The parts of the gaps that no segment covers. */
function intersect(gaps: readonly Gap[], segments: readonly Segment[]): Gap[] {
  return gaps.flatMap(([from, to]) => {
    let rest: Gap[] = [[from, to]];
    for (const { left, right } of segments)
      rest = rest.flatMap(([a, b]): Gap[] =>
        right <= a || left >= b
          ? [[a, b]]
          : [
              ...(left - a > 1 ? [[a, left] as Gap] : []),
              ...(b - right > 1 ? [[right, b] as Gap] : []),
            ],
      );
    return rest.filter(([a, b]) => b - a > COLUMN_GAP_POINTS_MIN);
  });
}

/** Width of a gap that stays one when further rows narrow it. */
const COLUMN_GAP_POINTS_MIN = 4;

/** Whether the lines on both sides are about as long as those of running text. */
function isProse(block: readonly Row[], middle: number): boolean {
  return [isLeftOf(middle), isRightOf(middle)].every((isSide) => {
    const lengths = block
      .flatMap(({ segments }) => segments.filter(isSide))
      .map(({ text }) => text.length)
      .toSorted((a, b) => a - b);
    return (lengths[Math.floor(lengths.length / 2)] ?? 0) >= PROSE_CHARACTERS;
  });
}

/** Whether one side was drawn before the other, as programs draw columns; a table is drawn row by row. */
function isDrawnByColumn(block: readonly Row[], middle: number): boolean {
  const segments = block.flatMap((row) => row.segments).toSorted((a, b) => a.order - b.order);
  const sides = segments.map(isLeftOf(middle));
  return sides.filter((side, index) => index > 0 && side !== sides[index - 1]).length === 1;
}
