import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startTestDaemon } from "../../support/daemon.ts";
import { runCli, temporaryHome } from "../../cli/support/run-cli.ts";

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "croft-nightly-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test("a home with backup_folder is backed up by a task, which keeps the newest backups", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "notes.txt"), "mine");
  await writeFile(join(folder, "croft-home-20200101-000000.tar.partial"), "cut off");
  let now = Date.parse("2026-11-20T03:45:00Z");
  await using daemon = await startTestDaemon({
    env: {
      CROFT_BACKUP_FOLDER: folder,
      CROFT_BACKUP_KEPT: "2",
      CROFT_BACKUP_PASSPHRASE: "a long passphrase",
    },
    clock: () => now,
  });
  const token = daemon.first?.forge.token ?? "";
  const backUp = async (name: string) => {
    const started = await daemon.request("/api/v1/admin/cron/backup_home", {
      method: "POST",
      token,
    });
    expect(started.status).toBe(204);
    await expect.poll(() => readdir(folder)).toContain(name);
  };
  const names = ["20", "21", "22"].map((day) => `croft-home-202611${day}-034500.tar`);
  for (const name of names) {
    await backUp(name);
    now += 86_400_000;
  }
  await expect.poll(() => readdir(folder)).toEqual([...names.slice(1), "notes.txt"]);
  expect(daemon.log.map((line) => JSON.stringify(line)).join()).not.toContain("a long passphrase");

  await using home = await temporaryHome();
  const words = ["daemon", "restore", join(folder, names[2] ?? ""), "--yes", "--json"];
  const ran = await runCli([...words, "--with-keys", "--passphrase-stdin"], {
    home: home.path,
    env: { CROFT_KEY_SOURCE: "file" },
    stdin: "a long passphrase",
  });
  expect(ran.json()).toMatchObject({ restored: true, keys: "restored" });
});

test("a home without backup_folder has no such task", async () => {
  await using daemon = await startTestDaemon();
  const token = daemon.first?.forge.token ?? "";
  const { json } = await daemon.request("/api/v1/admin/cron?limit=50", { token });
  const names = (json as { name: string }[]).map(({ name }) => name);
  expect(names).toContain("backup_database");
  expect(names).not.toContain("backup_home");
});
