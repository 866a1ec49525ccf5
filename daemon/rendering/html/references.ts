import { resolveLink, type RenderContext } from "./links.ts";
import { escapeHtml } from "./escape.ts";

/** Lookups that references in running text depend on. */
export interface ReferenceOptions {
  readonly context: RenderContext;
  /** Whether `#1` and `!1` refer to issues of the context's repository. */
  readonly hasShortReferences: boolean;
  /** Lower-case names of the users and organizations that may be mentioned. */
  readonly mentionable: ReadonlySet<string>;
  /** Whether generated links and images have the attributes that only pages need. */
  readonly decorates: boolean;
  /** Returns the class attribute of an element that the renderer writes. */
  readonly className: (name: string) => string;
}

/** Finds the next match at or after `from`. */
type Rule = (text: string, from: number) => Match | undefined;
/** Range of a match, and the HTML that replaces it. */
interface Match {
  readonly start: number;
  readonly end: number;
  readonly html: string;
}

/**
 * Returns a function that renders text as HTML with links for its references: URLs of this
 * instance, `[[short links]]`, bare URLs, mentions, issues, commits and e-mail addresses, in this order. `rest` renders
 * the text between references. Takes time linear in the length of the text.
 */
export function createReferenceRules(
  options: ReferenceOptions,
): (text: string, rest: (text: string) => string) => string {
  const rules: readonly (readonly [mayMatch: (text: string) => boolean, rule: Rule])[] = [
    [(text) => text.includes(options.context.root), instanceUrlRule(options)],
    [(text) => text.includes("[["), shortLinkRule(options)],
    [(text) => text.includes("://"), bareUrlRule(options)],
    [(text) => text.includes("@"), mentionRule(options)],
    [(text) => /[#!]\d/.test(text), issueRule(options)],
    [(text) => text.includes("@"), commitRule(options)],
    [(text) => text.includes("@"), emailRule(options)],
  ];
  const apply = (text: string, index: number, rest: (text: string) => string): string => {
    const entry = rules[index];
    if (entry === undefined) return rest(text);
    const [mayMatch, rule] = entry;
    if (!mayMatch(text)) return apply(text, index + 1, rest);
    let out = "";
    let end = 0;
    for (let match = rule(text, 0); match !== undefined; match = rule(text, end)) {
      if (match.start > end) out += apply(text.slice(end, match.start), index + 1, rest);
      out += match.html;
      end = match.end;
    }
    return end < text.length ? out + apply(text.slice(end), index + 1, rest) : out;
  };
  return (text, rest) => apply(text, 0, rest);
}

/**
 * Maximum number of `@` of a text that are parsed. It bounds the time that a hostile text takes on the calling thread.
 */
const MENTION_CANDIDATES_MAX = 2_000;

/** Returns at most `max` lower-case names that a text may mention. The caller looks them up before rendering. */
export function findMentions(text: string, max: number): Set<string> {
  const names = new Set<string>();
  const name = /[0-9A-Za-z](?:[-._]?[0-9A-Za-z]){0,99}/y;
  let at = text.indexOf("@");
  for (let candidates = 0; at !== -1 && candidates < MENTION_CANDIDATES_MAX; candidates += 1) {
    if (names.size >= max) break;
    name.lastIndex = at + 1;
    const found = name.exec(text)?.[0];
    if (found !== undefined) names.add(found.toLowerCase());
    at = text.indexOf("@", at + 1);
  }
  return names;
}

/** Lookahead for the end of a name or number: a blank, a bracket, one of `marks`, or punctuation that ends a sentence. */
const endsBefore = (marks: string): string => `(?=$|[\\s)\\]${marks}]|[:,;.?!](?:\\s|$))`;
const mention = new RegExp(
  `(?<=^|[\\s(\\[])@([0-9A-Za-z](?:[-._]?[0-9A-Za-z]){0,99})${endsBefore("'")}`,
  "g",
);

function link(options: ReferenceOptions, href: string, html: string, name?: string): string {
  const className = name === undefined ? "" : ` ${options.className(name)}`;
  const mark = options.decorates ? ' data-markdown-generated-content=""' : "";
  return `<a href="${escapeHtml(href)}"${className}${mark}>${html}</a>`;
}

/** Creates a rule from a regular expression; skips matches for which `toHtml` returns undefined. */
function fromPattern(
  pattern: RegExp,
  toHtml: (found: RegExpExecArray) => string | undefined,
): Rule {
  return (text, from) => {
    pattern.lastIndex = from;
    for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
      const html = toHtml(found);
      if (html !== undefined)
        return { start: found.index, end: found.index + found[0].length, html };
    }
    return undefined;
  };
}

function instanceUrlRule(options: ReferenceOptions): Rule {
  const { root, repository } = options.context;
  const name = "[\\w.-]{1,100}";
  const tail = `(\\?[\\w=&%;:+~.-]{0,500})?(?:#([\\w./-]{0,200}))?`;
  const pattern = new RegExp(
    `${root.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?:` +
      `(${name})/(${name})/(?:issues|pulls)/(\\d{1,18})(/[\\w/]{1,100})?${tail}(?![\\w/?#&=-])` +
      `|(?:${name}/){2}compare/([0-9a-f]{40,64})(\\.{2,3})([0-9a-f]{40,64})(?:#([\\w.-]{1,200}))?(?![\\w/?#&=-])` +
      `|(?:[^\\s/?#"<>]{1,200}/){2,5}?([0-9a-f]{40,64})((?:\\.\\w{1,16}){0,3})((?:/[-+~%.\\w]{1,200}){0,20})${tail}(?![\\w/?&=-])` +
      `)`,
    "g",
  );
  return fromPattern(pattern, (found) => {
    const [url, owner, repo, index, more, query, fragment, from, dots, to, compareFragment] = found;
    if (index !== undefined) {
      if (more?.endsWith("/files") === true) return undefined;
      const isOwn = repository?.owner === owner && repository?.name === repo;
      const remark =
        query !== undefined || fragment !== undefined || more !== undefined ? " (comment)" : "";
      return link(
        options,
        url,
        escapeHtml(`${isOwn ? "" : `${owner}/${repo}`}#${index}${remark}`),
        "ref-issue",
      );
    }
    if (from !== undefined && to !== undefined) {
      const remark = compareFragment === undefined ? "" : ` (${compareFragment})`;
      return codeLink(url, `${from.slice(0, 10)}${dots}${to.slice(0, 10)}${remark}`);
    }
    const [id = "", extension = "", path = "", , codeFragment] = found.slice(11);
    const remark = codeFragment === undefined || codeFragment === "" ? "" : ` (${codeFragment})`;
    return codeLink(url, `${id.slice(0, 10)}${extension}${path}${remark}`);
  });
}

function codeLink(url: string, text: string): string {
  return `<a href="${escapeHtml(url)}"><code>${escapeHtml(text)}</code></a>`;
}

function shortLinkRule(options: ReferenceOptions): Rule {
  return fromPattern(/\[\[([^[\]\n]{1,1000})\]\](\w{0,100})/g, ([, content = "", tail = ""]) => {
    const short = readShortLink(content);
    return short.target === ""
      ? undefined
      : toShortLink(options, { ...short, name: short.name + tail });
  });
}

interface ShortLink {
  readonly name: string;
  readonly target: string;
  readonly alt: string;
  readonly title: string;
}

/** Parses `name|link` (GitHub) and `URL|name` (MediaWiki). */
function readShortLink(content: string): ShortLink {
  const named = new Map<string, string>();
  let name = "";
  let target = "";
  for (const part of content.split("|").map((each) => each.trim())) {
    const [, key, value = ""] = /^([^=/?]*)=(.*)$/.exec(part) ?? [];
    if (key !== undefined) named.set(key.trim(), value.replace(/^(["'])(.*)\1$/, "$2"));
    else if (name !== "") target = part;
    else if (!isAddress(part)) name = part;
    else {
      name = target;
      target = part;
    }
  }
  if (target === "") target = name;
  const title = named.get("title") ?? "";
  const alt = named.get("alt") ?? "";
  return { name: title || name || target, target, alt, title };
}

const isAddress = (text: string): boolean => /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(text);

function toShortLink(options: ReferenceOptions, short: ShortLink): string {
  const { context, decorates } = options;
  const isImage = /\.(?:jpe?g|jp2|png|gif|bmp|tiff?|webp|svg|avif|ico)$/i.test(short.target);
  const target = isAddress(short.target) ? short.target : toTarget(short.target, isImage);
  const href = resolveLink(context, "page", target);
  if (!isImage) return link({ ...options, decorates: false }, href, escapeHtml(short.name));
  const title = short.title || short.alt || short.name.slice(short.name.lastIndexOf("/") + 1);
  const alt = short.alt || short.name;
  const image =
    `<img src="${escapeHtml(resolveLink(context, "media", target))}" title="${escapeHtml(title)}"` +
    ` alt="${escapeHtml(alt)}"${decorates ? ' loading="lazy"' : ""}>`;
  return link({ ...options, decorates: false }, href, image);
}

function toTarget(target: string, isImage: boolean): string {
  if (target.includes("/") || target.startsWith("#")) return target.replaceAll(" ", "%20");
  const joined = target.replaceAll(" ", isImage ? "+" : "-");
  return encodeURIComponent(joined.toWellFormed()).replace(
    /%(?:2B|40|3A|26|3D|24)/g,
    decodeURIComponent,
  );
}

function bareUrlRule(options: ReferenceOptions): Rule {
  const begin = /(?<![A-Za-z0-9])https?:\/\/(?=(?:[^\s/?#@]*@)?[\p{L}\p{N}[])/giu;
  const findEnd = createUrlEnds();
  let paired = { text: "", closers: new Map<number, number>() };
  return (text, from) => {
    if (paired.text !== text) paired = { text, closers: pairBrackets(text) };
    begin.lastIndex = from;
    for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
      const start = found.index;
      const end = findEnd(text, begin.lastIndex, paired.closers);
      if (end === begin.lastIndex) continue;
      const url = text.slice(start, end);
      return { start, end, html: link(options, url, escapeHtml(url)) };
    }
    return undefined;
  };
}

/** Characters that may end a URL; inside it, punctuation other than double quotes is allowed as well. */
const urlEnds = "\\p{L}\\p{M}\\p{N}\\p{Sc}\\p{So}\\/\\-_+&~%=#";
const urlParts = `[[${urlEnds}\\p{Po}]--["]]`;

/** Finds the end of a URL: before an unbalanced bracket, and before punctuation that ends a sentence. */
function createUrlEnds() {
  const part = new RegExp(`${urlParts}*`, "vy");
  const lastEnd = new RegExp(`[${urlEnds}](?=[^${urlEnds}]*$)`, "v");
  return (text: string, from: number, closers: ReadonlyMap<number, number>): number => {
    let end = from;
    for (let at = from; ;) {
      part.lastIndex = at;
      const plain = part.exec(text)?.[0] ?? "";
      const found = lastEnd.exec(plain);
      if (found !== null) end = at + found.index + found[0].length;
      const closer = closers.get(at + plain.length);
      if (closer === undefined) return end;
      at = end = closer + 1;
    }
  };
}

/** Returns the index of the closing bracket by the index of its opening bracket, for balanced brackets in URLs. */
function pairBrackets(text: string): Map<number, number> {
  const closers = new Map<number, number>();
  if (!/[([{]/.test(text)) return closers;
  let open: number[] = [];
  for (const { 0: mark, index } of text.matchAll(
    new RegExp(`[\\(\\)\\[\\]\\{\\}]|[^${urlParts}]`, "gv"),
  ))
    if ("([{".includes(mark)) open.push(index);
    else if (text.charAt(open.at(-1) ?? -1) === opening[mark]) closers.set(open.pop() ?? -1, index);
    else open = [];
  return closers;
}

const opening: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };

function mentionRule(options: ReferenceOptions): Rule {
  const { root } = options.context;
  return fromPattern(new RegExp(mention), ([source, name = ""]) =>
    options.mentionable.has(name.toLowerCase())
      ? link(options, `${root}${name}`, escapeHtml(source))
      : undefined,
  );
}

function issueRule(options: ReferenceOptions): Rule {
  const { root, repository } = options.context;
  const keyword = "(clos(?:e[sd]?)|fix(?:e[sd])?|resolve[sd]?|reopen(?:s|ed)?)(:?\\s{1,8})";
  const pattern = new RegExp(
    `(?<=^|[\\s(\\["'])(?:${keyword})?(?:([\\w.-]{1,100})/([\\w.-]{1,100}))?([#!])(\\d{1,18})${endsBefore("'\"")}`,
    "gi",
  );
  return fromPattern(pattern, ([, word, gap = "", owner, repo, mark = "", index = ""]) => {
    if (owner === undefined && !options.hasShortReferences) return undefined;
    const kind = mark === "!" ? "pulls" : "issues";
    const own = repository === undefined ? "" : `${repository.owner}/${repository.name}/`;
    const place =
      owner === undefined || repo === undefined
        ? own
        : `${owner.toLowerCase()}/${repo.toLowerCase()}/`;
    const text = `${owner === undefined ? "" : `${owner}/${repo}`}${mark}${index}`;
    const prefix =
      word === undefined ? "" : `<span ${options.className("issue-keyword")}>${word}</span>${gap}`;
    return prefix + link(options, `${root}${place}${kind}/${index}`, escapeHtml(text), "ref-issue");
  });
}

function commitRule(options: ReferenceOptions): Rule {
  const pattern = new RegExp(
    `(?<=^|[\\s([])([\\w.-]{1,100})/([\\w.-]{1,100})@([0-9a-f]{7,64})${endsBefore("")}`,
    "g",
  );
  return fromPattern(pattern, ([, owner = "", repo = "", id = ""]) =>
    link(
      options,
      `${options.context.root}${owner}/${repo}/commit/${id}`,
      escapeHtml(`${owner}/${repo}@${id.slice(0, 10)}`),
      "commit",
    ),
  );
}

function emailRule(options: ReferenceOptions): Rule {
  const domain =
    /@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?){0,8}\.[a-z]{2,24}(?![\w:/@-]|\.\w)/iy;
  return (text, from) => {
    for (let at = text.indexOf("@", from); at !== -1; at = text.indexOf("@", at + 1)) {
      let start = at;
      while (
        start > from &&
        at - start < 64 &&
        /[\w.!#$%&'*+/=?^`{|}~-]/.test(text.charAt(start - 1))
      )
        start -= 1;
      domain.lastIndex = at;
      const found = start < at ? domain.exec(text) : null;
      if (found === null) continue;
      const address = text.slice(start, at) + found[0];
      return {
        start,
        end: at + found[0].length,
        html: link(options, `mailto:${address}`, escapeHtml(address)),
      };
    }
    return undefined;
  };
}
