import sanitizeHtml from "sanitize-html";
import { DEPTH_MAX, RenderLimitError } from "../document.ts";
import { withoutControls } from "./escape.ts";
import { type HeldCode, withoutPlaceholders } from "./held-code.ts";
import {
  allowedAttributes,
  allowedElements,
  droppedElements,
  needsAttribute,
  vetAttributes,
  voidElements,
  type ClassPolicy,
} from "./policy.ts";

/** The spelling of void elements: `<br>` or `<br/>`. */
export type Flavour = "html" | "xhtml";

/**
 * Returns HTML that has only elements and attributes of the allowlist. Sanitizing the result again returns it
 * unchanged. Restores `held` code in texts. Throws `RenderLimitError` when elements nest deeper than 400.
 */
export type Sanitize = (html: string, flavour: Flavour, held?: HeldCode) => string;

/** Maximum number of passes. The second one normally changes nothing, which the third verifies; more would be a bug. */
const PASSES_MAX = 4;

/** Creates a sanitizer: `sanitize-html` with the allowlist of policy.ts, applied to the whole document. */
export function createSanitizer(classes: ClassPolicy): Sanitize {
  const elements: ReadonlySet<string> = new Set(allowedElements);
  let depth = 0;
  let hasRemoved = false;
  let policy = classes;
  let restore: HeldCode["restore"] = (text) => text;

  const attributeNames = [...new Set([...allowedAttributes.values()].flat())];
  const options: sanitizeHtml.IOptions & { readonly allowedEmptyAttributes: string[] } = {
    allowedTags: [...allowedElements],
    // `vetAttributes` checks them by element. The library copies these lists on every call: a list for each of the 130
    // elements would take 3 ms, ten times as long as rendering a comment.
    allowedAttributes: { "*": attributeNames },
    allowedEmptyAttributes: attributeNames,
    // `vetAttributes` checks URLs: it allows any scheme without code.
    allowedSchemesAppliedToAttributes: [],
    disallowedTagsMode: "discard",
    nonTextTags: [...droppedElements],
    selfClosing: [...voidElements],
    parseStyleAttributes: false,
    onOpenTag: (name) => {
      depth += 1;
      if (depth > DEPTH_MAX) throw new RenderLimitError("elements nest too deep");
      if (!elements.has(name)) hasRemoved = true;
    },
    onCloseTag: () => {
      depth -= 1;
    },
    transformTags: {
      "*": (tagName, attributes) => ({
        tagName,
        attribs: vetAttributes(tagName, attributes, policy),
      }),
    },
    textFilter: (text) =>
      restore(withoutControls(text).replaceAll('"', "&#34;").replaceAll("'", "&#39;")),
  };

  const sanitizeOnce = (html: string): string => {
    depth = 0;
    hasRemoved = false;
    const clean = sanitizeHtml(html, options);
    const complete = removeBareElements(clean);
    if (complete.length < clean.length) hasRemoved = true;
    return complete;
  };

  return (html, flavour, held) => {
    policy = classes;
    restore = held?.restore ?? ((text) => text);
    let clean = sanitizeOnce(html);
    // Removing an element may change which tags implicitly close its siblings, so parse the result again.
    for (let pass = 1; hasRemoved; pass += 1) {
      if (pass === PASSES_MAX) throw new Error("sanitizing does not converge");
      // The first pass has verified the secret of the renderer's own classes and removed it.
      if (classes.kind === "protected") policy = { kind: "rendered" };
      clean = sanitizeOnce(clean);
    }
    const spelled = withoutPlaceholders(spell(clean, flavour === "xhtml" ? "/>" : ">"));
    // Markup of an author may have turned a tag of the renderer into text or into the value of an attribute.
    return classes.kind === "protected" ? spelled.replaceAll(classes.secret, "") : spelled;
  };
}

const bareTag = new RegExp(`</?(?:${[...needsAttribute].join("|")})(?:>| [^>]*>)`, "g");

/** Removes the elements that need an attribute and have none; keeps their content. */
function removeBareElements(html: string): string {
  const open: boolean[] = [];
  return html.replace(bareTag, (tag) => {
    if (tag.startsWith("</")) return open.pop() === true ? tag : "";
    const hasAttribute = tag.includes("=");
    if (!tag.endsWith(" />")) open.push(hasAttribute);
    return hasAttribute ? tag : "";
  });
}

/**
 * Spells void elements and quotes as the reference does. All of them are in tags: the library escapes every `>` and the
 * filter above every quote of a text. Searching for tags first would take four times as long.
 */
function spell(html: string, voidEnd: string): string {
  return html.replaceAll(" />", voidEnd).replaceAll("&quot;", "&#34;").replaceAll("'", "&#39;");
}
