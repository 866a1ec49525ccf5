import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { cloudItemEndpoints } from "../../../../../daemon/contract/vault/cloud/items.ts";
import type { VaultCaller } from "../../../../../daemon/vault/caller.ts";
import { cloudRoutes } from "../../../../../daemon/vault/cloud/cloud.feature.ts";
import { localFolder } from "../../../../../storage/cloud/local-folder/provider.ts";
import type { CloudProviderType } from "../../../../../storage/cloud/provider.ts";
import { callRoute } from "../../../../support/call-route.ts";
import { openTestCloud, type TestCloud } from "../../../../support/cloud/vault-cloud.ts";
import type { ConnectionId } from "../../../../../storage/tables/vault/ids.ts";

const all = { parentRef: "", after: undefined, limit: 100, refresh: false, name: undefined };

async function download(
  test: TestCloud,
  caller: Parameters<TestCloud["cloud"]["bytes"]["download"]>[0],
  connection_id: ConnectionId,
  item_id: string,
) {
  const result = await test.cloud.bytes.download(caller, { connection_id, item_id });
  if (result.kind !== "bytes") throw new Error(result.kind);
  const bytes = result.bytes.buffer ?? (await buffer(await result.bytes.open()));
  result.bytes.release();
  return Buffer.from(bytes);
}

describe("a folder of the server as storage", () => {
  test("an upload into an item that turns out to be a file leaves no job that fails repeatedly", async () => {
    await using t = await openTestCloud();
    const mira = await t.addUser("mira");
    await writeFile(join(t.files, "file.txt"), "a file");
    const id = await t.connectFolder(mira);
    await t.cloud.listings.browse(mira, id, all);
    const uploaded = await t.cloud.uploads.upload(mira, id, {
      parentRef: "file.txt",
      name: "a.txt",
      contentType: undefined,
      content: Readable.from([Buffer.from("hello")]),
      size: undefined,
    });
    expect(uploaded.kind).toBe("stale");
    t.now += 16 * 60 * 1000;
    expect(await t.queue.runDue()).toBe(1);
    expect(await t.db.all("SELECT key FROM jobs WHERE last_error IS NOT NULL")).toEqual([]);
  });

  test("a folder of the server as storage is browsed, uploaded to and downloaded from through the cache, with audit records", async () => {
    await using t = await openTestCloud();
    const mira = await t.addUser("mira");
    await mkdir(join(t.files, "Reports"));
    const large = randomBytes(3 * 1024 * 1024);
    await writeFile(join(t.files, "grün 🌱.bin"), large);
    const id = await t.connectFolder(mira);
    const page = await t.cloud.listings.browse(mira, id, all);
    expect(page.state).toMatchObject({ refreshState: "fresh" });
    expect(page.items.map((item) => [item.kind, item.name])).toEqual([
      ["folder", "Reports"],
      ["file", "grün 🌱.bin"],
    ]);
    expect(await download(t, mira, id, "grün 🌱.bin")).toEqual(large);
    expect(await download(t, mira, id, "grün 🌱.bin")).toEqual(large);

    const small = Buffer.from("hello");
    const uploaded = await t.cloud.uploads.upload(mira, id, {
      parentRef: "Reports",
      name: "a b.txt",
      contentType: "text/plain",
      content: Readable.from([small]),
      size: undefined,
    });
    expect(uploaded).toMatchObject({ kind: "uploaded", size: 5, parentRef: "Reports" });
    expect(await readFile(join(t.files, "Reports/a b.txt"), "utf8")).toBe("hello");
    expect(await download(t, mira, id, "Reports/a b.txt")).toEqual(small);
    const opened = await t.cloud.items.open(mira, {
      connection_id: id,
      item_id: "Reports/a b.txt",
    });
    expect(opened.name).toBe("a b.txt");
    expect(await t.audit()).toMatchObject([
      {
        event_type: "cloud.file_uploaded",
        metadata: { filename: "a b.txt", size_bytes: 5, parent_ref: "Reports" },
      },
      { event_type: "cloud.file_opened", metadata: { provider_item_id: "Reports/a b.txt" } },
    ]);
    expect(t.errors).toEqual([]);
    expect(createHash("sha256").update(large).digest("hex")).toHaveLength(64);
  });

  test("renames, moves and deletes", async () => {
    await using t = await openTestCloud();
    const mira = await t.addUser("mira");
    await mkdir(join(t.files, "a/b"), { recursive: true });
    await writeFile(join(t.files, "a/b/one.txt"), "1");
    const id = await t.connectFolder(mira);
    for (const parentRef of ["", "a", "a/b"])
      await t.cloud.listings.browse(mira, id, { ...all, parentRef });
    const renamed = await t.cloud.changes.rename(
      mira,
      { connection_id: id, item_id: "a" },
      { new_name: "ä" },
    );
    expect(renamed).toMatchObject({ kind: "renamed", item: { id: "ä" } });
    const detail = await t.cloud.items.detail(mira, { connection_id: id, item_id: "ä/b/one.txt" });
    expect(detail.folders).toEqual(["ä", "b"]);
    const moved = await t.cloud.changes.move(
      mira,
      { connection_id: id, item_id: "ä/b/one.txt" },
      { destination_parent_ref: "" },
    );
    expect(moved).toMatchObject({ kind: "moved", itemId: "one.txt" });
    const refused = await t.cloud.changes.move(
      mira,
      { connection_id: id, item_id: "ä" },
      { destination_parent_ref: "ä/b" },
    );
    expect(refused).toEqual({ kind: "invalid_destination", reason: "descendant_destination" });
    const deleted = await t.cloud.changes.delete(mira, { connection_id: id, item_id: "ä" });
    expect(deleted).toMatchObject({ kind: "deleted", how: "trashed", itemKind: "folder" });
    const page = await t.cloud.listings.browse(mira, id, all);
    expect(page.items.map((item) => item.name)).toEqual(["one.txt"]);
    expect((await readdir(t.files)).sort()).toEqual([".croft", "one.txt"]);
    expect((await t.audit()).map((row) => row.event_type)).toEqual([
      "cloud.item_renamed",
      "cloud.item_moved",
      "cloud.item_deleted",
    ]);
    expect(t.errors).toEqual([]);
  });
});

describe("an upload whose folder changes while the bytes come", () => {
  /** Uploads into folder `a/b`, and lets `meanwhile` run when the provider has the file and nothing is recorded yet. */
  async function uploadWhile(
    meanwhile: (t: TestCloud, mira: VaultCaller, id: ConnectionId) => Promise<unknown>,
  ) {
    const holder: { act?: () => Promise<unknown> } = {};
    const racing: CloudProviderType = {
      ...localFolder,
      connect: async (request, deps) => {
        const outcome = await localFolder.connect(request, deps);
        if (outcome.kind !== "ok") return outcome;
        const { provider } = outcome;
        const upload: typeof provider.upload = async (input) => {
          const uploaded = await provider.upload(input);
          await holder.act?.();
          return uploaded;
        };
        return { ...outcome, provider: { ...provider, upload } };
      },
    };
    const t = await openTestCloud({ providerTypes: [racing] });
    const mira = await t.addUser("mira");
    await mkdir(join(t.files, "a/b"), { recursive: true });
    const id = await t.connectFolder(mira);
    for (const parentRef of ["", "a", "a/b"])
      await t.cloud.listings.browse(mira, id, { ...all, parentRef });
    holder.act = () => meanwhile(t, mira, id);
    const result = await t.cloud.uploads.upload(mira, id, {
      parentRef: "a/b",
      name: "new.txt",
      contentType: undefined,
      content: Readable.from([Buffer.from("x")]),
      size: undefined,
    });
    const known = await t.db.all<{ provider_item_id: string }>(
      "SELECT provider_item_id FROM vault_items WHERE deleted_at IS NULL ORDER BY provider_item_id",
    );
    const ids = known.map((row) => row.provider_item_id);
    await t[Symbol.asyncDispose]();
    return { result, ids };
  }

  test("renamed: it is recorded where it is by then", async () => {
    const { result, ids } = await uploadWhile((t, mira, id) =>
      t.cloud.changes.rename(mira, { connection_id: id, item_id: "a" }, { new_name: "z" }),
    );
    expect(result).toMatchObject({ kind: "uploaded", item: { id: "z/b/new.txt" } });
    expect(ids).toEqual(["z", "z/b", "z/b/new.txt"]);
  });

  test("deleted: the item is deleted with the folder, and its records are removed", async () => {
    const { result, ids } = await uploadWhile((t, mira, id) =>
      t.cloud.changes.delete(mira, { connection_id: id, item_id: "a" }),
    );
    expect(result.kind).toBe("stale");
    expect(ids).toEqual([]);
  });

  test("deleted, and another got its name: which of the two has the file is to be looked up", async () => {
    const { result, ids } = await uploadWhile(async (t, mira, id) => {
      await t.cloud.changes.createFolder(mira, id, { parent_ref: "a", name: "c" });
      await t.cloud.changes.delete(mira, { connection_id: id, item_id: "a/b" });
      await t.cloud.changes.rename(mira, { connection_id: id, item_id: "a/c" }, { new_name: "b" });
    });
    expect(result.kind).toBe("unknown_outcome");
    expect(ids).toEqual(["a", "a/b"]);
  });
});

test("an upload that must be spooled to a full disk fails with the reason and leaves nothing", async () => {
  const needsSize: CloudProviderType = {
    ...localFolder,
    connect: async (request, deps) => {
      const outcome = await localFolder.connect(request, deps);
      if (outcome.kind !== "ok") return outcome;
      const capabilities = { ...outcome.provider.capabilities, uploadNeedsSize: true };
      return { ...outcome, provider: { ...outcome.provider, capabilities } };
    },
  };
  await using t = await openTestCloud({ providerTypes: [needsSize] });
  const mira = await t.addUser("mira");
  const id = await t.connectFolder(mira);
  // An error of writing to the disk ends the upload in the same place.
  const content = Readable.from(
    (async function* () {
      yield Buffer.from("x");
      throw Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "write" });
    })(),
  );
  const uploading = t.cloud.uploads.upload(mira, id, {
    parentRef: undefined,
    name: "a.txt",
    contentType: undefined,
    content,
    size: undefined,
  });
  await expect(uploading).rejects.toMatchObject({ code: "storage_full" });
  expect((await readdir(t.files)).filter((name) => !name.startsWith("."))).toEqual([]);
  expect(await readdir(join(t.files, "../../tmp"))).toEqual([]);
});

test("a late refusal does not affect credentials that were replaced meanwhile", async () => {
  const holder: { act?: () => Promise<unknown> } = {};
  const refusing: CloudProviderType = {
    ...localFolder,
    connect: async (request, deps) => {
      const outcome = await localFolder.connect(request, deps);
      if (outcome.kind !== "ok") return outcome;
      const list: typeof outcome.provider.list = async () => {
        await holder.act?.();
        return { kind: "reauth" };
      };
      return { ...outcome, provider: { ...outcome.provider, list } };
    },
  };
  await using t = await openTestCloud({ providerTypes: [refusing] });
  const mira = await t.addUser("mira");
  const id = await t.connectFolder(mira);
  holder.act = () => t.cloud.connections.update(mira, id, { credentials: {} });
  const page = await t.cloud.listings.browse(mira, id, all);
  expect(page.state).toMatchObject({ refreshState: "failed", errorCode: "reauth_required" });
  expect((await t.cloud.connections.get(mira, id)).status).toBe("connected");
});

describe("a connection that is deleted during a call of its storage", () => {
  /** A connection that goes away during each listing and each change, whatever the storage then says. */
  async function open() {
    const holder: { act?: () => Promise<unknown> } = {};
    const slow: CloudProviderType = {
      ...localFolder,
      connect: async (request, deps) => {
        const outcome = await localFolder.connect(request, deps);
        if (outcome.kind !== "ok") return outcome;
        const { provider } = outcome;
        const stale = async () => {
          await holder.act?.();
          return { kind: "stale" } as const;
        };
        const list: typeof provider.list = async (input) => {
          await holder.act?.();
          return provider.list(input);
        };
        const upload: typeof provider.upload = async ({ content }) => {
          content.destroy();
          return stale();
        };
        const read: typeof provider.read = async () => {
          await holder.act?.();
          return { kind: "not_found" };
        };
        return { ...outcome, provider: { ...provider, list, read, upload, createFolder: stale } };
      },
    };
    const t = await openTestCloud({ providerTypes: [slow] });
    const mira = await t.addUser("mira");
    await mkdir(join(t.files, "a"));
    await writeFile(join(t.files, "f.txt"), "x");
    const id = await t.connectFolder(mira);
    await t.cloud.listings.browse(mira, id, all);
    holder.act = () => t.cloud.connections.remove(mira, id);
    return { t, mira, id };
  }

  test.each([
    [
      "a listing",
      ({ t, mira, id }) => t.cloud.listings.browse(mira, id, { ...all, refresh: true }),
    ],
    [
      "a download",
      ({ t, mira, id }) => t.cloud.bytes.download(mira, { connection_id: id, item_id: "f.txt" }),
    ],
    ["a new folder", ({ t, mira, id }) => t.cloud.changes.createFolder(mira, id, { name: "b" })],
    [
      "an upload",
      ({ t, mira, id }) =>
        t.cloud.uploads.upload(mira, id, {
          parentRef: undefined,
          name: "b",
          contentType: undefined,
          content: Readable.from([]),
          size: 0,
        }),
    ],
  ] satisfies [string, (opened: Awaited<ReturnType<typeof open>>) => Promise<unknown>][])(
    "%s finds no connection",
    async (_what, act) => {
      const opened = await open();
      await using _ = opened.t;
      await expect(act(opened)).rejects.toMatchObject({
        code: "not_found",
        message: "Connection not found",
      });
    },
  );
});

test("bytes whose version is not certain are sent without a validator", async () => {
  let isUnsettled = true;
  const coarse: CloudProviderType = {
    ...localFolder,
    connect: async (request, deps) => {
      const outcome = await localFolder.connect(request, deps);
      if (outcome.kind !== "ok") return outcome;
      const { provider } = outcome;
      const read: typeof provider.read = async (input) => {
        const found = await provider.read(input);
        return found.kind === "ok"
          ? { ...found, item: { ...found.item, unsettled: isUnsettled } }
          : found;
      };
      return { ...outcome, provider: { ...provider, read } };
    },
  };
  await using t = await openTestCloud({ providerTypes: [coarse] });
  const mira = await t.addUser("mira");
  await writeFile(join(t.files, "f.txt"), "x");
  const id = await t.connectFolder(mira);
  await t.cloud.listings.browse(mira, id, all);
  const markOf = async () => {
    const result = await t.cloud.bytes.download(mira, { connection_id: id, item_id: "f.txt" });
    if (result.kind !== "bytes") throw new Error(result.kind);
    result.bytes.release();
    return [typeof result.entityTag, typeof result.modifiedAt];
  };
  expect(await markOf()).toEqual(["undefined", "undefined"]);
  isUnsettled = false;
  expect(await markOf()).toEqual(["string", "number"]);
});

describe("attack: a storage that sends invalid data", () => {
  test("a storage with invalid responses can still be browsed by pages", async () => {
    const names = ["\0", "long ".repeat(3000), "later ".repeat(3000)];
    const nonsense: CloudProviderType = {
      ...localFolder,
      connect: async (request, deps) => {
        const outcome = await localFolder.connect(request, deps);
        if (outcome.kind !== "ok") return outcome;
        const list: typeof outcome.provider.list = async () => ({
          kind: "ok",
          items: names.map((name, at) => ({
            id: `i${at}`,
            name,
            kind: "file",
            parent: "",
            contentType: "a\0/b",
            size: -1,
            modifiedAt: 1e20,
            etag: undefined,
            version: undefined,
          })),
        });
        return { ...outcome, provider: { ...outcome.provider, list } };
      },
    };
    await using t = await openTestCloud({ providerTypes: [nonsense] });
    const mira = await t.addUser("mira");
    const connection_id = await t.connectFolder(mira);
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const query: Record<string, string> = { limit: "1", ...(cursor && { cursor }) };
      const input = { params: { connection_id }, query };
      const reply = await callRoute(
        cloudRoutes(t.cloud),
        cloudItemEndpoints.listItems,
        mira,
        input,
      );
      expect(reply.status).toBe(200);
      seen.push(...reply.body.items);
      cursor = reply.body.next_cursor ?? undefined;
      expect((cursor ?? "").length).toBeLessThan(8192);
    } while (cursor !== undefined);
    expect(seen).toMatchObject([
      { provider_item_id: "i2" },
      { provider_item_id: "i1" },
      { name: "\u2400", size: null, modified_at: null, content_type: null },
    ]);
  });
});
