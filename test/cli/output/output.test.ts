import { describe, expect, test } from "vitest";
import { createContext } from "../../../cli/context.ts";
import { type CommonFlags, noFlags } from "../../../cli/flags.ts";
import { type Column, size, time } from "../../../cli/output/cells.ts";
import type { Page, PageSource } from "../../../cli/output/pages.ts";
import { neverStopping } from "../../../cli/report.ts";
import { type FakeSystemOptions, fakeSystem, runCli, temporaryHome } from "../support/run-cli.ts";

interface Row {
  readonly id: number;
  readonly name: string;
  readonly bytes: number;
  readonly at: string;
}

const things: readonly Row[] = [
  { id: 1, name: "one\ttab", bytes: 2048, at: "2026-11-21T11:00:00Z" },
  { id: 2, name: "\u001b[31mtwo\nlines", bytes: 5, at: "2026-11-20T12:00:00Z" },
  { id: 3, name: 'a,"b"', bytes: 0, at: "2026-11-19T12:00:00Z" },
];

const columns: readonly Column<Row>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "size", cell: ({ bytes }) => size(bytes) },
  { header: "at", cell: ({ at }) => time(at) },
];

/** Two to a page. */
const pages: PageSource<Row> = {
  first: async ({ page }) => pageOf(page ?? 1),
  next: async ({ page }) => pageOf((page ?? 1) + 1),
};

function pageOf(page: number): Page<Row> {
  const items = things.slice((page - 1) * 2, page * 2);
  return { items, page, limit: 2, total: 3, hasMore: page * 2 < 3 };
}

async function printList(
  flags: Partial<CommonFlags>,
  options: Partial<FakeSystemOptions> = {},
  source: PageSource<Row> = pages,
) {
  const system = fakeSystem({
    home: "/nowhere",
    now: () => Date.parse("2026-11-21T12:00:00Z"),
    ...options,
  });
  const cli = createContext(system, neverStopping);
  cli.useFlags({ ...noFlags, ...flags });
  await cli.output.list(source, columns);
  return { out: system.written.out(), err: system.written.err() };
}

/** Things that come one by one. */
async function printStream(
  flags: Partial<CommonFlags>,
  options: Partial<FakeSystemOptions> = {},
): Promise<string> {
  const now = () => Date.parse("2026-11-21T12:00:00Z");
  const system = fakeSystem({ home: "/nowhere", now, ...options });
  const cli = createContext(system, neverStopping);
  cli.useFlags({ ...noFlags, ...flags });
  async function* come() {
    yield* things.slice(0, 2);
  }
  await cli.output.stream(come(), columns);
  return system.written.out();
}

describe("a stream of items", () => {
  test("a stream of items is a row each on a terminal, safe and in people's words", async () => {
    expect(await printStream({}, { terminal: true })).toBe(
      "1  one tab  2.0 KiB  1 hour ago\n2  two lines  5 B  1 day ago\n",
    );
  });

  test("a stream of items is a row, a document or a line of a table each for scripts", async () => {
    expect(await printStream({})).toBe(
      "1\tone\\ttab\t2048\t2026-11-21T11:00:00Z\n2\t\\u001b[31mtwo\\nlines\t5\t2026-11-20T12:00:00Z\n",
    );
    expect(await printStream({ ndjson: true, json: ["id"] })).toBe('{"id":1}\n{"id":2}\n');
    expect(await printStream({ format: "csv", json: ["id"] })).toMatch(/^id\r?\n1\r?\n2\r?\n$/);
    expect(await printStream({ template: "{{.id}}" })).toBe("1\n2\n");
  });

  test("a stream of items is not a single document", async () => {
    for (const flags of [{ json: true }, { jq: "." }, { meta: true }, { format: "yaml" }] as const)
      await expect(printStream(flags)).rejects.toMatchObject({ code: "usage" });
  });
});

test("a terminal that does not know its size is taken for one of 80 columns", async () => {
  const { out } = await printList({ color: false }, { terminal: true, columns: 0 });
  expect(out).toContain("two lines");
});

describe("a list", () => {
  test("a list on a terminal is a sanitized table with a note about further pages", async () => {
    const { out, err } = await printList({ color: false }, { terminal: true });
    expect(out).toBe(
      "ID  NAME       SIZE     AT\n1   one tab    2.0 KiB  1 hour ago\n2   two lines  5 B      1 day ago\n",
    );
    expect(err).toBe("Showing 2 of 3; --all shows all, --page 2 the next.\n");
  });

  test("a list is tab-separated rows in a pipe: no header, exact bytes, RFC 3339 times", async () => {
    const { out, err } = await printList({});
    expect(out).toBe(
      "1\tone\\ttab\t2048\t2026-11-21T11:00:00Z\n2\t\\u001b[31mtwo\\nlines\t5\t2026-11-20T12:00:00Z\n",
    );
    expect(err).toBe("");
  });

  test("a list is one array with --json, unaltered", async () => {
    const { out } = await printList({ json: true });
    expect(JSON.parse(out)).toEqual(things.slice(0, 2));
    expect(out.split("\n")).toHaveLength(2);
  });

  test("a list has only the chosen fields with --json=id,name", async () => {
    const { out } = await printList({ json: ["name", "id"] });
    expect(out).toBe('[{"name":"one\\ttab","id":1},{"name":"\\u001b[31mtwo\\nlines","id":2}]\n');
  });

  test("follows the pages with --all and is still one document", async () => {
    const { out } = await printList({ json: ["id"], all: true });
    expect(JSON.parse(out)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });

  test("a page may have more items than one call takes arguments", async () => {
    const items = Array.from({ length: 150_000 }, (_, id) => ({ id, name: "", bytes: 0, at: "" }));
    const page = { items, page: null, limit: null, total: null, hasMore: false };
    const source = { first: async () => page, next: async () => page };
    const { out } = await printList({ json: ["id"] }, {}, source);
    expect(JSON.parse(out)).toHaveLength(items.length);
  });

  test("streams a document a line with --ndjson", async () => {
    const { out } = await printList({ ndjson: true, json: ["id"], all: true });
    expect(out).toBe('{"id":1}\n{"id":2}\n{"id":3}\n');
  });

  test.each([["--ndjson"], ["--template", "{{.key}}"], ["--format", "csv"]])(
    "a list is not wrapped where its items are printed one by one (%s)",
    async (...flags) => {
      await using home = await temporaryHome();
      const line = ["config", "list", "--meta", ...flags];
      const ran = await runCli(line, { home: home.path });
      expect(ran).toMatchObject({ code: 2, out: "" });
      expect(ran.error()["message"]).toBe(
        `--meta and ${flags.join(" ").replace(/ {{.*/, "")} exclude each other`,
      );
    },
  );

  test("a list is wrapped with --meta", async () => {
    const { out } = await printList({ meta: true, json: ["id"] });
    expect(JSON.parse(out)).toEqual({
      items: [{ id: 1 }, { id: 2 }],
      page: 1,
      limit: 2,
      total: 3,
      has_more: true,
    });
    const last = await printList({ meta: true, page: 2 });
    expect(JSON.parse(last.out)).toMatchObject({ page: 2, has_more: false });
  });

  test("takes a jq expression, and one for each item with --ndjson", async () => {
    expect((await printList({ jq: "map(.id) | add" })).out).toBe("3\n");
    expect((await printList({ jq: ".id", ndjson: true, all: true })).out).toBe("1\n2\n3\n");
  });

  test("a list is CSV with a header, quoted according to RFC 4180", async () => {
    const { out } = await printList({ format: "csv", json: ["id", "name"], all: true });
    expect(out).toBe('id,name\r\n1,one\ttab\r\n2,"two\nlines"\r\n3,"a,""b"""\r\n');
  });

  test("a list is TSV with a header", async () => {
    const { out } = await printList({ format: "tsv", json: ["id", "name"], page: 2 });
    expect(out).toBe('id\tname\n3\ta,"b"\n');
  });

  test("an empty list is CSV with its header", async () => {
    const ran = await runCli(["profile", "list", "--format", "csv", "--page", "2"], {
      home: "/nowhere",
    });
    expect(ran.out).toBe("name,in_use,url,credential_store,forge_username,vault_email\r\n");
  });

  test("a list is YAML", async () => {
    const { out } = await printList({ format: "yaml", json: ["id"] });
    expect(out).toBe("- id: 1\n- id: 2\n");
  });

  test("fills a template for each item", async () => {
    const { out } = await printList({ template: "{{.id}}\\t{{ .bytes }}{{.missing}}", all: true });
    expect(out).toBe("1\t2048\n2\t5\n3\t0\n");
  });

  test("notes an empty list on standard error", async () => {
    const system = fakeSystem({ home: "/nowhere", terminal: true });
    const cli = createContext(system, neverStopping);
    const none = { items: [], page: 1, limit: 2, total: 0, hasMore: false };
    await cli.output.list({ first: async () => none, next: async () => none }, columns);
    expect([system.written.out(), system.written.err()]).toEqual(["", "Nothing to show.\n"]);
  });
});

describe("one resource", () => {
  const print = async (flags: Partial<CommonFlags>, options: Partial<FakeSystemOptions> = {}) => {
    const system = fakeSystem({
      home: "/nowhere",
      now: () => Date.parse("2026-11-21T12:00:00Z"),
      ...options,
    });
    const cli = createContext(system, neverStopping);
    cli.useFlags({ ...noFlags, ...flags });
    await cli.output.resource(things[0]!, columns);
    return system.written.out();
  };

  test("one resource is lines of names and values, on a terminal and in a pipe", async () => {
    expect(await print({ color: false }, { terminal: true })).toBe(
      "id:   1\nname: one tab\nsize: 2.0 KiB\nat:   1 hour ago\n",
    );
    expect(await print({})).toBe("id\t1\nname\tone\\ttab\nsize\t2048\nat\t2026-11-21T11:00:00Z\n");
  });

  test("one resource is an object in every machine mode", async () => {
    expect(JSON.parse(await print({ json: true }))).toEqual(things[0]);
    expect(await print({ json: ["id"], ndjson: true })).toBe('{"id":1}\n');
    expect(await print({ format: "csv", json: ["id", "bytes"] })).toBe("id,bytes\r\n1,2048\r\n");
    expect(await print({ template: "{{.id}}" })).toBe("1\n");
    expect(await print({ jq: ".bytes" })).toBe("2048\n");
  });

  test("one resource is coloured on a terminal unless NO_COLOR, TERM=dumb or --no-color is set", async () => {
    const bold = "\u001b[1mid:  ";
    expect(await print({}, { terminal: true })).toContain(bold);
    expect(await print({ color: false }, { terminal: true })).not.toContain(bold);
    expect(await print({}, { terminal: true, env: { NO_COLOR: "1" } })).not.toContain(bold);
    expect(await print({}, { terminal: true, env: { TERM: "dumb" } })).not.toContain(bold);
  });
});
