import { type Git, GitError } from "./git.ts";
import type { ObjectQuarantine } from "./object-quarantine.ts";

/** The tree that a patch leads to, or git's words for why it cannot be applied. */
export type PatchOutcome =
  | { readonly kind: "applied"; readonly tree: string }
  | { readonly kind: "refused"; readonly reason: string };

/** A patch that is longer than its files takes no longer than this, in milliseconds. */
const TIMEOUT_MS = 30_000;

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
): Promise<PatchOutcome> {
  const env = { ...quarantine.env, GIT_INDEX_FILE: `${quarantine.folder}/index` };
  const options = { directory, env, timeoutMs: TIMEOUT_MS };
  await git.run(["read-tree", commit], options);
  try {
    // As Gitea applies patches.
    const flags = ["--cached", "--recount", "--ignore-whitespace", "--whitespace=fix", "--binary"];
    await git.run(["apply", ...flags], { ...options, input: patch });
  } catch (error) {
    const isRefused = error instanceof GitError && error.code === "failed";
    const reason = isRefused ? /error: (.+)/.exec(error.message)?.[1] : undefined;
    if (reason === undefined) throw error;
    return { kind: "refused", reason };
  }
  const tree = (await git.run(["write-tree"], options)).toString("latin1").trim();
  return { kind: "applied", tree };
}
