/**
 * A name from the server as the name of a file here: it cannot leave the folder or hide a control character. Windows
 * also gets no name that it takes for something else; everywhere else names stay as they are.
 */
export function toFileName(name: string, platform: string): string {
  const plain = name.replaceAll(/[/\p{Cc}]/gu, "_");
  if (plain === "" || plain === "." || plain === "..") return "_";
  return platform === "win32" ? toWindowsName(plain) : plain;
}

function toWindowsName(name: string): string {
  const plain = name
    .replaceAll(/[\\:*?"<>|]/g, "_")
    .replace(/[. ]+$/, (end) => "_".repeat(end.length));
  return /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(plain) ? `_${plain}` : plain;
}
