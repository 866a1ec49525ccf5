import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const program = [
  process.execPath,
  join(import.meta.dirname, "..", "..", "..", "..", "bin", "croft.js"),
] as const;

const runFile = promisify(execFile);

describe("the lines of git", () => {
  test("setup, credential, clone and create read their flags", async () => {
    expect(await optionsOf("git setup", ["--undo"])).toEqual({ undo: true });
    expect(await optionsOf("git credential", ["get"])).toEqual({ operation: "get" });
    const line = ["mira/notes", "there", "--ssh", "--", "--depth", "1"];
    expect(await optionsOf("repo clone", line)).toEqual({
      repository: { owner: "mira", repo: "notes" },
      directory: "there",
      ssh: true,
      gitFlags: ["--depth", "1"],
    });
    const flags = ["mira/notes", "--", "--depth", "1"];
    expect(await optionsOf("repo clone", flags)).toEqual({
      repository: { owner: "mira", repo: "notes" },
      directory: "--depth",
      gitFlags: ["1"],
    });
    const create = ["--source", ".", "--push"];
    expect(await optionsOf("repo create", create)).toEqual({
      source: ".",
      push: true,
    });
    for (const wrong of [[], ["a", "--push"], ["--source", ".", "--clone"], ["a", "--ssh"]])
      expect(await refusalOf("repo create", wrong)).toMatch(/name|take|excludes/);
  });
});

describe("the credential helper", () => {
  test("the helper prints the token for the daemon's own protocol and host only", async () => {
    await using home = await temporaryHome();
    await signIn(home.path, { url: "https://forge.example:7420/base", forgeToken: "secret" });
    const ask = async (operation: string, ...lines: readonly string[]) => {
      const stdin = `${lines.join("\n")}\n\n`;
      const ran = await runCli(["git", "credential", operation], { home: home.path, stdin });
      return ran.code === 0 ? ran.out : ran.code;
    };
    const host = "host=forge.example:7420";
    const path = "path=base/mira/notes.git";
    const known = await ask("get", "protocol=https", host, path);
    expect(known).toMatch(/^username=.+\npassword=secret\n$/);
    expect(await ask("get", "protocol=https", "host=FORGE.example:7420", path)).toBe(known);
    for (const [protocol, name, where] of [
      ["http", "forge.example:7420", "base/mira/notes.git"],
      ["https", "forge.example", "base/mira/notes.git"],
      ["https", "forge.example:7420.evil.example", "base/mira/notes.git"],
      ["https", "forge.example:7420@evil.example", "base/mira/notes.git"],
      ["https", "forge.example:7420", "baseless/mira/notes.git"],
      ["https", "forge.example:7420", ""],
      ["https", "", "base/a"],
    ])
      expect(
        await ask("get", `protocol=${protocol}`, `host=${name}`, `path=${where}`),
        `${protocol} ${name} ${where}`,
      ).toBe("");
    expect(await ask("get", "protocol=https", host, path, "username=other")).toBe("");
    expect(await ask("store", "protocol=https", host, path, "password=x")).toBe("");
    expect(await ask("capability", "")).toBe("");
    expect(await ask("get", "no attribute")).toBe(2);
  });

  test("the helper prints nothing without a sign-in, so that git prompts", async () => {
    await using home = await temporaryHome();
    const env = { CROFT_URL: "http://127.0.0.1:9" };
    const stdin = "protocol=http\nhost=127.0.0.1:9\n\n";
    const ran = await runCli(["git", "credential", "get"], { home: home.path, env, stdin });
    expect(ran).toMatchObject({ code: 0, out: "" });
    expect(ran.err).toContain("croft login forge");
  });

  test("a refused token is reported and stays in the credential store", async () => {
    await using home = await temporaryHome();
    await signIn(home.path, { url: "http://forge.example", forgeToken: "secret" });
    const address = "protocol=http\nhost=forge.example\n";
    const croft = (operation: string, stdin: string) =>
      runCli(["git", "credential", operation], { home: home.path, stdin });
    const erased = await croft("erase", `${address}password=secret\n`);
    expect(erased).toMatchObject({ code: 0, out: "" });
    expect(erased.err).toContain("refused");
    expect((await croft("erase", `${address}password=typed\n`)).err).toBe("");
    expect((await croft("get", address)).out).toContain("password=secret");
  });
});

describe("git setup", () => {
  test("setup writes the helper once, undo removes it and keeps other helpers", async () => {
    await using home = await temporaryHome();
    const config = join(home.path, ".gitconfig");
    const url = "https://forge.example/base";
    await signIn(home.path, { url, forgeToken: "secret" });
    const other = `[user]\n\tname = mira\n[credential "${url}"]\n\thelper = cache\n`;
    await writeFile(config, other);
    const options = { home: home.path, env: { HOME: home.path }, program };
    const setup = (...flags: readonly string[]) =>
      runCli(["git", "setup", "--json", ...flags], options);
    expect((await setup()).error()).toMatchObject({ code: "missing_input" });
    expect((await setup("--dry-run")).json()).toMatchObject({ write: [{ value: "" }, {}, {}] });
    expect(await readFile(config, "utf8")).toBe(other);
    expect((await setup("--yes")).json()).toMatchObject({ configured: true, url });
    const once = await readFile(config, "utf8");
    expect(once).toContain("helper = cache");
    expect(once).toContain("useHttpPath = true");
    expect(once.match(/git credential/g)).toHaveLength(1);
    expect((await setup("--yes")).code).toBe(0);
    expect(await readFile(config, "utf8")).toBe(once);
    expect((await setup("--undo", "--yes")).json()).toMatchObject({ configured: false });
    const after = await readFile(config, "utf8");
    expect(after).toContain("helper = cache");
    expect(after).not.toMatch(/git credential|useHttpPath/);
    expect((await setup("--undo", "--yes")).code).toBe(6);
  });

  test(
    "git clones, commits and pushes over http without a question",
    { timeout: 60_000 },
    async () => {
      await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
      await using home = await temporaryHome();
      const people = createForgePeople(() => daemon);
      await people.newUser("mira");
      await signIn(home.path, { url: daemon.url, forgeToken: people.tokenOf("mira") });
      const work = join(home.path, "notes");
      await mkdir(work);
      const env = {
        PATH: process.env["PATH"],
        HOME: home.path,
        GIT_TERMINAL_PROMPT: "0",
        GIT_AUTHOR_NAME: "Mira",
        GIT_AUTHOR_EMAIL: "mira@example.org",
        GIT_COMMITTER_NAME: "Mira",
        GIT_COMMITTER_EMAIL: "mira@example.org",
        CROFT_HOME: home.path,
        CROFT_CREDENTIAL_STORE: "file",
      };
      const git = (...words: readonly string[]) => runFile("git", [...words], { cwd: work, env });
      const croft = (...line: readonly string[]) =>
        runCli(["--json", "--quiet", ...line], {
          home: home.path,
          workingDirectory: work,
          env,
          program,
        });
      expect((await croft("repo", "create", "--source", ".")).error()).toMatchObject({
        code: "conflict",
      });
      await git("init", "--quiet", "--initial-branch", "trunk");
      const create = ["repo", "create", "--source", ".", "--push", "--private"];
      expect((await croft(...create)).error()).toMatchObject({ code: "conflict" });
      await writeFile(join(work, "a.txt"), "one\n");
      await git("add", ".");
      await git("commit", "--quiet", "-m", "one");
      expect((await croft(...create)).json()).toMatchObject({
        full_name: "mira/notes",
        empty: false,
      });
      expect((await croft(...create)).error()).toMatchObject({ code: "name_collision" });
      const made = await croft("repo", "view", "mira/notes");
      expect(made.json()).toMatchObject({ default_branch: "trunk", empty: false, private: true });
      await expect(git("fetch", "--quiet")).rejects.toThrow("could not read Username");
      expect((await croft("git", "setup", "--yes")).code).toBe(0);
      await writeFile(join(work, "a.txt"), "two\n");
      await git("commit", "--quiet", "-am", "two");
      await git("push", "--quiet");
      const cloned = await croft("repo", "clone", "mira/notes", "copy", "--", "--depth", "1");
      expect(cloned.json()).toMatchObject({ cloned: true, directory: "copy" });
      expect(await readFile(join(work, "copy", "a.txt"), "utf8")).toBe("two\n");
      expect((await croft("repo", "clone", "mira/none")).code).toBe(6);
      expect((await croft("repo", "clone", "mira/notes", "copy")).error()).toMatchObject({
        code: "git_failed",
      });
    },
  );
});
