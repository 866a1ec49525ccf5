import type { Key } from "./keys.ts";

/** A line of text under the person's hands. The caret is counted in graphemes from the start. */
export interface Field {
  readonly text: string;
  readonly caret: number;
}

export function toField(text: string): Field {
  return { text, caret: graphemesOf(text).length };
}

/** The field after a key; Enter, Escape and Tab are the caller's. Control characters never get in. */
export function edit({ text, caret }: Field, key: Key): Field {
  const parts = graphemesOf(text);
  const at = (position: number) => Math.min(Math.max(0, position), parts.length);
  if (key.kind !== "key") {
    const before = parts.slice(0, caret).join("") + key.text.replaceAll(/\p{Cc}/gu, "");
    return { text: before + parts.slice(caret).join(""), caret: graphemesOf(before).length };
  }
  switch (key.name) {
    case "left":
      return { text, caret: at(caret - 1) };
    case "right":
      return { text, caret: at(caret + 1) };
    case "home":
      return { text, caret: 0 };
    case "end":
      return { text, caret: parts.length };
    case "backspace":
      return {
        text: parts.toSpliced(at(caret - 1), caret === 0 ? 0 : 1).join(""),
        caret: at(caret - 1),
      };
    case "delete":
      return { text: parts.toSpliced(caret, 1).join(""), caret };
    case "clear":
      return { text: "", caret: 0 };
    default:
      return { text, caret };
  }
}

/** Returns the text before and after the caret. */
export function splitAtCaret({ text, caret }: Field): readonly [before: string, after: string] {
  const parts = graphemesOf(text);
  return [parts.slice(0, caret).join(""), parts.slice(caret).join("")];
}

function graphemesOf(text: string): string[] {
  return [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
}
