const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const week = 7 * day;
const year = 365.25 * day;

/** Returns an age in at most four cells: `now`, `5m`, `3h`, `2d`, `6w`, `4y`; empty for no time. */
export function toShortAge(value: string | null | undefined, now: number): string {
  const at = value === null || value === undefined ? Number.NaN : Date.parse(value);
  if (Number.isNaN(at) || at <= 0) return "";
  const seconds = Math.max(0, (now - at) / 1000);
  if (seconds < minute) return "now";
  if (seconds < hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < day) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 2 * week) return `${Math.floor(seconds / day)}d`;
  if (seconds < year) return `${Math.floor(seconds / week)}w`;
  return `${Math.floor(seconds / year)}y`;
}
