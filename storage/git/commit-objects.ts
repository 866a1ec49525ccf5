import type { Git } from "./git.ts";
import type { ObjectSession } from "./object-session.ts";
import { type ObjectBeginning, readBeginnings, type ReadOptions } from "./objects.ts";
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
  return toCommits(ids, await readBeginnings(git, ids, options));
}

/** Reads commits as `readCommitObjects` does, in a session. @throws GitError */
export async function readCommitsIn(
  session: ObjectSession,
  ids: readonly string[],
): Promise<CommitObject[]> {
  return toCommits(ids, await session.readBeginnings(ids));
}

function toCommits(ids: readonly string[], objects: readonly ObjectBeginning[]): CommitObject[] {
  return objects.map(({ bytes }, index) => toCommit(ids[index] ?? "", bytes));
}

/** Reads annotated tags by id, in the order of the ids. @throws GitError */
export async function readTagObjects(
  git: Git,
  ids: readonly string[],
  options: ReadOptions,
): Promise<TagObject[]> {
  const objects = await readBeginnings(git, ids, options);
  return objects.map(({ bytes }, index) => {
    const { headers, message } = parse(bytes);
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

/**
 * Splits an object into its headers, whose values may continue on lines that begin with a space, and its message. All of
 * it has the encoding that a header states (git-commit, Discussion).
 */
function parse(raw: Buffer): {
  readonly headers: ReadonlyMap<string, string[]>;
  readonly message: string;
} {
  const blank = raw.indexOf("\n\n");
  // Split as bytes: in some encodings only the decoded text could be ambiguous.
  const head = raw.toString("latin1", 0, blank === -1 ? raw.byteLength : blank);
  const encoding = /^encoding (.+)$/m.exec(head)?.[1] ?? "utf-8";
  const headers = new Map<string, string[]>();
  for (const line of head.replaceAll("\n ", "\0").split("\n")) {
    const space = line.indexOf(" ");
    const name = line.slice(0, space);
    const text = line.slice(space + 1).replaceAll("\0", "\n");
    const value = decode(Buffer.from(text, "latin1"), encoding);
    const values = headers.get(name);
    if (values === undefined) headers.set(name, [value]);
    else values.push(value);
  }
  const body = blank === -1 ? Buffer.alloc(0) : raw.subarray(blank + 2);
  return { headers, message: decode(body, encoding) };
}

/** Names of encodings that git's converter knows besides those of the Encoding standard. */
const encodingNames: Readonly<Record<string, string>> = {
  "latin-1": "latin1",
  cp932: "shift_jis",
  "shift-jis": "shift_jis",
  eucjp: "euc-jp",
  euckr: "euc-kr",
  cp949: "euc-kr",
  uhc: "euc-kr",
  cp936: "gbk",
  euccn: "gbk",
  "euc-cn": "gbk",
  cp950: "big5",
  cp20866: "koi8-r",
  koi8r: "koi8-r",
  cp21866: "koi8-u",
  koi8u: "koi8-u",
  cp874: "windows-874",
};

/** Decodes a text; an unknown encoding is read as UTF-8. Bytes that cannot be decoded become replacement characters. */
function decode(bytes: Buffer, encoding: string): string {
  const label = encoding.trim().toLowerCase();
  try {
    return new TextDecoder(encodingNames[label] ?? label, { ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) return bytes.toString("utf8");
    throw error;
  }
}

/** Returns the signed payload of a commit: the commit without its signature. */
function toPayload(raw: Buffer): string {
  return raw.toString("utf8").replace(/^gpgsig(?:-sha256)? .*\n(?: .*\n)*/m, "");
}
