import type { MarkdownIt, StateInline } from "markdown-it";

const TILDE = 0x7e;

/** Renders `~~struck~~` and `~struck~` as `<del>`. The rule of markdown-it supports only two tildes. */
export function strikethrough(engine: MarkdownIt): void {
  engine.disable(["strikethrough"]);
  engine.inline.ruler.before("emphasis", "struck", scan);
  engine.inline.ruler2.before("emphasis", "struck", (state) => {
    pair(state, state.delimiters);
    for (const meta of state.tokens_meta)
      if (meta?.delimiters !== undefined) pair(state, meta.delimiters);
  });
}

function scan(state: StateInline, silent: boolean): boolean {
  if (silent || state.src.charCodeAt(state.pos) !== TILDE) return false;
  const scanned = state.scanDelims(state.pos, true);
  const token = state.push("text", "", 0);
  token.content = "~".repeat(scanned.length);
  state.pos += scanned.length;
  if (scanned.length > 2) return true;
  state.delimiters.push({
    // The length is part of the marker, so that only runs of equal length match.
    marker: TILDE + scanned.length * 0x100,
    length: 0,
    token: state.tokens.length - 1,
    end: -1,
    open: scanned.can_open,
    close: scanned.can_close,
  });
  return true;
}

function pair(state: StateInline, delimiters: StateInline["delimiters"]): void {
  for (const opener of delimiters) {
    if ((opener.marker & 0xff) !== TILDE || opener.marker === TILDE || opener.end === -1) continue;
    const closer = delimiters[opener.end];
    if (closer === undefined) continue;
    toElement(state.tokens[opener.token], "del_open", 1);
    toElement(state.tokens[closer.token], "del_close", -1);
  }
}

function toElement(
  token: StateInline["tokens"][number] | undefined,
  type: string,
  nesting: 1 | -1,
): void {
  if (token === undefined) return;
  token.type = type;
  token.tag = "del";
  token.nesting = nesting;
  token.markup = token.content;
  token.content = "";
}

/** Prevents `_` inside a bare URL from opening emphasis: `https://example.com/__init__.py`. */
export function bareUrls(engine: MarkdownIt): void {
  engine.inline.ruler.before("emphasis", "bare_url", (state, silent) => {
    if (state.src.charCodeAt(state.pos) !== 0x5f /* _ */) return false;
    const end = endOfUnderscores(state.src, state.pos);
    if (end === undefined || !isInsideUrl(state.src, state.pos)) return false;
    if (!silent) state.pending += state.src.slice(state.pos, end);
    state.pos = end;
    return true;
  });
}

/** Maximum distance between a URL's scheme and an underscore that belongs to it. */
const LOOK_BACK_MAX = 300;

function endOfUnderscores(source: string, from: number): number | undefined {
  let end = from;
  while (source.charCodeAt(end) === 0x5f) end += 1;
  return /^[.]?[A-Za-z0-9]/.test(source.slice(end, end + 2)) ? end : undefined;
}

function isInsideUrl(source: string, at: number): boolean {
  const before = source.slice(Math.max(0, at - LOOK_BACK_MAX), at);
  return /(?:^|[^A-Za-z0-9])https?:\/\/[\w\-./?=%#:;,@+&~]*$/i.test(
    before.slice(Math.max(0, before.lastIndexOf("://") - 6)),
  );
}
