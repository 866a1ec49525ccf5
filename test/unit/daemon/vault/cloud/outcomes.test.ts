import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { cloudItemEndpoints } from "../../../../../daemon/contract/vault/cloud/items.ts";
import type { AnyEndpoint } from "../../../../../daemon/contract/endpoint.ts";
import { cloudRoutes } from "../../../../../daemon/vault/cloud/cloud.feature.ts";
import type { VaultCaller } from "../../../../../daemon/vault/caller.ts";
import { StorageError, type Database } from "../../../../../storage/engine/database.ts";
import type { Failure, ReadFailure } from "../../../../../storage/cloud/outcomes.ts";
import { callRoute, type RouteReply } from "../../../../support/call-route.ts";
import {
  createMemoryStorage,
  type MemoryStorage,
  type Verb,
} from "../../../../support/cloud/memory-provider.ts";
import { openTestCloud, type TestCloud } from "../../../../support/cloud/vault-cloud.ts";
import type { ConnectionId } from "../../../../../storage/tables/vault/ids.ts";

interface Scene extends AsyncDisposable {
  readonly t: TestCloud;
  readonly storage: MemoryStorage;
  readonly mira: VaultCaller;
  readonly connection: ConnectionId;
  readonly folder: string;
  readonly file: string;
  call(endpoint: AnyEndpoint, input?: Parameters<typeof callRoute>[3]): Promise<RouteReply>;
  upload(name: string, text: string): Promise<RouteReply>;
  state(parent?: string): Promise<unknown>;
}

const place = (scene: Scene, item_id = scene.file) => ({
  connection_id: scene.connection,
  item_id,
});

async function openScene(options: Parameters<typeof openTestCloud>[0] = {}): Promise<Scene> {
  const storage = createMemoryStorage();
  const t = await openTestCloud({ providerTypes: [storage.type], ...options });
  const mira = await t.addUser("mira");
  const made = await t.cloud.connections.create(mira, {
    provider: "memory",
    display_name: "Memory",
    settings: {},
    credentials: {},
  });
  if (made.kind !== "connected") throw new Error(made.kind);
  const connection = made.connection.id;
  const routes = cloudRoutes(t.cloud);
  const call: Scene["call"] = (endpoint, input = {}) =>
    callRoute(routes, endpoint, mira, { params: { connection_id: connection }, ...input });
  const client = storage.connect();
  const signal = new AbortController().signal;
  const folder = await client.createFolder({ parent: "", name: "folder", signal });
  const file = await client.upload({
    parent: "",
    name: "file.txt",
    content: Readable.from([Buffer.from("hello")]),
    size: 5,
    contentType: undefined,
    signal,
  });
  if (folder.kind !== "ok" || file.kind !== "ok") throw new Error("no scene");
  await call(cloudItemEndpoints.listItems);
  await call(cloudItemEndpoints.listItems, { query: { parent_ref: folder.item.id } });
  storage.calls.length = 0;
  return {
    t,
    storage,
    mira,
    connection,
    folder: folder.item.id,
    file: file.item.id,
    call,
    upload: (name, text) =>
      call(cloudItemEndpoints.uploadItem, {
        body: {
          fields: {},
          file: {
            field: "file",
            filename: name,
            contentType: "text/plain",
            stream: Readable.from([Buffer.from(text)]),
            size: undefined,
          },
        },
      }),
    state: async (parent = "") =>
      t.db.get(
        "SELECT refresh_state, error_code FROM vault_folders WHERE connection_id = ? AND parent_ref = ?",
        connection,
        parent,
      ),
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

/** The document's table of failed changes: the provider's failure, status, body. */
const failures: [Failure, number, object][] = [
  [{ kind: "stale" }, 409, { kind: "stale", reason: "item_changed" }],
  [{ kind: "conflict" }, 409, { kind: "conflict", reason: "name_collision" }],
  [
    { kind: "invalid_destination", reason: "not_a_folder" },
    409,
    { kind: "invalid_destination", reason: "not_a_folder" },
  ],
  [{ kind: "reauth" }, 401, { kind: "reauth_required", reason: "provider_error" }],
  [{ kind: "unsupported" }, 422, { kind: "unsupported_operation", reason: "provider_unsupported" }],
  [
    { kind: "invalid_name", rule: "reserved_name" },
    422,
    { kind: "invalid_name", reason: "reserved_name" },
  ],
  [{ kind: "offline", sent: true }, 503, { kind: "offline", reason: "provider_error" }],
  [
    { kind: "rate_limited", retryAfterSeconds: 40 },
    503,
    { kind: "offline", reason: "rate_limited" },
  ],
  [{ kind: "quota_exceeded" }, 503, { kind: "failed", reason: "quota_exceeded" }],
  [{ kind: "forbidden" }, 503, { kind: "failed", reason: "permission_denied" }],
  [{ kind: "locked" }, 503, { kind: "failed", reason: "locked" }],
  [{ kind: "unknown_outcome" }, 503, { kind: "failed", reason: "unknown_outcome" }],
];

const changes: [string, Verb, (scene: Scene) => Promise<RouteReply>][] = [
  [
    "create folder",
    "createFolder",
    (scene) =>
      scene.call(cloudItemEndpoints.createFolder, { body: { parent_ref: null, name: "new" } }),
  ],
  [
    "rename",
    "rename",
    (scene) =>
      scene.call(cloudItemEndpoints.renameItem, {
        params: place(scene),
        body: { new_name: "other.txt" },
      }),
  ],
  [
    "move",
    "move",
    (scene) =>
      scene.call(cloudItemEndpoints.moveItem, {
        params: place(scene),
        body: { destination_parent_ref: scene.folder },
      }),
  ],
  [
    "delete",
    "delete",
    (scene) => scene.call(cloudItemEndpoints.deleteItem, { params: place(scene) }),
  ],
  ["upload", "upload", (scene) => scene.upload("new.txt", "text")],
];

describe("a change that the provider refuses", () => {
  for (const [name, verb, act] of changes)
    for (const [failure, status, body] of failures)
      test(`maps the failure of a change: ${name}, ${failure.kind}`, async () => {
        await using scene = await openScene();
        const times = Array<Failure>(10).fill(failure);
        scene.storage.fail(verb, ...times);
        const reply = await act(scene);
        const isUploadConflict = verb === "upload" && failure.kind === "conflict";
        const isUnsupportedFolder = verb === "createFolder" && failure.kind === "unsupported";
        if (isUploadConflict)
          expect(reply).toMatchObject({ status: 200, body: { ...body, existing_name: "new.txt" } });
        else if (isUnsupportedFolder) expect(reply).toMatchObject({ status: 201, body });
        else expect([reply.status, reply.body]).toEqual([status, body]);
        if (failure.kind === "rate_limited") expect(reply.headers["Retry-After"]).toBe("40");
        expect(await scene.t.audit()).toEqual([]);
        const needsListing = failure.kind === "stale" || failure.kind === "unknown_outcome";
        expect(await scene.state()).toEqual(
          needsListing
            ? { refresh_state: "warning", error_code: "stale_listing" }
            : { refresh_state: "fresh", error_code: null },
        );
        expect(
          await scene.t.db.get(
            "SELECT name FROM vault_items WHERE provider_item_id = ?",
            scene.file,
          ),
        ).toEqual({ name: "file.txt" });
      });

  test("leaves the connection connected when only the name or the item is refused", async () => {
    await using scene = await openScene();
    const status = async () =>
      (await scene.t.cloud.connections.get(scene.mira, scene.connection)).status;
    const refusals: Failure[] = [
      { kind: "invalid_name", rule: "refused_by_provider", note: "400" },
      { kind: "unsupported", note: "400" },
      { kind: "forbidden", note: "403" },
      { kind: "locked" },
      { kind: "quota_exceeded" },
    ];
    for (const refusal of refusals) {
      scene.storage.fail("upload", ...Array<Failure>(10).fill(refusal));
      await scene.upload("a\\b", "text");
      expect([refusal.kind, await status()]).toEqual([refusal.kind, "connected"]);
      scene.storage.recover();
    }
  });

  test("a change that the provider refuses is retried only when it certainly did not happen", async () => {
    await using scene = await openScene();
    scene.storage.fail(
      "rename",
      { kind: "offline", sent: false },
      { kind: "rate_limited", retryAfterSeconds: 2 },
    );
    const reply = await scene.call(cloudItemEndpoints.renameItem, {
      params: place(scene),
      body: { new_name: "other.txt" },
    });
    expect(reply.body).toMatchObject({ kind: "renamed", name: "other.txt" });
    expect(scene.storage.calls).toEqual(["rename", "rename", "rename"]);
    scene.storage.calls.length = 0;
    scene.storage.fail("rename", { kind: "offline", sent: true });
    expect(
      (
        await scene.call(cloudItemEndpoints.renameItem, {
          params: place(scene),
          body: { new_name: "third.txt" },
        })
      ).status,
    ).toBe(503);
    expect(scene.storage.calls).toEqual(["rename"]);
  });

  test("a refused sign-in is recorded: no further request is sent until the connection is repaired", async () => {
    await using scene = await openScene();
    scene.storage.fail("rename", { kind: "reauth" });
    await scene.call(cloudItemEndpoints.renameItem, {
      params: place(scene),
      body: { new_name: "other.txt" },
    });
    scene.storage.calls.length = 0;
    expect(
      (
        await scene.call(cloudItemEndpoints.renameItem, {
          params: place(scene),
          body: { new_name: "other.txt" },
        })
      ).status,
    ).toBe(401);
    const listed = await scene.call(cloudItemEndpoints.listItems, { query: { refresh: "true" } });
    expect(listed.body).toMatchObject({ refresh_state: "failed", error_code: "reauth_required" });
    expect(scene.storage.calls).toEqual([]);
    expect((await scene.t.cloud.connections.get(scene.mira, scene.connection)).status).toBe(
      "reauth_required",
    );
    const mended = await scene.t.cloud.connections.update(scene.mira, scene.connection, {
      credentials: { secret: "right" },
    });
    expect(mended.kind).toBe("connected");
    expect(
      (
        await scene.call(cloudItemEndpoints.renameItem, {
          params: place(scene),
          body: { new_name: "other.txt" },
        })
      ).status,
    ).toBe(200);
  });
});

test("credentials that a server refused once are tried again after a while, ever more seldom", async () => {
  await using scene = await openScene();
  const rename = async () =>
    (
      await scene.call(cloudItemEndpoints.renameItem, {
        params: place(scene),
        body: { new_name: "x.txt" },
      })
    ).status;
  const status = async () =>
    (await scene.t.cloud.connections.get(scene.mira, scene.connection)).status;
  for (const waitMs of [30_000, 60_000]) {
    scene.storage.fail("rename", { kind: "reauth" });
    expect(await rename()).toBe(401);
    scene.t.now += waitMs - 1;
    scene.storage.calls.length = 0;
    expect(await rename()).toBe(401);
    expect(scene.storage.calls).toEqual([]);
    scene.t.now += 1;
  }
  expect(await rename()).toBe(200);
  expect(await status()).toBe("connected");
});

test("two replacements of credentials at once have generations of their own", async () => {
  await using scene = await openScene();
  const replace = (secret: string) =>
    scene.t.cloud.connections.update(scene.mira, scene.connection, { credentials: { secret } });
  const { generation } = await scene.t.cloud.connections.get(scene.mira, scene.connection);
  const both = await Promise.all([replace("right"), replace("right")]);
  expect(both.map(({ kind }) => kind)).toEqual(["connected", "connected"]);
  expect((await scene.t.cloud.connections.get(scene.mira, scene.connection)).generation).toBe(
    generation + 2,
  );
});

test("a move below an item that was never listed itself is refused before any request", async () => {
  await using scene = await openScene();
  const signal = new AbortController().signal;
  const client = scene.storage.connect();
  const inner = await client.createFolder({ parent: scene.folder, name: "inner", signal });
  if (inner.kind !== "ok") throw new Error(inner.kind);
  await scene.call(cloudItemEndpoints.listItems, {
    query: { parent_ref: scene.folder, refresh: "true" },
  });
  await scene.t.db.run("DELETE FROM vault_items WHERE provider_item_id = ?", scene.folder);
  scene.storage.calls.length = 0;
  const reply = await scene.call(cloudItemEndpoints.moveItem, {
    params: place(scene, scene.folder),
    body: { destination_parent_ref: inner.item.id },
  });
  expect([reply.status, reply.body]).toEqual([
    409,
    { kind: "invalid_destination", reason: "descendant_destination" },
  ]);
  expect(scene.storage.calls).toEqual([]);
});

describe("bytes that the provider does not give", () => {
  const reads: [ReadFailure, number][] = [
    [{ kind: "reauth" }, 401],
    [{ kind: "offline", sent: true }, 503],
    [{ kind: "rate_limited", retryAfterSeconds: 40 }, 503],
    [{ kind: "forbidden" }, 503],
    [{ kind: "not_found" }, 503],
    [{ kind: "changed" }, 503],
    [{ kind: "locked" }, 503],
    [{ kind: "unsupported" }, 422],
  ];
  for (const [failure, status] of reads)
    test(`download and preview: ${failure.kind}`, async () => {
      await using scene = await openScene();
      scene.storage.fail("read", ...(Array<ReadFailure>(4).fill(failure) as never[]));
      await scene.t.db.run("UPDATE vault_items SET content_type = 'text/plain'");
      const downloaded = await scene.call(cloudItemEndpoints.downloadItem, {
        params: place(scene),
      });
      expect(downloaded.status).toBe(status);
      expect(downloaded.body).toEqual({ detail: expect.any(String) });
      if (failure.kind === "reauth") {
        await scene.t.db.run("UPDATE vault_connections SET status = 'connected'");
      }
      // The record of a file that is not found has been deleted: the next listing records it again.
      await scene.call(cloudItemEndpoints.listItems);
      scene.storage.fail("read", ...(Array<ReadFailure>(4).fill(failure) as never[]));
      const previewed = await scene.call(cloudItemEndpoints.previewItem, { params: place(scene) });
      const bytes = await buffer(await previewed.body.bytes.open());
      expect(JSON.parse(bytes.toString())).toEqual({
        kind: "unsupported_preview",
        reason: "provider_error",
        url: `/api/cloud/connections/${scene.connection}/items/${scene.file}/download`,
      });
    });

  test("an item that is missing at the provider has its folder listed again", async () => {
    await using scene = await openScene();
    scene.storage.fail("read", { kind: "not_found" });
    await scene.call(cloudItemEndpoints.downloadItem, { params: place(scene) });
    expect(await scene.state()).toEqual({ refresh_state: "warning", error_code: "stale_listing" });
  });

  test("an interrupted body is resumed from the same version", async () => {
    await using scene = await openScene();
    const bytes = Buffer.alloc(1_000_000, "x");
    scene.storage.overwrite(scene.file, bytes);
    scene.storage.cut(300_000, 100_000);
    const reply = await scene.call(cloudItemEndpoints.downloadItem, { params: place(scene) });
    const got = await buffer(await reply.body.bytes.open());
    reply.body.bytes.release();
    expect([got.length, got.equals(bytes)]).toEqual([1_000_000, true]);
    expect(scene.storage.calls).toEqual(["read", "read", "read"]);
  });

  test("a version that changes in the middle is never mixed", async () => {
    await using scene = await openScene();
    scene.storage.overwrite(scene.file, Buffer.alloc(1_000_000, "a"));
    scene.storage.cut(300_000);
    const reply = await scene.call(cloudItemEndpoints.downloadItem, { params: place(scene) });
    scene.storage.overwrite(scene.file, Buffer.alloc(1_000_000, "b"));
    const stream = await reply.body.bytes.open();
    await expect(buffer(stream)).rejects.toThrow();
    reply.body.bytes.release();
    const again = await scene.call(cloudItemEndpoints.downloadItem, { params: place(scene) });
    const got = await buffer(await again.body.bytes.open());
    again.body.bytes.release();
    expect(got.equals(Buffer.alloc(1_000_000, "b"))).toBe(true);
  });

  test("a newer version than the recorded one updates the item and is cached under its own key", async () => {
    await using scene = await openScene();
    const first = await scene.call(cloudItemEndpoints.downloadItem, { params: place(scene) });
    await scene.t.cache.idle();
    scene.storage.overwrite(scene.file, Buffer.from("changed bytes"));
    await scene.call(cloudItemEndpoints.listItems, { query: { refresh: "true" } });
    const second = await scene.call(cloudItemEndpoints.downloadItem, { params: place(scene) });
    expect(second.body.bytes.etag).not.toBe(first.body.bytes.etag);
    scene.storage.overwrite(scene.file, Buffer.from("changed again"));
    await scene.t.cache.idle();
    await scene.t.db.run("DELETE FROM vault_cache_entries");
    await scene.t.cache.reconcile();
    const third = await scene.call(cloudItemEndpoints.downloadItem, { params: place(scene) });
    expect(Buffer.from(third.body.bytes.buffer).toString()).toBe("changed again");
    const row = await scene.t.db.get(
      "SELECT version FROM vault_items WHERE provider_item_id = ?",
      scene.file,
    );
    const seen = await scene.storage
      .connect()
      .stat({ id: scene.file, signal: new AbortController().signal });
    expect(row).toEqual({ version: seen.kind === "ok" ? seen.item.version : "" });
  });
});

describe("a listing that fails", () => {
  const listings: [Failure, string][] = [
    [{ kind: "offline", sent: true }, "offline"],
    [{ kind: "reauth" }, "reauth_required"],
    [{ kind: "forbidden" }, "provider_error"],
    [{ kind: "rate_limited", retryAfterSeconds: 99 }, "provider_error"],
    [{ kind: "unsupported" }, "provider_error"],
  ];
  for (const [failure, code] of listings)
    test(`${failure.kind}: the last known items, and why`, async () => {
      await using scene = await openScene();
      scene.storage.fail("list", ...Array<Failure>(4).fill(failure));
      const reply = await scene.call(cloudItemEndpoints.listItems, { query: { refresh: "true" } });
      expect(reply.status).toBe(200);
      expect(reply.body).toMatchObject({ refresh_state: "failed", error_code: code });
      expect(reply.body.items.map((item: { name: string }) => item.name)).toEqual([
        "folder",
        "file.txt",
      ]);
      scene.storage.recover();
      if (failure.kind === "reauth")
        await scene.t.db.run("UPDATE vault_connections SET status = 'connected'");
      expect((await scene.call(cloudItemEndpoints.listItems)).body.refresh_state).toBe("fresh");
    });

  test("an unknown folder is not found", async () => {
    await using scene = await openScene();
    expect(
      (await scene.call(cloudItemEndpoints.listItems, { query: { parent_ref: "nowhere" } })).status,
    ).toBe(404);
  });

  test("a missing folder marks its parent stale", async () => {
    await using scene = await openScene();
    const signal = new AbortController().signal;
    await scene.storage.connect().delete({ id: scene.folder, expected: {}, signal });
    const reply = await scene.call(cloudItemEndpoints.listItems, {
      query: { parent_ref: scene.folder, refresh: "true" },
    });
    expect(reply.body).toMatchObject({ refresh_state: "failed", error_code: "provider_error" });
    expect(await scene.state()).toEqual({ refresh_state: "warning", error_code: "stale_listing" });
    expect((await scene.call(cloudItemEndpoints.listItems)).body.items).toHaveLength(1);
  });
});

describe("a change that cannot be recorded", () => {
  /** Returns a database of which `times` transactions fail after the provider was called. */
  function breakAfter(verb: Verb, storage: () => MemoryStorage, times: number) {
    let left = times;
    return (db: Database): Database => ({
      ...db,
      dialect: db.dialect,
      get: (sql, ...values) => db.get(sql, ...values),
      all: (sql, ...values) => db.all(sql, ...values),
      run: (sql, ...values) => db.run(sql, ...values),
      close: () => db.close(),
      transaction(work) {
        if (left === 0 || !storage().calls.includes(verb)) return db.transaction(work);
        left -= 1;
        return Promise.reject(new StorageError("full", "no room left"));
      },
    });
  }

  for (const [name, verb, act] of changes)
    test(`${name}: is returned unchanged without an audit record, and a job lists the folder again`, async () => {
      const holder: { storage?: MemoryStorage } = {};
      await using scene = await openScene({
        wrapDatabase: breakAfter(verb, () => holder.storage ?? createMemoryStorage(), 1),
      });
      holder.storage = scene.storage;
      const reply = await act(scene);
      expect([reply.status, reply.body]).toEqual([
        503,
        { kind: "recording_failed", reason: "provider_accepted" },
      ]);
      expect(await scene.t.audit()).toEqual([]);
      expect(await scene.state()).toEqual({
        refresh_state: "warning",
        error_code: "stale_listing",
      });
      expect(await scene.t.queue.runDue()).toBeGreaterThan(0);
      expect(await scene.state()).toEqual({ refresh_state: "fresh", error_code: null });
      expect(scene.t.errors).toHaveLength(1);
      const known = await scene.t.db.all(
        "SELECT name FROM vault_items WHERE deleted_at IS NULL AND parent_ref = '' ORDER BY name",
      );
      const held = await scene.storage
        .connect()
        .list({ folder: "", signal: new AbortController().signal });
      expect(known.map((row) => row["name"])).toEqual(
        held.kind === "ok" ? held.items.map((item) => item.name).sort() : [],
      );
    });

  for (const [name, verb, act] of changes)
    test(`${name}: where not even the folder can be marked, the next read lists it again`, async () => {
      const holder: { storage?: MemoryStorage } = {};
      await using scene = await openScene({
        wrapDatabase: breakAfter(verb, () => holder.storage ?? createMemoryStorage(), 2),
      });
      holder.storage = scene.storage;
      expect((await act(scene)).status).toBe(503);
      expect(await scene.state()).toEqual({ refresh_state: "fresh", error_code: null });
      const listed = await scene.call(cloudItemEndpoints.listItems);
      const held = await scene.storage
        .connect()
        .list({ folder: "", signal: new AbortController().signal });
      expect(listed.body.items.map((item: { name: string }) => item.name).sort()).toEqual(
        held.kind === "ok" ? held.items.map((item) => item.name).sort() : [],
      );
    });

  test("an upload whose daemon dies before the record is found by the job that was left before", async () => {
    const holder: { storage?: MemoryStorage } = {};
    await using scene = await openScene({
      wrapDatabase: breakAfter("upload", () => holder.storage ?? createMemoryStorage(), 2),
    });
    holder.storage = scene.storage;
    expect((await scene.upload("new.txt", "text")).status).toBe(503);
    expect(await scene.state()).toEqual({ refresh_state: "fresh", error_code: null });
    expect(await scene.t.queue.runDue()).toBe(0);
    scene.t.now += 16 * 60 * 1000;
    expect(await scene.t.queue.runDue()).toBe(1);
    const listed = await scene.call(cloudItemEndpoints.listItems);
    expect(listed.body.items.map((item: { name: string }) => item.name)).toContain("new.txt");
    // Sending it again makes no second one.
    expect((await scene.upload("new.txt", "text")).body).toEqual({
      kind: "conflict",
      reason: "name_collision",
      existing_name: "new.txt",
    });
  });

  test("a provider that takes the upload and loses its answer: the folder is listed again", async () => {
    await using scene = await openScene();
    scene.storage.failAfter("upload", { kind: "unknown_outcome" });
    expect((await scene.upload("new.txt", "text")).body).toEqual({
      kind: "failed",
      reason: "unknown_outcome",
    });
    const listed = await scene.call(cloudItemEndpoints.listItems);
    expect(listed.body.items.map((item: { name: string }) => item.name)).toContain("new.txt");
  });
});
