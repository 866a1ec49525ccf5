import { parseDocument } from "yaml";
import { z } from "zod";

/** A label of a set. `color` is six hex digits in lower case, without `#`. */
export interface Label {
  readonly name: string;
  readonly color: string;
  readonly description: string;
  /** Whether an issue has at most one of the labels with the same part before the last slash. */
  readonly exclusive: boolean;
}

const labelFile = z.object({
  labels: z.array(
    z.object({
      name: z.string().trim().min(1),
      // YAML parses a colour of digits as a number.
      color: z.union([z.string(), z.number()]).transform(String),
      description: z.string().nullish(),
      exclusive: z.boolean().nullish(),
    }),
  ),
});

/**
 * Parses the labels of a file in their order: YAML with a list `labels`, or lines of `#rrggbb name ; description`.
 * Returns undefined for any other file, and for an invalid colour.
 */
export function parseLabelSet(text: string): readonly Label[] | undefined {
  return text.trimStart().startsWith("#") && /^\s*#[0-9a-f]{3,6}\s/i.test(text)
    ? parseLines(text)
    : parseYaml(text);
}

function parseLines(text: string): readonly Label[] | undefined {
  const labels: Label[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") continue;
    const [, written = "", name = "", description = ""] =
      /^\s*#?(\w+)\s+([^;]+?)\s*(?:;\s*(.*?)\s*)?$/.exec(line) ?? [];
    const color = toColor(written);
    if (color === undefined || name === "") return undefined;
    labels.push({ name, color, description, exclusive: false });
  }
  return labels;
}

function parseYaml(text: string): readonly Label[] | undefined {
  const read = labelFile.safeParse(readYaml(text));
  if (!read.success) return undefined;
  const labels: Label[] = [];
  for (const { name, color: written, description, exclusive } of read.data.labels) {
    const color = toColor(written);
    if (color === undefined) return undefined;
    labels.push({ name, color, description: description ?? "", exclusive: exclusive ?? false });
  }
  return labels;
}

function readYaml(text: string): unknown {
  const document = parseDocument(text, { logLevel: "silent" });
  if (document.errors.length > 0) return undefined;
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    // An unknown alias, or too many of them: the caller reports the file.
    return undefined;
  }
}

/** Converts `#abc` and `AABBCC` to six digits in lower case. */
function toColor(written: string): string | undefined {
  const digits = written.replace(/^#/, "").toLowerCase();
  if (/^[0-9a-f]{6}$/.test(digits)) return digits;
  return /^[0-9a-f]{3}$/.test(digits) ? digits.replace(/./g, "$&$&") : undefined;
}
