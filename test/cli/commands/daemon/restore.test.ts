import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import Sqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { startDaemon } from "../../../../daemon/main.ts";
import { fillServedHome, testInput } from "../../../support/daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const copyName = "croft-20261120-033000.db";

/** A home that has been served and holds one copy of its database. */
async function homeWithCopy(): Promise<{ readonly path: string } & AsyncDisposable> {
  const home = await temporaryHome();
  await fillServedHome(home.path);
  await copyFile(join(home.path, "croft.db"), join(home.path, "backups", copyName));
  return home;
}

const restore = (home: string, ...words: string[]) =>
  runCli(
    ["daemon", "restore", "--yes", "--json", "--database", words[0] ?? "latest", ...words.slice(1)],
    { home },
  );

test("the line becomes options", async () => {
  expect(await optionsOf("daemon restore", ["home.tar"])).toEqual({
    file: "home.tar",
  });
  expect(await optionsOf("daemon restore", ["--database", "a.db"])).toEqual({
    database: "a.db",
  });
  const address = "s3://backups/laptop";
  expect(await optionsOf("daemon restore", ["--list", "--from", address])).toEqual({
    list: true,
    from: address,
  });
  expect(await optionsOf("daemon restore", ["latest", "--from"])).toEqual({
    file: "latest",
    from: true,
  });
});

test.each([
  [[], "FILE, or --from s3://BUCKET/FOLDER, or --database latest for the database alone"],
  [["latest"], "--database latest"],
  [[copyName], `--database ${copyName}`],
])("croft daemon restore %j names the flag for a copy of the database", async (words, hint) => {
  await using home = await temporaryHome();
  const ran = await runCli(["daemon", "restore", "--yes", "--json", ...words], { home: home.path });
  expect(ran.error()).toMatchObject({ code: "usage", hint: `croft daemon restore ${hint}` });
});

describe("daemon restore", () => {
  test.each(["a damaged database", "a database from the future", "no database at all"])(
    "restores a home that has %s, and keeps the former files",
    async (what) => {
      await using home = await homeWithCopy();
      const database = join(home.path, "croft.db");
      if (what === "a damaged database") await writeFile(database, "x".repeat(9000));
      else if (what === "no database at all") await rm(database);
      else {
        const db = new Sqlite(database);
        db.exec("INSERT INTO schema_migrations VALUES (9999, 'later', 'x', 0)");
        db.close();
      }
      const before = await readFile(database).catch(() => undefined);
      const ran = await restore(home.path);
      const { kept } = ran.json() as { kept: string | null };
      expect(ran.json()).toMatchObject({
        restored: true,
        copy: join(home.path, "backups", copyName),
        data: home.path,
      });
      expect(kept === null ? undefined : await readFile(kept)).toEqual(before);
      const running = await startDaemon(testInput(home.path, {}, []));
      expect(running.firstStart).toBeUndefined();
      await running.stop();
    },
  );

  test("takes a copy by its name or its path, also the database that a restore replaced", async () => {
    await using home = await homeWithCopy();
    const first = await restore(home.path, copyName);
    expect(first.code).toBe(0);
    const { kept } = first.json() as { readonly kept: string };
    expect((await restore(home.path, basename(kept))).json()).toMatchObject({ copy: kept });
    expect((await restore(home.path, `./backups/${copyName}`)).code).toBe(0);
    const names = await readdir(join(home.path, "tmp"));
    expect(names).toEqual([]);
  });

  test.each([
    ["empty", ""],
    ["no database", "x".repeat(9000)],
  ])("leaves the database alone when the copy is %s", async (_what, text) => {
    await using home = await homeWithCopy();
    const before = await readFile(join(home.path, "croft.db"));
    await writeFile(join(home.path, "backups", copyName), text);
    const ran = await restore(home.path);
    expect(ran).toMatchObject({ code: 17, out: "" });
    expect(ran.error()).toMatchObject({ code: "storage_unusable" });
    expect((await readFile(join(home.path, "croft.db"))).equals(before)).toBe(true);
    expect(await readdir(join(home.path, "backups"))).toEqual([copyName]);
  });

  test("names the other copies when the latest one was made by a later croft", async () => {
    await using home = await homeWithCopy();
    const earlier = "croft-20261119-033000-before-0042.db";
    await copyFile(join(home.path, "croft.db"), join(home.path, "backups", earlier));
    const copy = join(home.path, "backups", copyName);
    const db = new Sqlite(copy);
    db.exec("INSERT INTO schema_migrations VALUES (9999, 'later', 'x', 0)");
    db.close();
    const ran = await restore(home.path);
    expect(ran.error()["message"]).toBe(
      `${copy} was made by a later croft (it has 9999_later, which this one does not know): ` +
        `upgrade croft, or take another copy; in ${join(home.path, "backups")}: ${earlier}`,
    );
    expect((await restore(home.path, earlier)).code).toBe(0);
  });

  test("daemon restore of a file that is not a database names that file, and leaves everything as it was", async () => {
    await using home = await homeWithCopy();
    const before = await readFile(join(home.path, "croft.db"));
    const file = join(home.path, "notes.txt");
    await writeFile(file, "no database".repeat(900));
    const ran = await restore(home.path, file);
    expect(ran.error()).toMatchObject({ code: "storage_unusable", exit_code: 17 });
    expect(ran.error()["message"]).toBe(
      `${file} is damaged or no SQLite database; take another copy; in ${join(home.path, "backups")}: ${copyName}`,
    );
    expect((await readFile(join(home.path, "croft.db"))).equals(before)).toBe(true);
    expect(await readdir(join(home.path, "tmp"))).toEqual([]);
  });

  test("daemon restore of a copy that is not there names those that are", async () => {
    await using home = await homeWithCopy();
    const ran = await restore(home.path, "croft-20200101-000000.db");
    expect(ran.error()).toMatchObject({
      code: "not_found",
      exit_code: 6,
      message: expect.stringContaining(copyName) as string,
    });
  });

  test("creates nothing in a home that was never started", async () => {
    await using home = await temporaryHome();
    expect((await restore(home.path)).error()).toMatchObject({ code: "not_found", exit_code: 6 });
    expect(await readdir(home.path)).toEqual([]);
  });

  test("daemon restore is refused while a daemon runs on the home", async () => {
    await using home = await homeWithCopy();
    const running = await startDaemon(testInput(home.path, {}, []));
    const ran = await restore(home.path);
    expect(ran.error()).toMatchObject({ code: "already_running", exit_code: 7 });
    await running.stop();
  });

  test("asks for confirmation, and only prints with --dry-run", async () => {
    await using home = await temporaryHome();
    await mkdir(join(home.path, "backups"));
    const unconfirmed = await runCli(["daemon", "restore", "--database", "latest", "--json"], {
      home: home.path,
    });
    expect(unconfirmed.error()).toMatchObject({ code: "missing_input", hint: "give --yes" });
    const dryRun = await runCli(
      ["daemon", "restore", "--database", "latest", "--dry-run", "--json"],
      { home: home.path },
    );
    expect(dryRun.json()).toEqual({ dry_run: true, restore: { copy: "latest", data: home.path } });
  });
});
