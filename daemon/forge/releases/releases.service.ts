import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import {
  deleteRelease,
  findLatestRelease,
  findRelease,
  type ForgeRelease,
  insertRelease,
  listReleases,
  type ReleaseFields,
  type ReleaseFilter,
  updateRelease,
} from "../../../storage/tables/forge/releases/releases.ts";
import { countRecordedPushes } from "../../../storage/tables/forge/repositories/pushes.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { CodeAccess, CodeClient } from "../code/open-code.ts";
import type { Tags } from "../code/tags.service.ts";
import type { Emit, ForgeEvents, ReleaseDetails } from "../events.ts";
import type { GrantedRepository } from "../opened.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { orNotFound } from "../refusals.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import {
  getRelease,
  loadRelease,
  loadReleases,
  type ReleaseKey,
  seesDrafts,
} from "./release-details.ts";

/** A release to create. */
export interface ReleaseRequest extends ReleaseFields {
  /** Makes the new tag an annotated one; empty for one that is not. */
  readonly tagMessage: string;
}

/** A change of a release. Undefined members stay unchanged. */
export type ReleaseEdit = { readonly [M in keyof ReleaseFields]: ReleaseFields[M] | undefined };

/** Who changes a release, and the request that git works for. */
export type ReleaseChange = Pick<CodeClient, "address" | "signal"> & {
  readonly caller: ForgeCaller;
};

/** The tag that a release needs; a message makes it an annotated one. */
type ReleaseTag = Pick<ReleaseFields, "tagName" | "target"> & { readonly message: string };

/** How often a tag is looked at while other pushes are recorded. */
const ATTEMPTS_MAX = 10;

export interface ReleasesDeps {
  readonly db: Database;
  readonly emit: Emit;
  readonly access: Pick<CodeAccess, "within">;
  readonly tags: Pick<Tags, "ensure">;
}

export type Releases = ReturnType<typeof createReleases>;

/**
 * Releases of repositories. Every function refuses with `not_found` a release that the caller may not see. A release that
 * is no draft has a tag: the tag is written before the row, so a crash leaves a tag without a release, and the same request
 * succeeds afterwards. A tag that is deleted before the row is written is written again.
 */
export function createReleases({ db, emit, access, tags }: ReleasesDeps) {
  return {
    async list(
      opened: GrantedRepository,
      { isDraft, ...filter }: ReleaseFilter,
      window: PageWindow,
    ): Promise<{ readonly releases: readonly ReleaseDetails[]; readonly total: number }> {
      if (isDraft === true && !seesDrafts(opened)) return { releases: [], total: 0 };
      const shown = { ...filter, isDraft: seesDrafts(opened) ? isDraft : false };
      const { id } = opened.repository;
      const { records, total } = await listReleases(db, id, shown, toRows(window));
      return { releases: await loadReleases(db, opened, records), total };
    },

    async get(opened: GrantedRepository, key: ReleaseKey): Promise<ReleaseDetails> {
      return loadRelease(db, opened, await getRelease(db, opened, key));
    },

    async latest(opened: GrantedRepository): Promise<ReleaseDetails> {
      const found = orNotFound(await findLatestRelease(db, opened.repository.id));
      return loadRelease(db, opened, found);
    },

    /**
     * Creates a release. Refuses with `unprocessable` an empty repository and a protected tag, with `conflict` a tag that
     * has a release, with `not_found` an unknown target.
     */
    async create(
      opened: GrantedRepository,
      { tagMessage, ...fields }: ReleaseRequest,
      change: ReleaseChange,
    ): Promise<ReleaseDetails> {
      const { repository } = opened;
      if (repository.isEmpty) throw new AppError("unprocessable", "repo is empty");
      const { tagName } = fields;
      if ((await findRelease(db, repository.id, { tagName })) !== undefined)
        throw releaseExists(tagName);
      const tag = fields.isDraft ? undefined : { ...fields, message: tagMessage };
      const { user: actor } = change.caller;
      return refusingTaken(tagName, () =>
        writeWithTag(opened, tag, change, async (tx) => {
          const owned = await reopenRepository(tx, opened);
          const release = await insertRelease(tx, {
            ...fields,
            repositoryId: owned.repository.id,
            target: fields.target || owned.repository.defaultBranch,
            authorId: actor.id,
          });
          const details = await loadRelease(tx, await reopenRepository(tx, opened), release);
          if (!release.isDraft)
            await emit(tx, "release", { ...details, actor, action: "published" });
          return details;
        }),
      );
    },

    /** Changes or publishes a release, and creates the tag that it then needs. Refuses as `create` does. */
    async edit(
      opened: GrantedRepository,
      id: number,
      edit: ReleaseEdit,
      change: ReleaseChange,
    ): Promise<ReleaseDetails> {
      const seen = await getRelease(db, opened, { id });
      const planned = { ...seen, ...toChanges(edit) };
      const tag = needsTag(seen, planned) ? { ...planned, message: "" } : undefined;
      if (tag !== undefined) {
        const other = await findRelease(db, opened.repository.id, { tagName: planned.tagName });
        if (other !== undefined && other.id !== seen.id) throw releaseExists(planned.tagName);
      }
      const { user: actor } = change.caller;
      return refusingTaken(planned.tagName, () =>
        writeWithTag(opened, tag, change, async (tx) => {
          const owned = await reopenRepository(tx, opened);
          const before = await getRelease(tx, owned, { id });
          const next = { ...before, ...toChanges(edit) };
          // Another request has changed what this one has made a tag for.
          if (needsTag(before, next) && next.tagName !== planned.tagName) throw changedMeanwhile();
          if (needsTag(before, next) && tag === undefined) throw changedMeanwhile();
          const release = orNotFound(await updateRelease(tx, before, toChanges(edit)));
          const details = await loadRelease(tx, await reopenRepository(tx, opened), release);
          const action = toAction(before, release);
          if (action !== undefined) await emit(tx, "release", { ...details, actor, action });
          return details;
        }),
      );
    },

    /** Deletes a release with its files. Its tag stays. */
    async remove(opened: GrantedRepository, key: ReleaseKey, actor: ForgeUser): Promise<void> {
      await db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const details = await loadRelease(tx, owned, await getRelease(tx, owned, key));
        await deleteRelease(tx, details.release);
        if (details.release.isDraft) return;
        const counted = await reopenRepository(tx, opened);
        await emit(tx, "release", { ...details, owned: counted, actor, action: "deleted" });
      });
    },
  };

  /** Runs the transaction of a release when its tag is there. Without a tag it just runs. */
  async function writeWithTag<T>(
    opened: GrantedRepository,
    tag: ReleaseTag | undefined,
    change: ReleaseChange,
    write: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    if (tag === undefined) return db.transaction(write);
    const { id } = opened.repository;
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const seen = await countRecordedPushes(db, id);
      if (await ensureTag(opened, tag, change)) continue;
      const outcome = await db.transaction(async (tx) => {
        // One of the pushes may have deleted the tag, and has found no release that it makes a draft.
        if ((await countRecordedPushes(tx, id)) !== seen) return undefined;
        return { written: await write(tx) };
      });
      if (outcome !== undefined) return outcome.written;
    }
    throw changedMeanwhile();
  }

  /** Returns whether the tag was created, which counts as a push. */
  async function ensureTag(
    opened: GrantedRepository,
    { tagName: name, target, message }: ReleaseTag,
    change: ReleaseChange,
  ): Promise<boolean> {
    try {
      return await access.within(opened, change, (opening) =>
        tags.ensure(opening, change.caller.user, { name, message, target }),
      );
    } catch (error) {
      // The writer of refs refuses a protected one with `forbidden`.
      if (error instanceof AppError && error.code === "forbidden")
        throw new AppError("unprocessable", `release tag name is protected [tag_name: ${name}]`, {
          cause: error,
        });
      throw error;
    }
  }
}

const releaseExists = (tagName: string) =>
  new AppError("conflict", `release tag already exist [tag_name: ${tagName}]`);

const changedMeanwhile = () =>
  new AppError("conflict", "the release was changed in the meantime, try again");

/** Runs a transaction that adds or renames a release. Refuses a tag that got a release since it was looked up. */
async function refusingTaken<T>(tagName: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isConflict(error) && error.constraint?.includes("tag_name")) throw releaseExists(tagName);
    throw error;
  }
}

/** Returns whether a change makes a release that needs a tag which it did not need before. */
function needsTag(
  before: Pick<ForgeRelease, "isDraft" | "tagName">,
  after: Pick<ForgeRelease, "isDraft" | "tagName">,
): boolean {
  return !after.isDraft && (before.isDraft || before.tagName !== after.tagName);
}

function toAction(
  before: ForgeRelease,
  after: ForgeRelease,
): ForgeEvents["release"]["action"] | undefined {
  if (after.isDraft) return before.isDraft ? undefined : "unpublished";
  return before.isDraft ? "published" : "edited";
}

function toChanges(edit: ReleaseEdit): Partial<ReleaseFields> {
  return Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined));
}
