import { buffer } from "node:stream/consumers";
import { Agent } from "undici";
import { describe, expect, test } from "vitest";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import { StorageError } from "../../../../storage/engine/database.ts";
import { putObject, readObject, someBytes } from "../../../conformance/object-store.suite.ts";
import type { S3Refusal } from "../../../stand-ins/s3-signature.ts";
import { openBucketSubject } from "../../../support/cloud/bucket-objects.ts";

const SMALL = someBytes(10_000);
/** Four parts and a bit. */
const LARGE = someBytes(300_001);
const INTERNAL: S3Refusal = { status: 500, code: "InternalError" };
const DAY_MS = 86_400_000;

/** The code of the `StorageError` that work ends with. */
async function failureOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof StorageError)) throw new Error(`no StorageError: ${String(error)}`);
  return { code: error.code, message: error.message };
}

describe("a server that fails for a moment", () => {
  test.each([
    ["PUT", SMALL, /^PUT/],
    ["the beginning of parts", LARGE, /^POST .*uploads/],
    ["a part", LARGE, /^PUT .*partNumber=3/],
    ["the end of parts", LARGE, /^POST .*uploadId/],
    ["the look at what came out", LARGE, /^HEAD/],
    ["a download", SMALL, /^GET [^?]+$/],
  ])("a server that fails for a moment is retried: %s", async (_what, bytes, request) => {
    await using subject = await openBucketSubject();
    const { server, store } = subject;
    const isIt = ({
      method,
      key = "",
      query,
    }: {
      method: string;
      key?: string | undefined;
      query: ReadonlyMap<string, string>;
    }) =>
      request.test(
        `${method} ${key}${[...query].map(([name, value]) => `?${name}=${value}`).join("")}`,
      );
    server.refuse(isIt, INTERNAL, 2);
    const sha256 = await putObject(store, bytes);
    expect((await readObject(store, sha256, bytes.length))?.equals(bytes)).toBe(true);
    expect(await subject.copies(sha256)).toBe(1);
    expect(await subject.waiting()).toEqual([]);
    expect(subject.waits).toHaveLength(2);
    expect(subject.waits[1]).toBeGreaterThan(subject.waits[0] ?? NaN);
  });

  test("a listing is retried on a temporary failure, after the delay that the server requests", async () => {
    await using subject = await openBucketSubject();
    const sha256 = await putObject(subject.other, SMALL);
    subject.server.refuse(
      ({ query }) => query.has("list-type"),
      { status: 503, code: "SlowDown", headers: { "retry-after": "3" } },
      1,
    );
    expect((await readObject(subject.store, sha256, SMALL.length))?.equals(SMALL)).toBe(true);
    expect(subject.waits).toEqual([3000]);
  });

  test("a publish that keeps failing ends without an object or leftovers, and can be retried", async () => {
    await using subject = await openBucketSubject();
    const { server, store } = subject;
    for (const bytes of [SMALL, LARGE]) {
      server.refuse(({ method }) => method === "PUT", INTERNAL);
      expect(await failureOf(putObject(store, bytes))).toEqual({
        code: "busy",
        message: "the bucket refused a new object (offline, InternalError)",
      });
      expect(await subject.waiting()).toEqual([]);
      expect(server.store.versions("")).toEqual([]);
      server.calm();
      expect(await subject.copies(await putObject(store, bytes))).toBe(1);
      server.store.versions("").forEach(({ key }) => server.store.remove(key));
    }
  });

  test("a sweep does not delete objects whose state it could not read during a temporary failure", async () => {
    await using subject = await openBucketSubject();
    for (const text of ["a", "b", "c", "d", "e"]) await putObject(subject.other, Buffer.from(text));
    await subject.age(2 * DAY_MS);
    subject.server.refuse(({ query }) => query.has("continuation-token"), INTERNAL);
    const sweeping = subject.store.sweep({
      before: subject.now() - DAY_MS,
      isInUse: async () => true,
    });
    expect((await failureOf(sweeping)).code).toBe("busy");
    expect(subject.server.store.versions("objects/")).toHaveLength(5);
  });
});

describe("a connection that breaks", () => {
  test.each([
    ["in the middle of a file on its way in", SMALL, 5_000],
    ["in the middle of a part", LARGE, 5_000],
  ])("%s is begun again", async (_what, bytes, after) => {
    await using subject = await openBucketSubject();
    subject.proxy.faults.cutNextUpload(after);
    const sha256 = await putObject(subject.store, bytes);
    expect((await readObject(subject.other, sha256, bytes.length))?.equals(bytes)).toBe(true);
    expect(await subject.waiting()).toEqual([]);
  });

  test.each([
    ["a short file", SMALL, /^PUT/],
    ["the end of parts", LARGE, /^POST .*uploadId/],
  ])("after %s was taken does not make it twice", async (_what, bytes, request) => {
    await using subject = await openBucketSubject();
    subject.proxy.loseNext(({ method, path }) => request.test(`${method} ${path}`));
    const sha256 = await putObject(subject.store, bytes);
    expect(await subject.copies(sha256)).toBe(1);
    expect(await subject.waiting()).toEqual([]);
    expect((await readObject(subject.store, sha256, bytes.length))?.equals(bytes)).toBe(true);
  });

  test("a connection that breaks in the middle of a download resumes from the last byte", async () => {
    await using subject = await openBucketSubject();
    const sha256 = await putObject(subject.store, LARGE);
    subject.proxy.faults.cutNextBody(100_000);
    const before = subject.proxy.log.length;
    expect((await readObject(subject.store, sha256, LARGE.length))?.equals(LARGE)).toBe(true);
    expect(subject.proxy.log.length - before).toBe(2);
    subject.proxy.faults.cutNextBody(10);
    const part = await readObject(subject.store, sha256, LARGE.length, { start: 7, end: 200_007 });
    expect(part?.equals(LARGE.subarray(7, 200_008))).toBe(true);
  });

  test("again and again is an error, never a short file", async () => {
    await using subject = await openBucketSubject();
    const { store, proxy } = subject;
    const sha256 = await putObject(store, LARGE);
    const isDownload = ({ method }: { readonly method: string }) => method === "GET";
    const cutEach = () =>
      proxy.after(isDownload, async () => {
        proxy.faults.cutNextBody(50_000);
        cutEach();
      });
    cutEach();
    await expect(readObject(store, sha256, LARGE.length)).rejects.toThrow("was aborted");
    expect(proxy.log.filter((line) => line.startsWith("GET"))).toHaveLength(4);
  });

  test("before anything was read is `busy`, and the bucket is said to be out of reach", async () => {
    await using subject = await openBucketSubject();
    const sha256 = await putObject(subject.store, SMALL);
    expect(await subject.store.reach()).toBeUndefined();
    subject.proxy.faults.refuse();
    expect(await subject.store.reach()).toMatchObject({ kind: "offline" });
    expect(await failureOf(subject.store.open(sha256, SMALL.length))).toMatchObject({
      code: "busy",
    });
    expect(await failureOf(putObject(subject.store, SMALL))).toMatchObject({ code: "busy" });
    expect(await subject.waiting()).toEqual([]);
    subject.proxy.faults.clear();
    expect((await readObject(subject.store, sha256, SMALL.length))?.equals(SMALL)).toBe(true);
  });

  test("a connection that breaks by falling silent is noticed", async () => {
    await using subject = await openBucketSubject();
    const agent = new Agent();
    const dispatcher = subject.proxy.impatient(agent);
    const store = subject.connect({ dispatcher }, subject.proxy.origin);
    subject.proxy.faults.stall();
    expect(await store.reach()).toMatchObject({ kind: "offline" });
    subject.proxy.faults.clear();
    expect(await store.reach()).toBeUndefined();
    await agent.destroy();
  });
});

describe("bytes that are not as they should be", () => {
  test("an object is not kept when the server stores other bytes", async () => {
    await using subject = await openBucketSubject();
    subject.server.alterUploads();
    expect(await failureOf(putObject(subject.store, SMALL))).toEqual({
      code: "busy",
      message: "the bucket refused a new object (offline, stored_otherwise)",
    });
    expect(subject.server.store.versions("")).toEqual([]);
    expect(await subject.waiting()).toEqual([]);
  });

  test("an object that another program replaced by bytes of another length is not returned", async () => {
    await using subject = await openBucketSubject();
    const { store, server } = subject;
    const sha256 = await putObject(store, SMALL);
    const [{ key } = { key: "" }] = server.store.versions("objects/");
    server.store.put(key, SMALL.subarray(1), {});
    expect(await store.open(sha256, SMALL.length)).toBeUndefined();
    expect(await store.open(sha256, SMALL.length, { start: 0, end: 9 })).toBeUndefined();
    // The same bytes again mend it.
    await putObject(store, SMALL);
    expect((await readObject(store, sha256, SMALL.length))?.equals(SMALL)).toBe(true);
  });

  test("are exact behind a proxy that ignores ranges or compresses", async () => {
    await using subject = await openBucketSubject();
    const { store, proxy } = subject;
    const sha256 = await putObject(store, LARGE);
    const range = { start: 1_000, end: 222_222 };
    proxy.faults.ignoreNextRange();
    const cut = await readObject(store, sha256, LARGE.length, range);
    expect(cut?.equals(LARGE.subarray(1_000, 222_223))).toBe(true);
    proxy.faults.compress();
    for (const one of [store, store]) {
      const part = await readObject(one, sha256, LARGE.length, range);
      expect(part?.equals(LARGE.subarray(1_000, 222_223))).toBe(true);
      expect((await readObject(one, sha256, LARGE.length))?.equals(LARGE)).toBe(true);
    }
  });
});

describe("a key that may not", () => {
  test.each<[string, S3Refusal, string]>([
    ["is refused", { status: 403, code: "AccessDenied" }, "busy"],
    ["is not known any more", { status: 403, code: "InvalidAccessKeyId" }, "busy"],
    ["finds no bucket", { status: 404, code: "NoSuchBucket" }, "busy"],
    ["finds no room", { status: 403, code: "QuotaExceeded" }, "full"],
  ])("%s: %j", async (_what, refusal, code) => {
    await using subject = await openBucketSubject();
    const { store, server } = subject;
    const sha256 = await putObject(store, SMALL);
    server.refuse(() => true, refusal);
    expect((await failureOf(putObject(store, SMALL))).code).toBe(code);
    expect((await failureOf(store.open(sha256, SMALL.length))).code).toBe(code);
    const sweeping = store.sweep({ before: Infinity, isInUse: async () => false });
    expect((await failureOf(sweeping)).code).toBe(code);
    server.calm();
    expect(await subject.copies(sha256)).toBe(1);
  });
});

describe("several daemons", () => {
  test("find an object that was published again when a sweep removed the copy they knew", async () => {
    await using subject = await openBucketSubject();
    const { store, other, server } = subject;
    const sha256 = await putObject(store, SMALL);
    expect(
      await store.open(sha256, SMALL.length).then((stream) => stream && buffer(stream)),
    ).toEqual(SMALL);
    const [{ key } = { key: "" }] = server.store.versions("objects/");
    await putObject(other, SMALL);
    server.store.remove(key);
    expect((await readObject(store, sha256, SMALL.length))?.equals(SMALL)).toBe(true);
  });

  test("determine age by the server's clock, however wrong their own is", async () => {
    const serverTime = Date.parse("2026-11-21T12:00:00Z");
    await using subject = await openBucketSubject({ server: { clock: () => serverTime } });
    const sha256 = await putObject(subject.store, SMALL);
    // Within the quarter of an hour that signatures allow.
    await subject.age(600_000);
    const sweep = (store: ObjectStore) =>
      store.sweep({ before: subject.now() - 300_000, isInUse: async () => false });
    expect(await sweep(subject.store)).toEqual({ objects: 0, bytes: 0 });
    expect(await subject.copies(sha256)).toBe(1);
  });

  test("keep foreign objects in the bucket, and delete the leftovers of a killed daemon", async () => {
    await using subject = await openBucketSubject({ root: "croft/" });
    const { store, server } = subject;
    const foreign = [
      "objects/old",
      `croft/objects/${"a".repeat(64)}`,
      `croft/objects/${"a".repeat(64)}/notes.txt`,
      "croft/croft-owner",
      "crofts/x",
    ];
    for (const key of foreign) server.store.put(key, Buffer.from("theirs"), {});
    server.store.put("croft/probe/left", Buffer.from("croft"), {});
    const ours = server.store.startUpload(`croft/objects/${"b".repeat(64)}/x`, {});
    const theirs = server.store.startUpload("elsewhere", {});
    await subject.age(2 * DAY_MS);
    const young = server.store.startUpload(`croft/objects/${"c".repeat(64)}/x`, {});
    await store.sweep({ before: subject.now() - DAY_MS, isInUse: async () => false });
    expect(server.store.versions("").map(({ key }) => key)).toEqual(foreign.toSorted());
    expect([...server.store.uploads.keys()].toSorted()).toEqual([theirs, young].toSorted());
    expect(server.store.uploads.has(ours)).toBe(false);
  });

  test.each(["kept", "not_implemented"] as const)(
    "of two databases: the first one has the bucket (conditions %s)",
    async (conditions) => {
      await using subject = await openBucketSubject({ server: { conditions } });
      const claims = [
        await subject.store.claim("one"),
        await subject.other.claim("one"),
        await subject.other.claim("two"),
      ];
      expect(claims).toEqual(Array.from({ length: 3 }, () => ({ kind: "owned", by: "one" })));
    },
  );
});
