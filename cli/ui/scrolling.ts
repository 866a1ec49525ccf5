import type { Key } from "./keys.ts";
import type { Size } from "./screen.tsx";

/** Which row of a long list is chosen, and which is the first one shown. */
export interface ListWindow {
  readonly cursor: number;
  readonly top: number;
}

export const atTop: ListWindow = { cursor: 0, top: 0 };

/** The window with the cursor on row `cursor` of `count`, scrolled no more than is needed for `height` rows. */
export function moveTo(
  { top }: ListWindow,
  cursor: number,
  count: number,
  height: number,
): ListWindow {
  const last = Math.max(0, count - 1);
  const at = Math.min(Math.max(0, cursor), last);
  const least = Math.max(0, at - height + 1);
  const most = Math.max(0, Math.min(at, count - height));
  return { cursor: at, top: Math.min(Math.max(top, least), most) };
}

/** Returns the row that a movement key leads to; undefined for any other key. `j` and `k` move as in vi. */
export function moveOf(key: Key, { cursor }: ListWindow, height: number): number | undefined {
  const name = key.kind === "key" ? key.name : key.text;
  switch (name) {
    case "up":
    case "k":
      return cursor - 1;
    case "down":
    case "j":
      return cursor + 1;
    case "pageUp":
      return cursor - Math.max(1, height - 1);
    case "pageDown":
      return cursor + Math.max(1, height - 1);
    case "home":
    case "g":
      return 0;
    case "end":
    case "G":
      return Number.MAX_SAFE_INTEGER;
    default:
      return undefined;
  }
}

/** A text that may be longer than the screen. */
export interface ScrolledText {
  /** The first line shown. */
  readonly top: number;
  /** The text laid out for a terminal of this width. */
  readonly lines?: { readonly columns: number; readonly text: readonly string[] };
}

/** The lines of a text, and the rows that it has on the screen. */
export interface TextLayout {
  readonly isWhole: boolean;
  readonly height: number;
  readonly toLines: () => readonly string[];
}

/**
 * Lays out the text for a screen of this size, scrolled no further than its end. Caches the lines once the text is
 * complete, since layout takes longer than scrolling.
 */
export function layOut<T extends ScrolledText>(
  shown: T,
  size: Size,
  { isWhole, height, toLines }: TextLayout,
): T {
  const { columns } = size;
  const text = shown.lines?.columns === columns ? shown.lines.text : toLines();
  const most = Math.max(0, text.length - height);
  return {
    ...shown,
    ...(isWhole ? { lines: { columns, text } } : {}),
    top: Math.min(shown.top, most),
  };
}
