import { Readable } from "node:stream";
import { crc32 } from "node:zlib";

/** A file of an archive. */
export interface ZipEntry {
  readonly name: string;
  /** Names of the folders that it is in, outermost first. */
  readonly folders?: readonly string[];
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
  /** Opens the bytes; `size` is their number where it is known. */
  open(): Promise<{ readonly stream: Readable; readonly size: number | undefined }>;
}

/**
 * Streams files as a ZIP archive without compression, in constant memory (APPNOTE 6.3.10). Files and archives over 4 GiB
 * are in the ZIP64 format. Files of the same name get a counter. The stream fails when a file has another size than it said.
 */
export function createZip(entries: Iterable<ZipEntry> | AsyncIterable<ZipEntry>): Readable {
  return Readable.from(writeZip(entries), { objectMode: false });
}

const LOCAL_HEADER = 0x04034b50;
const DESCRIPTOR = 0x08074b50;
const CENTRAL_HEADER = 0x02014b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const END = 0x06054b50;

/** Sizes follow the bytes (bit 3), and names are UTF-8 (bit 11). */
const FLAGS = 0x0808;
const VERSION = 45;
const MAX_32 = 0xffff_ffff;
const MAX_16 = 0xffff;

interface Written {
  readonly name: Buffer;
  readonly time: number;
  readonly crc: number;
  readonly size: number;
  readonly offset: number;
}

async function* writeZip(
  entries: Iterable<ZipEntry> | AsyncIterable<ZipEntry>,
): AsyncGenerator<Buffer> {
  const written: Written[] = [];
  const taken = new Set<string>();
  let position = 0;
  for await (const entry of entries) {
    const opened = await entry.open();
    // Without a known size, the place of the sizes must have room for any.
    const isLarge = (opened.size ?? MAX_32) >= MAX_32;
    const name = Buffer.from(toFreeName([...(entry.folders ?? []), entry.name], taken));
    const time = toDosTime(entry.modifiedAt);
    const header = toLocalHeader(name, time, isLarge);
    const offset = position;
    yield header;
    let crc = 0;
    let size = 0;
    for await (const chunk of opened.stream as AsyncIterable<Buffer>) {
      crc = crc32(chunk, crc);
      size += chunk.byteLength;
      yield chunk;
    }
    if (size !== (opened.size ?? size))
      throw new Error(`a file of ${opened.size} bytes has ${size}`);
    const descriptor = toDescriptor(crc, size, isLarge);
    yield descriptor;
    position += header.byteLength + size + descriptor.byteLength;
    written.push({ name, time, crc, size, offset });
  }
  let directoryBytes = 0;
  for (const each of written) {
    const header = toCentralHeader(each);
    directoryBytes += header.byteLength;
    yield header;
  }
  yield toEnd(written.length, directoryBytes, position);
}

/** Returns the path with a counter before its ending when it is taken. No name in it leads out of its folder. */
function toFreeName(names: readonly string[], taken: Set<string>): string {
  const path = names
    .map((name) => name.toWellFormed().replace(/[/\\]/g, "_"))
    .map((name) => (name === "" || name === "." || name === ".." ? "_" : name))
    .join("/");
  const [, stem = path, ending = ""] = /^(.+?)(\.[^./]*)?$/s.exec(path) ?? [];
  let free = path;
  for (let count = 1; taken.has(free.toLowerCase()); count += 1)
    free = `${stem} (${count})${ending}`;
  taken.add(free.toLowerCase());
  return free;
}

/** The time in the form of DOS, in UTC: two seconds are its unit, and 1980 is its first year. */
function toDosTime(modifiedAt: number): number {
  const at = new Date(modifiedAt);
  const year = Math.min(Math.max(at.getUTCFullYear(), 1980), 2107) - 1980;
  const date = (year << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return date * 0x1_0000 + time;
}

function toLocalHeader(name: Buffer, time: number, isLarge: boolean): Buffer {
  // The place of the sizes tells the reader how long those of the descriptor are.
  const extra = isLarge ? toExtra([0, 0]) : Buffer.alloc(0);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(LOCAL_HEADER, 0);
  header.writeUInt16LE(VERSION, 4);
  header.writeUInt16LE(FLAGS, 6);
  header.writeUInt32LE(time, 10);
  if (isLarge) {
    header.writeUInt32LE(MAX_32, 18);
    header.writeUInt32LE(MAX_32, 22);
  }
  header.writeUInt16LE(name.byteLength, 26);
  header.writeUInt16LE(extra.byteLength, 28);
  return Buffer.concat([header, name, extra]);
}

function toDescriptor(crc: number, size: number, isLarge: boolean): Buffer {
  const descriptor = Buffer.alloc(isLarge ? 24 : 16);
  descriptor.writeUInt32LE(DESCRIPTOR, 0);
  descriptor.writeUInt32LE(crc, 4);
  if (isLarge) {
    descriptor.writeBigUInt64LE(BigInt(size), 8);
    descriptor.writeBigUInt64LE(BigInt(size), 16);
  } else {
    descriptor.writeUInt32LE(size, 8);
    descriptor.writeUInt32LE(size, 12);
  }
  return descriptor;
}

function toCentralHeader({ name, time, crc, size, offset }: Written): Buffer {
  const large = [...(size >= MAX_32 ? [size, size] : []), ...(offset >= MAX_32 ? [offset] : [])];
  const extra = large.length === 0 ? Buffer.alloc(0) : toExtra(large);
  const header = Buffer.alloc(46);
  header.writeUInt32LE(CENTRAL_HEADER, 0);
  header.writeUInt16LE(VERSION, 4);
  header.writeUInt16LE(VERSION, 6);
  header.writeUInt16LE(FLAGS, 8);
  header.writeUInt32LE(time, 12);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(Math.min(size, MAX_32), 20);
  header.writeUInt32LE(Math.min(size, MAX_32), 24);
  header.writeUInt16LE(name.byteLength, 28);
  header.writeUInt16LE(extra.byteLength, 30);
  header.writeUInt32LE(Math.min(offset, MAX_32), 42);
  return Buffer.concat([header, name, extra]);
}

/** The extra field with the values that do not fit into 32 bits. */
function toExtra(values: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + values.length * 8);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(values.length * 8, 2);
  values.forEach((value, at) => extra.writeBigUInt64LE(BigInt(value), 4 + at * 8));
  return extra;
}

function toEnd(count: number, bytes: number, offset: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(Math.min(count, MAX_16), 8);
  end.writeUInt16LE(Math.min(count, MAX_16), 10);
  end.writeUInt32LE(Math.min(bytes, MAX_32), 12);
  end.writeUInt32LE(Math.min(offset, MAX_32), 16);
  if (count < MAX_16 && bytes < MAX_32 && offset < MAX_32) return end;
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(END_64, 0);
  end64.writeBigUInt64LE(44n, 4);
  end64.writeUInt16LE(VERSION, 12);
  end64.writeUInt16LE(VERSION, 14);
  end64.writeBigUInt64LE(BigInt(count), 24);
  end64.writeBigUInt64LE(BigInt(count), 32);
  end64.writeBigUInt64LE(BigInt(bytes), 40);
  end64.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(LOCATOR_64, 0);
  locator.writeBigUInt64LE(BigInt(offset + bytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([end64, locator, end]);
}
