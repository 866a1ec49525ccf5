import { DavRefusal } from "./refusals.ts";

/** One condition of a list: a lock token or an entity tag (quoted). */
export interface IfCondition {
  readonly isNegated: boolean;
  readonly token?: string;
  readonly etag?: string;
}

/** A list of conditions, all of which must hold, for the resource of its tag or of the request. */
export interface IfList {
  /** The address; undefined for the resource of the request. */
  readonly tag: string | undefined;
  readonly conditions: readonly IfCondition[];
}

const HEADER_CHARACTERS_MAX = 16_384;
const LISTS_MAX = 256;

const TOKEN = /\s*(?:(<[^<>]*>)|([()])|(not)\b|\[\s*((?:W\/)?"[^"]*")\s*\])\s*/iy;

/** Parses the header `If` (RFC 4918, 10.4). Refuses one that is malformed with 400: a condition must not get lost. */
export function parseIf(header: string): readonly IfList[] {
  if (header.length > HEADER_CHARACTERS_MAX) throw malformed();
  const lists: IfList[] = [];
  let tag: string | undefined;
  let open: IfCondition[] | undefined;
  let isNegated = false;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < header.length) {
    const [matched, uri, bracket, not, etag] = TOKEN.exec(header) ?? [];
    if (matched === undefined) throw malformed();
    if (bracket === "(") {
      if (open !== undefined) throw malformed();
      open = [];
    } else if (bracket === ")") {
      if (open === undefined || open.length === 0 || isNegated) throw malformed();
      lists.push({ tag, conditions: open });
      if (lists.length > LISTS_MAX) throw malformed();
      open = undefined;
    } else if (not !== undefined) {
      if (open === undefined || isNegated) throw malformed();
      isNegated = true;
    } else if (open === undefined) {
      // Between lists stands the tag of those that follow.
      if (uri === undefined || (lists.length > 0 && lists[0]?.tag === undefined)) throw malformed();
      tag = uri.slice(1, -1);
    } else {
      open.push(
        uri === undefined
          ? { isNegated, etag: etag ?? "" }
          : { isNegated, token: uri.slice(1, -1) },
      );
      isNegated = false;
    }
  }
  if (open !== undefined || lists.length === 0 || header.trimEnd().endsWith(">")) throw malformed();
  return lists;
}

/** The tokens that a header submits, whatever their lists say. */
export function tokensOf(lists: readonly IfList[]): ReadonlySet<string> {
  return new Set(
    lists.flatMap(({ conditions }) =>
      conditions.flatMap(({ isNegated, token }) => (token === undefined || isNegated ? [] : token)),
    ),
  );
}

function malformed(): DavRefusal {
  return new DavRefusal(400, "The header If is malformed.");
}
