import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findLastingProgram } from "../../../cli/support/lasting-program.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

/** A clone, run through npx: npm links it into its cache and puts the link's folder first on the PATH. */
async function makeNpxClone(home: string) {
  const clone = join(home, "clone", "bin");
  const cached = join(home, ".npm", "_npx", "0a1b2c", "node_modules", ".bin");
  for (const folder of [clone, cached]) await mkdir(folder, { recursive: true });
  await writeFile(join(clone, "croft.js"), "#!/usr/bin/env node\n", { mode: 0o755 });
  await symlink(join(clone, "croft.js"), join(cached, "croft"));
  return { launcher: join(clone, "croft.js"), link: join(cached, "croft"), cached };
}

const node = "/usr/bin/node";

test("the croft on the PATH is taken in place of the one in the cache of npx", async () => {
  await using home = await temporaryHome();
  const { link, cached } = await makeNpxClone(home.path);
  const installed = join(home.path, "installed");
  await mkdir(installed);
  await writeFile(join(installed, "croft"), "#!/bin/sh\n", { mode: 0o755 });
  const env = { PATH: [cached, "relative", installed].join(":") };
  expect(findLastingProgram({ program: [node, link], env, platform: "linux" })).toEqual({
    program: [join(installed, "croft")],
    isLasting: true,
  });
});

test("git setup names the clone when no croft is installed", async () => {
  await using home = await temporaryHome();
  const { launcher, link, cached } = await makeNpxClone(home.path);
  const ran = await runCli(["git", "setup", "--yes"], {
    home: home.path,
    env: {
      CROFT_URL: "http://forge.example",
      HOME: home.path,
      PATH: `${cached}:${process.env["PATH"]}`,
    },
    program: [node, link],
  });
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.err).not.toContain("warning");
  expect(ran.out).toContain(`'${node}' '${launcher}'`);
  expect(ran.out).not.toContain("_npx");
});

test("a copy in the cache is used with a warning when croft is not installed elsewhere", async () => {
  await using home = await temporaryHome();
  const cached = join(home.path, ".npm", "_npx", "0a1b2c", "node_modules", "croft", "bin");
  await mkdir(cached, { recursive: true });
  const program = [node, join(cached, "croft.js")] as const;
  await writeFile(program[1], "");
  const ran = await runCli(["git", "setup", "--yes"], {
    home: home.path,
    env: { CROFT_URL: "http://forge.example", HOME: home.path, PATH: "/usr/bin" },
    program,
  });
  expect(ran.code).toBe(0);
  expect(ran.err).toContain("in the cache of npx");
});

test("a program outside of the cache stays as it is", () => {
  const program = [node, "/opt/croft/bin/croft.js"] as const;
  const found = findLastingProgram({ program, env: {}, platform: "linux" });
  expect(found).toEqual({ program, isLasting: true });
});
