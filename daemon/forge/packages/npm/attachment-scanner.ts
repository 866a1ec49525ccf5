import { AppError } from "../../../errors.ts";

/** Receives the content of attachments as it arrives. */
export interface AttachmentSink {
  begin(name: string): Promise<void>;
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
}

/** Maximum nesting of a document, far more than any manifest has. */
const DEPTH_MAX = 100;
/** Maximum length in bytes of a member name that is compared; no attachment has a longer one. */
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
 * Creates a streaming scanner of a publish document, a JSON document whose member `_attachments.<name>.data` is the
 * tarball in base64, often hundreds of megabytes. It decodes the content of that member to `sink`, replaces it with an
 * empty string, and buffers the rest, up to `bytesMax`. It tracks only the nesting; `finish` parses the rest and
 * detects invalid JSON, because only quoted base64 was removed. No library: @streamparser/json yields a string when it
 * is complete, so it holds a tarball of 100 MiB in memory as one string of 104,857,600 characters. Splits a publish
 * document as it arrives.
 */
export function createDocumentScanner(sink: AttachmentSink, bytesMax: number) {
  const buffered: Buffer[] = [];
  /** The part of the current chunk to buffer: one slice instead of one for each token. */
  let run: { readonly chunk: Buffer; readonly from: number; to: number } | undefined;
  const levels: Level[] = [];
  let bufferedBytes = 0;
  let state: "between" | "text" | "escape" | "content" = "between";
  /** The slices of the member name being scanned; undefined in other strings. */
  let key: Buffer[] | undefined;
  let keyBytes = 0;
  let base64 = createBase64();

  return {
    /** Refuses with `invalid_argument` or `too_large`. */
    async push(chunk: Buffer): Promise<void> {
      let at = 0;
      while (at < chunk.length) at = await step(chunk, at);
      closeRun();
    },

    /** Returns the JSON without the content of attachments, after the last `push`. Refuses with `invalid_argument`. */
    text,

    /** Parses the JSON. Refuses with `invalid_argument`. */
    finish(): unknown {
      try {
        return JSON.parse(text());
      } catch (error) {
        throw error instanceof AppError ? error : notJson(error);
      }
    },
  };

  function text(): string {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(buffered));
    } catch (error) {
      throw notJson(error);
    }
  }

  /** Scans to the end of the current state, and returns where the next state begins. */
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
    keyBytes = 0;
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
    keyBytes += to - from;
    // Longer than any name of an attachment.
    if (keyBytes > KEY_BYTES_MAX) key = undefined;
  }

  function keep(chunk: Buffer, from: number, to: number): void {
    if (from === to) return;
    bufferedBytes += to - from;
    if (bufferedBytes > bytesMax)
      throw new AppError(
        "too_large",
        `The document is larger than ${bytesMax} bytes without the attachment.`,
      );
    if (run?.to === from) run.to = to;
    else {
      closeRun();
      run = { chunk, from, to };
    }
  }

  function closeRun(): void {
    if (run !== undefined) buffered.push(run.chunk.subarray(run.from, run.to));
    run = undefined;
  }
}

/** Parses a member name; undefined when it is not a JSON string. */
function toKey(text: Buffer): string | undefined {
  try {
    const key: unknown = JSON.parse(`"${text.toString("utf8")}"`);
    return typeof key === "string" ? key : undefined;
  } catch {
    // `finish` refuses the document.
    return undefined;
  }
}

function notJson(cause: unknown): AppError {
  return new AppError("invalid_argument", "the document is not valid JSON", { cause });
}

/** Creates a strict streaming base64 decoder that accepts slashes escaped by JSON writers. */
function createBase64() {
  let rest = "";
  let hasEnded = false;
  return {
    decode(piece: string): Buffer {
      if (piece === "") return Buffer.alloc(0);
      const text = (rest + piece).replaceAll("\\/", "/");
      // An escape that continues in the next chunk.
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
