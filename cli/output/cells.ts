/** The value of a cell. Times and sizes have a type, since they are printed differently for people and scripts. */
export type Cell =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly string[]
  | { readonly time: string | number | null | undefined }
  | { readonly size: number | null | undefined };

/** One column of a table, or one line of a single resource. */
export interface Column<T> {
  /** In small letters; a table shows it in capitals. */
  readonly header: string;
  readonly cell: (item: T) => Cell;
  /** Parts of the cell that a terminal shows in bold, such as the words that a search has found. */
  readonly bold?: (item: T) => readonly string[];
}

/** A moment: "3 hours ago" on a terminal, RFC 3339 elsewhere. Numbers are epoch milliseconds. */
export function time(value: string | number | null | undefined): Cell {
  return { time: value };
}

/** A number of bytes: "1.5 MiB" on a terminal, exact elsewhere. */
export function size(value: number | null | undefined): Cell {
  return { size: value };
}

/** Formats a cell for people. `now` is in epoch milliseconds. */
export function toHumanCell(cell: Cell, now: number): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "boolean") return cell ? "yes" : "no";
  if (typeof cell !== "object") return String(cell);
  if (isList(cell)) return cell.join(", ");
  if ("time" in cell)
    return cell.time === null || cell.time === undefined ? "" : toAgo(cell.time, now);
  return cell.size === null || cell.size === undefined ? "" : toSizeText(cell.size);
}

/** Formats a cell for scripts: exact and independent of the time. */
export function toExactCell(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell !== "object") return String(cell);
  if (isList(cell)) return cell.join(",");
  if ("time" in cell)
    return cell.time === null || cell.time === undefined ? "" : toRfc3339(cell.time);
  return cell.size === null || cell.size === undefined ? "" : String(cell.size);
}

/** `1.5 MiB`; below a kibibyte whole bytes. */
export function toSizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  // 1023.96 KiB would round to 1024.0 KiB.
  if (unit > 0 && unit < units.length - 1 && Math.abs(value) >= 1023.95) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const week = 7 * day;
const year = 365.25 * day;

/** `3 hours ago`, `in 2 days`, `just now`; a text that is not a time stays as it is. */
export function toAgo(value: string | number, now: number): string {
  const at = typeof value === "number" ? value : Date.parse(value);
  if (Number.isNaN(at)) return String(value);
  if (isNever(at)) return "never";
  const seconds = Math.round((now - at) / 1000);
  const distance = Math.abs(seconds);
  if (distance < 30) return "just now";
  const [amount, unit] =
    distance < 45 * minute
      ? [distance / minute, "minute"]
      : distance < 22 * hour
        ? [distance / hour, "hour"]
        : distance < 26 * day
          ? [distance / day, "day"]
          : distance < 320 * day
            ? [distance / (30.44 * day), "month"]
            : [distance / year, "year"];
  const count = Math.max(1, Math.round(amount as number));
  const text = `${count} ${unit}${count === 1 ? "" : "s"}`;
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** An RFC 3339 time, exactly as the server sent it; empty for what has never happened. */
function toRfc3339(value: string | number): string {
  if (isNever(typeof value === "number" ? value : Date.parse(value))) return "";
  return typeof value === "number" ? new Date(value).toISOString() : value;
}

/** Returns whether a time in epoch milliseconds is the year 1 or 1970, which the forge sends for "never". */
function isNever(at: number): boolean {
  return at <= 0;
}

function isList(cell: object): cell is readonly string[] {
  return Array.isArray(cell);
}

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
