import { Readable } from "node:stream";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { createImportJob } from "../../../../../daemon/forge/imports/import-job.ts";
import { newProgress } from "../../../../../daemon/forge/imports/import-parts.ts";
import { createLargeFileImport } from "../../../../../daemon/forge/imports/import-large-files.ts";
import { createImportShare } from "../../../../../daemon/forge/imports/import-share.ts";
import { createLargeFileBatches } from "../../../../../daemon/forge/imports/large-file-batch.ts";
import { createReleaseImport } from "../../../../../daemon/forge/imports/import-releases.ts";
import { SourceAway } from "../../../../../daemon/forge/imports/source.ts";
import {
  createSourceFiles,
  type FetchSourceFile,
} from "../../../../../daemon/forge/imports/source-files.ts";
import type { EnqueuedJob } from "../../../../../daemon/jobs/queue.ts";
import type { GuardedRequest } from "../../../../../daemon/outbound/guarded-request.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import type { Git } from "../../../../../storage/git/git.ts";
import type { ObjectStore } from "../../../../../storage/objects/object-store.ts";
import type { RepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  findImport,
  insertImport,
} from "../../../../../storage/tables/forge/repositories/imports.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

// The job of one import with a source that the test plays, and a clock that it turns.
const quiet = () => undefined;
const log: Log = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  fatal: quiet,
  child: () => log,
  isLevelEnabled: () => false,
};
const notUsed = () => Promise.reject(new Error("not used here"));
const { signal } = new AbortController();
const ADDRESS = "https://git.example/octo/notes";

let db: Database;
let now: number;
let enqueued: EnqueuedJob[];
let repositoryId: RepositoryId;

beforeEach(async () => {
  now = 1_000_000;
  enqueued = [];
  db = await openTestDatabase({ clock: () => now });
  onTestFinished(() => db.close());
});

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

async function open(
  parts: readonly ("labels" | "milestones" | "releases" | "large_files")[],
  answer: (path: string) => Answer,
  {
    bytesMax = 1_000_000,
    fetchFile = notUsed as FetchSourceFile,
    /** The files of Git LFS that the commits name. */
    pointers = [] as readonly { readonly oid: string; readonly size: number }[],
  } = {},
) {
  await db.transaction(async (tx) => {
    const mira = await insertUser(tx, newUserRow("mira"));
    const repository = await insertRepository(tx, newRepositoryRow(mira, "notes"));
    repositoryId = repository.id;
    await insertImport(tx, {
      repositoryId,
      actorId: mira.id,
      service: "gitea",
      address: ADDRESS,
      sealedCredentials: undefined,
      parts: [...parts],
      progress: newProgress(parts),
    });
  });
  const request: GuardedRequest = async ({ url }) => {
    const { status, headers = {}, body = {} } = answer(url.slice(url.indexOf("notes") + 5));
    const bytes = Buffer.from(JSON.stringify(body));
    return { kind: "answered", status, headers, body: bytes, isCut: false };
  };
  const job = createImportJob({
    db,
    clock: () => now,
    log,
    enqueue: async (_tx, each) => enqueued.push(each),
    seals: undefined as never,
    request,
    preparePulls: notUsed,
    importReleases: createReleaseImport({
      db,
      git: {} as Git,
      runInFolder: (async () => ["v1", "v2", "v3"].map((id) => ({ id }))) as never,
      fetchFile,
      newUuid: () => `asset-${now}`,
      uploadBytesMax: 1_000,
    }),
    openLargeFiles: createLargeFileImport({
      db,
      git: {} as Git,
      runInFolder: (async () => pointers) as never,
      askBatch: createLargeFileBatches({ request, clock: () => now }),
      fetchFile,
      uploadBytesMax: 1_000,
      largeFileBytesMax: 0,
    }),
    bytesMax,
    computePulls: async () => undefined,
  });
  return {
    run: () => job.run({ repositoryId }, { id: 1, attempt: 1, signal }),
    state: () => findImport(db, repositoryId),
  };
}

test("a source that limits requests for ever is asked ever more seldom, and fails in the end", async () => {
  let asked = 0;
  const { run, state } = await open(["labels"], () => {
    asked += 1;
    return { status: 429, headers: { "retry-after": "1" } };
  });
  const waits: number[] = [];
  do {
    await run();
    const next = enqueued.pop();
    if (next?.runAt === undefined) break;
    waits.push(next.runAt - now);
    now = next.runAt;
  } while (waits.length < 1_000);
  expect(asked).toBe(101);
  expect(waits.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(waits.at(-1)).toBe(3_600_000);
  expect(await state()).toMatchObject({
    state: "failed",
    error: "the source limits requests too often",
  });
});

test("a refusal with a time is a limit on requests, one without is final", async () => {
  let headers: Record<string, string> = { "retry-after": "60", "x-ratelimit-remaining": "4000" };
  const { run, state } = await open(["labels"], () => ({ status: 403, headers }));
  await run();
  expect(enqueued).toMatchObject([{ runAt: now + 60_000 }]);
  expect(await state()).toMatchObject({ state: "waiting", progress: { pauses: 1 } });
  headers = {};
  await run();
  expect(await state()).toMatchObject({
    state: "failed",
    error: "the source refuses the credentials (status 403)",
  });
});

test("an import leaves its place after two minutes, and begins the next time where it was", async () => {
  let pages = 0;
  const { run, state } = await open(["labels"], () => {
    pages += 1;
    now += 61_000;
    return {
      status: 200,
      headers: { link: pages < 5 ? '<x>; rel="next"' : "" },
      body: [{ name: `label ${pages}` }],
    };
  });
  await run();
  expect(pages).toBe(2);
  expect(await state()).toMatchObject({ state: "waiting", progress: { page: 3, pauses: 0 } });
  expect(enqueued).toMatchObject([{ key: String(repositoryId), runAt: now }]);
  await run();
  await run();
  expect(pages).toBe(5);
  expect(await state()).toMatchObject({ state: "done", progress: { imported: { labels: 5 } } });
});

test("releases with large files are imported over several attempts, each at least one release, and none is fetched twice", async () => {
  const at = "2024-03-01T10:00:00Z";
  const release = (tag: string) => ({
    tag_name: tag,
    target_commitish: "main",
    name: tag,
    body: "",
    draft: true,
    prerelease: false,
    author: { login: "octo" },
    created_at: at,
    published_at: at,
    assets: [{ name: "a.zip", browser_download_url: `${ADDRESS}/${tag}` }],
  });
  const fetched: string[] = [];
  const { run, state } = await open(
    ["releases"],
    () => ({ status: 200, headers: { link: "" }, body: ["v3", "v2", "v1"].map(release) }),
    {
      bytesMax: 250_000,
      async fetchFile({ url, bytesMax, count }) {
        now += 121_000;
        fetched.push(`${url.slice(-2)} of ${bytesMax}`);
        count?.(249_500);
        return undefined;
      },
    },
  );
  for (let attempt = 1; attempt <= 3; attempt += 1) await run();
  // Bytes of files that are not kept count over all attempts.
  expect(fetched).toEqual(["v1 of 1000", "v2 of 500", "v3 of 0"]);
  expect(await state()).toMatchObject({
    state: "done",
    progress: { imported: { releases: 3 }, allPauses: 2, fileBytes: 748_500 },
  });
});

test("a file of Git LFS that takes longer than a place is held and is left out is fetched once", async () => {
  const pointers = ["a", "b", "c"].map((letter) => ({ oid: letter.repeat(64), size: 3 }));
  const objects = pointers.map(({ oid }) => ({
    oid,
    actions: { download: { href: `${ADDRESS}/${oid.slice(0, 1)}` } },
  }));
  const fetched: string[] = [];
  const { run, state } = await open(
    ["large_files"],
    () => ({ status: 200, body: { objects: objects.slice(0, 2) } }),
    {
      pointers,
      async fetchFile({ url, count }) {
        now += 121_000;
        fetched.push(url.slice(-1));
        count?.(3);
        // The first is not the file that the commit names.
        return fetched.length === 1
          ? undefined
          : { sha256: "b".repeat(64), size: 3, head: Buffer.alloc(0) };
      },
    },
  );
  for (let attempt = 1; attempt <= 3; attempt += 1) await run();
  expect(fetched).toEqual(["a", "b"]);
  expect(await state()).toMatchObject({
    state: "done",
    progress: { imported: { large_files: 1 }, skipped: { large_files: 2 }, leftOut: [] },
  });
});

test("a fork on another server gets no credentials, and one that refuses or is away has no files", async () => {
  const repository = await db.transaction(async (tx) => {
    const mira = await insertUser(tx, newUserRow("mira"));
    return insertRepository(tx, newRepositoryRow(mira, "forked"));
  });
  const asked: unknown[] = [];
  let status = 403;
  const request: GuardedRequest = async ({ url, headers }) => {
    asked.push([url.replace("/info/lfs/objects/batch", ""), headers["authorization"] ?? ""]);
    if (status === 0) return { kind: "failed", reason: "the connection was refused" };
    return { kind: "answered", status, headers: {}, body: Buffer.from("{}"), isCut: false };
  };
  const progress = newProgress(["large_files", "pulls"]);
  const share = createImportShare({ clock: () => now, bytesMax: 1_000, progress });
  const openFiles = createLargeFileImport({
    db,
    git: {} as Git,
    runInFolder: (async () => [{ oid: "a".repeat(64), size: 3 }]) as never,
    askBatch: createLargeFileBatches({ request, clock: () => now }),
    fetchFile: notUsed,
    uploadBytesMax: 1_000,
    largeFileBytesMax: 0,
  });
  const credentials = { username: "mira", password: "secret", token: "" };
  const { importOfFork } = openFiles(repository, { address: ADDRESS, credentials }, share);
  const { origin } = new URL(ADDRESS);
  for (const each of [403, 500, 0]) {
    status = each;
    await importOfFork({ address: "https://elsewhere.example/o/notes.git", heads: [] }, signal);
    await importOfFork({ address: `${origin}/otto/notes.git`, heads: [] }, signal);
  }
  const own = `Basic ${btoa("mira:secret")}`;
  expect(asked.slice(0, 2)).toEqual([
    ["https://elsewhere.example/o/notes.git", ""],
    [`${origin}/otto/notes.git`, own],
  ]);
  expect(asked.length).toBe(6);
  expect(share.counted().forkFiles).toBe(0);
  status = 429;
  await expect(
    importOfFork({ address: `${origin}/otto/notes.git`, heads: [] }, signal),
  ).rejects.toThrow("limits requests");
});

test("the pages of an import have a maximum of bytes in all, over all attempts", async () => {
  let isAway = false;
  const { run, state } = await open(
    ["labels", "milestones"],
    (path) => {
      if (isAway) return { status: 503 };
      isAway = path.endsWith("page=4&limit=50");
      return {
        status: 200,
        headers: { link: '<x>; rel="next"' },
        body: [{ name: "bug", description: "x".repeat(10_000) }],
      };
    },
    { bytesMax: 65_000 },
  );
  await expect(run()).rejects.toThrow(SourceAway);
  expect((await state())?.progress).toMatchObject({ page: 5 });
  isAway = false;
  await run();
  expect(await state()).toMatchObject({
    state: "failed",
    error: "it sends more than is allowed",
    progress: { page: 7 },
  });
});

test("a file that arrives more slowly than the least rate is left, and its bytes are counted", async () => {
  let discarded = 0;
  const store = {
    createPlain: async () => ({
      size: 0,
      write: async () => undefined,
      discard: async () => void (discarded += 1),
    }),
  } as unknown as ObjectStore;
  const fetchFile = createSourceFiles({
    store,
    clock: () => 0,
    leastRate: { graceMs: 100, bytesPerSecond: 1_000_000 },
    async download({ signal: ends }) {
      const body = new Readable({ read: quiet });
      const timer = setInterval(() => body.push("x"), 2);
      ends.addEventListener("abort", () => {
        clearInterval(timer);
        body.destroy(new Error("aborted"));
      });
      return { kind: "answered", status: 200, headers: {}, size: undefined, body };
    },
  });
  let bytes = 0;
  const fetching = fetchFile(
    { url: ADDRESS, headers: {}, bytesMax: 1_000, count: (more) => void (bytes += more) },
    signal,
  );
  await expect(fetching).rejects.toThrow("a file arrives too slowly");
  expect(bytes).toBeGreaterThan(0);
  expect(discarded).toBe(1);
});
