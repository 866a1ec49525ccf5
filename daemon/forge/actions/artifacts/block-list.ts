import { AppError } from "../../../errors.ts";

const PROLOG = /\s*(?:<\?xml[^<>]*\?>)?\s*/y;
const BLOCK = /<(Latest|Uncommitted|Committed)>([\w+/=-]{1,256})<\/\1>\s*/y;

/**
 * Reads the ids of a block list: `<BlockList>` with elements `<Latest>`, as clients of Azure write it. Accepts no other
 * XML. Throws `invalid_argument` for any other text, and when an id occurs twice.
 */
export function readBlockList(text: string): readonly string[] {
  const invalid = () => new AppError("invalid_argument", "the block list is invalid");
  PROLOG.lastIndex = 0;
  PROLOG.exec(text);
  const list = text.slice(PROLOG.lastIndex).trimEnd();
  if (/^<BlockList\s*\/>$/.test(list)) return [];
  const [start, end] = ["<BlockList>", "</BlockList>"];
  if (!list.startsWith(start) || !list.endsWith(end)) throw invalid();
  const inner = list.slice(start.length, -end.length).trimStart();
  const ids = new Set<string>();
  for (let at = 0; at < inner.length; at = BLOCK.lastIndex) {
    BLOCK.lastIndex = at;
    const id = BLOCK.exec(inner)?.[2];
    if (id === undefined || ids.has(id)) throw invalid();
    ids.add(id);
  }
  return [...ids];
}
