import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { optionsOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { readEntryOfAnyProfile } from "../support/signed-in.ts";

const line = ["init", "--username", "boss", "--email", "boss@example.org", "--password-stdin"];
const password = "Correct-Horse-1x";

test("the line becomes options", async () => {
  expect(await optionsOf("init", line.slice(1))).toEqual({
    username: "boss",
    email: "boss@example.org",
    passwordStdin: true,
  });
});

describe("init", () => {
  test("makes a home, prints it and keeps the forge token; a second time it exits 7", async () => {
    await using home = await temporaryHome();
    const ran = await runCli([...line, "--json"], { home: home.path, stdin: `${password}\n` });
    expect(ran.code, ran.err).toBe(0);
    const made = ran.json() as { forge: { token: string } };
    expect(made).toEqual({
      home: home.path,
      forge: { username: "boss", token: expect.stringMatching(/^[0-9a-f]{40}$/) },
      vault: { handle: "boss", email: "boss@example.org" },
    });
    expect(await readEntryOfAnyProfile(home.path, "forge")).toMatchObject({
      token: made.forge.token,
    });
    const again = await runCli([...line, "--json"], { home: home.path, stdin: password });
    expect(again).toMatchObject({ code: 7, out: "" });
    expect(again.error()).toMatchObject({ code: "already_initialised" });
    expect(await readEntryOfAnyProfile(home.path, "forge")).toMatchObject({
      token: made.forge.token,
    });
  });

  test("a terminal shows no token that is stored, a pipe does", async () => {
    for (const isTerminal of [true, false]) {
      await using home = await temporaryHome();
      const ran = await runCli(line, {
        home: home.path,
        stdin: password,
        terminal: { out: isTerminal },
      });
      expect(ran.code, ran.err).toBe(0);
      const { token } = (await readEntryOfAnyProfile(home.path, "forge")) as { token: string };
      expect(ran.out.includes(token)).toBe(!isTerminal);
      expect(ran.out.includes("stored for your next commands")).toBe(isTerminal);
    }
  });

  test("refuses a weak password and leaves a home that can still be made", async () => {
    await using home = await temporaryHome();
    const weak = await runCli([...line, "--json"], { home: home.path, stdin: "short" });
    expect(weak).toMatchObject({ code: 12, out: "" });
    expect((await runCli(line, { home: home.path, stdin: password })).code).toBe(0);
  });

  test("tells all refused values at once, each with its flag", async () => {
    await using home = await temporaryHome();
    const words = ["init", "--username", "b s", "--email", "nomail", "--password-stdin", "--json"];
    const ran = await runCli(words, { home: home.path, stdin: "short" });
    expect(ran.error()).toMatchObject({
      code: "invalid",
      message: expect.stringMatching(
        /^--username: "b s" is not a user name.*; --email: "nomail".*; --password-stdin: the password must/,
      ) as string,
    });
  });

  test("init in a missing folder names it", async () => {
    const ran = await runCli([...line, "--json", "--home", "/no/such/folder"], {
      home: "/nowhere",
      stdin: password,
    });
    expect(ran).toMatchObject({ code: 17, out: "" });
    expect(ran.error()).toMatchObject({ code: "file_error" });
  });

  test("init with --dry-run makes nothing", async () => {
    await using home = await temporaryHome();
    const ran = await runCli([...line, "--dry-run", "--json"], {
      home: home.path,
      stdin: password,
    });
    expect(ran.json()).toEqual({
      dry_run: true,
      initialise: { home: home.path, username: "boss", email: "boss@example.org" },
    });
    expect(await readdir(home.path)).toEqual([]);
  });

  test("init without a terminal names all missing flags at once", async () => {
    await using home = await temporaryHome();
    const ran = await runCli(["init", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      code: "missing_input",
      hint: "give --username, --email and --password-stdin",
    });
    expect(await readdir(join(home.path))).toEqual([]);
  });
});
