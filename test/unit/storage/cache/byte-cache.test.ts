import { createHash, randomBytes } from "node:crypto";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { createByteCache, type ByteCache } from "../../../../storage/cache/byte-cache.ts";
import type { Fetched } from "../../../../storage/cache/fill.ts";
import type { CacheRequest, FetchFrom } from "../../../../storage/cache/transfer.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { insertConnection } from "../../../../storage/tables/vault/connections.ts";
import { insertVaultUser } from "../../../../storage/tables/vault/users.ts";
import { openFilesBelow } from "../../../support/open-files.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";
import { tickAfter } from "../../../support/storage/file-clock.ts";
import { toAccountId, toConnectionId } from "../../../../storage/tables/vault/ids.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

type Failure = { readonly kind: "offline" };
type Fetch = CacheRequest<string, Failure>["fetch"];

interface TestCache extends AsyncDisposable {
  cache: ByteCache;
  readonly db: Database;
  readonly folder: string;
  readonly errors: string[];
  now: number;
  limit: number;
  /** Wants `bytes` under the key of `name`; counts how often they were fetched. */
  get(name: string, bytes: Uint8Array, options?: GetOptions): Promise<Buffer | string>;
  fetches(name: string): number;
  /** The finished files, by key. */
  files(): Promise<string[]>;
  pathOf(name: string): string;
  rows(): Promise<{ cache_key: string; size: number }[]>;
  /** Closes the cache and opens it again on the same folder. */
  restart(): Promise<void>;
  /** Waits until background writes are complete. */
  waitForWrites(): Promise<void>;
}

interface GetOptions {
  readonly fetch?: Fetch;
  readonly size?: "unknown";
  /** Nothing is known of the bytes yet. */
  readonly isUnknown?: true;
}

const keyOf = (name: string) => createHash("sha256").update(name).digest("hex");

async function openTestCache(limit = 64 * MIB): Promise<TestCache> {
  const folder = await mkdtemp(join(tmpdir(), "croft-cache-"));
  const db = await openTestDatabase();
  await db.transaction((tx) =>
    insertVaultUser(tx, {
      id: toAccountId("u"),
      handle: "mira",
      email: "m@example.org",
      passwordHash: "",
      role: "user",
      passwordMustChange: false,
    }),
  );
  await insertConnection(db, {
    id: toConnectionId("c"),
    userId: toAccountId("u"),
    provider: "local_folder",
    displayName: "",
    settings: {},
    credentials: "",
    probeResult: undefined,
    isBelowLocalRoots: false,
    capabilities: undefined,
    status: "connected",
    generation: 1,
    quotaUsedBytes: undefined,
    quotaTotalBytes: undefined,
    createdAt: 0,
    lastCheckedAt: undefined,
  });
  const errors: string[] = [];
  const counts = new Map<string, number>();
  let ids = 0;
  const state = { now: 1_000_000, limit };
  const open = () =>
    createByteCache({
      db,
      folder,
      clock: () => state.now,
      newId: () => `id-${++ids}`,
      limitOf: async () => state.limit,
      memoryBytes: 1 * MIB,
      onError: (error, what) => errors.push(`${what}: ${String(error)}`),
    });
  const t: TestCache = {
    cache: await open(),
    db,
    folder,
    errors,
    get now() {
      return state.now;
    },
    set now(value) {
      state.now = value;
    },
    get limit() {
      return state.limit;
    },
    set limit(value) {
      state.limit = value;
    },
    async get(name, bytes, options = {}) {
      const outcome = await t.cache.open<string, Failure>({
        userId: toAccountId("u"),
        connectionId: toConnectionId("c"),
        key: options.isUnknown === true ? undefined : keyOf(name),
        flight: name,
        fetch: async (from, signal) => {
          counts.set(name, (counts.get(name) ?? 0) + 1);
          return (options.fetch ?? serve(name, bytes, options.size === "unknown"))(from, signal);
        },
      });
      if (outcome.kind !== "ok") return outcome.kind;
      try {
        return outcome.bytes.buffer === undefined
          ? await buffer(await outcome.bytes.open())
          : Buffer.from(outcome.bytes.buffer);
      } finally {
        outcome.bytes.release();
      }
    },
    fetches: (name) => counts.get(name) ?? 0,
    async files() {
      const names = await readdir(folder, { recursive: true, withFileTypes: true });
      return names
        .filter((entry) => entry.isFile() && entry.name.length === 64)
        .map((entry) => entry.name)
        .sort();
    },
    pathOf: (name) => join(folder, keyOf(name).slice(0, 2), keyOf(name).slice(2, 4), keyOf(name)),
    rows: () => db.all("SELECT cache_key, size FROM vault_cache_entries ORDER BY cache_key"),
    async restart() {
      await t.cache.close();
      t.cache = await open();
    },
    waitForWrites: () => t.cache.idle(),
    async [Symbol.asyncDispose]() {
      await t.cache.close();
      await db.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return t;
}

/** Serves bytes, or the requested range of them. */
function serve(name: string, bytes: Uint8Array, isSizeUnknown = false): Fetch {
  return async (from) =>
    fetched(name, Readable.from(chunks(bytes, from)), isSizeUnknown ? undefined : bytes.length);
}

function fetched(name: string, stream: Readable, size: number | undefined): Fetched<string> {
  return { kind: "ok", key: keyOf(name), size, meta: name, stream };
}

function* chunks(bytes: Uint8Array, from: FetchFrom<string> | undefined) {
  const end = from?.end === undefined ? bytes.length : from.end + 1;
  for (let at = from?.start ?? 0; at < end; at += 64 * KIB)
    yield Buffer.from(bytes.subarray(at, Math.min(at + 64 * KIB, end)));
}

/** Compares bytes without printing them. */
function same(actual: unknown, expected: Uint8Array): void {
  if (!Buffer.isBuffer(actual)) throw new Error(`no bytes: ${String(actual)}`);
  expect([actual.length, actual.equals(expected)]).toEqual([expected.length, true]);
}

describe("reading through the cache", () => {
  test.each([0, 1, 5 * KIB, 256 * KIB, 256 * KIB + 1, 3 * MIB])(
    "%d bytes are fetched once and served completely",
    async (size) => {
      await using t = await openTestCache();
      const bytes = randomBytes(size);
      same(await t.get("a", bytes), bytes);
      await t.waitForWrites();
      same(await t.get("a", bytes), bytes);
      await t.restart();
      same(await t.get("a", bytes), bytes);
      expect(t.fetches("a")).toBe(1);
      expect(t.errors).toEqual([]);
    },
  );

  test("ranges are given while a file grows and afterwards", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(2 * MIB);
    for (const _round of ["growing", "kept"]) {
      const outcome = await t.cache.open<string, Failure>({
        userId: toAccountId("u"),
        connectionId: toConnectionId("c"),
        key: keyOf("a"),
        flight: "a",
        fetch: serve("a", bytes),
      });
      if (outcome.kind !== "ok") throw new Error(outcome.kind);
      const spans = [
        [0, 0],
        [MIB, MIB + 99],
        [2 * MIB - 1, 2 * MIB - 1],
        [0, 2 * MIB - 1],
      ] as const;
      const parts = await Promise.all(
        spans.map(async ([start, end]) => buffer(await outcome.bytes.open({ start, end }))),
      );
      spans.forEach(([start, end], at) => same(parts[at], bytes.subarray(start, end + 1)));
      outcome.bytes.release();
      await t.waitForWrites();
    }
  });

  test("bytes of unknown length are kept when they turn out to fit", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(MIB);
    same(await t.get("a", bytes, { size: "unknown" }), bytes);
    await t.waitForWrites();
    expect(await t.rows()).toMatchObject([{ size: MIB }]);
  });

  test("caches bytes of another version than requested under their own key", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(MIB);
    await t.get("old", bytes, { fetch: serve("new", bytes) });
    await t.waitForWrites();
    expect(await t.files()).toEqual([keyOf("new")]);
  });
});

describe("many want the same at once", () => {
  test.each([10 * KIB, 4 * MIB])("100 requests for %d cold bytes make one fetch", async (size) => {
    await using t = await openTestCache();
    const bytes = randomBytes(size);
    const digest = createHash("sha256").update(bytes).digest("hex");
    const all = await Promise.all(Array.from({ length: 100 }, () => t.get("a", bytes)));
    const digests = new Set(
      all.map((one) =>
        createHash("sha256")
          .update(one as Buffer)
          .digest("hex"),
      ),
    );
    expect([...digests]).toEqual([digest]);
    expect(t.fetches("a")).toBe(1);
  });

  test("a disconnected reader does not end the transfer for the others", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(12 * MIB);
    const gate = Promise.withResolvers<void>();
    const fetch: Fetch = async () =>
      fetched(
        "a",
        Readable.from(
          (async function* () {
            yield bytes.subarray(0, MIB);
            await gate.promise;
            yield bytes.subarray(MIB);
          })(),
        ),
        bytes.length,
      );
    const request = {
      userId: toAccountId("u"),
      connectionId: toConnectionId("c"),
      key: keyOf("a"),
      flight: "a",
      fetch,
    };
    const leader = await t.cache.open<string, Failure>(request);
    const follower = await t.cache.open<string, Failure>(request);
    if (leader.kind !== "ok" || follower.kind !== "ok") throw new Error("not opened");
    const leading = await leader.bytes.open();
    leading.destroy();
    leader.bytes.release();
    gate.resolve();
    same(await buffer(await follower.bytes.open()), bytes);
    follower.bytes.release();
  });

  test("aborts a transfer that all readers have left, and leaves no file", async () => {
    await using t = await openTestCache();
    let signal: AbortSignal | undefined;
    const outcome = await t.cache.open<string, Failure>({
      userId: toAccountId("u"),
      connectionId: toConnectionId("c"),
      key: keyOf("a"),
      flight: "a",
      fetch: async (_from, given) => {
        signal = given;
        return fetched("a", new Readable({ read() {} }), 20 * MIB);
      },
    });
    if (outcome.kind !== "ok") throw new Error("not opened");
    outcome.bytes.release();
    expect(signal?.aborted).toBe(true);
    await t.cache.close();
    expect(await readdir(join(t.folder, "tmp"))).toEqual([]);
    expect(t.errors).toEqual([]);
  });

  test("a file that can neither be kept nor removed is not left open", async () => {
    await using t = await openTestCache();
    const left = Promise.withResolvers<void>();
    const outcome = await t.cache.open<string, Failure>({
      userId: toAccountId("u"),
      connectionId: toConnectionId("c"),
      key: keyOf("a"),
      flight: "a",
      fetch: async () => {
        const bytes = async function* () {
          yield randomBytes(MIB);
          await left.promise;
        };
        return fetched("a", Readable.from(bytes()), MIB);
      },
    });
    if (outcome.kind !== "ok") throw new Error("not opened");
    const tmp = join(t.folder, "tmp");
    await rm(tmp, { recursive: true });
    await symlink(tmp, tmp);
    outcome.bytes.release();
    left.resolve();
    await t.waitForWrites();
    expect(t.errors).toEqual([expect.stringContaining("keeping a file: Error: ELOOP")]);
    expect(await openFilesBelow(t.folder)).toEqual([]);
  });

  test("reports a failed fetch to all its waiters but to no later request", async () => {
    await using t = await openTestCache();
    const offline: Fetch = async () => ({ kind: "offline" });
    const all = await Promise.all(
      Array.from({ length: 5 }, () =>
        t.get("a", Buffer.alloc(0), { fetch: offline, isUnknown: true }),
      ),
    );
    expect(all).toEqual(Array(5).fill("offline"));
    expect(t.fetches("a")).toBe(1);
    const bytes = randomBytes(MIB);
    same(await t.get("a", bytes), bytes);
  });

  test("an interrupted transfer is resumed for all readers", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(3 * MIB);
    const starts: number[] = [];
    const fetch: Fetch = async (from) => {
      starts.push(from?.start ?? 0);
      if (starts.length > 1) return serve("a", bytes)(from, new AbortController().signal);
      return fetched(
        "a",
        Readable.from(
          (async function* () {
            yield bytes.subarray(0, MIB);
            throw new Error("reset");
          })(),
        ),
        bytes.length,
      );
    };
    const all = await Promise.all([t.get("a", bytes, { fetch }), t.get("a", bytes, { fetch })]);
    for (const one of all) same(one, bytes);
    expect(starts).toEqual([0, MIB]);
  });

  test.each(["small", "large"])(
    "a %s transfer that fails repeatedly is an error and nothing is kept",
    async (kind) => {
      await using t = await openTestCache();
      const size = kind === "small" ? 10 * KIB : 2 * MIB;
      const fetch: Fetch = async (from) =>
        from === undefined
          ? fetched("a", Readable.from([Buffer.alloc(size / 2)]), size)
          : { kind: "offline" };
      await expect(t.get("a", Buffer.alloc(0), { fetch })).rejects.toThrow();
      await t.cache.close();
      expect(await t.files()).toEqual([]);
      expect(await t.rows()).toEqual([]);
    },
  );

  test("a limit that cannot be read fails the fetch that needed it", async () => {
    await using t = await openTestCache();
    const stream = Readable.from(chunks(randomBytes(MIB), undefined));
    const cache = await createByteCache({
      db: t.db,
      folder: join(t.folder, "other"),
      clock: () => t.now,
      newId: () => "other",
      limitOf: () => Promise.reject(new Error("busy")),
      memoryBytes: MIB,
      onError: (error) => t.errors.push(String(error)),
    });
    const opening = cache.open<string, Failure>({
      userId: toAccountId("u"),
      connectionId: toConnectionId("c"),
      key: keyOf("a"),
      flight: "a",
      fetch: async () => fetched("a", stream, MIB),
    });
    await expect(opening).rejects.toThrow("busy");
    expect(stream.destroyed).toBe(true);
  });

  test("more bytes than declared are never served as a complete file", async () => {
    await using t = await openTestCache();
    const fetch: Fetch = async () => fetched("a", Readable.from([Buffer.alloc(2 * MIB)]), MIB);
    const outcome = await t.cache.open<string, Failure>({
      userId: toAccountId("u"),
      connectionId: toConnectionId("c"),
      key: keyOf("a"),
      flight: "a",
      fetch,
    });
    if (outcome.kind !== "ok") throw new Error("not opened");
    await expect(buffer(await outcome.bytes.open())).rejects.toThrow("more bytes");
    outcome.bytes.release();
    await t.cache.close();
    expect(await t.rows()).toEqual([]);
  });
});

describe("limits", () => {
  test("the least recently used go first, per user", async () => {
    await using t = await openTestCache(3 * MIB);
    const bytes = randomBytes(MIB);
    for (const name of ["a", "b", "c"]) {
      t.now += 1000;
      await t.get(name, bytes);
      await t.waitForWrites();
    }
    t.now += 1000;
    await t.get("a", bytes);
    t.now += 1000;
    await t.get("d", bytes);
    await t.cache.close();
    expect(await t.files()).toEqual([keyOf("a"), keyOf("c"), keyOf("d")].sort());
  });

  test("an entry that is being read is not evicted", async () => {
    await using t = await openTestCache(2 * MIB);
    const bytes = randomBytes(MIB);
    await t.get("a", bytes);
    await t.waitForWrites();
    const outcome = await t.cache.open<string, Failure>({
      userId: toAccountId("u"),
      connectionId: toConnectionId("c"),
      key: keyOf("a"),
      flight: "a",
      fetch: serve("a", bytes),
    });
    if (outcome.kind !== "ok") throw new Error("not opened");
    for (const name of ["b", "c", "d"]) {
      t.now += 1000;
      await t.get(name, bytes);
    }
    await t.waitForWrites();
    expect(await t.files()).toContain(keyOf("a"));
    same(await buffer(await outcome.bytes.open()), bytes);
    outcome.bytes.release();
  });

  test("a lowered limit takes effect at once", async () => {
    await using t = await openTestCache();
    for (const name of ["a", "b", "c"]) {
      t.now += 1000;
      await t.get(name, randomBytes(MIB));
      await t.waitForWrites();
    }
    t.limit = MIB;
    await t.cache.fit(toAccountId("u"));
    expect(await t.files()).toEqual([keyOf("c")]);
    t.limit = 0;
    await t.cache.fit(toAccountId("u"));
    expect(await t.files()).toEqual([]);
  });

  test("files above the cache limit are passed through without sharing, and ranges are fetched as ranges", async () => {
    await using t = await openTestCache(MIB);
    const bytes = randomBytes(2 * MIB);
    for (const one of await Promise.all([t.get("a", bytes), t.get("a", bytes)])) same(one, bytes);
    expect(t.fetches("a")).toBe(2);
    const outcome = await t.cache.open<string, Failure>({
      userId: toAccountId("u"),
      connectionId: toConnectionId("c"),
      key: keyOf("a"),
      flight: "a",
      fetch: serve("a", bytes),
    });
    if (outcome.kind !== "ok") throw new Error("not opened");
    expect(await buffer(await outcome.bytes.open({ start: 5, end: 9 }))).toEqual(
      bytes.subarray(5, 10),
    );
    outcome.bytes.release();
    expect(await t.files()).toEqual([]);
  });

  test("bytes of a connection that was deleted meanwhile are not kept", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(MIB);
    const gate = Promise.withResolvers<void>();
    const reading = t.get("a", bytes, {
      fetch: async () =>
        fetched(
          "a",
          Readable.from(
            (async function* () {
              await gate.promise;
              yield bytes;
            })(),
          ),
          MIB,
        ),
    });
    await t.db.run("DELETE FROM vault_connections");
    gate.resolve();
    same(await reading, bytes);
    await t.cache.close();
    expect(await t.files()).toEqual([]);
    expect(t.errors).toEqual([]);
  });
});

describe("attack: damaged files", () => {
  const damages: [string, (path: string, bytes: Buffer) => Promise<void>][] = [
    ["cut short", async (path) => truncate(path, 100)],
    ["empty", async (path) => truncate(path, 0)],
    ["longer", async (path, bytes) => writeFile(path, Buffer.concat([bytes, Buffer.from("x")]))],
    [
      "flipped in one bit",
      async (path, bytes) => {
        const { atime, mtime } = await stat(path);
        const flipped = Buffer.from(bytes);
        flipped[1000] = (flipped[1000] ?? 0) ^ 1;
        await writeFile(path, flipped);
        await utimes(path, atime, mtime);
      },
    ],
    ["missing", async (path) => rm(path)],
    [
      "a link to another user's file",
      async (path, bytes) => {
        await rm(path);
        await writeFile(`${path}-other`, bytes);
        await symlink(`${path}-other`, path);
      },
    ],
    [
      "a folder",
      async (path) => {
        await rm(path);
        await mkdir(path);
      },
    ],
  ];
  for (const [what, damage] of damages)
    test.each([10 * KIB, MIB])(
      `a file that is ${what} is never served but fetched again (%d bytes)`,
      async (size) => {
        await using t = await openTestCache();
        const bytes = randomBytes(size);
        await t.get("a", bytes);
        await t.waitForWrites();
        await t.restart();
        if (size === MIB) await t.get("a", bytes);
        await tickAfter(t.pathOf("a"));
        await damage(t.pathOf("a"), bytes);
        same(await t.get("a", bytes), bytes);
        expect(t.fetches("a")).toBe(2);
        await t.waitForWrites();
        await t.restart();
        same(await t.get("a", bytes), bytes);
        expect(t.fetches("a")).toBe(2);
      },
    );

  test("bytes that are damaged during a read are not served to later readers", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(400 * KIB);
    await t.get("a", bytes);
    await t.waitForWrites();
    const request = {
      userId: toAccountId("u"),
      connectionId: toConnectionId("c"),
      key: keyOf("a"),
      flight: "a",
    };
    const outcome = await t.cache.open<string, Failure>({ ...request, fetch: serve("a", bytes) });
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const flipped = Buffer.from(bytes);
    flipped[1000] = (flipped[1000] ?? 0) ^ 1;
    await tickAfter(t.pathOf("a"));
    await writeFile(t.pathOf("a"), flipped);
    await buffer(await outcome.bytes.open());
    outcome.bytes.release();
    for (const _time of ["fetched again", "from the disk"]) {
      same(await t.get("a", bytes), bytes);
      await t.waitForWrites();
    }
    expect(t.fetches("a")).toBe(2);
  });

  test("a large file that the disk stored with a flipped bit is not served", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(3 * MIB);
    await t.get("a", bytes);
    await t.waitForWrites();
    const stored = await readFile(t.pathOf("a"));
    stored[2 * MIB] = (stored[2 * MIB] ?? 0) ^ 1;
    await writeFile(t.pathOf("a"), stored);
    same(await t.get("a", bytes), bytes);
    expect(t.fetches("a")).toBe(2);
  });

  test("one that cannot be dropped, because the index cannot be written, is still fetched again", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(MIB);
    await t.get("a", bytes);
    await t.waitForWrites();
    await truncate(t.pathOf("a"), 100);
    const errors: string[] = [];
    const cache = await createByteCache({
      db: { ...t.db, get: t.db.get, transaction: () => Promise.reject(new Error("full")) },
      folder: t.folder,
      clock: () => t.now,
      newId: () => "other",
      limitOf: async () => t.limit,
      memoryBytes: MIB,
      onError: (_error, what) => errors.push(what),
    });
    const outcome = await cache.open<string, Failure>({
      userId: toAccountId("u"),
      connectionId: toConnectionId("c"),
      key: keyOf("a"),
      flight: "a",
      fetch: serve("a", bytes),
    });
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    same(await buffer(await outcome.bytes.open()), bytes);
    outcome.bytes.release();
    await cache.idle();
    expect(errors[0]).toBe("looking up a file");
  });

  test("a bit that flips without any sign is found a day later", async () => {
    await using t = await openTestCache();
    const bytes = randomBytes(MIB);
    await t.get("a", bytes);
    await t.waitForWrites();
    // The first read verifies the file.
    same(await t.get("a", bytes), bytes);
    await t.db.run("UPDATE vault_cache_entries SET hash = ?", "0".repeat(64));
    same(await t.get("a", bytes), bytes);
    expect(t.fetches("a")).toBe(1);
    t.now += 25 * 3600 * 1000;
    same(await t.get("a", bytes), bytes);
    expect(t.fetches("a")).toBe(2);
  });
});

test("a folder that is emptied while it is in use is filled again, and keeps its name", async () => {
  await using t = await openTestCache();
  const bytes = randomBytes(MIB);
  await t.get("a", bytes);
  await t.waitForWrites();
  await rm(t.folder, { recursive: true });
  for (const isRestarted of [false, false, true]) {
    if (isRestarted) await t.restart();
    same(await t.get("a", bytes), bytes);
    await t.waitForWrites();
  }
  expect(t.fetches("a")).toBe(2);
  expect(t.errors).toEqual([]);
});

describe("after a crash", () => {
  test("half files, files without a row and rows without a file are removed", async () => {
    await using t = await openTestCache();
    for (const name of ["kept", "lost", "short"]) await t.get(name, randomBytes(MIB));
    await t.waitForWrites();
    await rm(t.pathOf("lost"));
    await truncate(t.pathOf("short"), 5);
    await mkdir(join(t.pathOf("orphan"), ".."), { recursive: true });
    await writeFile(t.pathOf("orphan"), "no row");
    await mkdir(join(t.folder, "ab", "cd"), { recursive: true });
    await writeFile(join(t.folder, "ab", "cd", "rubbish"), "");
    await writeFile(join(t.folder, "tmp", "half"), "half");
    await t.restart();
    expect(await readdir(join(t.folder, "tmp"))).toEqual([]);
    await t.cache.reconcile();
    expect(await t.files()).toEqual([keyOf("kept")]);
    expect((await t.rows()).map((row) => row.cache_key)).toEqual([keyOf("kept")]);
    expect(await readdir(join(t.folder, "ab", "cd"))).toEqual([]);
  });

  test("uses that were noted survive a stop", async () => {
    await using t = await openTestCache();
    await t.get("a", randomBytes(MIB));
    await t.waitForWrites();
    t.now += 5000;
    await t.get("a", Buffer.alloc(0));
    await t.restart();
    expect(await t.db.get("SELECT last_used_at FROM vault_cache_entries")).toEqual({
      last_used_at: t.now,
    });
  });

  test("files are private", async () => {
    await using t = await openTestCache();
    await t.get("a", randomBytes(MIB));
    await t.waitForWrites();
    expect((await stat(t.pathOf("a"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(t.pathOf("a"), ".."))).mode & 0o777).toBe(0o700);
    expect((await readFile(t.pathOf("a"))).length).toBe(MIB);
  });
});
