import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { migrate, readMigrations } from "../../storage/engine/migrate.ts";
import { openSqlite } from "../../storage/engine/sqlite.ts";
import { assertKeyOfDatabase, openKeyring } from "../../storage/keys/open.ts";
import { countKills } from "../support/kills.ts";
import { addSealedRows, readSealedRows, sealedTexts } from "../support/storage/sealed-rows.ts";

const ROUNDS = countKills(5);
const HOOKS = 100;
const KILL_WITHIN_MS = 60;

test("a home whose master key is being replaced survives kills", async () => {
  const home = await mkdtemp(join(tmpdir(), "croft-rotation-crash-"));
  const path = join(home, "croft.db");
  const directory = join(home, "keys");
  const seen = new Set<boolean>();
  try {
    await mkdir(directory, { mode: 0o700 });
    for (let round = 0; ; round += 1) {
      const db = openSqlite({ path, clock: Date.now });
      const mayCreate = round === 0;
      const keyring = await openKeyring({
        directory,
        source: "file",
        masterKey: undefined,
        mayCreate,
      });
      if (round === 0) {
        await migrate(db, readMigrations());
        await addSealedRows(db, keyring, HOOKS);
      }
      await assertKeyOfDatabase(db, keyring.checks, Date.now());
      expect(await readSealedRows(db, keyring)).toEqual(sealedTexts(HOOKS));
      seen.add(keyring.isRotating);
      await db.close();
      // Some kills must hit a running rotation, or the test would prove nothing.
      if (round >= ROUNDS && seen.size === 2) break;
      await rotateAndKill(path, directory);
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

async function rotateAndKill(path: string, directory: string): Promise<void> {
  const script = join(import.meta.dirname, "../support/storage/rotate-until-killed.ts");
  const child = spawn(process.execPath, [script, path, directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const started = once(createInterface(child.stdout), "line");
  expect(await Promise.race([started, ended])).toEqual(["rotated"]);
  await sleep(Math.random() * KILL_WITHIN_MS);
  child.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
}
