import { createReadStream, createWriteStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startTestDaemon } from "../support/daemon.ts";
import { withDatabaseFile } from "../support/skip.ts";
import { runCli, temporaryHome } from "../cli/support/run-cli.ts";

// A home of each release, as `croft daemon backup --with-keys` of that release wrote it: keeper and mira, the organization
// acme, the repository keeper/notes with an issue and a hook with a secret. Each was made by
//   croft init --username keeper …, croft repo create notes --init, croft issue create, croft repo hook create --secret-stdin
const fixtures = join(import.meta.dirname, "../fixtures");
const passphrase = "passphrase of the fixture";
const tokens: Readonly<Record<string, string>> = {
  "home-0.1.0.tar.gz": "30dba9691ed8b8a851097c2ac1666f6d5ac14a7a",
};

test("every fixture has a token, and the other way round", async () => {
  const homes = (await readdir(fixtures)).filter((name) => name.startsWith("home-"));
  expect(homes.toSorted()).toEqual(Object.keys(tokens).toSorted());
});

describe.each(Object.keys(tokens))("%s", (name) => {
  withDatabaseFile.test(
    "the home of that release is opened by this one, with its keys",
    async () => {
      await using home = await temporaryHome();
      const archive = join(home.path, "home.tar");
      await pipeline(
        createReadStream(join(fixtures, name)),
        createGunzip(),
        createWriteStream(archive),
      );
      const data = join(home.path, "data");
      const restore = ["daemon", "restore", archive, "--with-keys", "--passphrase-stdin", "--yes"];
      const ran = await runCli([...restore, "--json", "--home", data], {
        home: home.path,
        env: { CROFT_KEY_SOURCE: "file" },
        stdin: passphrase,
      });
      expect(ran.json()).toMatchObject({ restored: true, keys: "restored" });

      await using daemon = await startTestDaemon({ home: data });
      const get = async (path: string) =>
        daemon.request(`/api/v1${path}`, { token: tokens[name]! });
      expect((await get("/user")).json).toMatchObject({ login: "keeper", is_admin: true });
      expect((await get("/repos/keeper/notes/issues/1")).json).toMatchObject({ title: "First" });
      expect((await get("/repos/keeper/notes/raw/README.md")).status).toBe(200);
      expect((await get("/repos/keeper/notes/hooks")).json).toMatchObject([
        { config: { url: "https://ci.example.org/hook" } },
      ]);
      expect((await get("/orgs/acme")).json).toMatchObject({ username: "acme" });
    },
  );
});
