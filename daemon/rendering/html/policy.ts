// The allowlist, equal to Gitea's: elements, attributes and values that rendered HTML may contain.
import { withoutControls } from "./escape.ts";
import { splitImageSet } from "./links.ts";

const words = (list: string): readonly string[] => list.trim().split(/\s+/);

const commonElements = words(`
  p a code pre span li ul ol img strong em br h1 h2 h3 h4 h5 h6 h7 h8 div table thead tbody tfoot tr td th blockquote
  b i center tt ins del sup sub label dl dt dd kbd q samp var hr ruby rt rp s strike summary details caption figure
  figcaption abbr bdo cite dfn mark small time video wbr picture source`);

const bareElements = words(`
  hgroup u acronym bdi article aside section map area meter progress input colgroup col svg path`);

const mathElements = words(`
  math mi mn mo mtext mspace ms mrow mfrac msqrt mroot mstyle merror mpadded mphantom msub msup msubsup munder mover
  munderover mmultiscripts mprescripts none mtable mtr mtd semantics annotation annotation-xml`);

/** Allowed elements. */
export const allowedElements: readonly string[] = [
  ...commonElements,
  ...bareElements,
  ...mathElements,
];

const everywhere = words("id lang dir title class data-attr-class");

const commonAttributes = words(`
  href rel target align alt width height name start checked disabled colspan rowspan abbr accept accept-charset
  accesskey action aria-describedby aria-hidden aria-label aria-labelledby axis border cellpadding cellspacing char
  charoff charset clear cols color compact coords datetime enctype for frame headers hreflang hspace ismap label
  maxlength media method multiple nohref noshade nowrap open prompt readonly rev rows rules scope selected shape size
  span summary tabindex type usemap valign value vspace itemprop itemscope itemtype
  data-markdown-generated-content`).filter((name) => name !== "href");

const mathAttributes = words(`
  accent accentunder columnalign columnlines columnspacing columnspan depth dir display displaystyle encoding fence
  frame framespacing height linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize
  movablelimits rowalign rowlines rowspacing rowspan rspace scriptlevel separator stretchy symmetric voffset width`);

const particular: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  area: ["href", "alt", "coords", "shape", "target", "rel"],
  map: ["name"],
  img: ["src", "srcset", "loading"],
  video: ["src", "autoplay", "controls"],
  source: ["src", "media", "srcset"],
  blockquote: ["cite"],
  q: ["cite"],
  ins: ["cite"],
  del: ["cite"],
  meter: ["value", "min", "max", "low", "high", "optimum"],
  progress: ["value", "max"],
  input: ["type", "checked", "disabled", "data-source-position"],
  span: ["data-line-number", "style"],
  div: ["style"],
  p: ["style"],
  tr: ["style"],
  th: ["style"],
  td: ["style"],
  col: ["span", "width", "align", "valign"],
  colgroup: ["span", "width", "align", "valign"],
  svg: ["viewbox", "width", "height", "aria-hidden"],
  path: ["d", "fill-rule"],
  math: ["alttext"],
};

/** Allowed attributes by element; `vetAttributes` checks their values. */
export const allowedAttributes: ReadonlyMap<string, readonly string[]> = new Map(
  allowedElements.map((element) => [
    element,
    [
      ...(particular[element] ?? []),
      ...everywhere,
      ...(commonElements.includes(element) ? commonAttributes : []),
      ...(mathElements.includes(element) ? mathAttributes : []),
    ],
  ]),
);

/** Elements that are removed when no attribute is left. */
export const needsAttribute: ReadonlySet<string> = new Set(["a", "img", "input"]);

/** Elements that are removed with their content. Other elements that are not allowed lose only their tags. */
export const droppedElements: ReadonlySet<string> = new Set(
  words("script style iframe object frame frameset noembed noframes noscript"),
);

/** Elements without content and closing tag (void elements). */
export const voidElements: ReadonlySet<string> = new Set(
  words(
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr",
  ),
);

/** Attributes whose value is a URL. */
const addressAttributes: ReadonlySet<string> = new Set(["href", "src", "cite"]);

/** Schemes of URLs that run or contain code. */
const refusedSchemes: ReadonlySet<string> = new Set(["javascript", "vbscript", "data"]);

/** Classes that only the renderer may write. */
const engineClasses: ReadonlySet<string> = new Set(
  words(`
    code-block-container code-overflow-scroll code-block is-loading chroma display language-math task-list-item
    attention-header attention-note attention-tip attention-important attention-warning attention-caution
    attention-icon svg octicon-info octicon-light-bulb octicon-report octicon-alert octicon-stop octicon-table-of-contents
    frontmatter-content emoji color-preview ref-issue commit issue-keyword data-table line-num notebook-cell
    notebook-prompt notebook-output plain-text`),
);

const isEngineClass = (name: string): boolean =>
  engineClasses.has(name) || /^language-[\w.+#-]{1,40}$/.test(name);

/** The prefix that distinguishes the renderer's classes from an author's. */
export type ClassPolicy =
  /** A `data-attr-class` value that begins with the secret becomes the class; an `src` with it may be an embedded image. */
  | { readonly kind: "protected"; readonly secret: string }
  /** No class of the renderer is allowed (mode `markdown`). */
  | { readonly kind: "author" }
  /** The renderer's classes and embedded images are allowed: the HTML was rendered and sanitized before. */
  | { readonly kind: "rendered" };

/**
 * Returns the allowed attributes of an element in their order. Links get `rel="nofollow"`; links with `target="_blank"`
 * also `noopener`.
 */
export function vetAttributes(
  element: string,
  attributes: Readonly<Record<string, string>>,
  classes: ClassPolicy,
): Record<string, string> {
  const allowed = allowedAttributes.get(element) ?? [];
  const vettedAttributes: Record<string, string> = {};
  for (const [name, written] of Object.entries(attributes)) {
    if (!allowed.includes(name)) continue;
    const value = withoutControls(written);
    const vetted = vetValue(element, name, value, classes);
    if (vetted !== undefined) vettedAttributes[vetted.name] = vetted.value;
  }
  if ((element === "a" || element === "area") && vettedAttributes["href"] !== undefined)
    addRelations(vettedAttributes);
  return vettedAttributes;
}

function vetValue(
  element: string,
  name: string,
  value: string,
  classes: ClassPolicy,
): { readonly name: string; readonly value: string } | undefined {
  const keep = (is: boolean) => (is ? { name, value } : undefined);
  if (element === "img" && name === "src" && classes.kind !== "author") {
    const image = classes.kind === "rendered" ? value : withoutPrefix(value, classes.secret);
    if (image !== undefined && embeddedImage.test(image)) return { name, value: image };
  }
  if (addressAttributes.has(name)) return keep(isSafeAddress(value));
  switch (name) {
    case "id":
      return keep(/[A-Za-z0-9:\-_.]/.test(value));
    case "dir":
      return keep(/^(?:ltr|rtl|auto)$/i.test(value));
    case "lang":
      return keep(/^[A-Za-z0-9-]{1,35}$/.test(value));
    case "class":
      return vetClasses(element, value, classes);
    case "data-attr-class":
      if (classes.kind !== "protected" || !value.startsWith(classes.secret)) return { name, value };
      return vetClasses(element, value.slice(classes.secret.length), { kind: "rendered" });
    case "style":
      return vetStyle(value);
    case "srcset":
      return keep(isSafeImageSet(value));
    case "name":
      // A named image shadows a property of the page's document, such as `cookie`.
      return keep(element !== "img");
    case "type":
      return keep(element !== "input" || value === "checkbox");
    case "title":
      return keep(
        commonElements.includes(element) || /^[\p{L}\p{N}\s\-_',[\]!./\\()]*$/u.test(value),
      );
    default:
      return { name, value };
  }
}

/** An image in the document itself, such as a chart of a notebook. Formats that cannot contain code. */
const embeddedImage = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;

function withoutPrefix(value: string, prefix: string): string | undefined {
  return value.startsWith(prefix) ? value.slice(prefix.length) : undefined;
}

function vetClasses(element: string, value: string, policy: ClassPolicy) {
  const isAuthors = (name: string) =>
    (element === "span" && /^\w{1,2}$/.test(name)) ||
    (element === "li" && /^(?:checked|unchecked|indeterminate)$/.test(name));
  const names = value.split(/\s+/).filter((name) => name !== "");
  const allowedNames =
    policy.kind === "rendered"
      ? names.filter((name) => isEngineClass(name) || isAuthors(name))
      : names.every(isAuthors)
        ? names.slice(0, 1)
        : [];
  return allowedNames.length === 0 ? undefined : { name: "class", value: allowedNames.join(" ") };
}

const colourValue =
  /^(?:#[0-9a-f]{3,8}|[a-z]{1,30}|(?:rgb|hsl)a?\(\s{0,3}[\d.]{1,8}(?:deg)?%?(?:[\s,/]{1,3}[\d.]{1,8}%?){2,3}\s{0,3}\))$/i;

function vetStyle(value: string) {
  const declarations: string[] = [];
  for (const declaration of value.slice(0, 1000).split(";")) {
    const [property = "", ...rest] = declaration.split(":");
    const name = property.trim().toLowerCase();
    const colour = rest.join(":").trim();
    if ((name === "color" || name === "background-color") && colourValue.test(colour))
      declarations.push(`${name}: ${colour}`);
  }
  return declarations.length === 0 ? undefined : { name: "style", value: declarations.join("; ") };
}

/** Returns whether a URL is relative or has a scheme without code. It must parse and contain no blanks. */
function isSafeAddress(address: string): boolean {
  const trimmed = address.trim();
  if (/[\s\p{Cc}\p{Zl}\p{Zp}]/u.test(trimmed)) return false;
  const scheme = /^([^/?#:]*):/.exec(trimmed)?.[1];
  if (scheme !== undefined) {
    if (!/^[a-z][a-z0-9+.-]*$/i.test(scheme)) return false;
    return !refusedSchemes.has(scheme.toLowerCase()) && URL.canParse(trimmed);
  }
  return !/^[/\\]{2}/.test(trimmed) || URL.canParse(trimmed, "https://host.invalid/");
}

/**
 * Returns whether all images of a `srcset` have a safe URL and a valid width or density. `sanitize-html` would remove
 * invalid ones as well, but its parser logs them to standard output.
 */
function isSafeImageSet(value: string): boolean {
  if (value.length > IMAGE_SET_LENGTH_MAX) return false;
  const candidates = splitImageSet(value.trim());
  return candidates.every((candidate) => {
    const [address = "", descriptor = "1x", ...more] = candidate.split(/\s+/);
    return (
      more.length === 0 &&
      /^(?:[1-9]\d{0,8}w|\d{1,4}(?:\.\d{1,4})?x)$/.test(descriptor) &&
      address !== "" &&
      !/^,|,$/.test(address) &&
      isSafeAddress(address)
    );
  });
}

/** Maximum length of `srcset`. */
const IMAGE_SET_LENGTH_MAX = 4_000;

function addRelations(attributes: Record<string, string>): void {
  const { rel, target } = attributes;
  const relations = rel === undefined ? [] : rel.split(/\s+/).filter((word) => word !== "");
  for (const needed of target === "_blank" ? ["nofollow", "noopener"] : ["nofollow"])
    if (!relations.includes(needed)) relations.push(needed);
  attributes["rel"] = relations.join(" ");
}
