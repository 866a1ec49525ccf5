import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AppError } from "../../../../daemon/errors.ts";
import { openObjects } from "../../../../daemon/composition/stores.ts";
import { createFileObjects } from "../../../../storage/objects/file-objects.ts";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import { toDataDirectory } from "../../../../storage/data-directory.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { putObject, readObject } from "../../../conformance/object-store.suite.ts";
import {
  S3_KEY,
  startS3Server,
  type S3Server,
  type S3ServerOptions,
} from "../../../stand-ins/s3-server.ts";
import { testInput } from "../../../support/daemon.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

interface Start {
  readonly server?: S3ServerOptions;
  readonly env?: (server: S3Server) => Readonly<Record<string, string>>;
  readonly clock?: () => number;
  readonly prepare?: (server: S3Server) => void;
  /** Puts files into the folder of objects before the bucket is opened. */
  readonly prepareFiles?: (store: ObjectStore) => Promise<void>;
  readonly db?: Database;
  readonly bucket?: S3Server;
}

/** Opens the objects as the daemon does, on a stand-in. */
async function start(options: Start) {
  const home = await mkdtemp(join(tmpdir(), "croft-open-objects-"));
  const server = options.bucket ?? (await startS3Server(options.server));
  const db = options.db ?? (await openTestDatabase());
  const warnings: unknown[] = [];
  const env = {
    CROFT_OBJECTS_URL: `s3://${server.bucket}?endpoint=${server.origin}`,
    CROFT_OBJECTS_ACCESS_KEY_ID: S3_KEY.id,
    CROFT_OBJECTS_SECRET_ACCESS_KEY: S3_KEY.secret,
    ...options.env?.(server),
  };
  const directory = toDataDirectory(home);
  for (const folder of [directory.tmp, directory.packages]) await mkdir(folder);
  options.prepare?.(server);
  const newId = () => crypto.randomUUID();
  const { packages, tmp } = directory;
  const files = {
    folder: packages,
    tmp,
    newId,
    clock: () => Date.now(),
    onDamaged: () => undefined,
  };
  await options.prepareFiles?.(createFileObjects(files));
  let now = options.clock?.() ?? Date.now();
  const opening = openObjects({
    db,
    settings: testInput(home, { env }, []).settings,
    directory,
    log: {
      debug: () => undefined,
      info: () => undefined,
      warn: (...all: unknown[]) => void warnings.push(all),
      error: () => undefined,
      fatal: () => undefined,
      child: () => {
        throw new Error("no child of the log is needed");
      },
      isLevelEnabled: () => false,
    },
    clock: () => now,
    random: () => 0,
    newId,
  });
  return {
    opening,
    server,
    directory,
    warnings,
    pass: (ms: number) => void (now += ms),
    async end() {
      await opening.then(
        ({ close }) => close(),
        () => undefined,
      );
      if (options.bucket === undefined) await server[Symbol.asyncDispose]();
      if (options.db === undefined) await db.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function refusalOf(options: Start): Promise<{ code: string; message: string }> {
  const started = await start(options);
  try {
    const error = await started.opening.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof AppError)) throw new Error(`no refusal: ${String(error)}`);
    return { code: error.code, message: error.message };
  } finally {
    await started.end();
  }
}

describe("an unusable bucket is refused at the start, with the setting and the remedy", () => {
  const refuse =
    (code: string, status: number, accept: "all" | "DELETE" = "all") =>
    (server: S3Server) =>
      server.refuse(({ method }) => accept === "all" || method === accept, { status, code });

  test.each<[string, Start, string, string]>([
    [
      "without a key",
      { env: () => ({ CROFT_OBJECTS_SECRET_ACCESS_KEY: "" }) },
      "invalid_argument",
      "CROFT_OBJECTS_SECRET_ACCESS_KEY",
    ],
    [
      "a key that is not known",
      { env: () => ({ CROFT_OBJECTS_ACCESS_KEY_ID: "AKIAWRONG" }) },
      "invalid_argument",
      "does not take the key of objects_access_key_id (CROFT_OBJECTS_ACCESS_KEY_ID) (InvalidAccessKeyId)",
    ],
    [
      "a wrong secret",
      { env: () => ({ CROFT_OBJECTS_SECRET_ACCESS_KEY: "wrong" }) },
      "invalid_argument",
      "objects_secret_access_key (CROFT_OBJECTS_SECRET_ACCESS_KEY) is not the secret of the key",
    ],
    [
      "no such bucket",
      { env: ({ origin }) => ({ CROFT_OBJECTS_URL: `s3://other?endpoint=${origin}` }) },
      "invalid_argument",
      "There is no bucket other at http://127.0.0.1:",
    ],
    [
      "a missing region",
      { prepare: refuse("AuthorizationHeaderMalformed", 400) },
      "invalid_argument",
      "is in another region: say so in objects_url (CROFT_OBJECTS_URL)",
    ],
    [
      "clocks far apart",
      { clock: () => Date.now() - 3_600_000 },
      "invalid_argument",
      "The clocks of this machine and of the server of objects_url",
    ],
    [
      "a key that may not list or write",
      { prepare: refuse("AccessDenied", 403) },
      "invalid_argument",
      "s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject",
    ],
    [
      "a key that may not delete",
      { prepare: refuse("AccessDenied", 403, "DELETE") },
      "invalid_argument",
      "s3:DeleteObject",
    ],
    [
      "something that is no such server",
      { prepare: refuse("", 404) },
      "invalid_argument",
      "There is no bucket croft-test at",
    ],
    [
      "no server at the address",
      { env: () => ({ CROFT_OBJECTS_URL: "s3://croft-test?endpoint=http://127.0.0.1:9" }) },
      "provider_failed",
      "http://127.0.0.1:9 does not answer as it should (ECONNREFUSED)",
    ],
  ])(
    "%s",
    async (_what, options, code, message) => {
      const refusal = await refusalOf(options);
      expect(refusal).toEqual({ code, message: expect.stringContaining(message) });
      expect(refusal.message).not.toContain(S3_KEY.secret);
    },
    20_000,
  );

  test("a bucket with the objects of another database is refused, one's own is not", async () => {
    await using bucket = await startS3Server();
    await using db = await ownDatabase();
    for (let time = 0; time < 2; time += 1) {
      const own = await start({ bucket, db: db.db });
      await own.opening;
      await own.end();
    }
    expect(await refusalOf({ bucket })).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("holds the objects of another database"),
    });
    // Another folder of it is another place.
    const beside = await start({
      bucket,
      env: ({ origin }) => ({ CROFT_OBJECTS_URL: `s3://croft-test/beside?endpoint=${origin}` }),
    });
    await beside.opening;
    await beside.end();
  });
});

test("uses the region that the server names", async () => {
  const started = await start({ server: { region: "eu-west-9" } });
  await expect(started.opening).resolves.toBeDefined();
  await started.end();
});

test("objects are written to the bucket, without local copies", async () => {
  const started = await start({});
  const { store } = await started.opening;
  const sha256 = await putObject(store, Buffer.from("hello"));
  expect((await readObject(store, sha256, 5))?.toString()).toBe("hello");
  expect(await readdir(started.directory.packages)).toEqual([]);
  expect(await readdir(started.directory.tmp)).toEqual([]);
  expect(started.server.store.versions(`objects/${sha256}/`)).toHaveLength(1);
  await started.end();
});

test("the sweep moves files from before into the bucket, and damaged ones to quarantine", async () => {
  const started = await start({
    prepareFiles: async (store) => {
      await putObject(store, Buffer.from("from before"));
      await putObject(store, Buffer.from("damaged"));
    },
  });
  const { store } = await started.opening;
  const [old, damaged] = ["from before", "damaged"].map((text) =>
    createHash("sha256").update(text).digest("hex"),
  );
  const damagedPath = join(
    started.directory.packages,
    damaged?.slice(0, 2) ?? "",
    damaged?.slice(2, 4) ?? "",
    damaged ?? "",
  );
  await writeFile(damagedPath, "DAMAGED");
  expect((await readObject(store, old ?? "", 11))?.toString()).toBe("from before");
  await store.sweep({ before: Date.now() - 60_000, isInUse: async () => true });
  expect(started.server.store.versions("objects/").map(({ key }) => key.split("/")[1])).toEqual([
    old,
  ]);
  const left = await readdir(started.directory.packages, { recursive: true, withFileTypes: true });
  expect(left.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual([
    expect.stringMatching(new RegExp(`^${damaged}-`)),
  ]);
  expect((await readObject(store, old ?? "", 11, { start: 5, end: 10 }))?.toString()).toBe(
    "before",
  );
  await started.end();
});

test("an unreachable bucket is detected within seconds and logged once, and so is its return", async () => {
  const started = await start({});
  const { isReachable } = await started.opening;
  expect(await isReachable?.()).toBe(true);
  started.server.refuse(() => true, { status: 503, code: "ServiceUnavailable" });
  const requests = started.server.log.length;
  for (let time = 0; time < 5; time += 1) expect(await isReachable?.()).toBe(true);
  expect(started.server.log.length).toBe(requests);
  for (let time = 0; time < 3; time += 1) {
    started.pass(6_000);
    expect(await isReachable?.()).toBe(false);
  }
  expect(started.warnings).toHaveLength(1);
  started.server.calm();
  started.pass(6_000);
  expect(await isReachable?.()).toBe(true);
  await started.end();
});

async function ownDatabase() {
  const db = await openTestDatabase();
  return { db, [Symbol.asyncDispose]: () => db.close() };
}
