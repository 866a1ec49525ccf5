import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createJobQueue } from "../../../../../daemon/jobs/queue.ts";
import { createMailer } from "../../../../../daemon/outbound/mail/mailer.ts";
import { createInvitationLinks } from "../../../../../daemon/vault/accounts/invitation-links.ts";
import { isMailMeant } from "../../../../../daemon/vault/accounts/mail-recipients.ts";
import { createResetMails } from "../../../../../daemon/vault/accounts/reset-mails.ts";
import { createResetTokens } from "../../../../../daemon/vault/accounts/reset-tokens.ts";
import { createInvitations } from "../../../../../daemon/vault/documents/invitations.service.ts";
import { createShares } from "../../../../../daemon/vault/documents/shares.service.ts";
import { createLinkNotices } from "../../../../../daemon/vault/links/notices.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import type { Transaction } from "../../../../../storage/engine/database.ts";
import { createKeyring } from "../../../../../storage/keys/keyring.ts";
import { insertDocument } from "../../../../../storage/tables/vault/documents/documents.ts";
import { trashDocument } from "../../../../../storage/tables/vault/documents/trash.ts";
import { toAccountId, toDocumentId } from "../../../../../storage/tables/vault/ids.ts";
import {
  countDownload,
  deleteLink,
  findLink,
  insertLink,
} from "../../../../../storage/tables/vault/links.ts";
import {
  editVaultUser,
  findVaultUser,
  insertVaultUser,
  replacePasswordHash,
  setVaultUserActive,
} from "../../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const mira = toAccountId("mira");
const noor = toAccountId("noor");
const report = toDocumentId("report");
const quiet = () => undefined;
const log: Log = {
  ...{ debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet },
  ...{ child: () => log, isLevelEnabled: () => false },
};

/** The services that queue mails of the vault, a mail server that is slow, and its outbox. */
async function openScene() {
  const folder = await mkdtemp(join(tmpdir(), "croft-mails-"));
  const [outbox, tmp] = [join(folder, "outbox"), join(folder, "tmp")];
  await Promise.all([mkdir(outbox), mkdir(tmp)]);
  const now = Date.UTC(2026, 10, 20);
  const clock = () => now;
  const db = await openTestDatabase({ clock });
  onTestFinished(async () => {
    await db.close();
    await rm(folder, { recursive: true });
  });
  const queue = createJobQueue({ db, clock, random: () => 0, log, owner: "a", alone: true });
  const mailer = createMailer({
    ...{ enqueue: queue.enqueue, outbox, tmp, randomBytes, smtpUrl: undefined },
    keyring: createKeyring([{ version: 1, bytes: Buffer.alloc(32, 1) }], randomBytes),
    from: "croft <croft@croft.example>",
    mayRead: async (reason, address) => {
      if (!("vault" in reason)) throw new Error("a mail of the vault has a reason of the forge");
      return isMailMeant(db, reason, { address, now });
    },
  });
  queue.register(mailer.job);
  await db.transaction(async (tx) => {
    for (const handle of ["mira", "noor"])
      await insertVaultUser(tx, {
        ...{ id: toAccountId(handle), handle, email: `${handle}@example.org` },
        ...{ passwordHash: "", role: "user" as const, passwordMustChange: false },
      });
    await insertDocument(tx, {
      ...{ id: report, userId: mira, filename: "report.txt", contentType: "text/plain" },
      ...{ sizeBytes: 1, sha256: "0".repeat(64), storageBackend: "internal" },
      ...{ connectionId: undefined, providerItemId: undefined },
    });
  });
  const deps = {
    ...{ db, clock, randomBytes, newId: () => "made", instanceName: "croft", sendsMail: true },
    ...{ queueMail: mailer.queueMail, queueInvitation: mailer.queueMail, enqueue: queue.enqueue },
    ...{ publicUrl: () => "https://croft.example", frontendUrl: () => "https://croft.example" },
    registration: { registerInvited: () => Promise.reject(new Error("not needed")) },
    inviting: "users" as const,
  };
  const tokens = createResetTokens({ keys: [new Uint8Array(32)], clock, lifetimeSeconds: 60 });
  const resetMails = createResetMails({ ...deps, resetTokens: tokens });
  const notices = createLinkNotices(deps);
  return {
    db,
    shares: createShares(deps),
    invitations: createInvitations(deps),
    invitationLinks: createInvitationLinks({ ...deps, invitationTokens: tokens }),
    resetMails,
    notices,
    inTransaction: (work: (tx: Transaction) => Promise<unknown>) => db.transaction(work),
    /** Sends the mails that wait; returns how many left. */
    async deliver() {
      await queue.runDue();
      return (await readdir(outbox)).length;
    },
  };
}
type Scene = Awaited<ReturnType<typeof openScene>>;

const caller = {
  ...{ userId: mira, handle: "mira", email: "mira@example.org" },
  ...{ role: "user", address: "192.0.2.1" },
} as never;

/** Each mail of the vault: what queues it, and the changes after which it is not meant any more. */
const mails: Readonly<
  Record<
    string,
    {
      queue(scene: Scene): Promise<unknown>;
      readonly withdrawals: Readonly<Record<string, (scene: Scene) => Promise<unknown>>>;
    }
  >
> = {
  "a share": {
    queue: ({ shares }) =>
      shares.create(caller, {
        ...{ document_id: report, recipient_handle: "noor", permission: "view" },
      }),
    withdrawals: {
      "is revoked": ({ shares }) => shares.revoke(caller, "made"),
      "loses its document to the trash": (t) => t.inTransaction((tx) => trashDocument(tx, report)),
      "loses its owner": (t) => t.inTransaction((tx) => setVaultUserActive(tx, mira, false)),
      "loses its recipient": (t) => t.inTransaction((tx) => setVaultUserActive(tx, noor, false)),
      "has a recipient with another address": (t) => t.inTransaction((tx) => move(tx, "noor")),
    },
  },
  "an invitation to a document": {
    queue: ({ invitations }) =>
      invitations.create(caller, {
        ...{ document_id: report, recipient_email: "ada@example.org", permission: "view" },
      }),
    withdrawals: {
      "is revoked": ({ invitations }) => invitations.revoke(caller, "made"),
      "loses its document to the trash": (t) => t.inTransaction((tx) => trashDocument(tx, report)),
      "loses its owner": (t) => t.inTransaction((tx) => setVaultUserActive(tx, mira, false)),
    },
  },
  "a notice of a link": {
    async queue({ notices, inTransaction }) {
      await inTransaction(async (tx) => {
        await insertLink(tx, {
          ...{ id: "link", ownerId: mira, kind: "download", name: "", documentId: report },
          ...{ itemId: undefined, sealedSecret: "s", secretHash: "s", passwordHash: undefined },
          ...{ expiresAt: undefined, maxDownloads: undefined, maxFiles: undefined },
          ...{ maxBytes: undefined, message: undefined, documentIds: [], topicIds: [] },
        });
        await countDownload(tx, "link");
        const link = await findLink(tx, "link");
        if (link !== undefined) await notices.note(tx, link);
      });
      await notices.job.run({ link_id: "link" });
    },
    withdrawals: {
      "is revoked": (t) => t.inTransaction((tx) => deleteLink(tx, "link")),
      "has an owner with another address": (t) => t.inTransaction((tx) => move(tx, "mira")),
      "loses its owner": (t) => t.inTransaction((tx) => setVaultUserActive(tx, mira, false)),
    },
  },
  "a reset of a password": {
    queue: ({ resetMails }) => resetMails.job.run({ email: "mira@example.org", reason: "asked" }),
    withdrawals: {
      "comes after another password": (t) => t.inTransaction(changePassword),
      "has an account with another address": (t) => t.inTransaction((tx) => move(tx, "mira")),
      "loses its account": (t) => t.inTransaction((tx) => setVaultUserActive(tx, mira, false)),
    },
  },
  "an invitation to the server": {
    async queue({ db, invitationLinks }) {
      const user = await findVaultUser(db, mira);
      if (user !== undefined)
        await invitationLinks.make(user, { notify: true, forgeCode: undefined });
    },
    withdrawals: {
      "was used by another mail": (t) => t.inTransaction(changePassword),
      "has an account with another address": (t) => t.inTransaction((tx) => move(tx, "mira")),
      "loses its account": (t) => t.inTransaction((tx) => setVaultUserActive(tx, mira, false)),
    },
  },
};

const changePassword = (tx: Transaction) =>
  replacePasswordHash(tx, mira, { from: "", to: "another" });
const move = (tx: Transaction, handle: string) =>
  editVaultUser(tx, toAccountId(handle), { email: "new@example.org" });

describe.each(Object.entries(mails))("the mail about %s", (_name, { queue, withdrawals }) => {
  test("is sent while its reason holds", async () => {
    const scene = await openScene();
    await queue(scene);
    expect(await scene.deliver()).toBe(1);
  });

  test.each(Object.entries(withdrawals))(
    "is not sent when it %s before",
    async (_what, withdraw) => {
      const scene = await openScene();
      await queue(scene);
      await withdraw(scene);
      expect(await scene.deliver()).toBe(0);
    },
  );
});
