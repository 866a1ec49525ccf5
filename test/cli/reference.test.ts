import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { createContext } from "../../cli/context.ts";
import { errorCodes } from "../../cli/exit-codes.ts";
import { addCommonFlags } from "../../cli/flags.ts";
import { neverStopping } from "../../cli/report.ts";
import { commands } from "../../cli/program.ts";
import { loadAllCommands } from "../../cli/tree/command-tree.ts";
import { toCommonFlagsPage, toExitCodesPage, toReferencePage } from "../../cli/tree/reference.ts";
import { fakeSystem, runCli } from "./support/run-cli.ts";

const docs = join(import.meta.dirname, "../../docs");
const loaded = await loadAllCommands(
  createContext(fakeSystem({ home: "/nowhere" }), neverStopping),
  commands,
);
const groups = Map.groupBy(
  loaded.filter(({ hidden }) => !hidden),
  ({ line }) => line.split(" ")[0] ?? "",
);

describe("the generated pages match the commands", () => {
  test.each([...groups.keys()])("docs/cli/%s.md matches the commands", async (word) => {
    const page = toReferencePage(word, groups.get(word) ?? []);
    await expect(page).toMatchFileSnapshot(join(docs, "cli", `${word}.md`));
  });

  test("docs/cli/common-flags.md matches the commands", async () => {
    const all = new Command();
    addCommonFlags(all, { list: true, write: true, destructive: true, bytes: true });
    await expect(toCommonFlagsPage(all)).toMatchFileSnapshot(join(docs, "cli", "common-flags.md"));
  });

  test("docs/exit-codes.md matches the codes", async () => {
    await expect(toExitCodesPage()).toMatchFileSnapshot(join(docs, "exit-codes.md"));
  });

  test("every generated page belongs to a command", async () => {
    const pages = await readdir(join(docs, "cli"));
    const known = [...groups.keys(), "common-flags", "output"].map((word) => `${word}.md`);
    expect(pages.filter((page) => !known.includes(page))).toEqual([]);
  });
});

test("croft help exit-codes prints every code", async () => {
  const ran = await runCli(["help", "exit-codes"], { home: "/nowhere" });
  for (const code of Object.keys(errorCodes)) expect(ran.out).toContain(` ${code} `);
  const { json } = await runCli(["help", "exit-codes", "--json"], { home: "/nowhere" });
  expect(json()).toMatchObject({
    exit_codes: expect.arrayContaining([{ code: 13, meaning: expect.any(String) }]),
  });
});

test("croft commands lists every command with its operations", async () => {
  const ran = await runCli(["commands", "--json"], { home: "/nowhere" });
  const listed = ran.json() as { command: string; operations: string[] }[];
  expect(listed).toHaveLength(loaded.filter(({ hidden }) => !hidden).length);
  expect(listed).toContainEqual(
    expect.objectContaining({
      command: "croft admin user list",
      operations: ["forge.admin.users.list"],
    }),
  );
});

test("croft schema prints the schema of the output", async () => {
  const ran = await runCli(["schema", "admin", "user", "list"], { home: "/nowhere" });
  expect(ran.json()).toMatchObject({
    type: "array",
    items: {
      type: "object",
      properties: { login: { type: "string" }, is_admin: { type: "boolean" } },
    },
  });
  const other = await runCli(
    ["schema", "vault", "item", "list", "--jq", ".items.properties | keys | .[0]"],
    { home: "/nowhere" },
  );
  expect(other).toMatchObject({ code: 0, out: "analysis_status\n" });
});
