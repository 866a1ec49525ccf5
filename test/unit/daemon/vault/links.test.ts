import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createLimiter } from "../../../../daemon/http/limits.ts";
import { toSecretHash } from "../../../../daemon/vault/links/link-secrets.ts";
import { createLinkContents } from "../../../../daemon/vault/links/link-contents.ts";
import { createLinkNotices, type LinkNotices } from "../../../../daemon/vault/links/notices.ts";
import { createLinkReceipts } from "../../../../daemon/vault/links/receipts.service.ts";
import { createLinkVisits } from "../../../../daemon/vault/links/visits.service.ts";
import { createShares } from "../../../../daemon/vault/documents/shares.service.ts";
import type { MailMessage } from "../../../../daemon/vault/accounts/reset-mails.ts";
import {
  deleteDocument,
  insertDocument,
  listDocumentsOfLink,
} from "../../../../storage/tables/vault/documents/documents.ts";
import type { CloudItem } from "../../../../storage/tables/vault/items.ts";
import { toAccountId, toDocumentId } from "../../../../storage/tables/vault/ids.ts";
import {
  breakAllLinkDownloads,
  countDownload,
  countReceived,
  deleteExpiredLinkDownloads,
  endLinkDownload,
  findLink,
  findLinkBySecret,
  insertLink,
  insertLinkDownload,
  listLinkDocuments,
  resumeLinkDownload,
  type VaultLink,
} from "../../../../storage/tables/vault/links.ts";
import type { FolderState } from "../../../../storage/tables/vault/folders.ts";
import { editVaultUser, insertVaultUser } from "../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

const mira = toAccountId("mira");
const documents = ["one", "two"].map(toDocumentId);

async function openScene(engine: "sqlite" | "postgres") {
  const clock = { now: 1_000_000 };
  const db = await (engine === "sqlite"
    ? openTestDatabase({ engine, clock: () => clock.now })
    : openTestDatabase({ engine, clock: () => clock.now }));
  onTestFinished(() => db.close());
  await db.transaction(async (tx) => {
    for (const handle of ["mira", "noor"])
      await insertVaultUser(tx, {
        ...{ id: toAccountId(handle), handle, email: `${handle}@example.org` },
        ...{ passwordHash: "", role: "user" as const, passwordMustChange: false },
      });
    for (const id of documents)
      await insertDocument(tx, {
        ...{ id, userId: mira, filename: `${id}.txt`, contentType: "text/plain", sizeBytes: 1 },
        ...{ sha256: "0".repeat(64), storageBackend: "internal" },
        ...{ connectionId: undefined, providerItemId: undefined },
      });
  });
  const add = (id: string, more: object) =>
    db.transaction((tx) =>
      insertLink(tx, {
        ...{ id, ownerId: mira, kind: "download", name: "", documentId: undefined },
        ...{ itemId: undefined, sealedSecret: "s", passwordHash: undefined, expiresAt: undefined },
        ...{
          maxDownloads: undefined,
          maxFiles: undefined,
          maxBytes: undefined,
          message: undefined,
        },
        ...{ secretHash: id, documentIds: [], topicIds: [] },
        ...more,
      }),
    );
  return { db, clock, add };
}

test.each(["sqlite", "postgres"] as const)(
  "limits of links hold when uses race, and broken downloads are repeated once, on %s",
  async (engine) => {
    const { db, clock, add } = await openScene(engine);
    await add("limited", { documentId: documents[0], maxDownloads: 2 });
    const counted = await Promise.all(
      Array.from({ length: 5 }, () => db.transaction((tx) => countDownload(tx, "limited"))),
    );
    expect(counted.filter(Boolean)).toHaveLength(2);
    await add("box", { kind: "upload", maxFiles: 3, maxBytes: 10 });
    const receive = (bytes: number) => db.transaction((tx) => countReceived(tx, "box", bytes));
    expect(await Promise.all([receive(6), receive(6)])).toContain(false);
    expect(await receive(4)).toBe(true);
    expect(await receive(1)).toBe(false);
    expect(await findLink(db, "box")).toMatchObject({ files: 2, receivedBytes: 10 });

    const place = { linkId: "limited", address: "192.0.2.1" };
    const expiresAt = clock.now + 1_000;
    await db.transaction((tx) =>
      insertLinkDownload(tx, { id: "d", ...place, state: "sending", expiresAt }),
    );
    const resume = (address = place.address) =>
      db.transaction((tx) => resumeLinkDownload(tx, { ...place, address }, expiresAt));
    expect(await resume()).toBeUndefined();
    await endLinkDownload(db, "d", { isComplete: false });
    expect(await resume("192.0.2.2")).toBeUndefined();
    expect((await Promise.all([resume(), resume()])).toSorted()).toEqual(["d", undefined]);
    // A daemon that was killed while it sent.
    expect(await breakAllLinkDownloads(db)).toBe(1);
    expect(await resume()).toBe("d");
    await endLinkDownload(db, "d", { isComplete: true });
    expect(await resume()).toBeUndefined();
    await db.transaction((tx) =>
      insertLinkDownload(tx, { id: "e", ...place, state: "broken", expiresAt }),
    );
    clock.now = expiresAt;
    expect(await resume()).toBeUndefined();
    expect(await deleteExpiredLinkDownloads(db, clock.now)).toBe(1);
  },
);

test.each(["sqlite", "postgres"] as const)(
  "a link goes with its document, and one to several loses the deleted one, on %s",
  async (engine) => {
    const { db, add } = await openScene(engine);
    await add("single", { documentId: documents[0] });
    await add("several", { documentIds: documents });
    expect((await listDocumentsOfLink(db, "several")).map(({ id }) => id)).toEqual(documents);
    await db.transaction((tx) => deleteDocument(tx, documents[0]!));
    expect((await listDocumentsOfLink(db, "several")).map(({ id }) => id)).toEqual([documents[1]]);
    expect(await findLink(db, "single")).toBeUndefined();
    expect(await listLinkDocuments(db, "several")).toEqual([documents[1]]);
  },
);

test.each(["sqlite", "postgres"] as const)(
  "guesses at once are 10 a minute from an address and 30 of a link, and one that is refused counts for nothing, on %s",
  async (engine) => {
    const { db, clock, add } = await openScene(engine);
    for (const id of ["a", "b"])
      await add(id, { kind: "upload", passwordHash: "hash", secretHash: toSecretHash(id) });
    let verified = 0;
    const visits = createLinkVisits({
      ...{ db, clock: () => clock.now, newId: () => crypto.randomUUID() },
      secrets: { isPass: () => false, createPass: () => "pass" },
      hasher: {
        async verify() {
          verified += 1;
          return { fits: false, outdated: false };
        },
      },
      contents: { open: () => Promise.reject(new Error("nothing is downloaded")) },
      notices: { note: async () => undefined },
      limiter: createLimiter({ db, clock: () => clock.now }),
      log: { warn: () => undefined },
      isEnabled: true,
    });
    /** Returns the addresses whose guesses were refused without a comparison. */
    const guess = async (id: string, addresses: readonly string[]): Promise<string[]> => {
      const before = verified;
      const refused: string[] = [];
      const unlock = (address: string) =>
        visits.unlock("upload", id, { address, pass: undefined }, "wrong");
      await Promise.all(
        addresses.map((address) =>
          unlock(address).catch((error: unknown) => {
            expect(error).toMatchObject({ code: "rate_limited" });
            refused.push(address);
          }),
        ),
      );
      expect(verified - before).toBe(addresses.length - refused.length);
      return refused;
    };
    expect(await guess("a", Array<string>(25).fill("192.0.2.1"))).toHaveLength(15);
    // The refused ones did not count for the link: 20 are left.
    const others = Array.from({ length: 40 }, (_, at) => `192.0.2.${at + 2}`);
    const [refused = "", ...more] = await guess("a", others);
    expect(more).toHaveLength(19);
    // Nor does what the link refuses count for the address.
    expect(await guess("b", Array<string>(12).fill(refused))).toHaveLength(2);
    clock.now += 61_000;
    expect(await guess("a", ["192.0.2.1"])).toEqual([]);
  },
);

test("an archive of a folder breaks off where a folder in it cannot be listed, or lies too deep", async () => {
  const folder = { kind: "folder", providerItemId: "f", connectionId: "c" } as unknown as CloudItem;
  const archive = async (state: object, items: readonly CloudItem[]) => {
    const contents = createLinkContents({
      documents: { open: () => Promise.reject(new Error("no document is in the folder")) },
      bytes: { download: () => Promise.reject(new Error("no file is in the folder")) },
      listings: {
        browse: async () => ({ state: state as FolderState, items, next: undefined }),
      },
    });
    const link = { name: "all", ownerId: mira } as VaultLink;
    const { open } = await contents.open(link, { kind: "folder", item: folder });
    return text(await open());
  };
  const fresh = { refreshState: "fresh", listedAt: 1 };
  expect((await archive(fresh, [])).slice(0, 2)).toBe("PK");
  await expect(archive({ refreshState: "failed", listedAt: 1 }, [])).rejects.toThrow("listed");
  await expect(archive({ refreshState: "warning" }, [])).rejects.toThrow("listed");
  await expect(archive(fresh, [folder])).rejects.toThrow("too many folders");
});

test("the links of an account that has become an administrator's are closed", async () => {
  const { db, add } = await openScene("sqlite");
  await add("box", { kind: "upload" });
  expect(await findLinkBySecret(db, "box")).toMatchObject({ id: "box" });
  await db.transaction((tx) => editVaultUser(tx, mira, { role: "admin" }));
  expect(await findLinkBySecret(db, "box")).toBeUndefined();
  const receipts = createLinkReceipts({
    ...{ db, clock: () => 0 },
    uploads: { upload: () => Promise.reject(new Error("the file was stored")) },
    notices: { note: async () => undefined } as unknown as LinkNotices,
  });
  const link = await findLink(db, "box");
  const part = { filename: "a.txt", contentType: undefined, size: 1, stream: Readable.from(["x"]) };
  const parts = (async function* () {
    yield part;
  })();
  expect((await receipts.receive(link!, parts, "192.0.2.1")).refused).toMatchObject([
    { name: "a.txt", reason: "this link receives no more files" },
  ]);
});

test("the owner of a link gets one mail about the uses within an hour, and the recipient of a share one", async () => {
  const { db, clock, add } = await openScene("sqlite");
  await add("link", { documentId: documents[0] });
  const mails: MailMessage[] = [];
  const jobs: { readonly runAt?: number | undefined }[] = [];
  const notices = createLinkNotices({
    db,
    enqueue: async (_tx, job) => jobs.push(job),
    queueMail: async (_tx, mail) => mails.push(mail),
    sendsMail: true,
    instanceName: "croft",
  });
  const use = () =>
    db.transaction(async (tx) => {
      await countDownload(tx, "link");
      const link = await findLink(tx, "link");
      if (link !== undefined) await notices.note(tx, link);
    });
  await use();
  await use();
  const run = () => notices.job.run({ link_id: "link" });
  await run();
  await run();
  expect(mails).toMatchObject([{ to: "mira@example.org" }]);
  expect(mails[0]?.text).toContain('"one.txt" was downloaded 2 times');
  await use();
  expect(jobs.at(-1)?.runAt).toBe(clock.now + 3_600_000);
  await run();
  expect(mails[1]?.text).toContain("was downloaded once");

  const shares = createShares({
    db,
    newId: () => "share",
    queueMail: async (_tx, mail) => mails.push(mail),
    instanceName: "croft",
    publicUrl: () => "https://croft.example.org",
  });
  const caller = { userId: mira, handle: "mira", role: "user", address: "192.0.2.1" } as never;
  await shares.create(caller, {
    document_id: documents[0]!,
    recipient_handle: "noor",
    permission: "view",
  });
  expect(mails[2]).toMatchObject({
    to: "noor@example.org",
    subject: "mira shares a document with you on croft",
  });
});
