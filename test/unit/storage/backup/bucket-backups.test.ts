import { buffer } from "node:stream/consumers";
import { Agent } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { createBucketBackups } from "../../../../storage/backup/bucket-backups.ts";
import { StorageError } from "../../../../storage/engine/database.ts";
import { someBytes } from "../../../conformance/object-store.suite.ts";
import { startS3Server } from "../../../stand-ins/s3-server.ts";
import { startFaultProxy } from "../../../support/cloud/fault-proxy.ts";

const NOW = Date.parse("2026-11-23T03:45:00Z");
const DAY_MS = 86_400_000;
const PART_BYTES = 64 * 1024;
/** Five parts, of which the last one is short. */
const ARCHIVE = someBytes(300_001);

/** A bucket of the stand-in behind a proxy that injects faults, with the backups of `root` in it. */
async function openSubject(root = "nightly/", partBytesMin = 1024) {
  const server = await startS3Server({ pageEntries: 3, partBytesMin, clock: () => NOW });
  const proxy = await startFaultProxy({
    target: server.origin,
    isDownload: ({ method, path }) => method === "GET" && !path.includes("?"),
  });
  const dispatcher = new Agent();
  const ending = new AbortController();
  onTestFinished(async () => {
    await dispatcher.destroy();
    await proxy[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const keys = {
    accessKeyId: server.key.id,
    secretAccessKey: server.key.secret,
    sessionToken: undefined,
  };
  const { bucket, region } = server;
  const backups = createBucketBackups({
    address: { endpoint: proxy.origin, region, bucket, isPathStyle: true, keys },
    root,
    limits: { partBytes: PART_BYTES, partsMax: 10, partsAtOnce: 2 },
    dispatcher,
    retries: { sleep: async () => undefined, random: () => 0.5 },
    clock: () => NOW,
    signal: ending.signal,
  });
  return { server, proxy, backups, ending };
}

/** A backup of this time, as far as its beginning goes. */
function toArchive(now: number): Buffer {
  const info = Buffer.from(
    JSON.stringify({ format: 1, version: "1", created_at: new Date(now).toISOString() }),
  );
  const head = Buffer.alloc(512);
  head.write("backup.json", 0, "latin1");
  head.write(info.byteLength.toString(8).padStart(11, "0"), 124, "latin1");
  return Buffer.concat([head, info, Buffer.alloc(512 - info.byteLength)]);
}

type Backups = Awaited<ReturnType<typeof openSubject>>["backups"];

/** Uploads bytes in chunks that fit no part. */
function put(backups: Backups, bytes = ARCHIVE, now = NOW, home?: string) {
  return backups.put({ now, home, bytes: bytes.byteLength }, async (write) => {
    for (let at = 0; at < bytes.byteLength; at += 10_007)
      await write(bytes.subarray(at, at + 10_007));
    return "written";
  });
}

async function read(backups: Backups): Promise<Buffer> {
  const [backup] = await backups.list();
  if (backup === undefined) throw new Error("there is no backup");
  return buffer(await backups.open(backup));
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof StorageError)) throw new Error(`no StorageError: ${String(error)}`);
  return error.code;
}

describe("backups in a bucket", () => {
  test.each([1, PART_BYTES, PART_BYTES + 1, ARCHIVE.byteLength])(
    "an archive of %d bytes is read back unchanged",
    async (length) => {
      const { backups } = await openSubject();
      const bytes = ARCHIVE.subarray(0, length);
      expect(await put(backups, bytes)).toEqual({
        name: "croft-home-20261123-034500.tar",
        result: "written",
      });
      expect(await backups.list()).toEqual([
        {
          name: "croft-home-20261123-034500.tar",
          bytes: length,
          createdAt: NOW,
          home: undefined,
        },
      ]);
      expect((await read(backups)).equals(bytes)).toBe(true);
    },
  );

  test("parts grow with the size that is expected, so that a large archive fits their number", async () => {
    const { backups, server } = await openSubject("", 1024);
    const bytes = someBytes(1_200_000);
    await put(backups, bytes);
    const parts = server.log.filter((line) => line.includes("partNumber"));
    expect(parts.length).toBeLessThanOrEqual(10);
    expect((await read(backups)).equals(bytes)).toBe(true);
  });

  test("a home that outgrows the maximum number of parts fails without a backup", async () => {
    const { backups, server } = await openSubject();
    const grown = someBytes(PART_BYTES * 10 + 1);
    const work = backups.put({ now: NOW, home: undefined, bytes: 1000 }, (write) => write(grown));
    expect(await codeOf(work)).toBe("failed");
    expect(server.store.uploads.size).toBe(0);
  });

  test("parts whose answer or body is lost are sent again", async () => {
    const { backups, proxy, server } = await openSubject();
    server.refuse(
      ({ query }) => query.has("partNumber"),
      { status: 500, code: "InternalError" },
      2,
    );
    proxy.faults.cutNextUpload(5_000);
    await put(backups);
    expect((await read(backups)).equals(ARCHIVE)).toBe(true);
  });

  test("a download whose connection breaks is resumed", async () => {
    const { backups, proxy } = await openSubject();
    await put(backups);
    proxy.faults.cutNextBody(100_000);
    expect((await read(backups)).equals(ARCHIVE)).toBe(true);
  });

  test.each([
    ["the beginning", /^POST .*uploads/],
    ["a part", /^PUT .*partNumber=3/],
    ["the end", /^POST .*uploadId/],
  ])("a server that fails at %s leaves neither backup nor parts", async (_what, request) => {
    const { backups, server } = await openSubject();
    server.refuse(
      ({ method, query }) =>
        request.test(
          `${method} ${[...query].map(([name, value]) => `${name}=${value}`).join("&")}`,
        ),
      { status: 500, code: "InternalError" },
    );
    expect(await codeOf(put(backups))).toBe("busy");
    server.calm();
    expect(server.store.uploads.size).toBe(0);
    expect(await backups.list()).toEqual([]);
  });

  test("a backup that fails while it is written leaves neither object nor parts", async () => {
    const { backups, server } = await openSubject();
    const failure = new Error("a file cannot be read");
    const work = backups.put({ now: NOW, home: undefined, bytes: 1000 }, async (write) => {
      await write(ARCHIVE);
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    expect(server.store.uploads.size).toBe(0);
    expect(server.store.versions("")).toEqual([]);
  });

  test("an interruption aborts the upload", async () => {
    const { backups, server, ending } = await openSubject();
    const work = backups.put({ now: NOW, home: undefined, bytes: 1000 }, async (write) => {
      await write(ARCHIVE);
      ending.abort();
      await write(ARCHIVE);
    });
    await expect(work).rejects.toThrow();
    expect(server.store.uploads.size).toBe(0);
  });

  test("parts that a crash left behind are discarded after two days", async () => {
    const { backups, server } = await openSubject();
    const key = "nightly/croft-home-20261120-034500.tar";
    server.store.startUpload(key, {});
    server.store.startUpload("nightly/another-program", {});
    server.store.age(3 * DAY_MS);
    server.store.startUpload("nightly/croft-home-20261123-034400.tar", {});
    await put(backups);
    expect([...server.store.uploads.values()].map((upload) => upload.key)).toEqual([
      "nightly/another-program",
      "nightly/croft-home-20261123-034400.tar",
    ]);
  });

  test("only the oldest scheduled backups of the same home are deleted", async () => {
    const { backups, server } = await openSubject();
    const homes = ["aaaaaaaa", "aaaaaaaa", "aaaaaaaa", "aaaaaaaa", "bbbbbbbb", undefined];
    for (const [day, home] of homes.entries())
      await put(backups, toArchive(NOW - (6 - day) * DAY_MS), NOW - (6 - day) * DAY_MS, home);
    // Another program's, under the name of the oldest backup that goes.
    server.store.put("nightly/croft-home-20261101-034500-aaaaaaaa.tar", someBytes(3000), {});
    server.store.put("nightly/notes.txt", someBytes(3), {});
    expect(await backups.prune("aaaaaaaa", 2)).toBe(2);
    expect((await backups.list()).map(({ name }) => name)).toEqual([
      "croft-home-20261101-034500-aaaaaaaa.tar",
      "croft-home-20261119-034500-aaaaaaaa.tar",
      "croft-home-20261120-034500-aaaaaaaa.tar",
      "croft-home-20261121-034500-bbbbbbbb.tar",
      "croft-home-20261122-034500.tar",
    ]);
    expect(server.store.current("nightly/notes.txt")).toBeDefined();
  });

  test("two backups of the same second do not replace each other", async () => {
    const { backups } = await openSubject();
    await put(backups, someBytes(5));
    expect(await codeOf(put(backups))).toBe("conflict");
    expect((await read(backups)).equals(someBytes(5))).toBe(true);
  });
});
