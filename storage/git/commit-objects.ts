import type { Git } from "./git.ts";
import type { ObjectSession } from "./object-session.ts";
import { readObjects, type ReadOptions } from "./objects.ts";
import { type CommitSignature, toSignature } from "./signatures.ts";

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
  return toCommits(ids, await readObjects(git, ids, options));
}

/** Reads commits as `readCommitObjects` does, in a session. @throws GitError */
export async function readCommitsIn(
  session: ObjectSession,
  ids: readonly string[],
): Promise<CommitObject[]> {
  return toCommits(ids, await session.readAll(ids));
}

function toCommits(ids: readonly string[], objects: readonly Buffer[]): CommitObject[] {
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
    const values = headers.get(name);
    if (values === undefined) headers.set(name, [value]);
    else values.push(value);
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

/** Returns the signed payload of a commit: the commit without its signature. */
function toPayload(raw: Buffer): string {
  return raw.toString("utf8").replace(/^gpgsig(?:-sha256)? .*\n(?: .*\n)*/m, "");
}
