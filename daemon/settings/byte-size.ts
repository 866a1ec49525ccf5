const units: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/**
 * Parses a size in settings and on the command line: a number, with or without a unit such as `512MiB`, `1.5k` (of 1,024)
 * or `5GB` (of 1,000). Undefined for other text, and when it is not a whole number of bytes.
 */
export function readByteSize(text: string): number | undefined {
  const parts = /^(\d{1,16}(?:\.\d{1,6})?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = units[(parts?.[2] ?? "").toLowerCase()];
  if (parts === null || unit === undefined) return undefined;
  const bytes = Number(parts[1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
