import type { z } from "zod";

/** The message for a missing value. */
export const MISSING = "Field required";

type Issue = z.core.$ZodRawIssue;

/** How people name the types of JSON, with an article. */
const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

/** An example of each text format. */
const formats: Readonly<Record<string, string>> = {
  uuid: "an id such as 01912d4c-77aa-7cc4-9c2e-0123456789ab",
  datetime: "a time such as 2026-11-20T09:30:00.000Z",
  date: "a date such as 2026-11-20",
  email: "an e-mail address",
  url: "an address such as https://example.org",
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
  base64: "text in base64",
};

/**
 * Describes the value that a validator expected. Pass it as `error` to every parse whose messages reach users: the
 * library's own texts use its internal terms. A schema with a text of its own keeps that.
 */
export function describeIssue(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return describeType(issue.expected, issue.input);
    case "invalid_value":
      if (issue.input === undefined) return MISSING;
      return `Expected ${issue.values.length > 1 ? "one of: " : ""}${issue.values.map(String).join(", ")}`;
    case "invalid_format": {
      const format = formats[issue.format];
      return format === undefined
        ? "The text does not have the expected form"
        : `Expected ${format}`;
    }
    case "too_big":
      return describeLimit("At most", issue.origin, issue.maximum, issue.inclusive ?? true);
    case "too_small":
      if (issue.origin === "string" && issue.minimum === 1) return "The text must not be empty";
      return describeLimit("At least", issue.origin, issue.minimum, issue.inclusive ?? true);
    case "not_multiple_of":
      return `Expected a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return `Unknown: ${issue.keys.join(", ")}`;
    default:
      return issue.input === undefined ? MISSING : "The value does not have an accepted form";
  }
}

function describeType(expected: string, input: unknown): string {
  if (input === undefined) return MISSING;
  const typeName = typeNames[expected] ?? "another type of value";
  if (typeof input === "number" && expected === "int")
    return "Expected a whole number without a fraction";
  return `Expected ${typeName}, not ${typeOf(input)}`;
}

function typeOf(input: unknown): string {
  if (input === null) return "null";
  if (Array.isArray(input)) return "a list";
  return typeNames[typeof input] ?? "this value";
}

function describeLimit(
  words: "At most" | "At least",
  origin: string,
  limit: number | bigint,
  isInclusive: boolean,
): string {
  const beyond = words === "At most" ? "Less than" : "More than";
  const [singular, plural] = units[origin] ?? ["", ""];
  const unit = Number(limit) === 1 ? singular : plural;
  return `${isInclusive ? words : beyond} ${Number(limit).toLocaleString("en-US")}${unit}`;
}

/** The unit that a limit counts, with a space before it. */
const units: Readonly<Record<string, readonly [one: string, several: string]>> = {
  string: [" character", " characters"],
  array: [" entry", " entries"],
};
