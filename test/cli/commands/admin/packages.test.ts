import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../../support/daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { type Ran, runCli, temporaryHome } from "../../support/run-cli.ts";

let daemon: TestDaemon;
let token: string;
let home: Awaited<ReturnType<typeof temporaryHome>>;
beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  token = daemon.first?.forge.token ?? "";
  home = await temporaryHome();
  for (const version of ["1", "2", "3"])
    await daemon.request(`/api/packages/keeper/generic/tool/${version}/tool.bin`, {
      method: "PUT",
      token,
      body: "bytes",
    });
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

function croft(line: string): Promise<Ran> {
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: token };
  return runCli(line.split(" "), { home: home.path, env });
}

describe("the line becomes options", () => {
  test("the filters of a list become options", async () => {
    expect(await optionsOf("admin package list", ["--type", "npm", "--search", "x"])).toEqual({
      type: "npm",
      search: "x",
    });
  });

  test("the name of a version becomes an option", async () => {
    const line = ["keeper", "npm", "@scope/name", "1.0.0"];
    expect(await optionsOf("admin package delete", line)).toEqual({
      owner: "keeper",
      type: "npm",
      name: "@scope/name",
      version: "1.0.0",
    });
  });
});

describe("against the daemon", () => {
  test("lists, filters and follows pages", async () => {
    expect((await croft("admin package list --type generic --json=version")).json()).toEqual([
      { version: "3" },
      { version: "2" },
      { version: "1" },
    ]);
    expect((await croft("admin package list --type npm --json")).json()).toEqual([]);
    expect((await croft("admin package list --search OO --limit 1 --all --jq length")).out).toBe(
      "3\n",
    );
    expect((await croft("admin package ls")).out).toMatch(/\tgeneric\tkeeper\ttool\t3\tkeeper\t/);
  });

  test("shows a version and its files", async () => {
    expect((await croft("admin package view keeper generic tool 2 --json")).json()).toMatchObject({
      version: "2",
      repository: null,
    });
    const files = await croft("admin package files keeper generic tool 2 --json=name,size");
    expect(files.json()).toEqual([{ name: "tool.bin", size: 5 }]);
  });

  test("deletes after asking", async () => {
    const line = "admin package delete keeper generic tool 1";
    expect((await croft(`${line} --json`)).error()).toMatchObject({ code: "missing_input" });
    expect((await croft(`${line} --yes --json`)).json()).toEqual({
      deleted: true,
      owner: "keeper",
      type: "generic",
      name: "tool",
      version: "1",
    });
    expect((await croft(`${line} --yes --json`)).code).toBe(6);
  });
});

test("a package is linked to a repository and parted from it", async () => {
  await daemon.request("/api/v1/admin/users/keeper/repos", { token, json: { name: "tools" } });
  const linked = await croft("admin package link keeper generic tool tools --json");
  expect(linked.json()).toEqual({
    linked: true,
    owner: "keeper",
    type: "generic",
    name: "tool",
    repository: "tools",
  });
  expect((await croft("admin package link keeper generic tool nowhere")).code).toBe(6);
  const parted = await croft("admin package unlink keeper generic tool --json");
  expect(parted.json()).toMatchObject({ unlinked: true, name: "tool" });
});
