/** An entry of a tar archive. The name of a folder ends in a slash. */
export interface TarEntry {
  readonly name: string;
  /** Bytes of its content; 0 for a folder. */
  readonly size: number;
  readonly mode: number;
  readonly mtime: Date;
}

/** Headers, and the contents after them, fill whole blocks of this size. */
export const TAR_BLOCK_BYTES = 512;

/**
 * Encodes the header of a file or folder (POSIX.1-2017, pax, "ustar Interchange Format"). A name that is long or not
 * ASCII, and a size of 8 GiB and more, stand in an extended header before it.
 */
export function encodeTarHeader(entry: TarEntry): Buffer {
  const { name, size } = entry;
  const isPlain = /^[\x20-\x7e]{1,100}$/.test(name) && size <= SIZE_MAX;
  const type = name.endsWith("/") ? "5" : "0";
  if (isPlain) return encodeUstar(entry, type);
  const records = toRecord("path", name) + (size > SIZE_MAX ? toRecord("size", String(size)) : "");
  const extended = Buffer.from(records);
  return Buffer.concat([
    encodeUstar({ ...entry, name: "PaxHeader", size: extended.byteLength }, "x"),
    extended,
    Buffer.alloc(paddingOf(extended.byteLength)),
    encodeUstar({ ...entry, name: "PaxHeader", size: size > SIZE_MAX ? 0 : size }, type),
  ]);
}

/** The zeros that follow a content of `size` bytes. */
export function paddingOf(size: number): number {
  return (TAR_BLOCK_BYTES - (size % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;
}

/** Eleven octal digits. */
const SIZE_MAX = 8 ** 11 - 1;

/** A record begins with its own length in bytes, the digits of the length included. */
function toRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  const digits = String(rest + String(rest).length).length;
  return `${rest + digits} ${key}=${value}\n`;
}

function encodeUstar({ name, size, mode, mtime }: TarEntry, type: string): Buffer {
  const header = Buffer.alloc(TAR_BLOCK_BYTES);
  const seconds = Math.min(Math.max(Math.floor(mtime.getTime() / 1000), 0), SIZE_MAX);
  header.write(name, 0);
  header.write(toOctal(mode & 0o7777, 7), 100);
  header.write(toOctal(0, 7), 108);
  header.write(toOctal(0, 7), 116);
  header.write(toOctal(size, 11), 124);
  header.write(toOctal(seconds, 11), 136);
  // The sum is computed with spaces in its own place.
  header.fill(" ", 148, 156);
  header.write(type, 156);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${toOctal(sum, 6)}\u0000 `, 148);
  return header;
}

function toOctal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}
