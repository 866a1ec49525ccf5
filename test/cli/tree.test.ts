import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createContext } from "../../cli/context.ts";
import { toFieldNames, toOutputSchema } from "../../cli/output/schema.ts";
import { neverStopping } from "../../cli/report.ts";
import { commands } from "../../cli/program.ts";
import { loadAllCommands } from "../../cli/tree/command-tree.ts";
import { fakeDaemon } from "./support/fake-daemon.ts";
import { fakeSystem, openInput, runCli, temporaryHome } from "./support/run-cli.ts";
import { signIn } from "./support/signed-in.ts";

const loaded = await loadAllCommands(
  createContext(fakeSystem({ home: "/nowhere" }), neverStopping),
  commands,
);
const visible = loaded.filter(({ hidden }) => !hidden);
const lines = loaded.map(({ line }) => line);

/** A home whose daemon must not be called: these tests end before any request. */
const nowhere = { home: "/nowhere", env: { CROFT_URL: "http://127.0.0.1:9" } };

describe.each(lines)("croft %s", (line) => {
  const words = line.split(" ");
  const command = loaded.find((one) => one.line === line)!;

  test("explains itself with --help, without home, daemon or terminal", async () => {
    const ran = await runCli([...words, "--help"], { home: "/proc/nowhere" });
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(ran.out).toContain(`Usage: croft ${line}`);
    expect(ran.out).toContain(command.summary);
    expect(ran.out).toContain("--json[=fields]");
    for (const text of ran.out.split("\n")) expect(text.length).toBeLessThanOrEqual(100);
  });

  test("answers an unknown flag with one line of JSON and exit code 2", async () => {
    const ran = await runCli([...words, ...argumentsOf(line), "--no-such-flag", "--json"], nowhere);
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.error()).toMatchObject({ code: "usage", exit_code: 2, http_status: null });
    expect(ran.error()["message"]).toContain("--no-such-flag");
  });

  test("names unknown fields before it does anything", async () => {
    const names = toFieldNames(command.module.output);
    const { kind } = command.module.output;
    if (kind === "bytes" || kind === "any") return;
    expect(names).not.toContain("no_such_field");
    const ran = await runCli([...words, ...argumentsOf(line), "--json=no_such_field"], nowhere);
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.error()).toMatchObject({ code: "unknown_field" });
    expect(ran.error()["hint"]).toContain(names[0] ?? "no fields");
  });

  test("a command has a schema of its JSON, unless it prints bytes or the server's own response", () => {
    const { output } = command.module;
    const schema = toOutputSchema(output);
    if (output.kind === "bytes" || output.kind === "any") expect(schema).toBeUndefined();
    else expect(schema).toMatchObject(output.list ? { type: "array" } : {});
    if (output.kind === "reply")
      expect(schema, `${output.operation.name} ${output.status}`).toBeDefined();
  });

  test("has no flag that takes a secret as its value", () => {
    const secrets = command.command.options.filter(
      ({ long, required, flags }) =>
        required &&
        !/<(?:true\|false|key)\b/.test(flags) &&
        /password|secret|token$|credential(?!-(store|stdin))/.test(long ?? ""),
    );
    expect(secrets.map(({ flags }) => flags)).toEqual([]);
  });

  test("describes each of its flags and arguments", () => {
    const { options, registeredArguments } = command.command;
    for (const option of options) expect(option.description, option.flags).not.toBe("");
    for (const argument of registeredArguments)
      expect(argument.description, argument.name()).not.toBe("");
  });

  test("takes --dry-run when it writes", () => {
    const writes =
      command.module.writes ?? command.module.calls.some(({ method }) => method !== "GET");
    const flags = command.command.options.map(({ long }) => long);
    expect(flags.includes("--dry-run")).toBe(writes);
  });

  test("destructive commands take --yes, and every command that calls DELETE declares whether it is destructive", () => {
    const { destructive, calls } = command.module;
    const flags = command.command.options.map(({ long }) => long);
    expect(flags.includes("--yes")).toBe(destructive === true);
    if (calls.some(({ method }) => method === "DELETE")) expect(destructive).toBeDefined();
  });
});

describe("no command prompts without a terminal", () => {
  test.each(visible.map(({ line }) => line).filter((line) => !runsForever.has(line)))(
    "croft %s prompts for nothing with --no-input on a terminal",
    async (line) => {
      await using home = await temporaryHome();
      await mkdir(join(home.path, "credentials"));
      await using daemon = await fakeDaemon(await anything());
      await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
      // An input that never ends: a command that prompts would wait forever.
      const stdin = openInput();
      const words = [...line.split(" "), ...argumentsOf(line), "--no-input", "--no-color"];
      const ran = await runCli(words, { home: home.path, stdin, terminal: true });
      expect(ran.out + ran.err).not.toMatch(/\(y\/N\)/);
      if (ran.code === 2) expect(ran.err, ran.err).toMatch(/^croft: /);
    },
  );
});

const runsForever: ReadonlySet<string> = new Set(["serve", "init"]);

/** A daemon that answers everything with something. */
async function anything() {
  return new Proxy<Record<string, { body: unknown }>>({}, { get: () => ({ body: { items: [] } }) });
}

/** Something for each required argument and flag of a command, so that parsing succeeds, and for an optional repository. */
function argumentsOf(line: string): string[] {
  const { command } = loaded.find((one) => one.line === line)!;
  const values = command.registeredArguments
    .filter((argument) => argument.required || argument.name() === "repository")
    .map((argument) => valueOf(line, argument.name()));
  const flags = command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long, variadic, argChoices: [choice = "x"] = [] }) =>
      long ? (variadic ? [`${long}=${choice}`] : [long, choice]) : [],
    );
  return [...values, ...flags];
}

function valueOf(line: string, name: string): string {
  if (line === "api") return name === "method" ? "GET" : "/api/v1/version";
  if (line === "schema") return "version";
  if (line === "vault item upload") return "x";
  if (name === "repository") return "mira/notes";
  if (/item|folder/.test(name)) return "home:/x";
  return /id$/.test(name) ? "1" : "x";
}

test.each([
  ["mr", "croft pr"],
  ["document", "croft vault document"],
  ["share", "croft vault share"],
  ["hook", "croft repo hook"],
])("croft %s says what there is in its place", async (word, there) => {
  const ran = await runCli([word, "list"], { home: "/nowhere" });
  expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(there)]);
});

test("fields in a word after --json are refused with the way to write them", async () => {
  const ran = await runCli(["config", "list", "--json", "key,value"], { home: "/nowhere" });
  expect([ran.code, ran.err]).toEqual([2, expect.stringContaining("--json=key,value")]);
});
