import { type Git, GitError } from "./git.ts";
import type { ObjectQuarantine } from "./object-quarantine.ts";

/** The tree that a patch leads to, or git's words for why it cannot be applied. */
export type PatchOutcome =
  | { readonly kind: "applied"; readonly tree: string }
  | { readonly kind: "refused"; readonly reason: string };

/** A patch that is longer than its files takes no longer than this, in milliseconds. */
const TIMEOUT_MS = 30_000;
/** Bytes of one file, and of all that a patch has compressed: a short one may say a very long file. */
const FILE_MIB_MAX = 64;
const BINARY_BYTES_MAX = 64 * 1024 * 1024;
/** All files that a patch changes, in bytes: a short one may change a line of each of many long files. */
const FILES_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Applies a patch to a commit, in an index of its own, and writes the tree into the quarantine. Git itself refuses paths that
 * leave the repository or lead through links. @throws GitError `too_long` for a patch that takes too long
 */
export async function applyPatch(
  git: Git,
  directory: string,
  commit: string,
  patch: string,
  quarantine: ObjectQuarantine,
  filesBytesMax = FILES_BYTES_MAX,
): Promise<PatchOutcome> {
  if (countBinaryBytes(patch) > BINARY_BYTES_MAX) return TOO_LARGE;
  const env = { ...quarantine.env, GIT_INDEX_FILE: `${quarantine.folder}/index` };
  const options = { directory, env, timeoutMs: TIMEOUT_MS };
  await git.run(["read-tree", commit], options);
  try {
    // As Gitea applies patches.
    const flags = ["--cached", "--recount", "--ignore-whitespace", "--whitespace=fix", "--binary"];
    const limited = { ...env, GIT_ALLOC_LIMIT: `${FILE_MIB_MAX}m` };
    await git.run(["apply", ...flags], { ...options, env: limited, input: patch });
  } catch (error) {
    const isRefused = error instanceof GitError && error.code === "failed";
    if (isRefused && error.message.includes("attempting to allocate")) return TOO_LARGE;
    const reason = isRefused ? /error: (.+)/.exec(error.message)?.[1] : undefined;
    if (reason === undefined) throw error;
    return { kind: "refused", reason };
  }
  const tree = (await git.run(["write-tree"], options)).toString("latin1").trim();
  if ((await sumChangedFiles(git, { commit, tree }, options)) > filesBytesMax) return TOO_LARGE;
  return { kind: "applied", tree };
}

/** Returns how many bytes the files have that a tree adds to a commit or changes in it. */
async function sumChangedFiles(
  git: Git,
  { commit, tree }: { readonly commit: string; readonly tree: string },
  options: Parameters<Git["run"]>[1],
): Promise<number> {
  const flags = ["-r", "-z", "--no-renames", "--diff-filter=AMT"];
  const changed = (await git.run(["diff-tree", ...flags, commit, tree], options)).toString(
    "latin1",
  );
  // `:mode mode id id status`, then the path.
  const ids = changed
    .split("\0")
    .flatMap((entry) => /^:\d+ (?!160000)\d+ \w+ (\w+) /.exec(entry)?.[1] ?? []);
  const sizes = await git.run(["cat-file", "--batch-check=%(objectsize)"], {
    ...options,
    input: ids.map((id) => `${id}\n`).join(""),
  });
  let total = 0;
  for (const size of sizes.toString("latin1").split("\n")) total += Number(size) || 0;
  return total;
}

const TOO_LARGE = { kind: "refused", reason: "its files are too large" } as const;

/** Returns the sum of the sizes that a patch names for its binary parts, as they are after decompression. */
function countBinaryBytes(patch: string): number {
  let total = 0;
  for (const [, size] of patch.matchAll(/^(?:literal|delta) (\d+)$/gm)) total += Number(size);
  return total;
}
