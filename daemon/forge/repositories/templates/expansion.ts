import { setImmediate } from "node:timers/promises";
import type { OwnedRepository } from "../../events.ts";
import { type ForgeUrls, toSshUrl, toUrl } from "../../urls.ts";

/**
 * Replaces the variables of a template in a text, and lets other requests be served in between. Returns undefined when the
 * result would have more than `lengthMax` characters: a short variable may stand for a long description.
 */
export type Expand = (text: string, lengthMax: number) => Promise<string | undefined>;

/** Replacements after which other requests are served: some two milliseconds. */
const REPLACED_AT_ONCE = 5_000;

const months = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];

/** Transformations of a value, by the suffix of the variable's name. */
const spellings: Readonly<Record<string, (value: string) => string>> = {
  SNAKE: (value) => toWords(value).join("_"),
  KEBAB: (value) => toWords(value).join("-"),
  CAMEL: (value) =>
    toWords(value)
      .map((word, index) => (index === 0 ? word : capitalize(word)))
      .join(""),
  PASCAL: (value) => toWords(value).map(capitalize).join(""),
  LOWER: (value) => value.toLowerCase(),
  UPPER: (value) => value.toUpperCase(),
  TITLE: (value) =>
    value.toLowerCase().replace(/(?<![\p{L}\p{N}_'])\p{L}/gu, (letter) => letter.toUpperCase()),
};

/**
 * Returns the function that replaces `$NAME` and `${NAME}` in template files as the reference does: the name, owner,
 * description and addresses of both repositories and the date. An unknown name loses its dollar sign. The texts are
 * read as latin1, so that bytes that are not UTF-8 are preserved.
 */
export function createExpansion(
  template: OwnedRepository,
  generated: {
    readonly name: string;
    readonly owner: { readonly name: string };
    readonly description: string;
  },
  { urls, at }: { readonly urls: ForgeUrls; readonly at: number },
): Expand {
  const date = new Date(at);
  const twoDigits = (value: number) => String(value).padStart(2, "0");
  const of = (name: string, owner: string, description: string, prefix: string) => {
    const fullName = `${owner}/${name}`;
    return {
      ...spell(`${prefix}_NAME`, name),
      ...spell(`${prefix}_OWNER`, owner),
      [`${prefix}_DESCRIPTION`]: description,
      [`${prefix}_LINK`]: `/${fullName}`,
      [`${prefix}_HTTPS_URL`]: toUrl(urls, `/${fullName}.git`),
      [`${prefix}_SSH_URL`]: toSshUrl(urls, fullName),
    };
  };
  const values: Readonly<Record<string, string>> = {
    YEAR: String(date.getUTCFullYear()),
    MONTH: twoDigits(date.getUTCMonth() + 1),
    DAY: twoDigits(date.getUTCDate()),
    ...spell("MONTH_ENGLISH", months[date.getUTCMonth()] ?? ""),
    ...of(generated.name, generated.owner.name, generated.description, "REPO"),
    ...of(
      template.repository.name,
      template.owner.name,
      template.repository.description,
      "TEMPLATE",
    ),
  };
  const bytes = new Map(
    Object.entries(values).map(([name, value]) => [name, Buffer.from(value).toString("latin1")]),
  );
  return async (text, lengthMax) => {
    const parts: string[] = [];
    let end = 0;
    let length = text.length;
    for (const match of text.matchAll(VARIABLE)) {
      const [variable, braced, special, plain] = match;
      const name = braced ?? special ?? plain ?? "";
      const value = bytes.get(name) ?? name;
      length += value.length - variable.length;
      if (length > lengthMax) return undefined;
      parts.push(text.slice(end, match.index), value);
      end = match.index + variable.length;
      if (parts.length % (2 * REPLACED_AT_ONCE) === 0) await setImmediate();
    }
    return parts.join("") + text.slice(end);
  };
}

/** `${NAME}`, an opening brace without an end, a special variable of shells, or `$NAME`. */
const VARIABLE = /\$(?:\{([^}]{0,255})\}|\{|([*#$@!?\-0-9])|([A-Za-z_]\w{0,255}))/g;

function spell(name: string, value: string): Record<string, string> {
  const spelled = Object.entries(spellings).map(([end, to]) => [`${name}_${end}`, to(value)]);
  return { [name]: value, ...(Object.fromEntries(spelled) as Record<string, string>) };
}

/** Splits a name at separators and capitals, into lower-case words. */
function toWords(value: string): readonly string[] {
  return value
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .split(/[\s_.-]+/)
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase());
}

const capitalize = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);

/**
 * Makes every part of an expanded path valid on all systems: replaces characters and names that Windows reserves,
 * leading dots of `..` and `.git`. Empty if nothing remains.
 */
export function toSafePath(path: string): string {
  return path
    .split("/")
    .map((part) => {
      // oxlint-disable-next-line no-control-regex -- the pattern matches control characters
      const plain = part.replace(/[<>:"\\|?*\u0000-\u001f]/g, "_").trim();
      if (/^(?:con|prn|aux|nul|com\d|lpt\d)$/i.test(plain)) return "_";
      if (plain.startsWith("..")) return `__${plain.slice(2)}`;
      return plain.toLowerCase() === ".git" ? `_${plain.slice(1)}` : plain;
    })
    .filter((part) => part !== "" && part !== ".")
    .join("/");
}
