import type { Key as InkKey } from "ink";

/** Keys that are not text. */
export type KeyName =
  | "up"
  | "down"
  | "left"
  | "right"
  | "pageUp"
  | "pageDown"
  | "home"
  | "end"
  | "enter"
  | "escape"
  | "backspace"
  | "delete"
  | "tab"
  /** Ctrl-C. */
  | "interrupt"
  /** Ctrl-Z. */
  | "suspend"
  /** Ctrl-L and Ctrl-R: reload. */
  | "refresh"
  /** Ctrl-U: empty the field. */
  | "clear";

/** A keyboard event. A text is one character, unless it was pasted. */
export type Key =
  | { readonly kind: "key"; readonly name: KeyName }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "paste"; readonly text: string };

const names: readonly (readonly [keyof InkKey, KeyName])[] = [
  ["upArrow", "up"],
  ["downArrow", "down"],
  ["leftArrow", "left"],
  ["rightArrow", "right"],
  ["pageUp", "pageUp"],
  ["pageDown", "pageDown"],
  ["home", "home"],
  ["end", "end"],
  ["return", "enter"],
  ["escape", "escape"],
  ["backspace", "backspace"],
  ["delete", "delete"],
  ["tab", "tab"],
];

const controls: Readonly<Record<string, KeyName>> = {
  c: "interrupt",
  l: "refresh",
  r: "refresh",
  u: "clear",
  z: "suspend",
};

/** The keys of one event. Keys that come faster than they are read arrive as one text. */
export function toKeys(input: string, key: InkKey): readonly Key[] {
  const named = names.find(([flag]) => key[flag] === true);
  if (named !== undefined) return [{ kind: "key", name: named[1] }];
  if (key.ctrl) {
    const name = controls[input];
    return name === undefined ? [] : [{ kind: "key", name }];
  }
  if (key.meta) return [];
  return [...new Intl.Segmenter().segment(input)].flatMap(({ segment }): readonly Key[] => {
    const known = inText[segment];
    if (known !== undefined) return [{ kind: "key", name: known }];
    return /^\p{Cc}/u.test(segment) ? [] : [{ kind: "text", text: segment }];
  });
}

/** Keys that arrive in the midst of a text. */
const inText: Readonly<Record<string, KeyName>> = {
  "\r": "enter",
  "\n": "enter",
  "\r\n": "enter",
  "\t": "tab",
  "\u000c": "refresh",
  "\u0012": "refresh",
  "\u0015": "clear",
  "\u001a": "suspend",
};

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
