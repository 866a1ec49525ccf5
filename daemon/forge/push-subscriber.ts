// What features that read the commits of pushes declare; git/pushes.ts calls them.
import type { Transaction } from "../../storage/engine/database.ts";
import type { CommitWithFiles } from "../../storage/git/commits.ts";
import type { RepositoryId, UserId } from "../../storage/tables/forge/ids.ts";
import type { ForgeEvents, RefChange } from "./events.ts";

/** A push whose commits are read. */
export interface PublishedPush {
  readonly repositoryId: RepositoryId;
  readonly pusherId: UserId;
  /** Whether the job of a workflow pushed, in the name of the pusher. */
  readonly isByJob: boolean;
  /** When git moved the refs, in epoch milliseconds. */
  readonly pushedAt: number;
}

/** The commits that a push brought to one ref. */
export interface PushCommits {
  /** Newest first, up to the requested count. */
  readonly commits: readonly CommitWithFiles[];
  /** The count of all. */
  readonly total: number;
  /** The commit that the ref names after the push. */
  readonly head: CommitWithFiles | undefined;
}

/** An effect of pushes that only the first branches and tags of a push have. */
export interface BoundedEffect {
  /** What happens to refs, before `the first 200`: `Workflows run for`. */
  readonly text: string;
  readonly refsMax: number;
}

/** A subscriber to the commits of pushes. */
export interface PushSubscriber {
  /** The kind of its own jobs, which repeat what failed, such as `forge.hooks.push`. */
  readonly kind: string;
  /** Selects the refs to publish, in the transaction of the push. A push of a mirror may move any number: return a few. */
  readonly select: (
    tx: Transaction,
    push: ForgeEvents["push"],
  ) => Promise<readonly RefChange[]> | readonly RefChange[];
  /** What only the first refs of a push have, for the output of `git push`. */
  readonly effect?: BoundedEffect;
  /** Maximum number of commits of a ref. */
  readonly commitsMax: number;
  /**
   * Called for each selected ref, outside of a transaction, at least once. `pushed` is undefined for a deleted ref, and when
   * files or commits are missing.
   */
  readonly publish: (
    push: PublishedPush,
    change: RefChange,
    pushed: PushCommits | undefined,
  ) => Promise<void>;
}
