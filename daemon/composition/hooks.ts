import { type Git, GitError } from "../../storage/git/git.ts";
import { countCommits, findCommitId, readCommits } from "../../storage/git/commits.ts";
import type { ForgeRepository } from "../../storage/tables/forge/repositories/repositories.ts";
import { createForgeHooks, type ForgeHooks, type ForgeHooksDeps } from "../forge/hooks/hooks.ts";
import type { PushedCommits } from "../forge/hooks/payloads.view.ts";
import type { RefChange } from "../forge/repositories/events.ts";
import {
  type AddressPolicy,
  createAddressCheck,
  type Listener,
} from "../outbound/address-policy.ts";
import {
  createGuardedDispatcher,
  createGuardedRequest,
  type Resolve,
} from "../outbound/guarded-request.ts";
import { machineAddresses } from "../outbound/machine-addresses.ts";

/** What hooks need of the daemon. */
export interface HookSurroundings extends Omit<ForgeHooksDeps, "request" | "readPush"> {
  readonly addressPolicy: AddressPolicy;
  /** Where the daemon itself listens. */
  readonly ownAddresses: () => readonly Listener[];
  /** The system's resolver when absent. */
  readonly resolve?: Resolve;
  readonly git: Git;
  /** The folder of a repository's files; undefined when they are gone. */
  readonly locate: (repository: ForgeRepository) => Promise<string | undefined>;
}

/** Hooks with what they send through. */
export interface OpenHooks {
  readonly hooks: ForgeHooks;
  /** Breaks off what is being sent. */
  close(): Promise<void>;
}

/** Builds hooks on a guarded way out and on git. */
export function openHooks(around: HookSurroundings): OpenHooks {
  const check = createAddressCheck({
    policy: around.addressPolicy,
    own: around.ownAddresses,
    machine: machineAddresses,
  });
  const dispatcher = createGuardedDispatcher({
    check,
    ...(around.resolve === undefined ? {} : { resolve: around.resolve }),
  });
  const hooks = createForgeHooks({
    ...around,
    request: createGuardedRequest(dispatcher),
    readPush: createPushReader(around),
  });
  return { hooks, close: () => dispatcher.destroy() };
}

/** Reads what a push brought; undefined when the files are gone or git cannot read them any more. */
export function createPushReader({ git, locate }: Pick<HookSurroundings, "git" | "locate">) {
  return async (
    repository: ForgeRepository,
    change: RefChange,
    commitsMax: number,
  ): Promise<Omit<PushedCommits, "usernames"> | undefined> => {
    const directory = await locate(repository);
    if (directory === undefined || change.after === undefined) return undefined;
    try {
      const headId = await findCommitId(git, directory, change.after);
      if (headId === undefined) return { commits: [], total: 0, head: undefined };
      const [head] = await readCommits(git, directory, [headId], 1);
      // A tag names commits that are there already, or come with a branch.
      if (change.ref.startsWith("refs/tags/")) return { commits: [], total: 0, head };
      const base =
        change.before ??
        (change.ref === `refs/heads/${repository.defaultBranch}`
          ? undefined
          : await findCommitId(git, directory, `refs/heads/${repository.defaultBranch}`));
      // What is new on a branch: since its former end, or for a new one since it left the default branch.
      const range = base === undefined ? [headId] : [headId, `^${base}`];
      const commits = await readCommits(git, directory, range, commitsMax);
      return { commits, total: await countCommits(git, directory, range), head };
    } catch (error) {
      if (error instanceof GitError && error.code !== "missing") return undefined;
      throw error;
    }
  };
}
