import { toJson, toRowField } from "./sanitize.ts";

/**
 * The effect of a command as rows for scripts: `name<TAB>value`. A list gets a row for each element, with the values of an
 * element as further fields.
 */
export function toEffectRows(effect: Readonly<Record<string, unknown>>): string {
  const rows = Object.entries(effect).flatMap(([name, value]) =>
    Array.isArray(value) && value.length > 0
      ? value.map((one: unknown) => [name, ...valuesOf(one)])
      : [[name, Array.isArray(value) ? "" : toPlain(value)]],
  );
  return rows.map((fields) => `${fields.map(toRowField).join("\t")}\n`).join("");
}

/**
 * Formats the effect of a dry run for people: a list gets a line for each element, a text of several lines is
 * unchanged. Requests are shown as JSON.
 */
export function toDryRunText(would: Readonly<Record<string, unknown>>): string {
  const isShort = ([name, value]: readonly [string, unknown]) =>
    !/^requests?$/.test(name) && isFlat(value);
  const entries = Object.entries(would);
  const long = Object.fromEntries(entries.filter((entry) => !isShort(entry)));
  const texts = entries.filter(isShort).map(([name, value]) => {
    if (Array.isArray(value) && value.length === 0) return `${name}: nothing`;
    if (Array.isArray(value))
      return [`${name}:`, ...value.map((one) => `  ${valuesOf(one).join("  ")}`.trimEnd())].join(
        "\n",
      );
    return typeof value === "object" && value !== null
      ? [`${name}:`, ...valuesOf(value).map((one) => indent(one))].join("\n")
      : `${name}: ${toPlain(value)}`;
  });
  if (Object.keys(long).length > 0) texts.push(toJson(long, 2));
  return ["Would do, without --dry-run:", ...texts].join("\n");
}

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^(?=.)/gm, "  ");
}

/** Whether a value is a scalar, or scalars one or two levels deep: it can be read without braces. */
function isFlat(value: unknown, depth = 2): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((one) => isFlat(one, depth - 1));
}

function valuesOf(value: unknown): readonly string[] {
  return typeof value === "object" && value !== null
    ? Object.values(value).map(toPlain)
    : [toPlain(value)];
}

function toPlain(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? toJson(value) : String(value);
}
