import { resolveLink, type RenderContext } from "../context.ts";
import { escapeAttribute, escapeText } from "./flat.ts";

/** What the rules for running text depend on. */
export interface TextRuleOptions {
  readonly context: RenderContext;
  /** `#1` and `!1` mean issues of the context's repository. */
  readonly hasShortReferences: boolean;
  /** Names, in lower case, of the users and organizations that may be mentioned. */
  readonly mentionable: ReadonlySet<string>;
  /** Whether generated links and images carry the marks that pages use. */
  readonly decorates: boolean;
  /** The class attribute of an element that the engine makes. */
  readonly className: (name: string) => string;
}

/** A rule finds the next match at or after `from`: where it is, and the flat HTML that stands for it. */
type Rule = (text: string, from: number) => Match | undefined;
interface Match {
  readonly start: number;
  readonly end: number;
  readonly html: string;
}

/**
 * Makes links of what is written as text (forge behaviour, 18.5): addresses of this instance, `[[short links]]`,
 * bare URLs, mentions, issue references, commits, e-mail addresses, in this order. Answers flat HTML; `rest` turns
 * the text between links into flat HTML. Linear in the length of the text.
 */
export function createTextRules(
  options: TextRuleOptions,
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

/** Names that a text may mention, in lower case, as many as `max`: to be looked up before it is rendered. */
export function findMentions(text: string, max: number): Set<string> {
  const names = new Set<string>();
  if (!text.includes("@")) return names;
  for (const [, name = ""] of text.matchAll(/@([0-9A-Za-z](?:[-._]?[0-9A-Za-z]){0,99})/g)) {
    if (names.size >= max) break;
    names.add(name.toLowerCase());
  }
  return names;
}

const boundaryAfter = `(?=$|[\\s'")\\]]|[:,;.?!](?:\\s|$))`;
const mention = new RegExp(
  `(?<=^|[\\s(\\[])@([0-9A-Za-z](?:[-._]?[0-9A-Za-z]){0,99})${boundaryAfter}`,
  "g",
);

function link(options: TextRuleOptions, href: string, html: string, name?: string): string {
  const className = name === undefined ? "" : ` ${options.className(name)}`;
  const mark = options.decorates && name !== "commit" ? ' data-markdown-generated-content=""' : "";
  return `<a href="${escapeAttribute(href)}"${className}${mark}>${html}</a>`;
}

/** A rule from a regular expression; matches that `toHtml` does not want are passed over. */
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

function instanceUrlRule(options: TextRuleOptions): Rule {
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
        escapeText(`${isOwn ? "" : `${owner}/${repo}`}#${index}${remark}`),
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
  return `<a href="${escapeAttribute(url)}"><code>${escapeText(text)}</code></a>`;
}

function shortLinkRule(options: TextRuleOptions): Rule {
  return fromPattern(/\[\[([^[\]\n]{1,1000})\]\](\w{0,100})/g, ([, content = "", tail = ""]) => {
    const [first = "", ...others] = content.split("|").map((part) => part.trim());
    const named = new Map<string, string>();
    let target = first;
    for (const part of others) {
      const [, key, value = ""] = /^(alt|title)=(.*)$/.exec(part) ?? [];
      if (key === undefined) target = part;
      else named.set(key, value.replace(/^(["'])(.*)\1$/, "$2"));
    }
    if (target === "") return undefined;
    return toShortLink(options, { name: first + tail, target, named });
  });
}

function toShortLink(
  options: TextRuleOptions,
  short: {
    readonly name: string;
    readonly target: string;
    readonly named: ReadonlyMap<string, string>;
  },
): string {
  const { context, decorates } = options;
  const isImage = /\.(?:jpe?g|jp2|png|gif|bmp|tiff?|webp|svg|avif|ico)$/i.test(short.target);
  const isAbsolute = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(short.target);
  const target = isAbsolute ? short.target : toTarget(short.target, isImage);
  const href = resolveLink(context, "page", target);
  if (!isImage) return link({ ...options, decorates: false }, href, escapeText(short.name));
  const title = short.named.get("title") ?? short.target.slice(short.target.lastIndexOf("/") + 1);
  const alt = short.named.get("alt") ?? short.name;
  const image =
    `<img src="${escapeAttribute(resolveLink(context, "media", target))}" title="${escapeAttribute(title)}"` +
    ` alt="${escapeAttribute(alt)}"${decorates ? ' loading="lazy"' : ""}>`;
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

function bareUrlRule(options: TextRuleOptions): Rule {
  const pattern = /(?<![A-Za-z0-9])https?:\/\/[^\s<>"`{}|\\^]+/gi;
  return (text, from) => {
    pattern.lastIndex = from;
    for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
      const url = trimUrl(found[0]);
      if (/^https?:\/\/(?:[^\s/?#@]*@)?[\p{L}\p{N}[]/iu.test(url))
        return {
          start: found.index,
          end: found.index + url.length,
          html: link(options, url, escapeText(url)),
        };
    }
    return undefined;
  };
}

/** Without the punctuation of the sentence around it; brackets stay as long as they are in balance. */
function trimUrl(url: string): string {
  const surplus = new Map([
    [")", count(url, ")") - count(url, "(")],
    ["]", count(url, "]") - count(url, "[")],
  ]);
  let end = url.length;
  for (; end > 0; end -= 1) {
    const last = url.charAt(end - 1);
    if (/[.,;:!?'*_~&]/.test(last)) continue;
    const extra = surplus.get(last);
    if (extra === undefined || extra <= 0) break;
    surplus.set(last, extra - 1);
  }
  return url.slice(0, end);
}

function count(text: string, mark: string): number {
  let times = 0;
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) times += 1;
  return times;
}

function mentionRule(options: TextRuleOptions): Rule {
  const { root } = options.context;
  return fromPattern(new RegExp(mention), ([source, name = ""]) =>
    options.mentionable.has(name.toLowerCase())
      ? link(options, `${root}${name}`, escapeText(source))
      : undefined,
  );
}

function issueRule(options: TextRuleOptions): Rule {
  const { root, repository } = options.context;
  const keyword = "(clos(?:e[sd]?)|fix(?:e[sd])?|resolve[sd]?|reopen(?:s|ed)?)(:?\\s{1,8})";
  const pattern = new RegExp(
    `(?<=^|[\\s(\\["'])(?:${keyword})?(?:([\\w.-]{1,100})/([\\w.-]{1,100}))?([#!])(\\d{1,18})${boundaryAfter}`,
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
    return prefix + link(options, `${root}${place}${kind}/${index}`, escapeText(text), "ref-issue");
  });
}

function commitRule(options: TextRuleOptions): Rule {
  const pattern =
    /(?<=^|[\s([])([\w.-]{1,100})\/([\w.-]{1,100})@([0-9a-f]{7,64})(?=$|[\s)\].,;:!?'"])/g;
  return fromPattern(pattern, ([, owner = "", repo = "", id = ""]) =>
    link(
      options,
      `${options.context.root}${owner}/${repo}/commit/${id}`,
      escapeText(`${owner}/${repo}@${id.slice(0, 10)}`),
      "commit",
    ),
  );
}

function emailRule(options: TextRuleOptions): Rule {
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
        html: link(options, `mailto:${address}`, escapeText(address)),
      };
    }
    return undefined;
  };
}
