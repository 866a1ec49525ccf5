const ESCAPES: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  t: "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
};

/**
 * Returns a path as it is: git writes one with unusual characters in quotation marks, with the escapes of C and its bytes
 * in octal. Bytes that are not UTF-8 become replacement characters.
 */
export function unquotePath(path: string): string {
  const quoted = /^"(.*)"$/s.exec(path)?.[1];
  if (quoted === undefined) return path;
  const bytes = [...quoted.matchAll(/\\([0-7]{3}|.)|[^\\]+/gs)].map(([whole, escape]) => {
    if (escape === undefined) return Buffer.from(whole);
    if (escape.length === 3) return Buffer.from([Number.parseInt(escape, 8) & 0xff]);
    return Buffer.from(ESCAPES[escape] ?? escape);
  });
  return Buffer.concat(bytes).toString("utf8");
}
