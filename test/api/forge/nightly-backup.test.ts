import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { startS3Server } from "../../stand-ins/s3-server.ts";
import { startTestDaemon } from "../../support/daemon.ts";
import { withDatabaseFile } from "../../support/skip.ts";
import { runCli, temporaryHome } from "../../cli/support/run-cli.ts";

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "croft-nightly-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

withDatabaseFile(
  "a home with backup_folder is backed up by a task, which keeps the newest backups",
  async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "notes.txt"), "mine");
    await writeFile(join(folder, "croft-home-20200101-000000.tar.partial"), "cut off");
    // Another home that has the same folder and schedule.
    const others = [
      "croft-home-20200101-034500-0badc0de.tar",
      "croft-home-20261120-034500-0badc0de.tar.partial",
    ];
    for (const name of others) await writeFile(join(folder, name), "another home's");
    // Of an earlier version that still runs, on another home.
    const earlier = "croft-home-20261121-034400.tar.partial";
    await writeFile(join(folder, earlier), "another home's");
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
    const own = async () => {
      const isOwn = (name: string) => name.endsWith(".tar") && !name.includes("0badc0de");
      return (await readdir(folder)).filter(isOwn);
    };
    const backUp = async (time: string) => {
      const started = await daemon.request("/api/v1/admin/cron/backup_home", {
        method: "POST",
        token,
      });
      expect(started.status).toBe(204);
      await expect.poll(own).toContainEqual(expect.stringContaining(time));
    };
    const times = ["20", "21", "22"].map((day) => `202611${day}-034500`);
    for (const time of times) {
      await backUp(time);
      now += 86_400_000;
    }
    await expect.poll(async () => (await own()).length).toBe(2);
    const names = await own();
    expect(names).toEqual(
      times.slice(1).map((time) => expect.stringMatching(`^croft-home-${time}-[0-9a-f]{8}.tar$`)),
    );
    const rest = (await readdir(folder)).filter((name) => !names.includes(name));
    expect(rest.toSorted()).toEqual([...others, earlier, "notes.txt"].toSorted());
    expect(daemon.log.map((line) => JSON.stringify(line)).join()).not.toContain(
      "a long passphrase",
    );

    await using home = await temporaryHome();
    const words = ["daemon", "restore", join(folder, names[1] ?? ""), "--yes", "--json"];
    const ran = await runCli([...words, "--with-keys", "--passphrase-stdin"], {
      home: home.path,
      env: { CROFT_KEY_SOURCE: "file" },
      stdin: "a long passphrase",
    });
    expect(ran.json()).toMatchObject({ restored: true, keys: "restored" });
  },
);

withDatabaseFile(
  "a home with backup_url is backed up to the bucket, and deletes its own old backups only",
  async () => {
    await using server = await startS3Server();
    let now = Date.now();
    const time = () =>
      new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
    const others = `homes/croft-home-20200101-034500-0badc0de.tar`;
    server.store.put(others, Buffer.from("another home's"), {});
    const env = {
      CROFT_BACKUP_URL: `s3://${server.bucket}/homes?endpoint=${server.origin}`,
      CROFT_BACKUP_ACCESS_KEY_ID: server.key.id,
      CROFT_BACKUP_SECRET_ACCESS_KEY: server.key.secret,
      CROFT_BACKUP_KEPT: "2",
      CROFT_BACKUP_PASSPHRASE: "a long passphrase",
    };
    const keys = () => server.store.versions("homes/").map(({ key }) => key);
    await using daemon = await startTestDaemon({ env, clock: () => now });
    const token = daemon.first?.forge.token ?? "";
    const times: string[] = [];
    for (let night = 0; night < 3; night += 1) {
      const path = "/api/v1/admin/cron/backup_home";
      expect((await daemon.request(path, { method: "POST", token })).status).toBe(204);
      times.push(time());
      await expect
        .poll(() => keys().some((key) => key.includes(time())), { timeout: 60_000 })
        .toBe(true);
      now += 60_000;
    }
    await expect.poll(() => keys().length, { timeout: 60_000 }).toBe(3);
    const own = keys().filter((key) => key !== others);
    expect(own).toEqual(
      times
        .slice(1)
        .map((one) => expect.stringMatching(`^homes/croft-home-${one}-[0-9a-f]{8}.tar$`)),
    );

    await using home = await temporaryHome();
    const name = own[1]?.slice("homes/".length) ?? "";
    const words = ["daemon", "restore", name, "--from", "--yes", "--json"];
    const ran = await runCli([...words, "--with-keys", "--passphrase-stdin"], {
      home: home.path,
      env: { ...env, CROFT_KEY_SOURCE: "file" },
      stdin: "a long passphrase",
    });
    expect(ran.json()).toMatchObject({ restored: true, keys: "restored" });
  },
);

withDatabaseFile("a home without backup_folder and backup_url has no backup task", async () => {
  await using daemon = await startTestDaemon();
  const token = daemon.first?.forge.token ?? "";
  const { json } = await daemon.request("/api/v1/admin/cron?limit=50", { token });
  const names = (json as { name: string }[]).map(({ name }) => name);
  expect(names).toContain("backup_database");
  expect(names).not.toContain("backup_home");
});

withDatabaseFile(
  "a backup whose folder is missing fails, and doctor and the task's command report it until the next success",
  async () => {
    const folder = join(await makeFolder(), "disk");
    await writeFile(folder, "not a folder");
    await using home = await temporaryHome();
    await using daemon = await startTestDaemon({
      home: home.path,
      env: { CROFT_BACKUP_FOLDER: folder, CROFT_BACKUP_SCHEDULE: "15 4 * * *" },
    });
    const token = daemon.first?.forge.token ?? "";
    const run = (words: readonly string[]) =>
      runCli([...words, "--json"], {
        home: home.path,
        env: { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: token },
      });
    const listed = await daemon.request("/api/v1/admin/cron?limit=50", { token });
    const task = { name: "backup_home", schedule: "15 4 * * *" };
    expect(listed.json).toContainEqual(expect.objectContaining(task));
    expect((await daemon.request("/readyz")).json).toEqual({ status: "ready" });

    const failed = await run(["admin", "cron", "run", "backup_home"]);
    expect([failed.code, failed.err]).toEqual([17, expect.stringContaining("the backup failed")]);
    expect((await daemon.request("/readyz")).json).toEqual({ status: "ready", backup: "failed" });

    await rm(folder);
    expect((await run(["admin", "cron", "run", "backup_home"])).code).toBe(0);
    expect((await daemon.request("/readyz")).json).toEqual({
      status: "ready",
      backup: "succeeded",
    });
    expect(await readdir(folder)).toHaveLength(1);
  },
);
