import type { MarkdownIt } from "markdown-it";

/** Keeps `_` inside a bare URL from being read as emphasis: `https://example.com/__init__.py` (18.4). */
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

/** How far back the scheme is looked for: addresses that people read are shorter. */
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
