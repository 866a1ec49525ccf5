import { usageError } from "../errors.ts";
import { sanitizeText, toJson } from "./sanitize.ts";

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
