import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { Failure } from "../../../../../storage/cloud/outcomes.ts";
import {
  toRestoreReply,
  toTrashReply,
} from "../../../../../daemon/vault/cloud/trash/trash.view.ts";
import {
  createMemoryStorage,
  memoryCapabilities,
} from "../../../../support/cloud/memory-provider.ts";
import { openTestCloud } from "../../../../support/cloud/vault-cloud.ts";

async function openScene(capabilities = memoryCapabilities) {
  const storage = createMemoryStorage(capabilities);
  const t = await openTestCloud({ providerTypes: [storage.type] });
  const mira = await t.addUser("mira");
  const made = await t.cloud.connections.create(mira, {
    provider: "memory",
    display_name: "Memory",
    settings: {},
    credentials: {},
  });
  if (made.kind !== "connected") throw new Error(made.kind);
  const connection = made.connection.id;
  const provider = storage.connect();
  const signal = new AbortController().signal;
  const folder = await provider.createFolder({ parent: "", name: "docs", signal });
  const docs = folder.kind === "ok" ? folder.item.id : "";
  const file = await provider.upload({
    parent: docs,
    name: "a.txt",
    content: Readable.from([Buffer.from("text")]),
    size: 4,
    contentType: undefined,
    signal,
  });
  const fileId = file.kind === "ok" ? file.item.id : "";
  const browse = (parentRef: string) =>
    t.cloud.listings.browse(mira, connection, {
      parentRef,
      after: undefined,
      limit: 100,
      refresh: false,
      name: undefined,
    });
  await browse("");
  await browse(docs);
  await t.cloud.changes.delete(mira, { connection_id: connection, item_id: fileId });
  return {
    t,
    storage,
    mira,
    connection,
    docs,
    fileId,
    browse,
    provider,
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

describe("the trash of a storage", () => {
  test("names the folder of an item from the recorded folders", async () => {
    await using scene = await openScene();
    const page = await scene.t.cloud.trash.list(scene.mira, scene.connection, undefined);
    expect(toTrashReply(page)).toMatchObject({
      status: 200,
      body: { items: [{ name: "a.txt", kind: "file", location: "/docs", size: 4 }] },
    });
  });

  test("a restore records the item, marks its folder stale and writes an audit record", async () => {
    await using scene = await openScene();
    const { t, mira, connection } = scene;
    const restored = await t.cloud.trash.restore(mira, connection, "t3");
    expect(toRestoreReply(restored)).toEqual({
      status: 200,
      body: {
        kind: "restored",
        provider_item_id: scene.fileId,
        name: "a.txt",
        parent_ref: scene.docs,
      },
    });
    const item = await t.cloud.items.get(mira, {
      connection_id: connection,
      item_id: scene.fileId,
    });
    expect(item.item).toMatchObject({ name: "a.txt", deletedAt: undefined });
    const lists = scene.storage.calls.filter((verb) => verb === "list").length;
    expect((await scene.browse(scene.docs)).items).toHaveLength(1);
    expect(scene.storage.calls.filter((verb) => verb === "list").length).toBe(lists + 1);
    expect((await t.audit()).at(-1)).toMatchObject({
      event_type: "cloud.item_restored",
      metadata: { provider_item_id: scene.fileId, name: "a.txt", parent_ref: scene.docs },
    });
    const read = await scene.provider.read({
      id: scene.fileId,
      signal: new AbortController().signal,
    });
    if (read.kind !== "ok") throw new Error(read.kind);
    expect((await buffer(read.stream)).toString()).toBe("text");
  });

  const failures: readonly Failure[] = [
    { kind: "stale" },
    { kind: "conflict" },
    { kind: "forbidden" },
    { kind: "unknown_outcome" },
  ];
  for (const failure of failures)
    test(`a restore that fails with ${failure.kind} records nothing`, async () => {
      await using scene = await openScene();
      const before = await scene.t.audit();
      scene.storage.fail("restore", failure);
      const { trash } = scene.t.cloud;
      expect(await trash.restore(scene.mira, scene.connection, "t3")).toEqual(failure);
      scene.storage.fail("emptyTrash", failure);
      expect(await trash.empty(scene.mira, scene.connection)).toEqual(failure);
      expect(await scene.t.audit()).toEqual(before);
    });

  test("emptying is audited with the number of items", async () => {
    await using scene = await openScene();
    const emptied = await scene.t.cloud.trash.empty(scene.mira, scene.connection);
    expect(emptied).toEqual({ kind: "emptied", removed: 1, isComplete: true });
    expect((await scene.t.audit()).at(-1)).toEqual({
      event_type: "cloud.trash_emptied",
      metadata: { connection_id: scene.connection, removed: 1 },
    });
  });

  test("is unsupported where the storage has no trash", async () => {
    await using scene = await openScene({ ...memoryCapabilities, trash: false });
    const { trash } = scene.t.cloud;
    const { mira, connection } = scene;
    const before = await scene.t.audit();
    for (const outcome of [
      await trash.list(mira, connection, undefined),
      await trash.restore(mira, connection, "t1"),
      await trash.empty(mira, connection),
    ])
      expect(outcome.kind).toBe("unsupported");
    expect(await scene.t.audit()).toEqual(before);
  });
});
