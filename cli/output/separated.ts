import { sanitizeText, toJson, toRowField } from "./sanitize.ts";

/** One line of RFC 4180 CSV, with its line end. Values are exact: nothing is done against formulas. */
export function toCsvLine(values: readonly unknown[]): string {
  return `${values.map((value) => quoteCsv(sanitizeText(toFieldText(value)))).join(",")}\r\n`;
}

/** One line of tab-separated values, with its line end. */
export function toTsvLine(values: readonly unknown[]): string {
  return `${values.map((value) => toRowField(toFieldText(value))).join("\t")}\n`;
}

/** A JSON value in one field: text as it is, nothing for null, structures as JSON. */
function toFieldText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? toJson(value) : String(value);
}

function quoteCsv(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
