import type { SettingType } from "./types.ts";

/** The fields of a crontab's line with their lowest and highest value, and names for the values. */
const FIELDS = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: "jan feb mar apr may jun jul aug sep oct nov dec".split(" ") },
  { min: 0, max: 7, names: "sun mon tue wed thu fri sat".split(" ") },
] as const satisfies readonly { min: number; max: number; names: readonly string[] }[];
type Field = (typeof FIELDS)[number];

const WORD = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/;
const INTERVAL = /^@every [1-9]\d{0,4}[mh]$/;
/** The longest month of each name, from January on. */
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The times of a scheduled task. Not by croner, which every command with a config file would load. */
export const cronSchedule: SettingType<string> = {
  takes:
    'five fields as in a crontab ("45 3 * * *"), @hourly, @daily, @weekly, @monthly, or an interval such as "@every 6h"',
  read(input) {
    if (typeof input !== "string") return undefined;
    const schedule = input.trim().replace(/\s+/g, " ");
    if (WORD.test(schedule) || INTERVAL.test(schedule)) return schedule;
    const texts = schedule.split(" ");
    if (texts.length !== FIELDS.length) return undefined;
    const values = FIELDS.map((field, index) => readField(texts[index] ?? "", field));
    const [, , days = [], months = []] = values;
    if (values.includes(undefined)) return undefined;
    // A day of the week is an alternative to the date, so only a date alone can be one that no year has.
    const isDate = texts[4] === "*";
    const exists = months.some((month) => days.some((day) => day <= (DAYS[month - 1] ?? 0)));
    return isDate && !exists ? undefined : schedule;
  },
};

/** Returns the values that a field names; undefined for an invalid one. */
function readField(text: string, field: Field): readonly number[] | undefined {
  const parts = text.split(",").map((part) => readPart(part, field));
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
}

/** Reads a star, a value or a range, the first and the last also with a step: `1`, `1-5`, `1-5/2`. */
function readPart(text: string, { min, max, names }: Field): readonly number[] | undefined {
  const found = /^(?:\*|([a-z]{3}|\d{1,2})(?:-([a-z]{3}|\d{1,2}))?)(?:\/(\d{1,2}))?$/i.exec(text);
  if (found === null) return undefined;
  const [, first, last, every] = found;
  const read = (value: string) => {
    const index = names.findIndex((name) => name === value.toLowerCase());
    return index >= 0 ? index + min : Number(value);
  };
  // A single value with a step is no form of a crontab.
  if (first !== undefined && last === undefined && every !== undefined) return undefined;
  const from = first === undefined ? min : read(first);
  const to = last === undefined ? (first === undefined ? max : from) : read(last);
  const step = every === undefined ? 1 : Number(every);
  const isSound = from >= min && to <= max && from <= to && step > 0 && step <= max;
  return isSound
    ? Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)
    : undefined;
}
