import stringWidth from "string-width";
import type { Style } from "../io.ts";
import { cutEnd, padEnd, wrapWords } from "../output/width.ts";
import { drawFrame, innerWidth, type KeyHint } from "./frame.ts";
import type { Size } from "./screen.tsx";

/** A scrollable page that lists the keys of a screen. */
export interface Help {
  /** All of it as lines for a screen of this size. */
  lines(size: Size, style: Style): readonly string[];
  /** The whole screen, from the line `top` on. */
  draw(top: number, size: Size, style: Style): readonly string[];
}

const hints: readonly KeyHint[] = [
  ["↑↓", "scroll"],
  ["any key", "back"],
];

/** The help of a screen; an entry without a key is a remark. */
export function createHelp(title: string, keys: readonly KeyHint[]): Help {
  const lines = (size: Size, style: Style) => drawKeys(keys, size, style);
  return {
    lines,
    draw: (top, size, style) => {
      const body = lines(size, style).slice(top);
      return drawFrame({ title, aside: "", body, status: "", hints }, size, style);
    },
  };
}

function drawKeys(keys: readonly KeyHint[], size: Size, style: Style): readonly string[] {
  const width = innerWidth(size);
  const keysWidth = Math.max(...keys.map(([names]) => stringWidth(names)));
  return keys.flatMap(([names, does]) => {
    if (names === "") return [style.dim(cutEnd(does, width))];
    const lines = wrapWords(does, Math.max(8, width - keysWidth - 4));
    return lines.map((line, index) => {
      const head = padEnd(index === 0 ? names : "", keysWidth);
      return `  ${style.bold(head)}  ${line}`;
    });
  });
}
