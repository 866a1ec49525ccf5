import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { VaultCaller } from "../../../../../daemon/vault/caller.ts";
import { localFolder } from "../../../../../storage/cloud/local-folder/provider.ts";
import type { CloudProvider, CloudProviderType } from "../../../../../storage/cloud/provider.ts";
import { openTestCloud, type TestCloud } from "../../../../support/cloud/vault-cloud.ts";
import { findConnection } from "../../../../../storage/tables/vault/connections.ts";
import type { ConnectionId } from "../../../../../storage/tables/vault/ids.ts";

const root = { parentRef: "", after: undefined, limit: 100, refresh: false, name: undefined };

/** A local folder whose verbs a test may hold up, before and after they do their work. */
function createHeldFolder() {
  const hooks: Partial<Record<string, () => Promise<unknown>>> = {};
  const calls: string[] = [];
  const held = <Verb extends "list" | "rename" | "upload">(provider: CloudProvider, verb: Verb) =>
    (async (input: never) => {
      calls.push(verb);
      await hooks[`before ${verb}`]?.();
      const outcome = await (provider[verb] as (input: never) => Promise<unknown>)(input);
      await hooks[`after ${verb}`]?.();
      return outcome;
    }) as CloudProvider[Verb];
  const type: CloudProviderType = {
    ...localFolder,
    connect: async (request, deps) => {
      const outcome = await localFolder.connect(request, deps);
      if (outcome.kind !== "ok") return outcome;
      const { provider } = outcome;
      const list = held(provider, "list");
      const rename = held(provider, "rename");
      const upload = held(provider, "upload");
      return { ...outcome, provider: { ...provider, list, rename, upload } };
    },
  };
  return { type, hooks, calls };
}

async function listLive({ db }: TestCloud): Promise<string[]> {
  const rows = await db.all<{ provider_item_id: string }>(
    "SELECT provider_item_id FROM vault_items WHERE deleted_at IS NULL ORDER BY provider_item_id",
  );
  return rows.map((row) => row.provider_item_id);
}

describe("a folder that is deleted during its listing", () => {
  const changes: [
    string,
    (t: TestCloud, mira: VaultCaller, id: ConnectionId) => Promise<unknown>,
    string[],
  ][] = [
    [
      "deleted",
      (t, mira, id) => t.cloud.changes.delete(mira, { connection_id: id, item_id: "a" }),
      [],
    ],
    [
      "renamed",
      (t, mira, id) =>
        t.cloud.changes.rename(
          mira,
          { connection_id: id, item_id: "a" },
          {
            new_name: "b",
          },
        ),
      ["b"],
    ],
  ];
  test.each(changes)("%s: nothing is recorded for a missing folder", async (_how, change, left) => {
    const { type, hooks } = createHeldFolder();
    await using t = await openTestCloud({ providerTypes: [type] });
    const mira = await t.addUser("mira");
    await mkdir(join(t.files, "a"));
    await writeFile(join(t.files, "a/x"), "1");
    const id = await t.connectFolder(mira);
    await t.cloud.listings.browse(mira, id, root);
    hooks["after list"] = async () => {
      delete hooks["after list"];
      await change(t, mira, id);
    };
    const browsing = t.cloud.listings.browse(mira, id, { ...root, parentRef: "a" });
    await expect(browsing).rejects.toMatchObject({ code: "not_found" });
    expect(await listLive(t)).toEqual(left);
  });
});

describe("an item that replaces a listed folder", () => {
  async function open() {
    const t = await openTestCloud();
    const mira = await t.addUser("mira");
    await mkdir(join(t.files, "a/b"), { recursive: true });
    await writeFile(join(t.files, "a/b/old"), "1");
    const id = await t.connectFolder(mira);
    const browse = (parentRef = "") =>
      t.cloud.listings.browse(mira, id, { ...root, parentRef, refresh: parentRef === "" });
    for (const ref of ["", "a", "a/b"]) await browse(ref);
    return { t, mira, id, browse };
  }

  test.each(["through the service", "by hand"])(
    "an item replaces a listed folder after deleting %s",
    async (how) => {
      const { t, mira, id, browse } = await open();
      await using _ = t;
      if (how === "by hand") await rm(join(t.files, "a"), { recursive: true });
      else await t.cloud.changes.delete(mira, { connection_id: id, item_id: "a" });
      await browse();
      await mkdir(join(t.files, "a/b"), { recursive: true });
      await writeFile(join(t.files, "a/b/new"), "1");
      await browse();
      expect((await browse("a")).items.map(({ name }) => name)).toEqual(["b"]);
      expect((await browse("a/b")).items.map(({ name }) => name)).toEqual(["new"]);
    },
  );

  test("a file: the items of the folder are no longer found", async () => {
    const { t, browse } = await open();
    await using _ = t;
    await rm(join(t.files, "a"), { recursive: true });
    await writeFile(join(t.files, "a"), "1");
    await browse();
    expect(await listLive(t)).toEqual(["a"]);
  });
});

test("a change that waits its turn is not made for a connection that is deleted meanwhile", async () => {
  const { type, hooks, calls } = createHeldFolder();
  await using t = await openTestCloud({ providerTypes: [type] });
  const mira = await t.addUser("mira");
  for (const name of ["x", "y"]) await writeFile(join(t.files, name), "1");
  const id = await t.connectFolder(mira);
  await t.cloud.listings.browse(mira, id, root);
  const begun = Promise.withResolvers<void>();
  const mayContinue = Promise.withResolvers<void>();
  hooks["before rename"] = async () => {
    begun.resolve();
    await mayContinue.promise;
  };
  const rename = (item_id: string) =>
    t.cloud.changes.rename(mira, { connection_id: id, item_id }, { new_name: `${item_id}2` });
  const first = rename("x");
  await begun.promise;
  const second = rename("y");
  await t.cloud.connections.remove(mira, id);
  mayContinue.resolve();
  expect(await first).toEqual({ kind: "recording_failed" });
  await expect(second).rejects.toMatchObject({ code: "not_found" });
  expect(calls.filter((verb) => verb === "rename")).toHaveLength(1);
});

test("of two uploads to one name at once, the storage gets one", async () => {
  const { type, hooks, calls } = createHeldFolder();
  await using t = await openTestCloud({ providerTypes: [type] });
  const mira = await t.addUser("mira");
  const id = await t.connectFolder(mira);
  await t.cloud.listings.browse(mira, id, root);
  const begun = Promise.withResolvers<void>();
  const mayContinue = Promise.withResolvers<void>();
  hooks["before upload"] = async () => {
    begun.resolve();
    await mayContinue.promise;
  };
  const upload = (name: string, text: string) =>
    t.cloud.uploads.upload(mira, id, {
      ...{ parentRef: undefined, name, contentType: undefined, size: text.length },
      content: Readable.from([Buffer.from(text)]),
    });
  const first = upload("same.txt", "first");
  await begun.promise;
  const second = upload("same.txt", "second");
  const other = upload("other.txt", "other");
  mayContinue.resolve();
  expect((await first).kind).toBe("uploaded");
  expect(await second).toEqual({ kind: "conflict", existingName: "same.txt" });
  expect((await other).kind).toBe("uploaded");
  expect(calls.filter((verb) => verb === "upload")).toHaveLength(2);
});

test("a folder that changes during each listing counts as not listed, and its unrecorded files not as absent", async () => {
  const { type, hooks } = createHeldFolder();
  await using t = await openTestCloud({ providerTypes: [type] });
  const mira = await t.addUser("mira");
  await writeFile(join(t.files, "unrecorded.txt"), "1");
  const id = await t.connectFolder(mira);
  let made = 0;
  hooks["after list"] = async () => {
    made += 1;
    await t.cloud.changes.createFolder(mira, id, { parent_ref: null, name: `made ${made}` });
  };
  const find = (name: string) => t.cloud.listings.find(mira, id, { parentRef: "", name });
  await expect(find("unrecorded.txt")).rejects.toMatchObject({ code: "unavailable" });
  expect(await find("made 1")).toMatchObject({ name: "made 1" });
  expect(await find("absent.txt")).toBeUndefined();
  const connection = await findConnection(t.db, mira.userId, id);
  if (connection === undefined) throw new Error("the connection is missing");
  expect(await t.cloud.listings.relist(connection, "")).toBe(false);
  delete hooks["after list"];
  expect(await t.cloud.listings.relist(connection, "")).toBe(true);
  expect(await find("unrecorded.txt")).toMatchObject({ name: "unrecorded.txt" });
});

test("a deleted connection is not opened again by a running download", async () => {
  let opened = 0;
  const counted: CloudProviderType = {
    ...localFolder,
    connect: (request, deps) => {
      opened += 1;
      return localFolder.connect(request, deps);
    },
  };
  await using t = await openTestCloud({ providerTypes: [counted], cacheBytes: 10 });
  const mira = await t.addUser("mira");
  await writeFile(join(t.files, "larger than the cache"), "x".repeat(100));
  const id = await t.connectFolder(mira);
  await t.cloud.listings.browse(mira, id, root);
  const place = { connection_id: id, item_id: "larger than the cache" };
  const download = await t.cloud.bytes.download(mira, place);
  if (download.kind !== "bytes") throw new Error(download.kind);
  await t.cloud.connections.remove(mira, id);
  opened = 0;
  await expect(download.bytes.open({ start: 1, end: 2 })).rejects.toMatchObject({
    code: "not_found",
  });
  download.bytes.release();
  expect(opened).toBe(0);
});

test("a call with a connection's earlier credentials continues with the new ones", async () => {
  const opened: unknown[] = [];
  const counted: CloudProviderType = {
    ...localFolder,
    settings: [
      ...localFolder.settings,
      { name: "secret", kind: "text", required: false, secret: true, help: "Nothing" },
    ],
    connect: (request, deps) => {
      opened.push(request.credentials["secret"]);
      return localFolder.connect(request, deps);
    },
  };
  await using t = await openTestCloud({ providerTypes: [counted], cacheBytes: 10 });
  const mira = await t.addUser("mira");
  await writeFile(join(t.files, "larger than the cache"), "x".repeat(100));
  const id = await t.connectFolder(mira);
  const place = { connection_id: id, item_id: "larger than the cache" };
  const download = await t.cloud.bytes.download(mira, place);
  if (download.kind !== "bytes") throw new Error(download.kind);
  await t.cloud.connections.update(mira, id, { credentials: { secret: "new" } });
  opened.length = 0;
  await t.cloud.listings.browse(mira, id, root);
  (await download.bytes.open({ start: 1, end: 2 })).destroy();
  download.bytes.release();
  await t.cloud.listings.browse(mira, id, { ...root, refresh: true });
  expect(opened).toEqual(["new"]);
});
