import { basename, dirname, join } from "node:path";

/**
 * Converts a name from the server to a local file name: without path separators and control characters, and within
 * the length limit of file systems. On Windows also without reserved names and characters.
 */
export function toFileName(name: string, platform: string): string {
  const plain = name.toWellFormed().replaceAll(/[/\p{Cc}]/gu, "_");
  if (plain === "" || plain === "." || plain === "..") return "_";
  // The suffix of part files; another run would treat this file as one.
  if (plain.endsWith(partSuffix)) return toFileName(`${plain}_`, platform);
  return toShortName(platform === "win32" ? toWindowsName(plain) : plain);
}

/** Suffix of partial files. */
export const partSuffix = ".croft-part";

/** Assigns file names within one folder, so that no two items become one file. */
export function createFileNames(platform: string) {
  const taken = new Set<string>();
  const claim = (name: string) => {
    const key = toKey(name, platform);
    return taken.has(key) ? undefined : taken.add(key) && name;
  };
  return {
    /**
     * Returns a file name for each name from the server, in order. Names that are equal on this platform get a counter,
     * except the first.
     */
    takeAll(names: readonly string[]): readonly string[] {
      const plain = names.map((name) => toFileName(name, platform));
      const first = plain.map(claim);
      return plain.map((name, index) => first[index] ?? claimCounted(name));
    },
  };

  function claimCounted(name: string): string {
    for (let count = 1; ; count++) {
      const counted = claim(withSuffix(name, ` (${count})`));
      if (counted !== undefined) return counted;
    }
  }
}

/** Longest name of a file in bytes, on all common file systems. */
const nameBytesMax = 255;

/** Truncates a name between characters, so that `more` bytes can be appended. */
function cutName(name: string, more: number): string {
  if (Buffer.byteLength(name) + more <= nameBytesMax) return name;
  let start = "";
  let bytes = more;
  for (const character of name) {
    bytes += Buffer.byteLength(character);
    if (bytes > nameBytesMax) break;
    start += character;
  }
  return start;
}

/** Shortens a name that is too long and keeps its extension. */
function toShortName(name: string): string {
  return Buffer.byteLength(name) <= nameBytesMax ? name : withSuffix(name, "");
}

function withSuffix(name: string, suffix: string): string {
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : "";
  const stem = name.slice(0, name.length - extension.length);
  const end = suffix + extension;
  return cutName(stem, Buffer.byteLength(end)) + end;
}

/**
 * Returns a key that is equal for names of the same file. Only Linux and the like distinguish case and Unicode
 * normalization.
 */
function toKey(name: string, platform: string): string {
  const isStrict = platform !== "win32" && platform !== "darwin";
  return isStrict ? name : name.normalize("NFC").toUpperCase();
}

function toWindowsName(name: string): string {
  const plain = name
    .replaceAll(/[\\:*?"<>|]/g, "_")
    .replace(/[. ]+$/, (end) => "_".repeat(end.length));
  const isDevice = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³]) *(?:\.|$)/i;
  return isDevice.test(plain) ? `_${plain}` : plain;
}

/** Returns the path of the part file. `mark` is the entity tag of the version, or a random mark. */
export function toPartPath(path: string, mark: string): string {
  const end = `.${mark}${partSuffix}`;
  return join(dirname(path), cutName(basename(path), Buffer.byteLength(end)) + end);
}
