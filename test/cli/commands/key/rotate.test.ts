import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { acquireInstanceLock } from "../../../../storage/instance-lock.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const file = { CROFT_KEY_SOURCE: "file" };
const hex = (byte: number) => Buffer.alloc(32, byte).toString("hex");

async function homeWith(env: Readonly<Record<string, string>>) {
  const home = await temporaryHome();
  const init = ["init", "--username", "boss", "--email", "boss@example.org", "--password-stdin"];
  const ran = await runCli(init, { home: home.path, env, stdin: "Correct-Horse-1x" });
  expect(ran.code, ran.err).toBe(0);
  const key = () => readFile(join(home.path, "keys/master.key"), "utf8");
  const rotate = (more: readonly string[] = ["--yes"], otherEnv = env) =>
    runCli(["key", "rotate", "--json", ...more], { home: home.path, env: otherEnv });
  return { home, key, rotate, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

test("the line becomes options", async () => {
  expect(await optionsOf("key rotate", [])).toEqual({});
  expect(await optionsOf("key rotate", ["--skip-unreadable"])).toEqual({
    skipUnreadable: true,
  });
});

describe("key rotate", () => {
  test("replaces the key without printing one", async () => {
    await using made = await homeWith(file);
    const before = await made.key();
    const ran = await made.rotate();
    expect(ran.code, ran.err).toBe(0);
    expect(ran.json()).toEqual({
      rotated: true,
      resumed: false,
      source: "file",
      sealed_again: 0,
      left_unreadable: [],
      data: made.home.path,
    });
    const after = await made.key();
    expect(after).not.toBe(before);
    for (const key of [before, after]) expect(ran.out + ran.err).not.toContain(key.trim());
  });

  test("key rotate asks for confirmation, and requires --yes without a terminal", async () => {
    await using made = await homeWith(file);
    const before = await made.key();
    const refused = await made.rotate([]);
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.error()).toMatchObject({ code: "missing_input", hint: "give --yes" });
    expect((await made.rotate(["--dry-run"])).json()).toEqual({
      dry_run: true,
      rotate_key: { data: made.home.path },
    });
    expect(await made.key()).toBe(before);
  });

  test("key rotate on a home that a daemon holds exits 7", async () => {
    await using made = await homeWith(file);
    const before = await made.key();
    const held = await acquireInstanceLock(made.home.path, { pid: process.pid, startedAt: 1 });
    const refused = await made.rotate();
    if (held.kind === "acquired") await held.lock.release();
    expect(refused).toMatchObject({ code: 7, out: "" });
    expect(refused.error()).toMatchObject({ code: "already_running" });
    expect(await made.key()).toBe(before);
  });

  test("key rotate without a home exits 6 and creates no home", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["key", "rotate", "--yes", "--json"], { home: home.path, env: file });
    expect(ran.error()).toMatchObject({ code: "not_found", hint: '"croft init" makes a home' });
  });

  test("key rotate with another key in its place exits 17 and changes nothing", async () => {
    await using made = await homeWith(file);
    const path = join(made.home.path, "keys/master.key");
    await writeFile(path, `${hex(3)}\n`, { mode: 0o600 });
    const ran = await made.rotate();
    expect(ran).toMatchObject({ code: 17, out: "" });
    expect(ran.error()).toMatchObject({ code: "storage_unusable" });
    expect(await made.key()).toBe(`${hex(3)}\n`);
  });

  test("key rotate with a key in the environment prints the next step and reseals when it is done", async () => {
    await using made = await homeWith({ CROFT_MASTER_KEY: hex(1) });
    const firstStep = await made.rotate();
    expect(firstStep).toMatchObject({ code: 2, out: "" });
    expect(firstStep.error()).toMatchObject({
      code: "missing_input",
      hint: expect.stringContaining("openssl rand -hex 32"),
    });
    const both = await made.rotate(["--yes"], { CROFT_MASTER_KEY: `${hex(2)},${hex(1)}` });
    expect(both.json()).toMatchObject({ rotated: true, resumed: true, source: "environment" });
    expect(both.err).toContain("Remove the old key from CROFT_MASTER_KEY");
    for (const ran of [firstStep, both])
      for (const key of [hex(1), hex(2)]) expect(ran.out + ran.err).not.toContain(key);
    expect((await made.rotate(["--yes"], { CROFT_MASTER_KEY: hex(1) })).code).toBe(17);
  });
});
