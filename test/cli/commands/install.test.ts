import { execFileSync } from "node:child_process";
import { access, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { optionsOf } from "../support/parse-line.ts";
import { runCli } from "../support/run-cli.ts";
import { skipUnless } from "../../support/skip.ts";

let home: string;
const hasMan = skipUnless(canRun("man", ["--version"]), "no man on the PATH");

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "croft-install-"));
});

afterEach(() => rm(home, { recursive: true }));

test("flags become options", async () => {
  expect(await optionsOf("install", [])).toEqual({});
  expect(await optionsOf("install", ["--prefix", "/opt", "--remove"])).toEqual({
    prefix: "/opt",
    remove: true,
  });
});

test("installs the program, three completions and the manual, and removes them again", async () => {
  const program = join(home, "the croft");
  await writeFile(program, "the executable");
  const result = await runCli(["install", "--yes", "--json"], { home, program: [program] });
  expect(result).toMatchObject({ code: 0 });
  const { files } = JSON.parse(result.out) as { files: string[] };
  const bin = join(home, ".local", "bin", "croft");
  expect(files).toEqual(
    expect.arrayContaining([
      bin,
      join(home, ".local/share/bash-completion/completions/croft"),
      join(home, ".local/share/zsh/site-functions/_croft"),
      join(home, ".local/share/fish/vendor_completions.d/croft.fish"),
      join(home, ".local/share/man/man1/croft.1"),
      join(home, ".local/share/man/man1/croft-vault.1"),
    ]),
  );
  expect(await readFile(bin, "utf8")).toBe("the executable");
  expect((await stat(bin)).mode & 0o777).toBe(0o755);

  const removed = await runCli(["install", "--remove", "--yes"], { home, program: [program] });
  expect(removed.code).toBe(0);
  for (const file of files) await expect(access(file)).rejects.toThrow("ENOENT");
});

test("a launcher that needs Node is started by a script with both paths", async () => {
  const program = ["/opt/it's node", "/srv/croft.js"] as const;
  await runCli(["install", "--yes", "--prefix", "here"], { home, program: [...program] });
  const script = await readFile(join(home, "here", "bin", "croft"), "utf8");
  expect(script).toBe(`#!/bin/sh\nexec '/opt/it'\\''s node' '/srv/croft.js' "$@"\n`);
});

test("leaves the program alone when the one on the PATH is this one", async () => {
  const program = join(home, "croft");
  await writeFile(program, "");
  const { out } = await runCli(["install", "--yes", "--json"], {
    home,
    program: [program],
    env: { PATH: home },
  });
  const { files } = JSON.parse(out) as { files: string[] };
  expect(files.filter((file) => file.endsWith("bin/croft"))).toEqual([]);
});

test("asks for confirmation, writes nothing with --dry-run, and refuses on Windows", async () => {
  const unanswered = await runCli(["install"], { home });
  expect(unanswered).toMatchObject({ code: 2 });
  expect(unanswered.err).toContain("--yes");
  expect((await runCli(["install", "--dry-run"], { home })).code).toBe(0);
  await expect(access(join(home, ".local"))).rejects.toThrow("ENOENT");
  expect((await runCli(["install", "--yes"], { home, platform: "win32" })).code).toBe(15);
});

hasMan.test("man reads the largest pages of the manual without a warning", async () => {
  const { out } = await runCli(["install", "--yes", "--json"], { home });
  const { files } = JSON.parse(out) as { files: string[] };
  const pages = files.filter((file) => /croft(-vault|-admin)?\.1$/.test(file));
  expect(pages).toHaveLength(3);
  for (const page of pages) {
    const warnings = execFileSync("sh", ["-c", 'man --warnings -l "$0" 2>&1 >/dev/null', page], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], LC_ALL: "C.UTF-8", MANPAGER: "cat" },
    });
    expect({ page, warnings }).toEqual({ page, warnings: "" });
  }
});

function canRun(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
