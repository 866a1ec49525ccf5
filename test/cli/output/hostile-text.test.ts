import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { createContext } from "../../../cli/context.ts";
import { CliError } from "../../../cli/errors.ts";
import { type CommonFlags, noFlags } from "../../../cli/flags.ts";
import type { Column } from "../../../cli/output/cells.ts";
import { toYaml } from "../../../cli/output/formats.ts";
import { wholeList } from "../../../cli/output/pages.ts";
import { neverStopping, reportFailure } from "../../../cli/report.ts";
import { fakeSystem } from "../support/run-cli.ts";

/** One of each kind: OSC, CSI, BEL, backspace, C1, direction marks, zero width, tags, line separators. */
const hostile =
  "a\u001b]0;owned\u0007b\u001b[2Jc\u0007d\be\u009b31mf\u009d0;t\u009cg\u0085h\u202ei\u2066j\u200bk\u{e0041}l\u2028m\u2029n\u00ado\ufeffp";

interface Row {
  readonly name: string;
  readonly inner: { readonly [key: string]: string };
  readonly lines: string;
}

const row: Row = { name: hostile, inner: { [hostile]: hostile }, lines: `1${hostile}\n2\r\n3` };

const columns: readonly Column<Row>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "lines", cell: ({ lines }) => lines },
  { header: "list", cell: ({ name }) => [name, name] },
];

// oxlint-disable-next-line no-control-regex -- the pattern matches characters that must not be printed
const actedOn = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029]|\p{Cf}/u;

const human: Readonly<Record<string, Partial<CommonFlags>>> = {
  table: {},
  csv: { format: "csv", json: ["name", "inner", "lines"] },
  tsv: { format: "tsv", json: ["name", "inner", "lines"] },
  template: { template: "{{.name}} {{.inner}} {{.lines}} {{.}}" },
  "jq strings": { jq: ".[].name" },
  "jq strings of the full engine": { jq: "map(.name, .lines) | .[]" },
  "jq strings item by item": { jq: ".lines", ndjson: true },
};

const exact: Readonly<Record<string, Partial<CommonFlags>>> = {
  "--json": { json: true },
  "--json=fields": { json: ["name", "inner", "lines"] },
  "jq documents": { jq: "." },
  "jq documents of the full engine": { jq: "map(. + {})" },
  yaml: { format: "yaml" },
};

async function print(flags: Partial<CommonFlags>, isTerminal: boolean, what: "list" | "resource") {
  const system = fakeSystem({ home: "/nowhere", terminal: isTerminal, columns: 400 });
  const cli = createContext(system, neverStopping);
  cli.useFlags({ ...noFlags, color: false, ...flags });
  if (what === "list") await cli.output.list(wholeList([row]), columns);
  else await cli.output.resource(row, columns);
  return system.written.out();
}

describe.each([
  ["on a terminal", true],
  ["in a pipe", false],
])("hostile text from the server %s", (_where, isTerminal) => {
  /** Rows tell names apart; tables and texts are for the eye. */
  const shownIn = (format: string) =>
    format === "tsv" || (format === "table" && !isTerminal)
      ? String.raw`a\u001b]0;owned\u0007b\u001b[2Jc\u0007d`
      : "abcdefghijklmnop";

  test.each(Object.keys(human))("has no effect in a list as %s", async (format) => {
    const out = await print(human[format] ?? {}, isTerminal, "list");
    expect(out).not.toMatch(actedOn);
    expect(out.replaceAll(" ", "")).toContain(shownIn(format));
  });

  test.each(["table", "csv", "tsv", "template"])(
    "control characters of the server have no effect in a resource as %s",
    async (format) => {
      const out = await print(human[format] ?? {}, isTerminal, "resource");
      expect(out).not.toMatch(actedOn);
      expect(out.replaceAll(" ", "")).toContain(shownIn(format));
    },
  );

  test.each(Object.keys(exact))("is escaped and exact in a list as %s", async (format) => {
    const out = await print(exact[format] ?? {}, isTerminal, "list");
    expect(out).not.toMatch(actedOn);
    expect(format === "yaml" ? parseYaml(out) : JSON.parse(out)).toEqual([row]);
  });

  test("control characters of the server are escaped in every line of --ndjson and --meta", async () => {
    const lines = await print({ ndjson: true }, isTerminal, "list");
    expect(lines).not.toMatch(actedOn);
    expect(JSON.parse(lines)).toEqual(row);
    const meta = await print({ meta: true, json: true }, isTerminal, "list");
    expect(meta).not.toMatch(actedOn);
    expect(JSON.parse(meta)).toMatchObject({ items: [row] });
  });

  test("control characters of the server are removed from rows and texts", async () => {
    const system = fakeSystem({ home: "/nowhere", terminal: isTerminal });
    const cli = createContext(system, neverStopping);
    await cli.output.done({ deleted: true, name: hostile, inner: { hostile } }, hostile);
    await cli.output.text(hostile, hostile);
    expect(system.written.out()).not.toMatch(actedOn);
  });

  test("control characters of the server are removed from notes, warnings, errors and hints, and escaped in JSON errors", async () => {
    const system = fakeSystem({ home: "/nowhere", terminal: isTerminal });
    const cli = createContext(system, neverStopping);
    cli.useFlags({ ...noFlags, color: false });
    cli.io.note(hostile);
    cli.io.warn(hostile);
    const error = new CliError("conflict", hostile, { hint: hostile, reason: hostile });
    await reportFailure(error, cli, false);
    expect(system.written.err()).not.toMatch(actedOn);
    await reportFailure(error, cli, true);
    const last = system.written.err().trimEnd().split("\n").at(-1) ?? "";
    expect(last).not.toMatch(actedOn);
    expect(JSON.parse(last)).toMatchObject({ error: { message: hostile, reason: hostile } });
  });
});

test("a YAML scalar beyond the basic plane is one escape", async () => {
  const out = await print({ format: "yaml" }, false, "resource");
  expect(out).toContain("\\U000e0041");
});

test("texts and keys come back from YAML 1.1 and 1.2, whatever they look like", () => {
  const texts = [
    ...["no", "yes", "off", "y", "N", "True", "NULL", "~", "", "null", "=", "<<", "---", "..."],
    ...[
      "1:30",
      "12:30:45",
      "2024-01-01",
      "2024-01-01T00:00:00Z",
      "2024-1-1 1:2:3.5 +2",
      "190:20:30.15",
    ],
    ...[
      "0b101",
      "0o17",
      "017",
      "0x1f",
      "1_000",
      "685_230.15",
      "1e3",
      "1.",
      ".5",
      "-.inf",
      ".NaN",
      "+1",
    ],
    ...["*a", "&a", "!t", "@a", "%a", "- a", "? a", "a: b", "a #b", " lead", "trail ", "tab\there"],
    ...[
      "plain words",
      "two\nlines",
      "\n",
      "1 item",
      "1,000",
      "deadbeef",
      "1e5a",
      "caf\u00e9",
      "\ud83d\ude00",
    ],
  ];
  const value = {
    texts,
    keys: Object.fromEntries(texts.map((text) => [text, text])),
    number: 1.5,
    is: true,
  };
  const yaml = toYaml(value);
  for (const version of ["1.1", "1.2"] as const)
    expect(parseYaml(yaml, { version, merge: version === "1.1" }), version).toEqual(value);
  expect(toYaml(["plain words", "1 item", "main"])).toBe("- plain words\n- 1 item\n- main\n");
});
