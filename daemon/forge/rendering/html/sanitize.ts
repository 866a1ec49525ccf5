import sanitizeHtml from "sanitize-html";
import { escapeText, voidElements, walkFlat } from "./flat.ts";
import { withoutControls } from "./normalise.ts";
import {
  allowedAttributes,
  allowedElements,
  needAttribute,
  vetAttributes,
  type ClassPolicy,
} from "./policy.ts";

/** How void elements are written: `<br>` or `<br/>`. */
export type Flavour = "html" | "xhtml";

export interface Sanitizer {
  /**
   * Flat HTML with nothing in it but what the allowlist names. Always the last step: its answer is what goes out.
   * Sanitizing twice gives the same text. Time is linear in the length of `html`.
   */
  sanitize(html: string, flavour: Flavour): string;
}

/** How many vetted tags are remembered; most of a document is written with the same few. */
const REMEMBERED_TAGS_MAX = 2_000;
const REMEMBERED_LENGTH_MAX = 200;

/** Attributes whose values are seldom seen again. */
const particularAttributes =
  /\s(?:href|src|srcset|cite|id|name|title|alt|aria-label|data-source-position)=/;

/** Between the tags that are handed to the library together. Cannot occur in them: controls are removed first. */
const SEPARATOR = "\x01";

/** An opening tag as the library writes it, but for the end of void ones, which depends on the flavour. */
interface VettedTag {
  /** Empty when it is removed. */
  readonly tag: string;
  readonly isVoid: boolean;
}

/**
 * A sanitizer on `sanitize-html` with our allowlist.
 *
 * Flat HTML is a sequence of tags and text, and whether a tag may stand depends on the tag alone. So each *distinct*
 * tag is given to the library once, and the document is put together from its answers. That is four times faster
 * than the library on the whole document, whose cost is per tag, and leaves no markup that it has not written:
 * between tags there is only text in which `<` and `>` are escaped.
 */
export function createSanitizer(classes: ClassPolicy): Sanitizer {
  const elements = new Set(allowedElements);
  const remembered = new Map<string, VettedTag>();
  const allowedEmptyAttributes = [...new Set(Object.values(allowedAttributes).flat())];

  const vetAll = (gaps: readonly Gap[]): ReadonlyMap<string, VettedTag> => {
    const tags = new Map(gaps.map(({ source, name }) => [source, name]));
    const names = [...new Set(tags.values())];
    const options: sanitizeHtml.IOptions & { readonly allowedEmptyAttributes: string[] } = {
      // Only what occurs here: the library copies both lists each time, which takes longer than a short text.
      allowedTags: names,
      allowedAttributes: Object.fromEntries(
        names.map((name) => [name, allowedAttributes[name] ?? []]),
      ),
      allowedEmptyAttributes,
      // Addresses are judged by `vetAttributes`, which allows any scheme that carries no code.
      allowedSchemesAppliedToAttributes: [],
      disallowedTagsMode: "discard",
      selfClosing: [...voidElements],
      parseStyleAttributes: false,
      transformTags: {
        "*": (tagName, attribs) => ({ tagName, attribs: vetAttributes(tagName, attribs, classes) }),
      },
    };
    const written = [...tags].map(([source, name]) =>
      voidElements.has(name) ? withoutControls(source) : `${withoutControls(source)}</${name}>`,
    );
    const answers = sanitizeHtml(written.join(SEPARATOR), options).split(SEPARATOR);
    if (answers.length !== tags.size)
      throw new Error("the sanitizer answered for another number of tags");
    const vetted = new Map(
      [...tags].map(([source, name], index) => [source, toVetted(answers[index] ?? "", name)]),
    );
    for (const [source, tag] of vetted)
      if (tag.tag !== "" && remembered.size < REMEMBERED_TAGS_MAX && mayComeAgain(source))
        remembered.set(source, tag);
    return vetted;
  };

  return {
    sanitize(html, flavour) {
      const voidEnd = flavour === "xhtml" ? "/>" : ">";
      const parts: string[] = [];
      const gaps: Gap[] = [];
      // The elements that are open, and for each whether its tag is written: that of a gap is not known yet.
      const names: string[] = [];
      const states: (boolean | Gap)[] = [];
      const closeLast = (source: string) => {
        names.pop();
        const state = states.pop();
        if (typeof state === "object") state.closeAt = parts.length;
        if (state !== false) parts.push(source);
      };
      walkFlat(html, {
        open(name, source) {
          const known = remembered.get(source);
          if (known !== undefined) {
            parts.push(known.isVoid ? known.tag + voidEnd : known.tag);
            if (known.isVoid) return;
            names.push(name);
            states.push(true);
            return;
          }
          const isAllowed = elements.has(name);
          const gap: Gap = { name, source, at: parts.length, closeAt: undefined };
          if (isAllowed) {
            gaps.push(gap);
            parts.push("");
          }
          if (voidElements.has(name)) return;
          names.push(name);
          states.push(isAllowed && gap);
        },
        close(name, source) {
          if (names.at(-1) === name) closeLast(source);
        },
        text(source) {
          parts.push(spell(source));
        },
      });
      while (names.length > 0) closeLast(`</${names.at(-1)}>`);
      if (gaps.length > 0) fill(parts, gaps, vetAll(gaps), voidEnd);
      return parts.join("");
    },
  };
}

/** A tag in a document that the library is still to judge. */
interface Gap {
  readonly name: string;
  readonly source: string;
  readonly at: number;
  closeAt: number | undefined;
}

function fill(
  parts: string[],
  gaps: readonly Gap[],
  vetted: ReadonlyMap<string, VettedTag>,
  voidEnd: string,
): void {
  for (const { source, at, closeAt } of gaps) {
    const { tag = "", isVoid = false } = vetted.get(source) ?? {};
    parts[at] = isVoid && tag !== "" ? tag + voidEnd : tag;
    if (tag === "" && closeAt !== undefined) parts[closeAt] = "";
  }
}

function mayComeAgain(tag: string): boolean {
  return tag.length <= REMEMBERED_LENGTH_MAX && !particularAttributes.test(tag);
}

function toVetted(answer: string, name: string): VettedTag {
  const isVoid = voidElements.has(name);
  const removed = { tag: "", isVoid };
  const end = isVoid ? " />" : `></${name}>`;
  if (!answer.endsWith(end)) return removed;
  const open = answer.slice(0, -end.length);
  if (open.indexOf("<", 1) !== -1 || open.includes(">")) return removed;
  if (needAttribute.has(name) && open === `<${name}`) return removed;
  const tag = open.replaceAll("&quot;", "&#34;").replaceAll("'", "&#39;");
  return { tag: isVoid ? tag : `${tag}>`, isVoid };
}

/** Text with the reference's spelling of quotes, and no markup or control characters whatever it was. */
function spell(source: string): string {
  if (!spelledOtherwise.test(source)) return source;
  const clean = withoutControls(source);
  const safe = /[<>]/.test(clean) ? clean.replace(/[<>]/g, escapeText) : clean;
  return safe.replace(/"|&quot;/g, "&#34;").replaceAll("'", "&#39;");
}

const spelledOtherwise = /["'<>&\0-\x08\x0B\x0C\x0E-\x1F\x7F]/; // oxlint-disable-line no-control-regex -- controls are among what is looked for
