import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, stat, truncate, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import Database from "better-sqlite3";
import type { VaultCaller } from "../daemon/vault/caller.ts";
import type { CloudProviderType } from "../storage/cloud/provider.ts";
import { openDatabase } from "../storage/engine/open.ts";
import { createMemoryStorage } from "../test/support/cloud/memory-provider.ts";
import { openTestCloud } from "../test/support/cloud/vault-cloud.ts";
import { makeHome } from "./daemon.ts";
import { atLeast, atMost, median, report, residentMiB } from "./measure.ts";
import { call, copyDurably, curl, registerUser, watchMemory } from "./vault-client.ts";
import type { ConnectionId } from "../storage/tables/vault/ids.ts";

// Cloud storage: the overhead of the byte cache and the records over the storage itself.

const MIB = 1024 ** 2;
const MISS_BYTES = 200 * MIB;
const PARALLEL = 100;
const SHARED_BYTES = 64 * MIB;
const UPLOAD_BYTES = 2048 * MIB;
const ITEMS = 50_000;
const ROUNDS = 5;
const CHANGES = 600;

await measureTransfers();
await measureListings();
await measureChanges();

/** Over HTTP, on the built daemon: cold against uncached, many at once, a large upload. */
async function measureTransfers(): Promise<void> {
  await using home = await makeHome();
  const files = join(home.home, "files", "mira");
  await mkdir(files, { recursive: true });
  const daemon = await home.serve({
    CROFT_LOCAL_ROOTS: join(home.home, "files"),
    CROFT_ACCESS_TOKEN_SECONDS: "86400",
    CROFT_BYTE_CACHE_BYTES: String(4096 * MIB),
  });
  try {
    const bearer = await registerUser(daemon.url, "mira");
    const { id } = await call<{ id: string }>(
      `${daemon.url}/api/cloud/connections`,
      "POST",
      { provider: "local_folder", display_name: "Files", settings: { root: files } },
      bearer,
    );
    const base = `${daemon.url}/api/cloud/connections/${id}`;
    const limit = (bytes: number) =>
      call(
        `${daemon.url}/api/cloud/analysis-settings`,
        "PATCH",
        { byte_cache_limit_bytes: bytes },
        bearer,
      );
    const download = (name: string) =>
      curl(["-H", `Authorization: ${bearer}`, "-o", "/dev/null", `${base}/items/${name}/download`]);

    const misses: { direct: number; miss: number; hit: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const name = `miss-${round}.bin`;
      await writeFile(join(files, name), randomBytes(MISS_BYTES));
      await call(`${base}/items?refresh=true`, "GET", undefined, bearer);
      await limit(0);
      const direct = await download(name);
      await limit(4096 * MIB);
      const miss = await download(name);
      await download(name);
      misses.push({ direct, miss, hit: await download(name) });
      await unlink(join(files, name));
    }
    const rate = (seconds: number) => `${Math.round(MISS_BYTES / MIB / seconds)} MiB/s`;

    const shared = "shared.bin";
    await writeFile(join(files, shared), randomBytes(SHARED_BYTES));
    await call(`${base}/items?refresh=true`, "GET", undefined, bearer);
    const idle = await residentMiB(daemon.pid);
    const peak = watchMemory(daemon.pid);
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: PARALLEL }, () => download(shared)));
    const sharedSeconds = (performance.now() - startedAt) / 1000;
    const sharedPeak = await peak.stop();

    const source = join(home.home, "upload.bin");
    await writeFile(source, "");
    await truncate(source, UPLOAD_BYTES);
    const uploads: { plain: number; croft: number }[] = [];
    let uploadPeak = 0;
    let uploadIdle = 0;
    for (let round = 0; round < 3; round++) {
      const plain = await copyDurably(source, join(files, "plain.bin"));
      await unlink(join(files, "plain.bin"));
      uploadIdle = await residentMiB(daemon.pid);
      const watch = watchMemory(daemon.pid);
      const croft = await curl([
        "-H",
        `Authorization: ${bearer}`,
        "-F",
        "parent_ref=",
        "-F",
        `file=@${source};filename=upload-${round}.bin`,
        "-o",
        "/dev/null",
        `${base}/items/upload`,
      ]);
      uploadPeak = Math.max(uploadPeak, await watch.stop());
      if ((await stat(join(files, `upload-${round}.bin`))).size !== UPLOAD_BYTES)
        throw new Error("a short upload");
      await unlink(join(files, `upload-${round}.bin`));
      uploads.push({ plain, croft });
    }
    report(
      "Cloud transfers",
      "croft passes bytes on and keeps a copy: it may cost a third of the time of the storage itself and bounded memory.",
      [
        {
          label: "200 MiB: uncached, cold, cached",
          value: [misses.map((m) => m.direct), misses.map((m) => m.miss), misses.map((m) => m.hit)]
            .map((all) => rate(median(all)))
            .join(", "),
        },
        atMost(
          "cold against uncached, time",
          median(misses.map((m) => m.miss / m.direct)),
          1.3,
          "",
        ),
        {
          label: "100 cold downloads of 64 MiB at once",
          value: `${sharedSeconds.toFixed(1)} s, idle ${idle.toFixed(0)} MiB`,
        },
        atMost("resident memory meanwhile", sharedPeak, 250, "MiB"),
        {
          label: "2 GiB: plain durable copy, upload",
          value:
            uploads.map((u) => `${u.plain.toFixed(1)} s, ${u.croft.toFixed(1)} s`).at(-1) ?? "",
        },
        atLeast(
          "upload against plain copy, speed",
          median(uploads.map((u) => u.plain / u.croft)),
          0.6,
        ),
        atMost("memory above idle during uploads", uploadPeak - uploadIdle, 150, "MiB"),
      ],
    );
  } finally {
    await daemon.end("SIGTERM");
  }
}

/** In this process: a folder of 50,000 items. */
async function measureListings(): Promise<void> {
  const storage = createMemoryStorage();
  const client = storage.connect();
  const items = Array.from({ length: ITEMS }, (_, at) => ({
    id: `item-${at}`,
    name: `Document ${at}.pdf`,
    kind: "file" as const,
    parent: "",
    contentType: "application/pdf",
    size: at,
    modifiedAt: 1_700_000_000_000 + at,
    etag: `e${at}`,
    version: `v${at}`,
  }));
  let changed = 0;
  const type: CloudProviderType = {
    ...storage.type,
    connect: async () => ({
      kind: "ok",
      probeResult: {},
      provider: {
        ...client,
        list: async () => ({
          kind: "ok",
          items: items.map((item, at) =>
            at < changed
              ? { ...item, etag: `changed-${changed}`, version: `changed-${changed}` }
              : item,
          ),
        }),
      },
    }),
  };
  const folder = join(await makeFolder(), "croft.db");
  const db = await openDatabase(undefined, { dataDirectory: join(folder, ".."), clock: Date.now });
  await using t = await openTestCloud({ providerTypes: [type], db });
  const mira = await t.addUser("mira");
  const made = await t.cloud.connections.create(mira, {
    provider: "memory",
    display_name: "Many",
    settings: {},
    credentials: {},
  });
  if (made.kind !== "connected") throw new Error(made.kind);
  const browse = (refresh: boolean) =>
    timed(() =>
      t.cloud.listings.browse(mira, made.connection.id, {
        parentRef: "",
        after: undefined,
        limit: 100,
        refresh,
        name: undefined,
      }),
    );
  const first = await browse(true);
  t.now = Date.now() + 1000;
  const pages = [];
  for (let round = 0; round < 50; round++) pages.push(await browse(false));
  const same = [];
  for (let round = 0; round < ROUNDS; round++) same.push(await browse(true));
  const all = [];
  for (let round = 0; round < ROUNDS; round++) {
    changed = ITEMS - round;
    all.push(await browse(true));
  }
  report(
    "A folder of 50,000 items",
    "A folder is opened by a person who waits: a page at once, a listing within a second.",
    [
      atMost("first page once listed", median(pages), 10, "ms"),
      atMost("listed for the first time", first, 1000, "ms"),
      atMost("listed again, nothing changed", median(same), 1000, "ms"),
      atMost("listed again, everything changed", median(all), 1000, "ms"),
    ],
  );
  await db.close();
  await rm(join(folder, ".."), { recursive: true });
}

/** In this process: rename, move and delete with their records, against the same statements in a bare loop. */
async function measureChanges(): Promise<void> {
  const storage = createMemoryStorage();
  const folder = await makeFolder();
  const db = await openDatabase(undefined, { dataDirectory: folder, clock: Date.now });
  await using t = await openTestCloud({ providerTypes: [storage.type], db });
  const mira = await t.addUser("mira");
  const made = await t.cloud.connections.create(mira, {
    provider: "memory",
    display_name: "x",
    settings: {},
    credentials: {},
  });
  if (made.kind !== "connected") throw new Error(made.kind);
  const connection = made.connection.id;
  const target = await makeItems(t, mira, connection);
  const bare = openBare(join(folder, "bare.db"));
  const rounds: { croft: number; bare: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const names = Array.from({ length: CHANGES / 3 }, (_, at) => `${round}-${at}`);
    const ids: string[] = [];
    for (const name of names) ids.push(await upload(t, mira, connection, name));
    const croft = await timed(async () => {
      for (const item_id of ids) {
        const place = { connection_id: connection, item_id };
        await expectKind(
          t.cloud.changes.rename(mira, place, { new_name: `r-${item_id}` }),
          "renamed",
        );
        await expectKind(
          t.cloud.changes.move(mira, place, { destination_parent_ref: target }),
          "moved",
        );
        await expectKind(t.cloud.changes.delete(mira, place), "deleted");
      }
    });
    rounds.push({
      croft: CHANGES / croft,
      bare: CHANGES / (await timed(async () => bare(CHANGES))),
    });
  }
  report(
    "Changes with their records",
    "A change writes its record and audit record in one durable transaction, so it may take three times the bare statements.",
    [
      {
        label: "croft, bare loop",
        value: `${Math.round(median(rounds.map((r) => r.croft)) * 1000)}, ${Math.round(median(rounds.map((r) => r.bare)) * 1000)} changes/s`,
      },
      atLeast("ratio", median(rounds.map((r) => r.croft / r.bare)), 0.3),
    ],
  );
  await db.close();
  await rm(folder, { recursive: true });
}

async function makeItems(
  t: Awaited<ReturnType<typeof openTestCloud>>,
  mira: VaultCaller,
  connection: ConnectionId,
): Promise<string> {
  const made = await t.cloud.changes.createFolder(mira, connection, {
    parent_ref: null,
    name: "target",
  });
  if (made.kind !== "folder") throw new Error(made.kind);
  return made.item.id;
}

async function upload(
  t: Awaited<ReturnType<typeof openTestCloud>>,
  mira: VaultCaller,
  connection: ConnectionId,
  name: string,
): Promise<string> {
  const result = await t.cloud.uploads.upload(mira, connection, {
    parentRef: undefined,
    name,
    contentType: undefined,
    content: Readable.from([Buffer.from("x")]),
    size: 1,
  });
  if (result.kind !== "uploaded") throw new Error(result.kind);
  return result.item.id;
}

/** The statements of a change, each in a transaction of its own, with nothing around them. */
function openBare(path: string): (changes: number) => void {
  const db = new Database(path);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.exec(
    `CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, parent TEXT, etag TEXT);
     CREATE TABLE folders (id TEXT PRIMARY KEY, state TEXT, mutations INTEGER);
     CREATE TABLE audit (id INTEGER PRIMARY KEY, event TEXT, metadata TEXT, at INTEGER);
     CREATE INDEX audit_at ON audit (at); CREATE INDEX items_parent ON items (parent, name);
     INSERT INTO items VALUES (1, 'a', '', 'e');`,
  );
  const update = db.prepare("UPDATE items SET name = ?, etag = ? WHERE id = 1");
  const read = db.prepare("SELECT * FROM items WHERE id = 1");
  const mark = db.prepare(
    "INSERT INTO folders VALUES ('x', ?, 1) ON CONFLICT (id) DO UPDATE SET state = excluded.state, mutations = mutations + 1",
  );
  const record = db.prepare("INSERT INTO audit (event, metadata, at) VALUES (?, ?, ?)");
  const change = db.transaction((at: number) => {
    update.run(`name ${at}`, `e${at}`);
    read.get();
    mark.run("rename_mutated");
    record.run(
      "cloud.item_renamed",
      JSON.stringify({ connection_id: "x", provider_item_id: "y", new_name: `name ${at}` }),
      at,
    );
  });
  return (changes) => {
    for (let at = 0; at < changes; at++) change(at);
  };
}

async function expectKind(result: Promise<{ readonly kind: string }>, kind: string): Promise<void> {
  const got = await result;
  if (got.kind !== kind) throw new Error(`${got.kind} instead of ${kind}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "croft-bench-"));
}
