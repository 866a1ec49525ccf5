import type { CommitSignature } from "./commits.ts";
import type { Git } from "./git.ts";
import { readObjects, type ReadOptions } from "./objects.ts";

/** A commit as git stores it. */
export interface CommitObject {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: CommitSignature;
  readonly committer: CommitSignature;
  readonly message: string;
  /** The armoured signature, and the bytes that it signs as text; undefined without one. */
  readonly signature: { readonly text: string; readonly payload: string } | undefined;
}

/** An annotated tag as git stores it. */
export interface TagObject {
  readonly id: string;
  /** Id and type of the object that it names. */
  readonly object: string;
  readonly type: string;
  readonly name: string;
  /** Undefined in tags of very old versions of git. */
  readonly tagger: CommitSignature | undefined;
  readonly message: string;
}

/** Reads commits by id, in the order of the ids. @throws GitError */
export async function readCommitObjects(
  git: Git,
  ids: readonly string[],
  options: ReadOptions,
): Promise<CommitObject[]> {
  const objects = await readObjects(git, ids, options);
  return objects.map((raw, index) => toCommit(ids[index] ?? "", raw));
}

/** Reads annotated tags by id, in the order of the ids. @throws GitError */
export async function readTagObjects(
  git: Git,
  ids: readonly string[],
  options: ReadOptions,
): Promise<TagObject[]> {
  const objects = await readObjects(git, ids, options);
  return objects.map((raw, index) => {
    const { headers, message } = parse(raw);
    const tagger = headers.get("tagger")?.[0];
    return {
      id: ids[index] ?? "",
      object: headers.get("object")?.[0] ?? "",
      type: headers.get("type")?.[0] ?? "",
      name: headers.get("tag")?.[0] ?? "",
      tagger: tagger === undefined ? undefined : toSignature(tagger),
      message,
    };
  });
}

function toCommit(id: string, raw: Buffer): CommitObject {
  const { headers, message } = parse(raw);
  const signature = headers.get("gpgsig")?.[0] ?? headers.get("gpgsig-sha256")?.[0];
  return {
    id,
    tree: headers.get("tree")?.[0] ?? "",
    parents: headers.get("parent") ?? [],
    author: toSignature(headers.get("author")?.[0] ?? ""),
    committer: toSignature(headers.get("committer")?.[0] ?? ""),
    message,
    signature: signature === undefined ? undefined : { text: signature, payload: toPayload(raw) },
  };
}

/** Splits an object into its headers, whose values may continue on lines that begin with a space, and its message. */
function parse(raw: Buffer): {
  readonly headers: ReadonlyMap<string, string[]>;
  readonly message: string;
} {
  const blank = raw.indexOf("\n\n");
  const head = raw.toString("utf8", 0, blank === -1 ? raw.byteLength : blank);
  const headers = new Map<string, string[]>();
  for (const line of head.replaceAll("\n ", "\0").split("\n")) {
    const space = line.indexOf(" ");
    const name = line.slice(0, space);
    const value = line.slice(space + 1).replaceAll("\0", "\n");
    const known = headers.get(name);
    if (known === undefined) headers.set(name, [value]);
    else known.push(value);
  }
  const body = blank === -1 ? Buffer.alloc(0) : raw.subarray(blank + 2);
  return { headers, message: decode(body, headers.get("encoding")?.[0] ?? "utf-8") };
}

/** A commit may state the encoding of its message; an unknown one is read as UTF-8. */
function decode(bytes: Buffer, encoding: string): string {
  try {
    return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) return bytes.toString("utf8");
    throw error;
  }
}

/** Returns a signed commit without its signature: what was signed. */
function toPayload(raw: Buffer): string {
  return raw.toString("utf8").replace(/^gpgsig(?:-sha256)? .*\n(?: .*\n)*/m, "");
}

/** Parses `Name <address> seconds zone`. A damaged part is empty, or the beginning of time. */
function toSignature(text: string): CommitSignature {
  const [, name = "", email = "", seconds = "0", zone = "+0000"] =
    /^(.*?) ?<([^>]*)>(?: (-?\d{1,15}) ([+-]\d{4}))?/.exec(text) ?? [];
  return { name, email, at: toRfc3339(Number(seconds), zone) };
}

const MINUTE_MS = 60_000;
/** The last second that RFC 3339 can write. */
const LATEST_MS = Date.UTC(9999, 11, 31);

/** Returns a time with the offset of the person's zone, `Z` for none. */
export function toRfc3339(seconds: number, zone: string): string {
  const minutes =
    (zone.startsWith("-") ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3)));
  const isOffset = minutes !== 0 && Math.abs(minutes) < 24 * 60;
  const at =
    Math.min(Math.max(seconds * 1000, 0), LATEST_MS) + (isOffset ? minutes * MINUTE_MS : 0);
  const local = new Date(Math.max(at, 0)).toISOString().slice(0, 19);
  return isOffset ? `${local}${zone.slice(0, 3)}:${zone.slice(3)}` : `${local}Z`;
}
