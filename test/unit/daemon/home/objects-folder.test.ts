import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { claimObjectsFolder, watchBucket } from "../../../../daemon/home/objects-bucket.ts";
import { createLogger } from "../../../../daemon/utilities/logging.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

test("one folder of objects belongs to a database, also after a crash and when it is copied", async () => {
  const home = await mkdtemp(join(tmpdir(), "croft-objects-"));
  const db = await openTestDatabase();
  onTestFinished(async () => {
    await db.close();
    await rm(home, { recursive: true });
  });
  let ids = 0;
  const claim = (folder: string, isEmpty = true) =>
    claimObjectsFolder(join(home, folder), {
      ...{ db, clock: Date.now, newId: () => `id-${(ids += 1)}`, isEmpty: async () => isEmpty },
    });
  const mark = (folder: string) => readFile(join(home, folder, "database-id"), "utf8");
  await claim("first");
  await claim("first");
  await expect(claim("second")).rejects.toMatchObject({ code: "invalid_argument" });
  // The refused folder is left as it was: it may be used for another database, or filled from a backup.
  await expect(mark("second")).rejects.toMatchObject({ code: "ENOENT" });
  await mkdir(join(home, "restored"));
  await claim("restored", false);
  expect(await mark("restored")).toBe(await mark("first"));
  // A crash while the mark was written.
  for (const [folder, isEmpty] of [
    ["torn", false],
    ["torn-empty", true],
  ] as const) {
    await mkdir(join(home, folder));
    await writeFile(join(home, folder, "database-id"), "");
    const outcome = await claim(folder, isEmpty).then(
      () => "claimed",
      () => "refused",
    );
    expect(outcome).toBe(isEmpty ? "refused" : "claimed");
  }
  expect(await mark("torn")).toBe(await mark("first"));
  const races = await Promise.allSettled([claim("third"), claim("fourth")]);
  expect(races.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("the bucket of objects is asked again after an interval, and after a clock was set back", async () => {
  let [now, asked] = [1_000_000, 0];
  const reach = async () => {
    asked += 1;
    return undefined;
  };
  const log = await createLogger({
    level: "silent",
    format: "json",
    to: { write: () => true },
    clock: () => now,
  });
  const isReachable = watchBucket({ reach }, { clock: () => now, log });
  const ask = async (at: number) => {
    now = at;
    expect(await isReachable()).toBe(true);
    return asked;
  };
  expect(await ask(1_000_000)).toBe(1);
  expect(await ask(1_005_000)).toBe(1);
  expect(await ask(1_005_001)).toBe(2);
  expect(await ask(5_000)).toBe(3);
});
