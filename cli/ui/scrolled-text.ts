import { bodyHeight } from "./frame.ts";
import type { Size } from "./screen.tsx";

/** A text that may be longer than the screen. */
export interface ScrolledText {
  /** The first line shown. */
  readonly top: number;
  /** The text for a terminal so many columns wide. */
  readonly lines?: { readonly columns: number; readonly text: readonly string[] };
}

/**
 * The text laid out for a screen of this size, scrolled no further than its end. The lines are kept, since text takes
 * longer to lay out than to scroll: once it is there as a whole.
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
