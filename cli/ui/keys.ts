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
};
