import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findLink, noteNotice, type VaultLink } from "../../../storage/tables/vault/links.ts";
import { findVaultUser } from "../../../storage/tables/vault/users.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { QueueMail } from "../accounts/reset-mails.ts";
import { findLinkTarget, toLinkName } from "./link-targets.ts";

const KIND = "vault.links.notice";
const payloadSchema = z.object({ link_id: z.string() });
/** Shortest time between two mails about one link. */
const BETWEEN_MS = 3_600_000;

export type LinkNotices = ReturnType<typeof createLinkNotices>;

export interface LinkNoticesDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly queueMail: QueueMail;
  /** Whether mails leave this server. */
  readonly sendsMail: boolean;
  readonly instanceName: string;
}

/** Mails owners that their links were used: at once the first time, then what has come together within an hour. */
export function createLinkNotices({
  db,
  enqueue,
  queueMail,
  sendsMail,
  instanceName,
}: LinkNoticesDeps) {
  return {
    /** Enqueues a mail about a use of a link, in the transaction of the use. One mail waits at most for each link. */
    async note(tx: Transaction, { id, ownerId, noticedAt }: VaultLink): Promise<void> {
      if (!sendsMail) return;
      const runAt = noticedAt === undefined ? tx.now : Math.max(tx.now, noticedAt + BETWEEN_MS);
      await enqueue(tx, { kind: KIND, key: id, account: ownerId, payload: { link_id: id }, runAt });
    },

    job: {
      kind: KIND,
      async run(payload) {
        const { link_id: id } = parsePayload(payloadSchema, payload);
        await db.transaction(async (tx) => {
          const link = await findLink(tx, id);
          // Revoked meanwhile: its owner knows.
          if (link === undefined) return;
          const uses = link.kind === "download" ? link.downloads : link.files;
          const owner = await findVaultUser(tx, link.ownerId);
          if (owner === undefined || !owner.isActive || uses <= link.noticedUses) return;
          await noteNotice(tx, id, uses);
          const name = toLinkName(link, await findLinkTarget(tx, link));
          await queueMail(tx, {
            to: owner.email,
            reader: { vault: "link", id },
            subject: `Your link on ${instanceName} was used`,
            text: `${[
              `Hello ${owner.handle},`,
              toSentence(link, name, uses - link.noticedUses),
              `In all ${toCount(link, uses)}${toLimit(link)}.`,
              "croft vault link list shows your links, and croft vault link delete revokes one.",
            ].join("\n\n")}\n`,
          });
        });
      },
    } satisfies JobKind,
  };
}

function toSentence(link: VaultLink, name: string, count: number): string {
  const times = count === 1 ? "once" : `${count} times`;
  return link.kind === "download"
    ? `your link to ${JSON.stringify(name)} was downloaded ${times}.`
    : `your link ${JSON.stringify(name)} has received ${toCount(link, count)}. You find them among your documents.`;
}

function toCount({ kind }: VaultLink, count: number): string {
  const noun = kind === "download" ? "download" : "file";
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function toLimit({ maxDownloads, maxFiles }: VaultLink): string {
  const limit = maxDownloads ?? maxFiles;
  return limit === undefined ? "" : ` of at most ${limit}`;
}
