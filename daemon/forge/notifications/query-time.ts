import { AppError } from "../../errors.ts";

const LAYOUT = "2006-01-02T15:04:05Z07:00";

/** A parsed time of a query, or the error in it. */
export type QueryTime =
  | { readonly kind: "absent" }
  | {
      readonly kind: "time";
      /** The first millisecond of the time. */
      readonly from: number;
      /** The last millisecond of the time: a text without a fraction means a whole second. */
      readonly to: number;
    }
  | { readonly kind: "wrong"; readonly reason: string };

/** Parses RFC 3339, with Gitea's error texts. The year 1 means no time. */
function parseQueryTime(text: string): QueryTime {
  if (text === "") return { kind: "absent" };
  let rest = text;
  const values: number[] = [];
  const wrong = (reason: string): QueryTime => ({
    kind: "wrong",
    reason: `parsing time ${quote(text)}${reason}`,
  });
  for (const [layout, pattern] of elements) {
    const found = pattern.exec(rest);
    if (found === null)
      return wrong(` as ${quote(LAYOUT)}: cannot parse ${quote(rest)} as ${quote(layout)}`);
    rest = rest.slice(found[0].length);
    if (found[1] !== undefined) values.push(Number(found[1]));
  }
  const fraction = /^[.,]\d+/.exec(rest)?.[0] ?? "";
  rest = rest.slice(fraction.length);
  const zone = /^(?:Z|([+-])(\d\d):(\d\d))/.exec(rest);
  if (zone === null) return wrong(` as ${quote(LAYOUT)}: cannot parse ${quote(rest)} as "Z07:00"`);
  rest = rest.slice(zone[0].length);
  if (rest !== "") return wrong(`: extra text: ${quote(rest)}`);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = values;
  const unfit = findUnfit(year, month, day, hour, minute, second);
  if (unfit !== undefined) return wrong(`: ${unfit} out of range`);
  const [, sign, zoneHours = "0", zoneMinutes = "0"] = zone;
  if (Number(zoneHours) > 24) return wrong(": time zone offset hour out of range");
  if (Number(zoneMinutes) > 60) return wrong(": time zone offset minute out of range");
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === "-" ? -60_000 : 60_000);
  const moment = new Date(0);
  moment.setUTCFullYear(year, month - 1, day);
  moment.setUTCHours(hour, minute, second);
  if (year === 1 && moment.getTime() - offset === YEAR_1) return { kind: "absent" };
  const whole = moment.getTime() - offset;
  const milliseconds = Number(fraction.slice(1, 4).padEnd(3, "0"));
  return fraction === ""
    ? { kind: "time", from: whole, to: whole + 999 }
    : { kind: "time", from: whole + milliseconds, to: whole + milliseconds };
}

/** Parses a time. Returns undefined for an empty text or the year 1; refuses an invalid one with `code`. */
export function assertQueryTime(
  text: string,
  code: "unprocessable" | "invalid_argument",
): Extract<QueryTime, { kind: "time" }> | undefined {
  const time = parseQueryTime(text);
  if (time.kind === "wrong") throw new AppError(code, time.reason);
  return time.kind === "time" ? time : undefined;
}

/** Returns the inclusive range of milliseconds that two times in whole seconds span. */
export function toQueryRange(query: { readonly since: string; readonly before: string }): {
  readonly since: number | undefined;
  readonly before: number | undefined;
} {
  const before = assertQueryTime(query.before, "unprocessable");
  const since = assertQueryTime(query.since, "unprocessable");
  // Responses show stored times in whole seconds, so they are compared in whole seconds.
  return {
    since: since && Math.floor(since.from / 1000) * 1000,
    before: before && Math.floor(before.from / 1000) * 1000 + 999,
  };
}

const YEAR_1 = Date.parse("0001-01-01T00:00:00Z");

const elements: readonly (readonly [layout: string, pattern: RegExp])[] = [
  ["2006", /^(\d{4})/],
  ["-", /^-/],
  ["01", /^(\d\d)/],
  ["-", /^-/],
  ["02", /^(\d\d)/],
  ["T", /^T/],
  ["15", /^(\d\d)/],
  [":", /^:/],
  ["04", /^(\d\d)/],
  [":", /^:/],
  ["05", /^(\d\d)/],
];

function findUnfit(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): string | undefined {
  if (month < 1 || month > 12) return "month";
  if (day < 1 || day > new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()) return "day";
  if (hour > 23) return "hour";
  if (minute > 59) return "minute";
  return second > 59 ? "second" : undefined;
}

/** Truncates a text for an error message. */
function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
