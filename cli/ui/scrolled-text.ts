import { bodyHeight } from "./frame.ts";
import type { Size } from "./screen.tsx";

/** A text that may be longer than the screen. */
export interface ScrolledText {
  /** The first line shown. */
  readonly top: number;
  /** The text laid out for a terminal of this width. */
  readonly lines?: { readonly columns: number; readonly text: readonly string[] };
}

/**
 * Lays out the text for a screen of this size, scrolled no further than its end. Caches the lines once the text is
 * complete, since layout takes longer than scrolling.
 */
export function layOut<T extends ScrolledText>(
  shown: T,
  size: Size,
  { isWhole, toLines }: { readonly isWhole: boolean; readonly toLines: () => readonly string[] },
): T {
  const { columns } = size;
  const text = shown.lines?.columns === columns ? shown.lines.text : toLines();
  const most = Math.max(0, text.length - bodyHeight(size, {}));
  return {
    ...shown,
    ...(isWhole ? { lines: { columns, text } } : {}),
    top: Math.min(shown.top, most),
  };
}
