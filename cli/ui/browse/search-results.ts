import type { z } from "zod";
import type { searchEndpoints } from "../../../daemon/contract/vault/search.ts";
import { type CliError, toCliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import { toScreenLine, sanitizeText } from "../../output/sanitize.ts";
import { cutEnd, padEnd, wrapWords } from "../../output/width.ts";
import {
  bodyHeight,
  drawFrame,
  drawPhase,
  innerWidth,
  type Message,
  type KeyHint,
  type Question,
} from "../frame.ts";
import type { Key } from "../keys.ts";
import { createLoad, type Phase, phaseOf } from "../load.ts";
import { atTop, type ListWindow, moveOf, moveTo, layOut, type ScrolledText } from "../scrolling.ts";
import type { Size } from "../screen.tsx";

/** A document or an analysed item that a search found. */
export type FoundText = z.output<(typeof searchEndpoints.search)["replies"][200]>["items"][number];

/** Access to the search of the vault. */
export interface SearchDeps {
  /** Returns the best matches and the number of all. */
  readonly search: (
    words: string,
  ) => Promise<{ readonly items: readonly FoundText[]; readonly total: number }>;
  /** Returns the extracted text; null when the item has no text. */
  readonly readText: (found: FoundText) => Promise<string | null>;
}

const listHints: readonly KeyHint[] = [
  ["Enter", "read", "row"],
  ["/", "search"],
  ["?", "keys"],
  ["q", "back"],
];
const textHints: readonly KeyHint[] = [
  ["↑↓", "scroll", "row"],
  ["?", "keys"],
  ["q", "back"],
];

interface ShownText extends ScrolledText {
  readonly found: FoundText;
  /** Undefined while loading; null without a text. */
  readonly text: string | null | undefined;
  readonly problem: CliError | undefined;
}

/**
 * The results of a search over documents and items, and the text of one of them.
 * @param notify is called when there is something else to show
 */
export function createSearchResults(deps: SearchDeps, notify: () => void) {
  let load = createLoad(notify);
  let isOpen = false;
  let words = "";
  /** Undefined until a search for these words has succeeded. */
  let items: readonly FoundText[] | undefined;
  let total = 0;
  let window: ListWindow = atTop;
  let shown: ShownText | undefined;
  let height = 10;

  function search(text: string): void {
    // Results of other words are not shown; the same words are searched again.
    if (text !== words) [load, items, window] = [createLoad(notify), undefined, atTop];
    [isOpen, words, shown] = [true, text, undefined];
    const own = load;
    void own.run(async (isCurrent) => {
      const result = await deps.search(text);
      if (load === own && isCurrent()) ({ items, total } = result);
    });
  }

  const phase = () =>
    phaseOf({ wasLoaded: items !== undefined, failure: load.failure }, items?.length ?? 0);

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
    else if (name === "R" || name === "refresh") read(text.found);
    else if (BACK.has(name)) shown = undefined;
    else return false;
    return true;
  }

  return {
    /** False while the folders are shown. */
    get isOpen() {
      return isOpen;
    },
    /** The words of the last search. */
    get words() {
      return words;
    },
    search,
    close() {
      isOpen = false;
    },
    /** Handles a key of the results; returns false for keys that it does not know. */
    press(key: Key): boolean {
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
    draw(
      common: { readonly question: Question | undefined; readonly message: Message | undefined },
      size: Size,
      style: Style,
    ): readonly string[] {
      if (shown !== undefined) {
        const current = shown;
        const textPhase = phaseOfText(current);
        height = bodyHeight(size, { phase: textPhase, message: common.message });
        shown = layOut(current, size, {
          isWhole: current.text !== undefined || current.problem !== undefined,
          height,
          toLines: () => toTextLines(current, size, style),
        });
        return drawFrame(
          {
            ...common,
            title: nameOf(shown.found),
            aside: shown.found.kind,
            phase: textPhase,
            body: (shown.lines?.text ?? toTextLines(shown, size, style)).slice(shown.top),
            status: idOf(shown.found),
            hints: textHints,
          },
          size,
          style,
        );
      }
      const now = phase();
      height = bodyHeight(size, { phase: now, message: common.message });
      window = moveTo(window, window.cursor, items?.length ?? 0, height);
      const found = items?.[window.cursor];
      const rows = () => drawResults(items ?? [], window, height, size, style);
      const empty = ["No document and no analysed item has all of these words."];
      return drawFrame(
        {
          ...common,
          title: `Search: ${words}`,
          aside: load.isLoading ? "searching…" : items === undefined ? "" : `${total} found`,
          phase: now,
          body: drawPhase(now, { rows, empty }, size, style),
          status:
            found === undefined ? "" : `${window.cursor + 1} of ${total}  ${found.snippet.text}`,
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
  items: readonly FoundText[],
  window: ListWindow,
  height: number,
  size: Size,
  style: Style,
): readonly string[] {
  const room = innerWidth(size) - 2;
  const kindWidth = size.columns < 60 ? 0 : 10;
  const nameWidth = Math.floor((room - kindWidth) * (size.columns < 60 ? 0.5 : 0.4));
  return items.slice(window.top, window.top + height).map((found, index) => {
    const isCurrent = window.top + index === window.cursor;
    const kind = kindWidth === 0 ? "" : padEnd(found.kind, kindWidth);
    const name = padEnd(cutEnd(toScreenLine(nameOf(found)), nameWidth), nameWidth);
    const passage = cutEnd(
      toScreenLine(found.snippet.text),
      Math.max(0, room - kindWidth - nameWidth - 2),
    );
    const text = `${kind}${name}`;
    return `${isCurrent ? style.bold(`❯ ${text}`) : `  ${text}`}  ${style.dim(passage)}`;
  });
}

function phaseOfText({ text, problem }: ShownText): Phase {
  return phaseOf({ wasLoaded: text !== undefined, failure: problem }, text === null ? 0 : 1);
}

function toTextLines(shown: ShownText, size: Size, style: Style): readonly string[] {
  const rows = () =>
    sanitizeText((shown.text ?? "").replaceAll("\t", "    ").replaceAll("\r\n", "\n"))
      .split("\n")
      .flatMap((line) => wrapWords(line, innerWidth(size)));
  const empty = ["No text was extracted."];
  return drawPhase(phaseOfText(shown), { rows, empty }, size, style);
}
