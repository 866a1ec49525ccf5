import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import { commitTree, mergeTrees, rebase } from "../../../storage/git/merge.ts";
import type { ReadOptions } from "../../../storage/git/objects.ts";
import type { MergeStyle } from "../../../storage/tables/forge/pulls/merges.ts";
import type { DatedPerson } from "../../../storage/git/write-commit.ts";

/** A merge whose commits are to be written. */
export interface MergeCommits {
  readonly style: Exclude<MergeStyle, "manually-merged">;
  /** Commit ids. */
  readonly base: string;
  readonly head: string;
  /** The author of a squashed commit. */
  readonly author: DatedPerson;
  readonly merger: DatedPerson;
  readonly message: string;
}

/** The commit to which the base moves. `diverged`: the base cannot be fast-forwarded to the head. */
export type WrittenMerge =
  | { readonly kind: "written"; readonly commit: string }
  | { readonly kind: "conflict" | "rebase_conflict" | "diverged" };

/** Writes the commits of a merge; no ref names them. @throws GitError */
export async function writeMergeCommits(
  git: Git,
  merge: MergeCommits,
  options: ReadOptions,
): Promise<WrittenMerge> {
  const { style, base, head, author, merger } = merge;
  switch (style) {
    case "fast-forward-only": {
      const isForward = await isAncestor(git, options.directory, base, head);
      return isForward ? { kind: "written", commit: head } : { kind: "diverged" };
    }
    case "merge":
      return writeMerge(git, merge, { parents: [base, head], author: merger }, options);
    case "squash":
      return writeMerge(git, merge, { parents: [base], author }, options);
    default: {
      const rebased = await rebase(git, { onto: base, head, committer: merger }, options);
      if (rebased.kind === "conflict") return { kind: "rebase_conflict" };
      const { tip } = rebased;
      if (style === "rebase") return { kind: "written", commit: tip };
      const parents = [base, tip];
      return writeMerge(git, { ...merge, head: tip }, { parents, author: merger }, options);
    }
  }
}

/** Writes one commit with the files of both sides. */
async function writeMerge(
  git: Git,
  { base, head, merger, message }: MergeCommits,
  { parents, author }: { readonly parents: readonly string[]; readonly author: DatedPerson },
  options: ReadOptions,
): Promise<WrittenMerge> {
  const merged = await mergeTrees(git, base, head, options);
  if (merged.kind === "conflict") return { kind: "conflict" };
  const commit = { tree: merged.tree, parents, author, committer: merger, message };
  return { kind: "written", commit: await commitTree(git, commit, options) };
}
