import { Document, Scalar, visit } from "yaml";
import { sanitizeText, toJson, toRowField, unsafeInJson } from "./sanitize.ts";
import { usageError } from "../errors.ts";

/** One line of RFC 4180 CSV, with its line end. Values are exact: formulas are not escaped. */
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

/**
 * Returns `value` as YAML that readers of version 1.1 and of 1.2 read alike; control and format characters are escapes in
 * double-quoted scalars.
 */
export function toYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      const { value: text } = node;
      if (typeof text !== "string") return;
      if (text.search(unsafeInJson) >= 0 || isAmbiguousInYaml(text))
        node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0 }).replace(unsafeInJson, toYamlEscape);
}

/**
 * Whether a version of YAML reads a plain scalar of this text as something other than the text: a boolean, null, number,
 * sexagesimal number, time, merge key (yaml.org/type, YAML 1.2.2 section 10.3) or mark of a document.
 */
export function isAmbiguousInYaml(text: string): boolean {
  return (
    /^(?:|~|=|<<|---|\.\.\.|y|n|yes|no|on|off|true|false|null|[-+]?\.(?:inf|nan))$/i.test(text) ||
    /^[-+]?\.?\d[\da-f_:.,xotz+\s-]*$/i.test(text)
  );
}

/** YAML has no surrogate pairs: a code point beyond U+FFFF is one `\U` escape. */
function toYamlEscape(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}

/**
 * Compiles a template: `{{.name}}` and `{{.owner.login}}` are replaced by values of an item, `{{.}}` by the item as JSON;
 * `\n`, `\t` and `\\` are escape sequences; everything else is literal text.
 */
export function compileTemplate(template: string): (item: unknown) => string {
  const parts = template.split(/(\{\{.*?\}\})/s).map((part): string | readonly string[] => {
    if (!part.startsWith("{{")) return unescape(part);
    const path = /^\{\{\s*\.((?:[\w-]+(?:\.[\w-]+)*)?)\s*\}\}$/.exec(part)?.[1];
    if (path === undefined)
      throw usageError(
        `${part} is not a field`,
        "a template takes {{.field}} and {{.field.inner}}",
      );
    return path === "" ? [] : path.split(".");
  });
  return (item) =>
    parts
      .map((part) => (typeof part === "string" ? part : toText(followPath(item, part))))
      .join("");
}

/** The fields of an item that a template names: the first part of each `{{.owner.login}}`. */
export function toTemplateFields(template: string): readonly string[] {
  return [...template.matchAll(/\{\{\s*\.([\w-]+)/g)].map(([, field = ""]) => field);
}

function followPath(item: unknown, path: readonly string[]): unknown {
  let value = item;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? toJson(value) : sanitizeText(String(value));
}

function unescape(text: string): string {
  return text.replace(/\\([nt\\])/g, (_, letter: string) =>
    letter === "n" ? "\n" : letter === "t" ? "\t" : "\\",
  );
}
