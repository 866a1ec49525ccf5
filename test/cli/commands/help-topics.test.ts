import { expect, test } from "vitest";
import { commandGroups } from "../../../cli/commands/root.ts";
import { commands } from "../../../cli/program.ts";
import { runCli } from "../support/run-cli.ts";

const home = "/proc/nowhere";

test("croft help topics lists every topic, and each prints its page", async () => {
  const { out } = await runCli(["help", "topics"], { home });
  const names = [...out.matchAll(/croft help ([\w-]+)/g)].map(([, name]) => name ?? "");
  expect(names).toEqual([
    "environment",
    "backups",
    "formatting",
    "packages",
    "scripting",
    "exit-codes",
  ]);
  for (const name of names) {
    const page = await runCli(["help", name], { home });
    expect({ name, code: page.code, err: page.err }).toEqual({ name, code: 0, err: "" });
    // Commands to copy stay in one piece.
    for (const line of page.out
      .split("\n")
      .filter((one) => !/^ {2}.*(?:croft|pip|twine) [a-z]/.test(one)))
      expect(line.length).toBeLessThanOrEqual(80);
  }
});

test("the page of the environment names the variables of the command line", async () => {
  const { out } = await runCli(["help", "environment"], { home });
  for (const name of ["CROFT_URL", "CROFT_PROFILE", "CROFT_TOKEN_COMMAND", "CROFT_HOME"])
    expect(out).toContain(name);
});

test("every command of the pages of topics exists", async () => {
  for (const topic of ["formatting", "packages", "scripting"]) {
    const { out } = await runCli(["help", topic], { home });
    for (const [, line = ""] of out.matchAll(
      /^ {2}(?:printf '%s' "\$PASSWORD" \| )?croft ([a-z ]+)/gm,
    )) {
      const shown = await runCli([...line.trim().split(" "), "--help"], { home });
      expect({ line, code: shown.code }).toEqual({ line, code: 0 });
    }
  }
});

test("the fields in examples of topics are fields of their commands", async () => {
  let count = 0;
  for (const topic of ["formatting", "scripting", "backups"]) {
    const { out } = await runCli(["help", topic], { home });
    for (const [, line = "", flags = ""] of out.matchAll(
      /^ {2}.*?croft ([a-z ]+?)(?= [^a-z])(.*)$/gm,
    )) {
      const used = [
        ...(/--json=([\w,]+)/.exec(flags)?.[1]?.split(",") ?? []),
        ...[...flags.matchAll(/\{\{\.(\w+)/g)].map(([, name = ""]) => name),
        ...[...(/--jq (.*)$/.exec(flags)?.[1] ?? "").matchAll(/\.([a-z_]+)/g)].map(
          ([, name = ""]) => name,
        ),
      ];
      if (used.length === 0) continue;
      const operands = (flags.split(" --")[0] ?? "").split(" ").filter((word) => word !== "");
      const known = await runCli([...line.split(" "), ...operands, "--json=?"], { home });
      for (const name of used) expect(known.out.split("\n"), `${line} ${flags}`).toContain(name);
      count += used.length;
    }
  }
  expect(count).toBeGreaterThan(5);
});

test("croft --help shows every command in a group", async () => {
  const grouped = commandGroups.flatMap(([, names]) => names);
  const shown = commands.filter((entry) => entry.kind === "noun" || !entry.hidden);
  expect(shown.map(({ name }) => name).filter((name) => !grouped.includes(name))).toEqual([]);
  const { out } = await runCli(["--help"], { home });
  for (const [heading] of commandGroups) expect(out).toContain(`\n${heading}\n`);
});

test("--json=? lists the fields of a command instead of running it", async () => {
  const ran = await runCli(["admin", "user", "list", "--json=?"], { home: "/nowhere" });
  expect(ran).toMatchObject({ code: 0, err: "" });
  expect(ran.out.split("\n")).toEqual(expect.arrayContaining(["id", "login", "email"]));
});

test("a topic wraps at the width of a narrow terminal, and commands stay in one piece", async () => {
  const terminal = { home, terminal: true, columns: 40, hasPager: false };
  const { out } = await runCli(["help", "environment"], terminal);
  for (const line of out.split("\n")) expect(line.trimEnd().length).toBeLessThanOrEqual(40);
  const scripting = await runCli(["help", "scripting"], terminal);
  expect(scripting.out).toContain("  croft daemon wait --timeout 60\n");
});
