import type { MarkdownIt, StateInline } from "markdown-it";

const TILDE = 0x7e;

/** `~~struck~~` and `~struck~` as `<del>`: the same number of tildes, one or two, on both sides. */
export function strikethrough(engine: MarkdownIt): void {
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
    // One number for each length, so that only equals pair.
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
    turnInto(state.tokens[opener.token], "del_open", 1);
    turnInto(state.tokens[closer.token], "del_close", -1);
  }
}

function turnInto(
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
