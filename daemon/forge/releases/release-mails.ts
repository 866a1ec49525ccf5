import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import {
  type ForgeRelease,
  findReleaseById,
} from "../../../storage/tables/forge/releases/releases.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { listWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { QueueMail } from "../accounts/welcome-mail.ts";
import { toSegments } from "../code/code-addresses.ts";
import type { ForgeEvents, OwnedRepository } from "../events.ts";
import { toShortLine } from "../notifications/issue-mails.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { keepsReleases } from "../repositories/repository-settings.view.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";

export interface ReleaseMailsDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly queueMail: QueueMail;
  readonly instanceName: string;
  readonly urls: ForgeUrls;
}

const KIND = "forge.releases.mail";
/** Maximum number of watchers whose mails are queued in one transaction, so that other writers are not blocked for long. */
const BATCH = 50;
/** Maximum characters of the notes in a mail; its link leads to the rest. */
const NOTES_CHARACTERS_MAX = 10_000;

const payloadSchema = z.object({
  releaseId: z.int().brand<"ReleaseId">(),
  actorId: z.int().brand<"UserId">(),
  /** The last watcher whose mail is queued. */
  after: z.int(),
});

/**
 * Mails a published release to the watchers of its repository who have mails on and may read it, by a job, because there
 * may be any number. The actor gets none. A crash may send the mails of one batch twice.
 */
export function createReleaseMails({
  db,
  enqueue,
  queueMail,
  instanceName,
  urls,
}: ReleaseMailsDeps) {
  return {
    async publish(tx: Transaction, { release, actor, action }: ForgeEvents["release"]) {
      if (action !== "published") return;
      const payload: z.input<typeof payloadSchema> = {
        releaseId: release.id,
        actorId: actor.id,
        after: 0,
      };
      await enqueue(tx, { kind: KIND, payload });
    },

    job: {
      kind: KIND,
      async run(job) {
        const payload = parsePayload(payloadSchema, job);
        const release = await findReleaseById(db, payload.releaseId);
        if (release === undefined || release.isDraft) return;
        const watchers = await listWatchers(db, release.repositoryId);
        const left = watchers.filter((id) => id > payload.after);
        const batch = left.slice(0, BATCH);
        const last = batch.at(-1);
        if (last === undefined) return;
        await db.transaction(async (tx) => {
          const repository = await findRepositoryById(tx, release.repositoryId);
          const owner = repository && (await findUserById(tx, repository.ownerId));
          if (repository === undefined || owner === undefined) return;
          if (!keepsReleases(repository.settings)) return;
          for (const id of batch.filter((each) => each !== payload.actorId)) {
            const watcher = await findUserById(tx, id);
            if (watcher !== undefined && (await wantsMail(tx, watcher, { repository, owner })))
              await queue(tx, watcher, release, { repository, owner });
          }
          if (left.length > BATCH)
            await enqueue(tx, { kind: KIND, payload: { ...payload, after: last } });
        });
      },
    } satisfies JobKind as JobKind,
  };

  async function queue(
    tx: Transaction,
    watcher: ForgeUser,
    release: ForgeRelease,
    { repository, owner }: OwnedRepository,
  ): Promise<void> {
    const home = `${owner.name}/${repository.name}`;
    const title = toShortLine(release.title) || release.tagName;
    const notes = release.body.slice(0, NOTES_CHARACTERS_MAX).toWellFormed();
    await queueMail(tx, {
      to: watcher.email,
      reader: { userId: watcher.id, repositoryId: repository.id },
      subject: `[${home}] Release ${title}`,
      text: [
        `Hello ${toShortLine(watcher.fullName) || watcher.name},`,
        "",
        `${home} on ${instanceName} has the new release ${title} (${release.tagName}).`,
        "",
        ...(notes === "" ? [] : [notes, ...(notes === release.body ? [] : ["…"]), ""]),
        toUrl(urls, `/${home}/releases/tag/${toSegments(release.tagName)}`),
        "",
        "You get this mail because you watch the repository. To get none:",
        "croft account edit --email-notifications disabled",
        "",
      ].join("\n"),
    });
  }
}

/** Returns whether a watcher has mails about others' work on and may now read the releases of a repository. */
async function wantsMail(
  tx: Transaction,
  watcher: ForgeUser,
  owned: OwnedRepository,
): Promise<boolean> {
  const { kind, isActive, prohibitLogin, emailNotifications } = watcher;
  if (kind !== "individual" || !isActive || prohibitLogin) return false;
  if (emailNotifications !== "enabled" && emailNotifications !== "andyourown") return false;
  return reaches(await findAccess(tx, owned, watcher, "repo.releases"), "read");
}
