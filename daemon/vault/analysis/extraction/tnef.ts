import { decodeText } from "../../../utilities/text-encoding.ts";
import { extractHtml } from "./plain.ts";
import { extractRtf } from "./rtf.ts";
import type { TextSink } from "./text-sink.ts";

// Transport Neutral Encapsulation Format, the `winmail.dat` of Outlook (MS-OXTNEF).

const SIGNATURE = 0x223e9f78;
/** Attributes with their types. */
const SUBJECT = 0x0001_8004;
const BODY = 0x0002_800c;
const MESSAGE_PROPERTIES = 0x0006_9003;
const ATTACHMENT_START = 0x0006_9002;
const ATTACHMENT_TITLE = 0x0001_8010;
const ATTACHMENT_PROPERTIES = 0x0006_9005;
/** Properties of MAPI. */
const PR_SUBJECT = 0x0037;
const PR_BODY = 0x1000;
const PR_RTF = 0x1009;
const PR_HTML = 0x1013;
const PR_ATTACHMENT_NAMES = [0x3707, 0x3704, 0x3001];
const STRINGS = new Set([0x001e, 0x001f]);

/** Whether bytes are a TNEF stream. */
export function isTnef(bytes: Uint8Array): boolean {
  return bytes.length > 6 && viewOf(bytes).getUint32(0, true) === SIGNATURE;
}

/** Adds the body of a TNEF stream and the names of its attachments. A stream that breaks off keeps what came before. */
export function extractTnef(bytes: Uint8Array, sink: TextSink): void {
  const body: Body = {};
  const names: string[] = [];
  let subject = "";
  for (const { id, data } of readAttributes(bytes)) {
    if (id === BODY) body.plain ??= toText(data);
    else if (id === SUBJECT) subject ||= toText(data);
    else if (id === MESSAGE_PROPERTIES) {
      const properties = readProperties(data);
      const text = properties.get(PR_BODY);
      if (text !== undefined) body.plain ??= text.text;
      subject ||= properties.get(PR_SUBJECT)?.text ?? "";
      body.html ??= properties.get(PR_HTML)?.data;
      body.rtf ??= properties.get(PR_RTF)?.data;
    } else if (id === ATTACHMENT_START) names.push("");
    else if (id === ATTACHMENT_TITLE) names[Math.max(0, names.length - 1)] ||= toText(data);
    else if (id === ATTACHMENT_PROPERTIES) {
      const properties = readProperties(data);
      const name = PR_ATTACHMENT_NAMES.map((key) => properties.get(key)?.text).find(Boolean);
      // The title may be a short name of eight letters.
      if (name !== undefined) names[Math.max(0, names.length - 1)] = name;
    }
  }
  addLine(subject, sink);
  addBody(body, sink);
  for (const name of names) addLine(name, sink);
}

/** The forms of one body; the first with a text is read. */
interface Body {
  plain?: string | undefined;
  html?: Uint8Array | undefined;
  rtf?: Uint8Array | undefined;
}

function addBody({ plain, html, rtf }: Body, sink: TextSink): void {
  if (plain !== undefined && plain.trim() !== "") addLine(plain, sink);
  else if (html !== undefined) extractHtml(decodeText(html), sink);
  else if (rtf !== undefined) {
    const plainRtf = decompressRtf(rtf);
    if (plainRtf !== undefined) extractRtf(plainRtf, sink);
  }
  sink.breakLine();
}

function addLine(text: string, sink: TextSink): void {
  if (text.trim() === "") return;
  sink.add(text);
  sink.breakLine();
}

/** Attributes: level, id and type, length, data, checksum. */
function* readAttributes(bytes: Uint8Array) {
  const view = viewOf(bytes);
  for (let at = 6; at + 9 <= bytes.length;) {
    const id = view.getUint32(at + 1, true);
    const length = view.getUint32(at + 5, true);
    const start = at + 9;
    if (start + length > bytes.length) return;
    yield { id, data: bytes.subarray(start, start + length) };
    at = start + length + 2;
  }
}

interface Property {
  readonly data: Uint8Array;
  readonly text: string;
}

/** Lengths of values by type; a multiple of four bytes is stored. Others have a count and a length before each value. */
const FIXED: Readonly<Record<number, number>> = {
  ...{ 0x0002: 4, 0x0003: 4, 0x0004: 4, 0x0005: 8, 0x0006: 8, 0x0007: 8, 0x000a: 4, 0x000b: 4 },
  ...{ 0x0014: 8, 0x0040: 8, 0x0048: 16 },
};

/** Properties by id, of several values the first. Ends at a type that is unknown. */
function readProperties(data: Uint8Array): ReadonlyMap<number, Property> {
  const properties = new Map<number, Property>();
  const view = viewOf(data);
  const padded = (length: number) => (length + 3) & ~3;
  let at = 4;
  const need = (count: number) => at + count <= data.length;
  while (need(4)) {
    const type = view.getUint16(at, true);
    const id = view.getUint16(at + 2, true);
    at += 4;
    if (id >= 0x8000) {
      // A named property: a GUID, then a number or a name.
      if (!need(24)) break;
      const isNumber = view.getUint32(at + 16, true) === 0;
      at += isNumber ? 24 : 24 + padded(view.getUint32(at + 20, true));
    }
    const isMany = (type & 0x1000) !== 0;
    const fixed = FIXED[type & 0x0fff];
    let count = 1;
    if (isMany || fixed === undefined) {
      if (!need(4)) break;
      count = view.getUint32(at, true);
      at += 4;
    }
    for (let index = 0; index < count && need(1); index += 1) {
      let length = fixed;
      if (length === undefined) {
        if (!need(4)) return properties;
        length = view.getUint32(at, true);
        at += 4;
      }
      if (!need(length)) return properties;
      const value = data.subarray(at, at + length);
      if (!properties.has(id))
        properties.set(id, { data: value, text: toString(type & 0x0fff, value) });
      at += padded(length);
    }
  }
  return properties;
}

function toString(type: number, value: Uint8Array): string {
  if (!STRINGS.has(type)) return "";
  return type === 0x001f ? withoutNul(new TextDecoder("utf-16le").decode(value)) : toText(value);
}

function toText(data: Uint8Array): string {
  return withoutNul(decodeText(data.subarray(0, endOf(data))));
}

function endOf(data: Uint8Array): number {
  const end = data.indexOf(0);
  return end === -1 ? data.length : end;
}

function withoutNul(text: string): string {
  return text.split("\0")[0] ?? "";
}

const COMPRESSED = 0x75465a4c;
const UNCOMPRESSED = 0x414c454d;
/** The dictionary with which every text begins (MS-OXRTFCP, 2.1.3.1.2). */
const DICTIONARY =
  "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";
const DICTIONARY_BYTES = 4_096;
const RTF_BYTES_MAX = 16 * 1024 * 1024;

/** Decompresses Rich Text (MS-OXRTFCP); undefined for bytes of another form. */
function decompressRtf(data: Uint8Array): Uint8Array | undefined {
  if (data.length < 16) return undefined;
  const view = viewOf(data);
  const form = view.getUint32(8, true);
  if (form === UNCOMPRESSED) return data.subarray(16);
  if (form !== COMPRESSED) return undefined;
  const size = Math.min(view.getUint32(4, true), RTF_BYTES_MAX);
  const dictionary = Buffer.alloc(DICTIONARY_BYTES);
  dictionary.write(DICTIONARY, "latin1");
  const output = Buffer.alloc(size);
  let [written, write, at] = [0, DICTIONARY.length, 16];
  const put = (byte: number) => {
    if (written < size) output[written++] = byte;
    dictionary[write] = byte;
    write = (write + 1) % DICTIONARY_BYTES;
  };
  while (at < data.length && written < size) {
    const flags = data[at++] ?? 0;
    for (let bit = 0; bit < 8 && at < data.length && written < size; bit += 1) {
      if (((flags >> bit) & 1) === 0) {
        put(data[at++] ?? 0);
        continue;
      }
      const reference = ((data[at] ?? 0) << 8) | (data[at + 1] ?? 0);
      at += 2;
      const offset = reference >> 4;
      // A reference to the place that is written next ends the text.
      if (offset === write) return output.subarray(0, written);
      for (let index = 0; index < (reference & 15) + 2; index += 1)
        put(dictionary[(offset + index) % DICTIONARY_BYTES] ?? 0);
    }
  }
  return output.subarray(0, written);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
