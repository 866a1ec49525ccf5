import type { Readable } from "node:stream";
import { SaxesParser } from "saxes";
import { StreamAborted, TOO_LONG } from "./outcomes.ts";
import { inTime, type Offline } from "./transport.ts";

/** The start tag of an element. Prefixes are resolved, because servers choose them freely. */
export interface XmlElement {
  /** Namespace, such as `DAV:`; empty without one. */
  readonly uri: string;
  readonly local: string;
  /** Undefined for the document element. */
  readonly parent: XmlElement | undefined;
}

export interface XmlHandlers {
  readonly open?: (element: XmlElement) => void;
  /**
   * `text` is the direct text of the element, with references resolved and white space kept. In an element with
   * children, white space between them is dropped.
   */
  readonly close?: (element: XmlElement, text: string) => void;
}

/** Limits of a document. */
export interface XmlLimits {
  readonly bytesMax: number;
  /** The deepest nesting of elements; 32 when absent. */
  readonly depthMax?: number;
  /** The most characters of one text, one name or one attribute; 65,536 when absent. */
  readonly textMax?: number;
}

/** Thrown by a handler to stop reading; `readXml` rejects with it. */
export class XmlStop extends Error {
  constructor() {
    super("enough was read");
    this.name = "XmlStop";
  }
}

const DEPTH_MAX = 32;
const TEXT_MAX = 65_536;
/** Bytes that the parser gets in one call, so that one text cannot exceed its limit by much. */
const PIECE_CHARACTERS = 32_768;

/**
 * Parses a document as a stream, in constant memory, and calls the handlers. Rejects document types (and with them
 * all entities), encodings other than UTF-8, malformed documents, exceeded limits and truncated streams as `offline`.
 * Ignores processing instructions and comments. After a failure, the caller must discard everything that the handlers
 * have collected. Rejects only with errors of a handler. The stream is always destroyed.
 */
export async function readXml(
  stream: Readable,
  handlers: XmlHandlers,
  limits: XmlLimits,
): Promise<{ readonly kind: "ok" } | Offline> {
  const reader = createReader(handlers, limits);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let bytes = 0;
  try {
    for await (const chunk of inTime(stream) as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > limits.bytesMax) return refused(TOO_LONG);
      reader.write(decodeOrRefuse(decoder, chunk));
    }
    reader.write(decodeOrRefuse(decoder, undefined));
    reader.end();
    return { kind: "ok" };
  } catch (error) {
    if (error instanceof Refusal) return refused(error.note);
    if (error instanceof HandlerFailed) throw error.cause;
    if (error instanceof StreamAborted && error.failure.kind === "offline") return error.failure;
    return refused("broken_off");
  } finally {
    // A late error of a stream that is no longer read must not end the process.
    stream.on("error", () => undefined).destroy();
  }
}

/** Why a document is invalid; `note` is a code for the log. */
class Refusal extends Error {
  readonly note: string;

  constructor(note: string) {
    super(note);
    this.name = "Refusal";
    this.note = note;
  }
}

/** Distinguishes a handler's own error from the parser's. */
class HandlerFailed extends Error {
  constructor(cause: unknown) {
    super("a handler failed", { cause });
    this.name = "HandlerFailed";
  }
}

function createReader(handlers: XmlHandlers, limits: XmlLimits) {
  const { depthMax = DEPTH_MAX, textMax = TEXT_MAX } = limits;
  const stack: { readonly element: XmlElement; text: string; hasChildren: boolean }[] = [];
  /** Characters given to the parser since its last event. */
  let silent = 0;
  const parser = new SaxesParser({ xmlns: true, position: false });

  const addText = (text: string) => {
    silent = 0;
    const top = stack.at(-1);
    // A long listing has a line feed after each of its entries.
    if (top === undefined || (top.hasChildren && isSpace(text))) return;
    if (top.text.length + text.length > textMax) throw new Refusal("xml_too_long");
    top.text += text;
  };
  parser.on("xmldecl", ({ encoding }) => {
    if (encoding !== undefined && !/^(utf-?8|us-ascii)$/i.test(encoding))
      throw new Refusal("xml_encoding");
  });
  parser.on("doctype", () => {
    throw new Refusal("xml_doctype");
  });
  parser.on("comment", () => {
    silent = 0;
  });
  parser.on("processinginstruction", () => {
    silent = 0;
  });
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("opentag", ({ uri, local }) => {
    silent = 0;
    if (stack.length >= depthMax) throw new Refusal("xml_too_deep");
    const top = stack.at(-1);
    const element = { uri, local, parent: top?.element };
    if (top !== undefined && !top.hasChildren) {
      top.hasChildren = true;
      if (isSpace(top.text)) top.text = "";
    }
    stack.push({ element, text: "", hasChildren: false });
    if (handlers.open !== undefined) handle(() => handlers.open?.(element));
  });
  parser.on("closetag", () => {
    silent = 0;
    const top = stack.pop();
    if (top !== undefined && handlers.close !== undefined)
      handle(() => handlers.close?.(top.element, top.text));
  });

  const parse = (work: () => void) => {
    try {
      work();
    } catch (error) {
      if (error instanceof Refusal || error instanceof HandlerFailed) throw error;
      // The parser's own messages quote the document.
      throw new Refusal("not_xml");
    }
  };
  let hasBegun = false;
  return {
    write(chunk: string): void {
      // Some servers print empty lines before the declaration, which the standard forbids.
      const text = hasBegun ? chunk : chunk.replace(/^[ \t\r\n]+/, "");
      hasBegun ||= text !== "";
      for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
        const piece = text.slice(at, at + PIECE_CHARACTERS);
        silent += piece.length;
        parse(() => parser.write(piece));
        if (silent > textMax + PIECE_CHARACTERS) throw new Refusal("xml_too_long");
      }
    },
    end: () => parse(() => parser.close()),
  };
}

function isSpace(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}

function handle(work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new HandlerFailed(error);
  }
}

function decodeOrRefuse(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new Refusal("not_utf8");
  }
}

function refused(note: string): Offline {
  return { kind: "offline", sent: true, note };
}
