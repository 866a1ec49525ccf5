import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AskBatch } from "../../../../../daemon/forge/imports/large-file-batch.ts";
import { createMirrorJobs } from "../../../../../daemon/forge/imports/mirrors.service.ts";
import { createLargeFilePush } from "../../../../../daemon/forge/imports/push-large-files.ts";
import type { EnqueuedJob } from "../../../../../daemon/jobs/queue.ts";
import type { GuardedUpload } from "../../../../../daemon/outbound/guarded-upload.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import { DamagedObject } from "../../../../../storage/objects/verified-reads.ts";
import { insertUser } from "../../../../../storage/tables/forge/accounts/users.ts";
import { insertLargeFile } from "../../../../../storage/tables/forge/repositories/large-files.ts";
import {
  findMirror,
  type ForgeMirror,
  insertMirror,
} from "../../../../../storage/tables/forge/repositories/mirrors.ts";
import { insertRepository } from "../../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

// A repository with three files, and a server that takes a minute and more for each.
const FILES = ["one", "two", "three"];
const UPLOAD_MS = 70_000;
const oidOf = (bytes: string) => createHash("sha256").update(bytes).digest("hex");
const remote = {
  address: "https://git.example/mira/notes",
  credentials: { username: "mira", password: "secret", token: "" },
};
const { signal } = new AbortController();

let db: Database;
let directory: string;
/** The commit that names the files. */
let commit: string;
let mirror: ForgeMirror;
let now = 0;
let queued: EnqueuedJob[] = [];

beforeEach(async () => {
  db = await openTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "croft-push-large-"));
  const run = (args: readonly string[], input = "") =>
    execFileSync("git", args, { cwd: directory, encoding: "utf8", input }).trim();
  run(["init", "-q", "--bare"]);
  const blobs = FILES.map((bytes) => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oidOf(bytes)}\nsize ${bytes.length}\n`;
    return `100644 blob ${run(["hash-object", "-w", "--stdin"], pointer)}\t${bytes}`;
  });
  const tree = run(["mktree"], `${blobs.join("\n")}\n`);
  const author = ["-c", "user.name=mira", "-c", "user.email=mira@example.org"];
  commit = run([...author, "commit-tree", tree, "-m", "Add files"]);
  run(["update-ref", "refs/heads/main", commit]);
  mirror = await db.transaction(async (tx) => {
    const mira = await insertUser(tx, newUserRow("mira"));
    const { id: repositoryId } = await insertRepository(tx, newRepositoryRow(mira, "notes"));
    for (const bytes of FILES)
      await insertLargeFile(tx, { repositoryId, sha256: oidOf(bytes), size: bytes.length });
    const row = { repositoryId, actorId: mira.id, direction: "push" as const, name: "to" };
    const rest = { address: remote.address, intervalSeconds: 0, syncOnCommit: false };
    const times = { nextAt: undefined, syncedAt: undefined };
    return insertMirror(tx, { ...row, ...rest, ...times }, () => "");
  });
  queued = [];
});
afterEach(async () => {
  await db.close();
  await rm(directory, { recursive: true });
});

const upload: GuardedUpload = async ({ url, body }) => {
  await body.toArray();
  now += UPLOAD_MS;
  arrived.add(url.slice(-64));
  return { kind: "answered", status: 200, headers: {}, body: Buffer.alloc(0), isCut: false };
};
let arrived = new Set<string>();
beforeEach(() => {
  arrived = new Set();
});

function openPush({
  isKept = () => true,
  send = upload,
  assertWanted = async () => undefined,
  without = [],
}: {
  isKept?: () => boolean;
  send?: GuardedUpload;
  assertWanted?: () => Promise<void>;
  without?: readonly string[];
} = {}) {
  const askBatch: AskBatch = async (_remote, _operation, pointers) => {
    const none = { download: undefined, upload: undefined, verify: undefined };
    const files = pointers.map(({ oid }) => {
      const isThere = arrived.has(oid) && isKept();
      const link = { url: `https://git.example/put/${oid}`, headers: {} };
      return [oid, { actions: isThere ? none : { ...none, upload: link }, refusal: undefined }];
    });
    return { status: 200, files: new Map(files as never) };
  };
  const push = createLargeFilePush({
    db,
    clock: () => now,
    git: createGit({ searchPath: process.env["PATH"] ?? "" }),
    store: {
      open: async (sha256: string) =>
        Readable.from([Buffer.from(FILES.find((bytes) => oidOf(bytes) === sha256) ?? "")]),
    } as never,
    askBatch,
    request: undefined as never,
    upload: send,
    leastRate: { graceMs: 20, bytesPerSecond: 1 },
  });
  const from = { directory, repositoryId: mirror.repositoryId, remote, without };
  return { push, run: () => push({ ...from, assertWanted }, signal) };
}

test("a push leaves its place to others between two files, and goes on where it was", async () => {
  const { push } = openPush();
  let pushes = 0;
  const jobs = createMirrorJobs({
    db,
    clock: () => now,
    git: createGit({ searchPath: process.env["PATH"] ?? "" }),
    moves: { complete: async () => true },
    locate: async () => directory,
    enqueue: async (_tx: unknown, job: EnqueuedJob) => queued.push(job),
    seals: { openOfMirror: () => remote.credentials },
    remotes: {
      push: async () => {
        pushes += 1;
      },
    },
    pushLargeFiles: push,
  } as never);
  const run = () => jobs.job.run({ mirrorId: mirror.id }, { id: 1, attempt: 1, signal });
  await run();
  expect(await findMirror(db, mirror.id)).toMatchObject({
    lastError: "the files of Git LFS are being pushed: 2 of 3",
    failures: 0,
    syncedAt: undefined,
  });
  expect([queued.length, arrived.size, pushes]).toEqual([1, 2, 0]);
  await run();
  expect(await findMirror(db, mirror.id)).toMatchObject({ lastError: "", hasLargeFiles: true });
  expect([queued.length, arrived.size, pushes]).toEqual([1, 3, 1]);
});

test("commits that arrive while the mirror is pushed are looked at by the next push", async () => {
  const jobs = createMirrorJobs({
    db,
    clock: () => now,
    git: createGit({ searchPath: process.env["PATH"] ?? "" }),
    moves: { complete: async () => true },
    locate: async () => directory,
    seals: { openOfMirror: () => remote.credentials },
    remotes: {
      push: async () => {
        execFileSync("git", ["update-ref", "refs/heads/later", "main"], { cwd: directory });
      },
    },
    pushLargeFiles: async () => ({
      tips: new Map([["refs/heads/main", "a".repeat(40)]]),
      isComplete: true,
      note: "",
    }),
  } as never);
  await jobs.job.run({ mirrorId: mirror.id }, { id: 1, attempt: 1, signal });
  expect(await findMirror(db, mirror.id)).toMatchObject({ lastError: "", hasLargeFiles: false });
});

test("files of commits that the server has are not looked at, and its commits that are missing here do not matter", async () => {
  const missing = "f".repeat(40);
  expect(await openPush({ without: [missing, commit] }).run()).toMatchObject({ isComplete: true });
  expect(arrived.size).toBe(0);
  await expect(openPush({ without: [missing] }).run()).rejects.toThrow("are being pushed: 2 of 3");
});

test("a damaged file is not counted as one that the server has dropped", async () => {
  let uploads = 0;
  let tookMs = UPLOAD_MS;
  const send: GuardedUpload = (file) => {
    uploads += 1;
    if (uploads % 3 !== 2) return upload(file);
    now += tookMs;
    file.body.destroy();
    return Promise.reject(new DamagedObject("a".repeat(64)));
  };
  await expect(openPush({ send }).run()).rejects.toThrow("are being pushed: 1 of 3");
  arrived.clear();
  [uploads, tookMs] = [0, 0];
  await expect(openPush({ send }).run()).resolves.toMatchObject({
    isComplete: false,
    note: "files of Git LFS that are damaged here were not pushed: 1",
  });
  expect(arrived.size).toBe(2);
});

test("a server that takes files and keeps none is not sent them for ever", async () => {
  const { run } = openPush({ isKept: () => false });
  await expect(run()).rejects.toThrow(
    "(2 of 3 are there): the server does not keep the files that it takes",
  );
});

test("a mirror that is removed meanwhile gets no further file", async () => {
  let looked = 0;
  const assertWanted = async () => {
    looked += 1;
    if (looked === 2) throw new Error("removed");
  };
  await expect(openPush({ assertWanted }).run()).rejects.toThrow("removed");
  expect(arrived.size).toBe(1);
});

test("a server that takes a file too slowly is left", async () => {
  const send: GuardedUpload = async ({ signal: ends, body }) => {
    await new Promise((resolve) => ends.addEventListener("abort", resolve));
    body.destroy();
    return { kind: "failed", reason: "aborted" };
  };
  await expect(openPush({ send }).run()).rejects.toThrow(
    "(0 of 3 are there): a file is taken too slowly",
  );
});
