import { AppError } from "../../../errors.ts";

/** Takes the content of attachments as it arrives. */
export interface AttachmentSink {
  begin(name: string): Promise<void>;
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
}

/** Splits a publish document while it arrives. */
export interface DocumentScanner {
  /** Refuses with `invalid_argument` or `too_large`. */
  push(chunk: Buffer): Promise<void>;
  /** The document without the attachments' content, once all of it was pushed. Refuses with `invalid_argument`. */
  finish(): unknown;
}

/** How deep npm's documents may nest: far more than any manifest does. */
const DEPTH_MAX = 100;
/** Longest member name that is looked at, in bytes; no attachment has a longer one. */
const KEY_BYTES_MAX = 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST, COMMA, COLON] = [..."{}[],:"].map((sign) =>
  sign.charCodeAt(0),
);

interface Level {
  readonly isObject: boolean;
  awaitsKey: boolean;
  key: string | undefined;
}

/**
 * A package arrives as JSON whose member `_attachments.<name>.data` is the tarball in base64, easily hundreds of
 * megabytes. This follows the JSON only as far as to know where it is: the content of that member goes to `sink`
 * decoded, an empty text stands in its place, and everything else is kept, at most `bytesMax` of it. What is no
 * JSON shows when the rest is parsed: nothing but base64 in quotes was taken out.
 */
export function createDocumentScanner(sink: AttachmentSink, bytesMax: number): DocumentScanner {
  const kept: Buffer[] = [];
  /** What is to be kept of the chunk at hand, not yet in `kept`: one piece instead of one for every word. */
  let run: { readonly chunk: Buffer; readonly from: number; to: number } | undefined;
  const levels: Level[] = [];
  let keptBytes = 0;
  let state: "between" | "text" | "escape" | "content" = "between";
  /** The member name being read, in pieces; undefined for other texts. */
  let key: Buffer[] | undefined;
  let base64 = createBase64();

  return {
    async push(chunk) {
      let at = 0;
      while (at < chunk.length) at = await step(chunk, at);
      closeRun();
    },

    finish() {
      try {
        return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(kept)));
      } catch (error) {
        throw new AppError("invalid_argument", "the document is not valid JSON", { cause: error });
      }
    },
  };

  /** Goes as far as the state holds, and returns where the next one begins. */
  async function step(chunk: Buffer, from: number): Promise<number> {
    switch (state) {
      case "content":
        return readContent(chunk, from);
      case "escape":
        keepText(chunk, from, from + 1);
        state = "text";
        return from + 1;
      case "text":
        return readText(chunk, from);
      case "between":
        return readBetween(chunk, from);
    }
  }

  async function readBetween(chunk: Buffer, from: number): Promise<number> {
    let at = from;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === QUOTE) {
        at += 1;
        keep(chunk, from, at);
        await beginText();
        return at;
      }
      follow(byte);
    }
    keep(chunk, from, at);
    return at;
  }

  function follow(byte: number | undefined): void {
    const top = levels.at(-1);
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (levels.length === DEPTH_MAX) throw invalid("the document nests too deep");
      const isObject = byte === OPEN_OBJECT;
      levels.push({ isObject, awaitsKey: isObject, key: undefined });
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) levels.pop();
    else if (byte === COMMA && top?.isObject) top.awaitsKey = true;
    else if (byte === COLON && top !== undefined) top.awaitsKey = false;
  }

  async function beginText(): Promise<void> {
    const [first, second, third] = levels;
    const isContent =
      levels.length === 3 &&
      first?.key === "_attachments" &&
      second?.isObject === true &&
      third?.isObject === true &&
      !third.awaitsKey &&
      third.key === "data";
    if (isContent) {
      base64 = createBase64();
      await sink.begin(second.key ?? "");
      state = "content";
      return;
    }
    key = levels.at(-1)?.awaitsKey === true ? [] : undefined;
    state = "text";
  }

  function readText(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      if (chunk[at] === BACKSLASH) {
        keepText(chunk, from, at + 1);
        state = "escape";
        return at + 1;
      }
      if (chunk[at] === QUOTE) {
        keepText(chunk, from, at);
        keep(chunk, at, at + 1);
        endText();
        return at + 1;
      }
    }
    keepText(chunk, from, chunk.length);
    return chunk.length;
  }

  function endText(): void {
    const top = levels.at(-1);
    if (key !== undefined && top !== undefined) top.key = toKey(Buffer.concat(key));
    key = undefined;
    state = "between";
  }

  async function readContent(chunk: Buffer, from: number): Promise<number> {
    const quote = chunk.indexOf(QUOTE, from);
    const end = quote === -1 ? chunk.length : quote;
    const bytes = base64.decode(chunk.toString("latin1", from, end));
    if (bytes.length > 0) await sink.write(bytes);
    if (quote === -1) return end;
    base64.end();
    await sink.end();
    keep(chunk, quote, quote + 1);
    state = "between";
    return quote + 1;
  }

  function keepText(chunk: Buffer, from: number, to: number): void {
    keep(chunk, from, to);
    if (key === undefined) return;
    key.push(chunk.subarray(from, to));
    // Too long to be one of those that matter.
    if (key.reduce((sum, piece) => sum + piece.length, 0) > KEY_BYTES_MAX) key = undefined;
  }

  function keep(chunk: Buffer, from: number, to: number): void {
    if (from === to) return;
    keptBytes += to - from;
    if (keptBytes > bytesMax)
      throw new AppError(
        "too_large",
        `The document is larger than ${bytesMax} bytes, the attachment not counted.`,
      );
    if (run?.to === from) run.to = to;
    else {
      closeRun();
      run = { chunk, from, to };
    }
  }

  function closeRun(): void {
    if (run !== undefined) kept.push(run.chunk.subarray(run.from, run.to));
    run = undefined;
  }
}

/** A member name as JSON means it; undefined for what is no JSON text. */
function toKey(text: Buffer): string | undefined {
  try {
    const key: unknown = JSON.parse(`"${text.toString("utf8")}"`);
    return typeof key === "string" ? key : undefined;
  } catch {
    // The document as a whole is refused for it when it is parsed.
    return undefined;
  }
}

/** Decodes base64 that arrives in pieces of any length; strict, but for slashes that JSON writers escape. */
function createBase64() {
  let rest = "";
  let hasEnded = false;
  return {
    decode(piece: string): Buffer {
      if (piece === "") return Buffer.alloc(0);
      const text = (rest + piece).replaceAll("\\/", "/");
      // An escape that goes on in the next piece.
      const hanging = text.endsWith("\\") ? 1 : 0;
      const length = text.length - hanging - ((text.length - hanging) % 4);
      rest = text.slice(length);
      const whole = text.slice(0, length);
      if (whole === "") return Buffer.alloc(0);
      if (hasEnded || !/^[A-Za-z0-9+/]*={0,2}$/.test(whole)) throw notBase64();
      hasEnded = whole.endsWith("=");
      return Buffer.from(whole, "base64");
    },
    end(): void {
      if (rest !== "") throw notBase64();
    },
  };
}

const notBase64 = (): AppError => invalid("the attachment is not base64");

function invalid(message: string): AppError {
  return new AppError("invalid_argument", message);
}
