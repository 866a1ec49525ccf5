const UNITS_SECONDS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1 };

/** Writes a duration as Gitea does: `8h0m0s`, `10m0s`, `0s`. */
export function toDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

/** Parses a duration such as `24h0m0s`, `90m` or `0`, in whole seconds. Returns undefined for any other text. */
export function readDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(?:\d{1,9}(?:\.\d{1,3})?[hms])+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, count, unit = ""] of text.matchAll(/([\d.]+)([hms])/g))
    seconds += Number(count) * (UNITS_SECONDS[unit] ?? 0);
  return Math.floor(seconds);
}
