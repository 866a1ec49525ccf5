import type { Git } from "./git.ts";
import type { ReadOptions } from "./objects.ts";
import { readRecords } from "./records.ts";

/** A ref and the object that it names. */
export interface RefEntry {
  /** The full name, such as `refs/heads/main`. */
  readonly name: string;
  readonly id: string;
  readonly type: string;
  /** The object that an annotated tag names; undefined otherwise. */
  readonly peeledId: string | undefined;
}

/** Returns the names of the newest branches and tags, at most `limit` of each, without their prefixes. @throws GitError */
export async function listNewestNames(
  git: Git,
  limit: number,
  options: ReadOptions,
): Promise<{ readonly branches: string[]; readonly tags: string[] }> {
  const found = { branches: [] as string[], tags: [] as string[] };
  const sorting = ["--sort=refname", "--sort=-creatordate"];
  const args = ["for-each-ref", "--format=%(refname)%00", ...sorting, "refs/heads", "refs/tags"];
  for await (const record of readRecords(git, args, options)) {
    const [, kind, name = ""] = /^\n?refs\/(heads|tags)\/(.+)$/s.exec(record) ?? [];
    const names = kind === "heads" ? found.branches : found.tags;
    if (kind !== undefined && names.length < limit) names.push(name);
  }
  return found;
}

/** Which refs to list. */
export interface RefQuery extends ReadOptions {
  /** The prefix of the refs, such as `refs/heads/`, or the full name of one ref. */
  readonly under: string;
  readonly order: "newest" | "name";
  /** Only names that contain it below `under`, in any case; empty for all. */
  readonly text?: string;
  /** Only names that begin with it below `under`; empty for all. */
  readonly prefix?: string;
}

/** Returns a page of refs and the count of all. @throws GitError */
export async function listRefs(
  git: Git,
  { under, order, text = "", prefix = "", directory, signal }: RefQuery,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly refs: RefEntry[]; readonly total: number }> {
  const searched = text.toLowerCase();
  const refs: RefEntry[] = [];
  let total = 0;
  const records = readRecords(
    git,
    [
      "for-each-ref",
      "--format=%(objectname) %(objecttype) %(*objectname) %(refname)%00",
      ...(order === "newest" ? ["--sort=refname", "--sort=-creatordate"] : []),
      under,
    ],
    { directory, signal },
  );
  for await (const record of records) {
    const [id = "", type = "", peeled = "", ...rest] = record.replace(/^\n/, "").split(" ");
    const name = rest.join(" ");
    if (name === "") continue;
    const below = name.slice(under.length);
    if (!below.toLowerCase().includes(searched) || !below.startsWith(prefix)) continue;
    if (total >= offset && refs.length < limit)
      refs.push({ name, id, type, peeledId: peeled === "" ? undefined : peeled });
    total += 1;
  }
  return { refs, total };
}
