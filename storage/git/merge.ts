// Merging in a bare repository: no working tree, no index, no ref is moved. Every function writes objects only; the caller
// points a branch to the result.
import { type Git, GitError } from "./git.ts";
import { findObjects, type ReadOptions, readWholeObjects } from "./objects.ts";
import type { DatedPerson } from "./write-commit.ts";

/** The tree of a merge, or the paths on which both sides disagree, in git's order. */
export type TreeMerge =
  | { readonly kind: "merged"; readonly tree: string }
  | { readonly kind: "conflict"; readonly paths: readonly string[] };

/** The last of the commits that a rebase wrote, or the commit that conflicts and its paths. */
export type Rebase =
  | { readonly kind: "rebased"; readonly tip: string }
  | { readonly kind: "conflict"; readonly commit: string; readonly paths: readonly string[] };

/** Maximum number of commits that are rebased: a minute and a half of git. */
const REBASED_COMMITS_MAX = 5_000;
/** Longest commit that is rebased. Its message is copied byte by byte. */
const COMMIT_BYTES_MAX = 1024 * 1024;

/**
 * Merges two commits that share history, or none. The files of a renamed folder follow it, as in a merge by hand.
 * @throws GitError
 */
export async function mergeTrees(
  git: Git,
  ours: string,
  theirs: string,
  options: ReadOptions,
): Promise<TreeMerge> {
  // From standard input git takes any number of pairs and writes the outcome of each, its exit code says nothing.
  const output = await git.run(
    [
      "merge-tree",
      "--write-tree",
      "--stdin",
      "--name-only",
      "--no-messages",
      "--allow-unrelated-histories",
    ],
    { ...options, input: `${ours} ${theirs}\n` },
  );
  const [isClean, tree = "", ...rest] = output.toString("utf8").split("\0");
  if (!/^[0-9a-f]{40,64}$/.test(tree)) throw new GitError("failed", "git merge-tree: no tree");
  return isClean === "1"
    ? { kind: "merged", tree }
    : { kind: "conflict", paths: rest.slice(0, -2) };
}

/** A change of files, from one commit to another, that another commit gets. */
export interface CommitChange {
  readonly from: string;
  readonly to: string;
  readonly onto: string;
}

/**
 * Applies a change of files to a commit. `unchanged`: the commit has the change already. Leaves commits of `person` that
 * nothing refers to. @throws GitError
 */
export async function applyChange(
  git: Git,
  { from, to, onto }: CommitChange,
  person: DatedPerson,
  options: ReadOptions,
): Promise<TreeMerge | { readonly kind: "unchanged" }> {
  const found = await findObjects(git, [`${to}^{tree}`, `${onto}^{tree}`], options);
  const [theirs, ours] = found.map((tree) => tree?.id);
  if (theirs === undefined || ours === undefined)
    throw new GitError("failed", "git cat-file: no tree");
  // Git finds the base of a merge in the history: both sides are children of `from`.
  const write = (tree: string) =>
    commitTree(
      git,
      { tree, parents: [from], author: person, committer: person, message: "" },
      options,
    );
  const merged = await mergeTrees(git, await write(ours), await write(theirs), options);
  return merged.kind === "merged" && merged.tree === ours ? { kind: "unchanged" } : merged;
}

/** A commit of a tree that exists. */
export interface TreeCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: DatedPerson;
  readonly committer: DatedPerson;
  readonly message: string;
}

/** Writes a commit of a tree and returns its id. @throws GitError */
export async function commitTree(
  git: Git,
  { tree, parents, author, committer, message }: TreeCommit,
  options: ReadOptions,
): Promise<string> {
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${toIdentity(author)}`,
    `committer ${toIdentity(committer)}`,
  ];
  return writeRaw(git, Buffer.from(`${lines.join("\n")}\n\n${message}`), options);
}

/**
 * Applies the commits that lead to `head` and not to `onto`, oldest first, on top of `onto`. Leaves out merges, commits
 * whose change `onto` has already, and commits that become empty. Authors and messages stay as they are, signatures go.
 * Without such a merge, and with `onto` in the history of `head`, the result is `head` itself.
 * @throws GitError `too_long` for more than `REBASED_COMMITS_MAX` commits
 */
export async function rebase(
  git: Git,
  {
    onto,
    head,
    committer,
  }: { readonly onto: string; readonly head: string; readonly committer: DatedPerson },
  options: ReadOptions,
): Promise<Rebase> {
  const commits = await listToRebase(git, onto, head, options);
  if (commits === undefined) return { kind: "rebased", tip: head };
  let tip = onto;
  for (const commit of commits) {
    const picked = await pick(git, { commit, tip, committer }, options);
    if (picked.kind === "conflict") return { kind: "conflict", commit, paths: picked.paths };
    tip = picked.tip;
  }
  return { kind: "rebased", tip };
}

/** Returns the commits to apply; undefined when they stand on top of `onto` already, in one line. */
async function listToRebase(
  git: Git,
  onto: string,
  head: string,
  options: ReadOptions,
): Promise<string[] | undefined> {
  // With the options, because the commits may lie in a quarantine.
  const lacking = ["rev-list", "--count", "--max-count=1", onto, `^${head}`];
  if ((await git.run(lacking, options)).toString("latin1").trim() === "0") {
    const merges = await git.run(
      ["rev-list", "--merges", "--max-count=1", `${onto}..${head}`],
      options,
    );
    if (merges.byteLength === 0) return undefined;
  }
  const listed = await git.run(
    [
      "rev-list",
      "--reverse",
      "--topo-order",
      "--no-merges",
      "--cherry-pick",
      "--right-only",
      // One more than may be rebased tells that there are too many. With `--reverse` it counts from the newest.
      `--max-count=${REBASED_COMMITS_MAX + 1}`,
      `${onto}...${head}`,
    ],
    options,
  );
  const commits = listed.toString("latin1").split("\n").slice(0, -1);
  if (commits.length > REBASED_COMMITS_MAX)
    throw new GitError(
      "too_long",
      `git rev-list: more than ${REBASED_COMMITS_MAX} commits to rebase`,
    );
  return commits;
}

type Pick =
  | { readonly kind: "picked"; readonly tip: string }
  | Extract<TreeMerge, { kind: "conflict" }>;

/** Applies the change of a commit to its parent on top of another commit. */
async function pick(
  git: Git,
  {
    commit,
    tip,
    committer,
  }: { readonly commit: string; readonly tip: string; readonly committer: DatedPerson },
  options: ReadOptions,
): Promise<Pick> {
  const [raw = Buffer.alloc(0), onto = Buffer.alloc(0)] = await readWholeObjects(
    git,
    [commit, tip],
    {
      ...options,
      bytesMax: COMMIT_BYTES_MAX,
    },
  );
  const parsed = parseCommit(raw);
  const { tree, parents } = parsed;
  const base = parseCommit(onto).tree;
  // Git finds the base of a merge in the history: this commit has the files of the tip and the parent of the commit.
  const ours = await commitTree(
    git,
    { tree: base, parents, author: committer, committer, message: "" },
    options,
  );
  const merged = await mergeTrees(git, ours, commit, options);
  if (merged.kind === "conflict") return merged;
  if (merged.tree === base && !(await isEmpty(git, tree, parents, options)))
    return { kind: "picked", tip };
  const rewritten = Buffer.concat([
    Buffer.from(`tree ${merged.tree}\nparent ${tip}\n`),
    parsed.author,
    Buffer.from(`committer ${toIdentity(committer)}\n`),
    parsed.encoding,
    parsed.message,
  ]);
  return { kind: "picked", tip: await writeRaw(git, rewritten, options) };
}

/** Returns whether a commit has the tree of its parent. */
async function isEmpty(
  git: Git,
  tree: string,
  [parent]: readonly string[],
  options: ReadOptions,
): Promise<boolean> {
  if (parent === undefined) return false;
  const [raw = Buffer.alloc(0)] = await readWholeObjects(git, [parent], {
    ...options,
    bytesMax: COMMIT_BYTES_MAX,
  });
  return parseCommit(raw).tree === tree;
}

/**
 * Splits a commit. `author` and `encoding` are whole lines, `message` begins with the blank line before it: bytes, because
 * they may have any encoding.
 */
function parseCommit(raw: Buffer) {
  const blank = raw.indexOf("\n\n");
  if (blank === -1) throw new GitError("failed", "a commit without a message cannot be read");
  const lines = raw.toString("latin1", 0, blank).split("\n");
  const valuesOf = (name: string) =>
    lines.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
  const lineOf = (name: string) =>
    Buffer.from(
      valuesOf(name)
        .slice(0, 1)
        .map((value) => `${name} ${value}\n`)
        .join(""),
      "latin1",
    );
  return {
    tree: valuesOf("tree")[0] ?? "",
    parents: valuesOf("parent"),
    author: lineOf("author"),
    encoding: lineOf("encoding"),
    message: raw.subarray(blank + 1),
  };
}

async function writeRaw(git: Git, commit: Buffer, options: ReadOptions): Promise<string> {
  const id = await git.run(["hash-object", "-t", "commit", "-w", "--stdin"], {
    ...options,
    input: commit,
  });
  return id.toString("latin1").trim();
}

/** Formats a person without the characters that git reads as structure. */
function toIdentity({ name, email, seconds, zone }: DatedPerson): string {
  // oxlint-disable-next-line no-control-regex -- removes control characters
  const clean = (text: string) => text.replace(/[<>\u0000-\u001f\u007f]/g, "").trim();
  return `${clean(name)} <${clean(email)}> ${seconds} ${zone}`;
}

/**
 * Returns the commit by which `head` came into the history of `base`: the first merge of it, or `head` itself where none
 * was needed. @throws GitError
 */
export async function findMergeOf(
  git: Git,
  { base, head }: { readonly base: string; readonly head: string },
  options: ReadOptions,
): Promise<string> {
  const merges = await git.run(
    ["rev-list", "--ancestry-path", "--merges", "--topo-order", "--reverse", `${head}..${base}`],
    options,
  );
  const [first = ""] = merges.toString("latin1").split("\n", 1);
  return first === "" ? head : first;
}
