import { z } from "zod";
import { RemoteUnusable } from "./remotes.ts";

// What other servers answer is parsed on the event loop, so the number of its values is bounded before, not only its bytes.

/** One page of a list of the source. */
export interface SourcePage<T> {
  readonly items: readonly T[];
  /** Items that the source lists and that do not have its documented form, or are too many. */
  readonly malformed: number;
  readonly hasMore: boolean;
  /** As far as the source says it. */
  readonly total: number | undefined;
}

/** Where a part is listed, and how an item is read; undefined for one that does not belong to it. */
export interface PartReader<T> {
  readonly path: string;
  /** @throws ZodError for an item that does not have the documented form */
  readonly read: (item: unknown) => T | undefined;
}

/** Most values of an answer. The longest lists of issues and releases have some 100,000. */
const VALUES_MAX = 400_000;
const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = ['"', "\\", ",", "[", "{"].map((each) =>
  each.charCodeAt(0),
);

/** Returns the JSON value of an answer. @throws RemoteUnusable for another text, and for one with too many values */
export function parseAnswer(body: Buffer): unknown {
  if (hasTooMany(body)) throw new RemoteUnusable("the source answers with too much at once");
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw new RemoteUnusable("the source does not answer with JSON", error);
  }
}

function hasTooMany(body: Buffer): boolean {
  let values = 0;
  let isText = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) at += 1;
    else if (!isText && (byte === COMMA || byte === BRACKET || byte === BRACE)) {
      values += 1;
      if (values > VALUES_MAX) return true;
    }
  }
  return false;
}

/** Reads the first items of a list within an answer. The others are not looked at: a source may send any number. */
export const firstOf = <T extends z.ZodType>(item: T, max: number) =>
  z.preprocess((value) => (Array.isArray(value) ? value.slice(0, max) : value), z.array(item));
