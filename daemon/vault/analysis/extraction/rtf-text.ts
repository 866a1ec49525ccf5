import type { TextSink } from "./text-sink.ts";

export type RtfText = ReturnType<typeof createRtfText>;

/** Code pages by character set of a font; others use the document's encoding. */
const CODE_PAGES: Readonly<Record<number, number>> = {
  ...{ 77: 10_000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1_253, 162: 1_254, 163: 1_258 },
  ...{ 177: 1_255, 178: 1_256, 186: 1_257, 204: 1_251, 222: 874, 238: 1_250 },
};
/** Labels of the Encoding standard by code page; for others bytes are read as Windows-1252. */
const ENCODINGS: Readonly<Record<number, string>> = {
  ...{
    866: "ibm866",
    874: "windows-874",
    932: "shift_jis",
    936: "gbk",
    949: "euc-kr",
    950: "big5",
  },
  ...{ 10_000: "macintosh", 10_007: "x-mac-cyrillic", 65_001: "utf-8" },
  ...Object.fromEntries(
    [0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => [1_250 + n, `windows-${1_250 + n}`]),
  ),
};
const DEFAULT_ENCODING = "windows-1252";
/** Maximum number of fonts; real documents have some dozen. */
const FONTS_MAX = 10_000;
const PIECE_CHARACTERS = 65_536;

/** Decodes the bytes of a document in Rich Text Format, whose fonts name their encodings, and adds them to a sink. */
export function createRtfText(sink: TextSink) {
  const fonts = new Map<number, string>();
  const decoders = new Map<string, TextDecoder>();
  let documentEncoding = DEFAULT_ENCODING;
  let defaultFont = -1;
  let font = -1;
  let bytes: number[] = [];
  // Joined before the sink gets it, because the halves of a surrogate pair arrive separately.
  let pending = "";

  const encodingOf = (id: number) => fonts.get(id === -1 ? defaultFont : id) ?? documentEncoding;
  const decodeBytes = () => {
    if (bytes.length === 0) return;
    const encoding = encodingOf(font);
    let decoder = decoders.get(encoding);
    if (decoder === undefined) decoders.set(encoding, (decoder = new TextDecoder(encoding)));
    pending += decoder.decode(Uint8Array.from(bytes));
    bytes = [];
  };
  const flush = () => {
    decodeBytes();
    if (pending !== "") sink.add(pending);
    pending = "";
  };

  return {
    /** Passes everything that was added to the sink. */
    flush,
    add(text: string): void {
      decodeBytes();
      pending += text;
      if (pending.length >= PIECE_CHARACTERS && !/[\ud800-\udbff]$/.test(pending)) flush();
    },
    /** Adds a byte in the encoding of the font; the bytes of one character may arrive in several calls. */
    addByte(byte: number): void {
      bytes.push(byte);
      // Only before an ASCII byte that cannot be the second half of a character.
      if (bytes.length >= PIECE_CHARACTERS && byte === 0x20) flush();
    },
    breakLine(): void {
      flush();
      sink.breakLine();
    },
    /** Chooses the font of the next bytes; -1 for the document's default. */
    useFont(next: number): void {
      // Most fonts share an encoding, and decoding costs more than the bytes between two fonts.
      if (encodingOf(next) !== encodingOf(font)) decodeBytes();
      font = next;
    },
    /** Sets the encoding of a font by a character set or a code page. */
    defineFont(id: number, by: "fcharset" | "cpg", value: number): void {
      const codePage = by === "cpg" ? value : CODE_PAGES[value];
      const encoding = codePage === undefined ? undefined : ENCODINGS[codePage];
      if (encoding !== undefined && fonts.size < FONTS_MAX) fonts.set(id, encoding);
    },
    /** Sets the encoding of the document, or the number of its default font. */
    setDefault(by: "ansicpg" | "mac" | "deff", value: number): void {
      decodeBytes();
      if (by === "deff") defaultFont = value;
      else documentEncoding = ENCODINGS[by === "mac" ? 10_000 : value] ?? DEFAULT_ENCODING;
    },
  };
}
