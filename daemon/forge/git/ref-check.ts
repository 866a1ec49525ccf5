import { readChangedPaths } from "../../../storage/git/changed-paths.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import { findSymbolicRef } from "../../../storage/git/refs.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../caller.ts";
import type { RefChange } from "../events.ts";
import type {
  CheckPush,
  ProtectionVerdict,
  RefusedChange,
} from "../repositories/protected-refs.ts";
import type { RunInFolder } from "./run-in-folder.ts";

/**
 * Checks changes of refs whose objects exist, right before git makes them. Returns the first that is refused: by a
 * branch protection, because the repository is a mirror, or because its ref is symbolic, which would change a ref of another
 * name.
 */
export type CheckRefs = (
  repository: ForgeRepository,
  pusher: ActingUser,
  changes: readonly RefChange[],
  options?: {
    /** The folder of objects that git has not taken in yet, relative to the repository. */
    readonly quarantine?: string | undefined;
    /** A merge of a pull request, which rules about pushes do not bind. */
    readonly isMerge?: boolean;
    /** The only changes that a mirror takes. */
    readonly isMirrorSync?: boolean;
  },
) => Promise<RefusedChange | undefined>;

/** Changed files of one ref that are compared with the patterns of a rule; a change of more is refused. */
const PATHS_MAX = 20_000;

export function createRefCheck({
  git,
  runInFolder,
  checkPush,
}: {
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly checkPush: CheckPush;
}): CheckRefs {
  return async (repository, pusher, changes, options = {}) => {
    const { quarantine, isMerge = false, isMirrorSync = false } = options;
    const [first] = changes;
    if (repository.isMirror && !isMirrorSync && first !== undefined)
      return refuse(first.ref, MIRROR_READ_ONLY);
    const verdict: ProtectionVerdict =
      isMerge || isMirrorSync
        ? { refused: undefined, forwardOnly: [] }
        : await checkPush(repository, pusher, changes);
    const { refused, forwardOnly, byFiles } = verdict;
    if (refused !== undefined) return refused;
    const inFolder = <T>(work: (directory: string) => Promise<T>) => runInFolder(repository, work);
    const names = changes.map(({ ref }) => ref);
    const symbolic = await inFolder((directory) => findSymbolicRef(directory, names));
    if (symbolic !== undefined) return refuse(symbolic, `${symbolic} is a symbolic ref`);
    const limited = new Set(forwardOnly);
    for (const { ref, before, after } of changes) {
      if (!limited.has(ref) || before === undefined || after === undefined) continue;
      if (!(await inFolder((directory) => isAncestor(git, directory, before, after, quarantine))))
        return refuse(ref, `branch ${ref.replace("refs/heads/", "")} is protected from force push`);
    }
    for (const { ref, before, after } of changes) {
      const judge = byFiles?.get(ref);
      if (judge === undefined || before === undefined || after === undefined) continue;
      const env = quarantine === undefined ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: quarantine };
      const paths = await inFolder((directory) =>
        readChangedPaths(git, { before, after }, { directory, env, pathsMax: PATHS_MAX }),
      );
      const refusal = await judge(paths);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
}

/** The refusal of changes of a mirror, in Gitea's words. */
export const MIRROR_READ_ONLY = "Git Repository is a mirror.";

const refuse = (ref: string, reason: string): RefusedChange => ({ ref, reason, gitReason: reason });
