/**
 * A name from the server as the name of a file here: it cannot leave the folder or hide a control character, and is no
 * longer than file systems take. Windows also gets no name that it takes for something else; everywhere else names stay
 * as they are.
 */
export function toFileName(name: string, platform: string): string {
  const plain = name.toWellFormed().replaceAll(/[/\p{Cc}]/gu, "_");
  if (plain === "" || plain === "." || plain === "..") return "_";
  // What is under way has such names, and would be taken for a beginning of something else.
  if (plain.endsWith(partSuffix)) return toFileName(`${plain}_`, platform);
  return toShortName(platform === "win32" ? toWindowsName(plain) : plain);
}

/** How the names of files end that are not whole yet. */
export const partSuffix = ".croft-part";

/** Names within one folder, so that no two items become one file. */
export interface FileNames {
  /**
   * A name for each of these names from the server, in their order. Those that would be taken for one another, on this
   * platform, get a counter; the first one keeps its name.
   */
  takeAll(names: readonly string[]): readonly string[];
}

export function createFileNames(platform: string): FileNames {
  const taken = new Set<string>();
  const claim = (name: string) => {
    const key = toKey(name, platform);
    return taken.has(key) ? undefined : taken.add(key) && name;
  };
  return {
    takeAll(names) {
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

/** The start of a name that leaves room for `more` bytes behind it, cut between characters. */
export function cutName(name: string, more: number): string {
  if (Buffer.byteLength(name) + more <= nameBytesMax) return name;
  let kept = "";
  let bytes = more;
  for (const character of name) {
    bytes += Buffer.byteLength(character);
    if (bytes > nameBytesMax) break;
    kept += character;
  }
  return kept;
}

/** A name that is too long loses the end of its stem and keeps its extension. */
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

/** Names with the same key are one file. Case and spelling of accents matter on Linux and its kin only. */
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
