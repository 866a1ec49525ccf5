import type { z } from "zod";
import type { search as searchEndpoint } from "../../../daemon/contract/vault/search.ts";
import { type CliError, toCliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import { sanitizeLine, sanitizeText } from "../../output/sanitize.ts";
import { cutEnd, padEnd, wrapWords } from "../../output/width.ts";
import {
  bodyHeight,
  drawFailure,
  drawFrame,
  innerWidth,
  type KeyHint,
  type Question,
} from "../frame.ts";
import type { Key } from "../keys.ts";
import { atTop, type ListWindow, moveOf, moveTo, layOut, type ScrolledText } from "../scrolling.ts";
import type { Size } from "../screen.tsx";

/** A document or an analysed item that a search found. */
export type FoundText = z.output<(typeof searchEndpoint)["replies"][200]>["items"][number];

/** Access to the search of the vault. */
export interface SearchDeps {
  /** Returns the best matches and the number of all. */
  readonly search: (
    words: string,
  ) => Promise<{ readonly items: readonly FoundText[]; readonly total: number }>;
  /** Returns the extracted text; null when the item has no text. */
  readonly readText: (found: FoundText) => Promise<string | null>;
}

/** The results of a search over documents and items, and the text of one of them. */
export interface SearchResults {
  /** False while the folders are shown. */
  readonly isOpen: boolean;
  /** The words of the last search. */
  readonly words: string;
  search(words: string): void;
  close(): void;
  /** Handles a key of the results; returns false for keys that it does not know. */
  press(key: Key): boolean;
  draw(
    more: { readonly question: Question | undefined },
    size: Size,
    style: Style,
  ): readonly string[];
}

const listHints: readonly KeyHint[] = [
  ["Enter", "read"],
  ["/", "search"],
  ["?", "keys"],
  ["q", "back"],
];
const textHints: readonly KeyHint[] = [
  ["↑↓", "scroll"],
  ["?", "keys"],
  ["q", "back"],
];

interface ShownText extends ScrolledText {
  readonly found: FoundText;
  /** Undefined while loading; null without a text. */
  readonly text: string | null | undefined;
  readonly problem: CliError | undefined;
}

/** @param notify is called when there is something else to show */
export function createSearchResults(deps: SearchDeps, notify: () => void): SearchResults {
  let isOpen = false;
  let words = "";
  let items: readonly FoundText[] | undefined;
  let total = 0;
  let failure: CliError | undefined;
  let window: ListWindow = atTop;
  let shown: ShownText | undefined;
  let height = 10;
  let latest: object | undefined;

  function search(text: string): void {
    const own = {};
    latest = own;
    [isOpen, words, items, failure, shown, window] = [
      true,
      text,
      undefined,
      undefined,
      undefined,
      atTop,
    ];
    deps.search(text).then(
      (result) => {
        if (latest !== own) return;
        ({ items, total } = result);
        notify();
      },
      (error: unknown) => {
        if (latest !== own) return;
        failure = toCliError(error);
        notify();
      },
    );
  }

  function read(found: FoundText | undefined): void {
    if (found === undefined) return;
    shown = { found, text: undefined, problem: undefined, top: 0 };
    const update = (change: Partial<ShownText>) => {
      if (shown?.found === found) shown = { ...shown, ...change };
      notify();
    };
    deps.readText(found).then(
      (text) => update({ text }),
      (error: unknown) => update({ problem: toCliError(error) }),
    );
  }

  function pressInText(key: Key, text: ShownText): boolean {
    const name = key.kind === "key" ? key.name : key.text;
    const moved = moveOf(key, { cursor: text.top, top: 0 }, height);
    if (moved !== undefined) shown = { ...text, top: Math.max(0, moved) };
    else if (name === " ") shown = { ...text, top: text.top + height - 1 };
    else if (BACK.has(name)) shown = undefined;
    else return false;
    return true;
  }

  return {
    get isOpen() {
      return isOpen;
    },
    get words() {
      return words;
    },
    search,
    close() {
      isOpen = false;
      latest = undefined;
    },
    press(key) {
      if (shown !== undefined) return pressInText(key, shown);
      const name = key.kind === "key" ? key.name : key.text;
      const moved = moveOf(key, window, height);
      if (moved !== undefined) window = moveTo(window, moved, items?.length ?? 0, height);
      else if (name === "enter" || name === "right" || name === "l") read(items?.[window.cursor]);
      else if (name === "R" || name === "refresh") search(words);
      else if (BACK.has(name)) isOpen = false;
      else return false;
      return true;
    },
    draw({ question }, size, style) {
      height = bodyHeight(size, {});
      if (shown !== undefined) {
        const current = shown;
        shown = layOut(current, size, {
          isWhole: current.text !== undefined || current.problem !== undefined,
          toLines: () => toTextLines(current, size, style),
        });
        return drawFrame(
          {
            title: nameOf(shown.found),
            aside: shown.found.kind,
            body: (shown.lines?.text ?? toTextLines(shown, size, style)).slice(shown.top),
            status: idOf(shown.found),
            question,
            hints: textHints,
          },
          size,
          style,
        );
      }
      window = moveTo(window, window.cursor, items?.length ?? 0, height);
      const found = items?.[window.cursor];
      return drawFrame(
        {
          title: `Search: ${words}`,
          aside: items === undefined ? "" : `${total} found`,
          body: drawResults({ items, failure, window }, height, size, style),
          status:
            found === undefined ? "" : `${window.cursor + 1} of ${total}  ${found.snippet.text}`,
          question,
          hints: listHints,
        },
        size,
        style,
      );
    },
  };
}

const BACK: ReadonlySet<string> = new Set(["left", "h", "escape", "q", "backspace"]);

function nameOf({ document, item }: FoundText): string {
  return document?.filename ?? item?.name ?? "";
}

/** The item's address in commands. */
function idOf({ document, item }: FoundText): string {
  return document === null ? (item?.provider_item_id ?? "") : document.id;
}

function drawResults(
  state: {
    readonly items: readonly FoundText[] | undefined;
    readonly failure: CliError | undefined;
    readonly window: ListWindow;
  },
  height: number,
  size: Size,
  style: Style,
): readonly string[] {
  const { items, failure, window } = state;
  if (failure !== undefined) return drawFailure(failure, size, style);
  if (items === undefined) return [style.dim("  Searching…")];
  if (items.length === 0)
    return wrapWords(
      "No document and no analysed item has all of these words.",
      innerWidth(size) - 2,
    ).map((line) => style.dim(`  ${line}`));
  const room = innerWidth(size) - 2;
  const kindWidth = size.columns < 60 ? 0 : 10;
  const nameWidth = Math.floor((room - kindWidth) * (size.columns < 60 ? 0.5 : 0.4));
  return items.slice(window.top, window.top + height).map((found, index) => {
    const isCurrent = window.top + index === window.cursor;
    const kind = kindWidth === 0 ? "" : padEnd(found.kind, kindWidth);
    const name = padEnd(cutEnd(sanitizeLine(nameOf(found)), nameWidth), nameWidth);
    const passage = cutEnd(
      sanitizeLine(found.snippet.text),
      Math.max(0, room - kindWidth - nameWidth - 2),
    );
    const text = `${kind}${name}`;
    return `${isCurrent ? style.bold(`❯ ${text}`) : `  ${text}`}  ${style.dim(passage)}`;
  });
}

function toTextLines({ text, problem }: ShownText, size: Size, style: Style): readonly string[] {
  if (problem !== undefined) return drawFailure(problem, size, style).slice(0, -2);
  if (text === undefined) return [style.dim("Loading…")];
  if (text === null) return ["No text was extracted."];
  const width = innerWidth(size);
  return sanitizeText(text.replaceAll("\t", "    ").replaceAll("\r\n", "\n"))
    .split("\n")
    .flatMap((line) => wrapWords(line, width));
}
