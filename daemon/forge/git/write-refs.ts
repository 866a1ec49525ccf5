import type { Git } from "../../../storage/git/git.ts";
import { GitError } from "../../../storage/git/git.ts";
import type { ObjectQuarantine } from "../../../storage/git/object-quarantine.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { PushId } from "../../../storage/tables/forge/ids.ts";
import type { Transaction } from "../../../storage/engine/database.ts";
import { AppError } from "../../errors.ts";
import type { OwnedRepository, RefChange } from "../events.ts";
import type { PushJournal } from "./push-journal.ts";
import type { PushRecorder } from "./record-push.ts";
import type { CheckRefs } from "./ref-check.ts";

/**
 * Result of moving refs. `stale`: a ref has changed, or exists already; `name_conflict`: a ref with a shorter or longer
 * name exists, such as `a` for `a/b`; `bad_name`: git or the file system refuses the name.
 */
export type WriteRefsOutcome = "written" | "stale" | "name_conflict" | "bad_name";

/**
 * Moves refs atomically, and only if each of them still has the value `before`. It counts as a push without a git
 * client: an entry of the push journal precedes it, so that a crash loses no event, and hooks, notifications and
 * workflows get its events. The objects must exist, in the repository or in the quarantine, from which they are accepted
 * when nothing refuses the change. Throws `forbidden` when a branch protection does not allow the change.
 * @throws GitError
 */
export type WriteRefs = (
  owned: OwnedRepository,
  pusher: ForgeUser,
  changes: readonly RefChange[],
  options?: WriteRefsOptions,
) => Promise<WriteRefsOutcome>;

export interface WriteRefsOptions {
  /** The objects that the change needs, when they are not in the repository yet. */
  readonly quarantine?: ObjectQuarantine | undefined;
  /**
   * The refs are moved by the merge of a pull request, which rules about pushes do not bind. Called in the transaction that
   * writes the journal's entry: checks that the merge is still allowed, and records what it is, for the subscriber of the
   * push. What it throws refuses the merge.
   */
  readonly prepareMerge?: (tx: Transaction, pushId: PushId) => Promise<void>;
  /**
   * The refs of a mirror follow its remote: rules about pushes do not bind them, and no other change is allowed. Called like
   * `prepareMerge`: checks that the repository is still that mirror. What it throws refuses the change.
   */
  readonly prepareSync?: (tx: Transaction) => Promise<void>;
}

export function createRefWriter({
  git,
  locate,
  journal,
  recordPush,
  observeRefs,
  checkRefs,
}: PushRecorder & {
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly journal: PushJournal;
  readonly checkRefs: CheckRefs;
}): WriteRefs {
  return async ({ repository }, pusher, changes, options = {}) => {
    const { quarantine, prepareMerge, prepareSync } = options;
    const refused = await checkRefs(repository, pusher, changes, {
      quarantine: quarantine?.folder,
      isMerge: prepareMerge !== undefined,
      isMirrorSync: prepareSync !== undefined,
    });
    if (refused !== undefined) throw new AppError("forbidden", refused.reason);
    const nothing = "0".repeat(repository.objectFormat === "sha256" ? 64 : 40);
    const commands = changes.map(({ ref, before = nothing, after = nothing }) =>
      after === nothing ? `delete ${ref}\0${before}\0` : `update ${ref}\0${after}\0${before}\0`,
    );
    if (quarantine !== undefined) {
      const failure = await rehearse(await locate(repository), changes, commands, quarantine);
      if (failure !== undefined) return failure;
      await quarantine.accept();
    }
    const note = await journal.begin(repository, pusher.id, changes, prepareMerge ?? prepareSync);
    try {
      const directory = await locate(repository);
      const observed = observeRefs(repository);
      const failure = await run(directory, commands, {});
      await recordPush({
        noteId: note.id,
        repository,
        pusher,
        changes: failure === undefined ? changes : [],
        observed,
      });
      return failure ?? "written";
    } finally {
      note.end();
    }
  };

  /** Finds out whether git would make the change. Only a new name may be refused other than by a race. */
  async function rehearse(
    directory: string,
    changes: readonly RefChange[],
    commands: readonly string[],
    { folder }: ObjectQuarantine,
  ): Promise<Exclude<WriteRefsOutcome, "written"> | undefined> {
    if (changes.every(({ before }) => before !== undefined)) return undefined;
    const rehearsal = ["start\0", ...commands, "prepare\0", "abort\0"];
    return run(directory, rehearsal, { GIT_ALTERNATE_OBJECT_DIRECTORIES: folder });
  }

  async function run(
    directory: string,
    commands: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<Exclude<WriteRefsOutcome, "written"> | undefined> {
    try {
      const input = commands.join("");
      await git.run(["update-ref", "-z", "--stdin"], { directory, input, env });
      return undefined;
    } catch (error) {
      // On a full disk a ref cannot be locked either.
      const isFailure = error instanceof GitError && error.code === "failed";
      const known = isFailure ? toFailure(error.message) : undefined;
      if (known === undefined) throw error;
      return known;
    }
  }
}

/** Git reports the reason in its message only. */
function toFailure(message: string): Exclude<WriteRefsOutcome, "written"> | undefined {
  if (/' exists; cannot create '|cannot process '.*' and '.*' at the same time/.test(message))
    return "name_conflict";
  if (/File name too long|invalid ref format|bad name/.test(message)) return "bad_name";
  if (/cannot lock ref|reference already exists|but expected|unable to resolve/.test(message))
    return "stale";
  return undefined;
}
