import type { Key } from "./keys.ts";

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
