import type { UnreadableReason } from "./outcome.ts";
import { createRtfText, type RtfText } from "./rtf-text.ts";
import type { TextSink } from "./text-sink.ts";

// Rich Text Format 1.9.1. A file is a tree of groups; a group inherits the properties of its parent.

/** Deepest nesting of groups; real documents stay below 50. */
const DEPTH_MAX = 256;

/** Groups whose content is not text of the document. */
const HIDDEN = new Set([
  ...["fonttbl", "colortbl", "stylesheet", "info", "filetbl", "listtable", "revtbl", "template"],
  ...["pict", "nonshppict", "objdata", "fldinst", "xe", "tc", "sp", "shprslt", "private", "atnid"],
]);
/** Groups with text although `\*` marks them as new: text boxes, comments, and notes as LibreOffice writes them. */
const SHOWN_EXTENSIONS = new Set(["shpinst", "annotation", "footnote"]);
/** Groups that begin and end beside a word to which they do not belong. */
const SEPARATE = new Set(["footnote", "annotation", "shptxt"]);

const LINES = new Set(["par", "line", "sect", "page", "column", "row", "nestrow"]);
const CHARACTERS: Readonly<Record<string, string>> = {
  ...{ tab: "\t", cell: "\t", nestcell: "\t", emspace: " ", enspace: " ", qmspace: " ", "~": " " },
  ...{ bullet: "•", endash: "–", emdash: "—", _: "‑" },
  ...{ lquote: "‘", rquote: "’", ldblquote: "“", rdblquote: "”" },
};

interface Group {
  /** The group belongs to the document and is not a table of fonts, picture or the like. */
  readonly isText: boolean;
  readonly isFontTable: boolean;
  /** Characters are marked as hidden or deleted. */
  readonly isHidden: boolean;
  readonly isDeleted: boolean;
  /** Number of characters after `\u` that repeat it for readers without Unicode. */
  readonly fallbacks: number;
  readonly font: number;
  readonly isSeparate: boolean;
}

/**
 * Adds the text of a document in Rich Text Format: body, headers, footers, notes, comments and text boxes. Returns why a part is
 * missing; `damaged` for a file that ends within a group.
 */
export function extractRtf(bytes: Uint8Array, sink: TextSink): UnreadableReason | undefined {
  const text = createRtfText(sink);
  const parents: Group[] = [];
  let group: Group = {
    ...{ isText: true, isFontTable: false, isHidden: false, isDeleted: false, isSeparate: false },
    ...{ fallbacks: 1, font: -1 },
  };
  /** `\*` came before: the group of the next word is skipped unless it is known. */
  let isExtension = false;
  /** Number of characters still to be skipped after `\u`. */
  let skipped = 0;
  const isShown = () => group.isText && !group.isHidden && !group.isDeleted;

  const applyWord = (word: string, value: number | undefined) => {
    const wasExtension = isExtension;
    isExtension = false;
    const isOn = value !== 0;
    if (HIDDEN.has(word) || (wasExtension && !SHOWN_EXTENSIONS.has(word)))
      group = { ...group, isText: false, isFontTable: word === "fonttbl" };
    else if (SEPARATE.has(word)) {
      if (isShown()) text.add("\t");
      group = { ...group, isSeparate: true };
    } else if (word === "v") group = { ...group, isHidden: isOn };
    else if (word === "deleted") group = { ...group, isDeleted: isOn };
    else if (word === "plain") group = { ...group, isHidden: false, isDeleted: false, font: -1 };
    else if (word === "uc") group = { ...group, fallbacks: value ?? 1 };
    else if (word === "f") {
      group = { ...group, font: value ?? -1 };
      text.useFont(group.font);
    } else if (group.isFontTable && (word === "fcharset" || word === "cpg"))
      text.defineFont(group.font, word, value ?? 0);
    else if (word === "ansicpg" || word === "mac" || word === "deff")
      text.setDefault(word, value ?? 0);
    else if (word === "u" && value !== undefined) {
      if (isShown()) text.add(String.fromCharCode(value & 0xffff));
      skipped = group.fallbacks;
    } else if (isShown() && LINES.has(word)) text.breakLine();
    else if (isShown() && Object.hasOwn(CHARACTERS, word)) text.add(CHARACTERS[word] ?? "");
  };

  const close = () => {
    if (group.isSeparate && isShown()) text.add("\t");
    group = parents.pop() ?? group;
    isExtension = false;
    skipped = 0;
    text.useFont(group.font);
  };

  let at = 0;
  while (at < bytes.length && !sink.isCut) {
    const byte = bytes[at] ?? 0;
    if (byte === OPEN) {
      if (parents.length === DEPTH_MAX) return finish(text, "too_complex");
      parents.push(group);
      group = { ...group, isSeparate: false };
      skipped = 0;
      at += 1;
    } else if (byte === CLOSE) {
      close();
      // Bytes after the document are not part of it.
      if (parents.length === 0) return finish(text, undefined);
      at += 1;
    } else if (byte === BACKSLASH) {
      const token = readControl(bytes, at);
      at = token.end;
      if (token.word === "*") isExtension = true;
      else if (skipped > 0) skipped -= 1;
      else if (token.byte === undefined) applyWord(token.word, token.value);
      else if (isShown()) text.addByte(token.byte);
    } else {
      at += 1;
      if (byte === CR || byte === LF) continue;
      if (skipped > 0) skipped -= 1;
      else if (isShown()) text.addByte(byte);
    }
  }
  return finish(text, sink.isCut ? undefined : "damaged");
}

const OPEN = 0x7b;
const CLOSE = 0x7d;
const BACKSLASH = 0x5c;
const CR = 0x0d;
const LF = 0x0a;
/** Letters of a control word that are compared; real words are shorter. */
const WORD_MAX = 32;

interface Control {
  readonly word: string;
  readonly value?: number;
  /** The byte of `\'hh`, or an escaped character of the syntax. */
  readonly byte?: number;
  /** Offset of what follows. */
  readonly end: number;
}

/** Reads a control word with its number, or a control symbol, which begins with the backslash at `at`. */
function readControl(bytes: Uint8Array, at: number): Control {
  const first = bytes[at + 1] ?? 0;
  if (!isLetter(first)) {
    if (first === CR || first === LF) return { word: "par", end: at + 2 };
    if (first === OPEN || first === CLOSE || first === BACKSLASH)
      return { word: "", byte: first, end: at + 2 };
    if (first !== QUOTE) return { word: String.fromCharCode(first), end: at + 2 };
    const hex = String.fromCharCode(bytes[at + 2] ?? 0, bytes[at + 3] ?? 0);
    return /^[0-9a-f]{2}$/i.test(hex)
      ? { word: "", byte: Number.parseInt(hex, 16), end: at + 4 }
      : { word: "", end: at + 2 };
  }
  let end = at + 1;
  while (isLetter(bytes[end] ?? 0)) end += 1;
  const word = String.fromCharCode(...bytes.subarray(at + 1, Math.min(end, at + WORD_MAX)));
  const isNegative = bytes[end] === MINUS && isDigit(bytes[end + 1] ?? 0);
  if (isNegative) end += 1;
  let value: number | undefined;
  while (isDigit(bytes[end] ?? 0)) {
    value = Math.min(
      (value ?? 0) * 10 + ((bytes[end] ?? ZERO) - ZERO),
      Number.MAX_SAFE_INTEGER / 16,
    );
    end += 1;
  }
  if (bytes[end] === SPACE) end += 1;
  // Raw bytes follow, which may look like syntax.
  if (word === "bin") return { word, end: end + (isNegative ? 0 : (value ?? 0)) };
  return value === undefined ? { word, end } : { word, value: isNegative ? -value : value, end };
}

const QUOTE = 0x27;
const MINUS = 0x2d;
const SPACE = 0x20;
const ZERO = 0x30;
const isDigit = (byte: number) => byte >= ZERO && byte <= 0x39;
const isLetter = (byte: number) => (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);

function finish(text: RtfText, missing: UnreadableReason | undefined) {
  text.flush();
  return missing;
}
