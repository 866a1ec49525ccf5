import { randomBytes } from "node:crypto";
import type { Database, Queries } from "../../../storage/engine/database.ts";
import {
  countPushMirrors,
  deleteMirror,
  findPullMirror,
  findPushMirror,
  type ForgeMirror,
  insertMirror,
  listPushMirrors,
} from "../../../storage/tables/forge/repositories/mirrors.ts";
import type { Page } from "../../../storage/tables/table.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { GrantedRepository } from "../opened.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { orNotFound } from "../refusals.ts";
import { type MirrorIntervals, readMirrorInterval } from "../repositories/mirror-interval.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { type MirrorJobs } from "./mirrors.service.ts";
import { type CredentialSeals, readRemoteAddress } from "./remote-address.ts";

/** A server to which a repository is to be pushed. Texts are empty when they are absent. */
export interface NewPushMirror {
  readonly address: string;
  readonly username: string;
  readonly password: string;
  readonly interval: string;
  readonly syncOnCommit: boolean;
}

export interface MirrorsDeps {
  readonly db: Database;
  readonly jobs: MirrorJobs;
  readonly seals: CredentialSeals;
  readonly intervals: MirrorIntervals;
}

/** Maximum number of push mirrors of one repository: each push may enqueue a job for each of them. */
const MIRRORS_MAX = 20;

export type Mirrors = ReturnType<typeof createMirrors>;

/** Mirrors as their repositories' administrators see them. The jobs do the work. */
export function createMirrors({ db, jobs, seals, intervals }: MirrorsDeps) {
  return {
    /** Returns the pull mirror. Refuses with `invalid_argument` a repository that is no mirror. */
    getPull: ({ repository }: GrantedRepository) => getPull(db, repository.id),

    /** Compares a mirror with its remote soon. Refuses as `getPull` does. */
    async sync(opened: GrantedRepository): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        await jobs.syncSoon(tx, await getPull(tx, repository.id));
      });
    },

    /** Makes a mirror a normal repository. Refuses as `getPull` does. */
    async removePull(opened: GrantedRepository): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        await deleteMirror(tx, await getPull(tx, repository.id));
      });
    },

    listPush: ({ repository }: GrantedRepository, window: PageWindow): Promise<Page<ForgeMirror>> =>
      listPushMirrors(db, repository.id, toRows(window)),

    async getPush({ repository }: GrantedRepository, name: string): Promise<ForgeMirror> {
      return orNotFound(await findPushMirror(db, repository.id, name));
    },

    /**
     * Adds a push mirror, and pushes to it soon. Refuses with `invalid_argument` an address that is not http or
     * https and an invalid interval, and with `unprocessable` more mirrors than allowed.
     */
    async addPush(
      opened: GrantedRepository,
      { user }: ForgeCaller,
      given: NewPushMirror,
    ): Promise<ForgeMirror> {
      const own = { username: given.username, password: given.password, token: "" };
      const { address, credentials } = readRemoteAddress(given.address, own, "invalid_argument");
      const intervalSeconds = readMirrorInterval(given.interval, intervals, "invalid_argument");
      return db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        if ((await countPushMirrors(tx, repository.id)) >= MIRRORS_MAX)
          throw new AppError(
            "unprocessable",
            `a repository has at most ${MIRRORS_MAX} push mirrors`,
          );
        const mirror = await insertMirror(
          tx,
          {
            repositoryId: repository.id,
            actorId: user.id,
            direction: "push",
            name: `remote_mirror_${randomBytes(5).toString("hex")}`,
            address,
            intervalSeconds,
            syncOnCommit: given.syncOnCommit,
            nextAt: intervalSeconds === 0 ? undefined : tx.now + intervalSeconds * 1000,
            syncedAt: undefined,
          },
          (id) => seals.sealOfMirror(id, credentials),
        );
        await jobs.syncSoon(tx, mirror);
        return mirror;
      });
    },

    async removePush(opened: GrantedRepository, name: string): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        await deleteMirror(tx, orNotFound(await findPushMirror(tx, repository.id, name)));
      });
    },

    /** Pushes to all push mirrors soon. */
    async syncPush(opened: GrantedRepository): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        const window = { limit: MIRRORS_MAX, offset: 0 };
        const { records } = await listPushMirrors(tx, repository.id, window);
        for (const mirror of records) await jobs.syncSoon(tx, mirror);
      });
    },
  };
}

async function getPull(
  db: Queries,
  repositoryId: ForgeMirror["repositoryId"],
): Promise<ForgeMirror> {
  const mirror = await findPullMirror(db, repositoryId);
  if (mirror === undefined) throw new AppError("invalid_argument", "Repository is not a mirror");
  return mirror;
}
