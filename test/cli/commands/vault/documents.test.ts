import { createHash } from "node:crypto";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const sha256Of = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");

const ID = "01a1fdff-ed3d-7ce1-8986-d032f4367fd1";
const document = {
  id: ID,
  filename: "bill\u001b[31m.pdf",
  content_type: "application/pdf",
  size_bytes: 5,
  sha256: sha256Of("hello"),
  status: "ready",
  status_reason: null,
  storage_backend: "internal",
  semantic_index_status: "none",
  topics: ["Taxes"],
  extracted_text: "hello",
  classification: { topic: "Taxes", confidence: 0.8, provider: "builtin", words: ["vat"] },
  created_at: "2026-11-21T12:00:00.000Z",
  updated_at: "2026-11-21T12:00:00.000Z",
};

describe("flags become options", () => {
  test("of document list", async () => {
    expect(
      await optionsOf("vault document list", [
        "--query",
        "tax 2025",
        "--sort",
        "size",
        "--order",
        "desc",
      ]),
    ).toEqual({ query: "tax 2025", sort: "size", order: "desc", topics: true });
  });

  test("of document edit", async () => {
    expect(await optionsOf("vault document edit", [ID, "--topic", "A", "B"])).toMatchObject({
      ids: [ID],
      topic: ["A", "B"],
      topics: true,
    });
    expect(await optionsOf("vault document edit", [ID, "--no-topics"])).toMatchObject({
      topics: false,
    });
  });

  test("of share create and search", async () => {
    expect(await optionsOf("vault share create", [ID, "--to", "noor"])).toEqual({
      document: ID,
      to: "noor",
      permission: "view",
    });
    expect(await optionsOf("vault search", ["tax", "2025", "--kind", "item"])).toEqual({
      words: ["tax", "2025"],
      kind: "item",
    });
  });
});

test.each([
  ["ready", "too_large", "hello", /^missing text: +a part: .*1,000,000 characters/m],
  ["ready", "ocr_off", null, /^missing text: +all: .*CROFT_OCR/m],
  ["classification_failed", "damaged", undefined, /^missing text: +the file is cut off or broken/m],
  ["ready", null, "hello", /^missing text: *$/m],
])(
  "document view explains missing text: %s, %s, %j",
  async (status, reason, extracted_text, expected) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      [`GET /api/documents/${ID}`]: {
        body: { ...document, status, status_reason: reason, extracted_text },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "document", "view", ID], {
      home: home.path,
      terminal: true,
      env: { NO_COLOR: "1" },
    });
    expect(ran.out).toMatch(expected);
    expect(ran.out).toContain(reason === null ? status : `${status}: ${reason}`);
  },
);

test("document upload sends the file as a form and prints the document", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/documents/upload": { status: 201, body: document },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const file = join(home.path, "bill.pdf");
  await writeFile(file, "hello");
  const ran = await runCli(["vault", "document", "upload", file, "--json=id,topics"], {
    home: home.path,
  });
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.json()).toEqual({ id: ID, topics: ["Taxes"] });
  const sent = daemon.requests[0]?.body.toString() ?? "";
  expect(sent).toContain('name="filename"');
  expect(sent).toContain("hello");
});

test("document upload -r uploads every file of a folder, and reports those that fail", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/documents/upload": [
      { status: 201, body: document },
      { status: 413, body: { detail: "Storage quota exceeded" } },
    ],
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const folder = join(home.path, "scans");
  await mkdir(join(folder, "deep"), { recursive: true });
  await writeFile(join(folder, "b.pdf"), "first");
  await writeFile(join(folder, "deep", "c.pdf"), "second");
  await symlink("/etc/passwd", join(folder, "link"));
  const ran = await runCli(["vault", "document", "upload", folder, "-r", "--json"], {
    home: home.path,
  });
  expect(ran.json()).toMatchObject([
    { item: join(folder, "b.pdf"), id: ID, error: null },
    { item: join(folder, "deep", "c.pdf"), error: { code: "quota_exceeded" } },
  ]);
  expect(ran.code).not.toBe(0);
  expect(daemon.requests).toHaveLength(2);
});

test("document upload refuses a name for several files, and a folder without files", async () => {
  await using home = await temporaryHome();
  const upload = (...words: string[]) =>
    runCli(["vault", "document", "upload", ...words], { home: home.path });
  expect(await upload("a", "b", "--name", "c")).toMatchObject({ code: 2 });
  await mkdir(join(home.path, "empty"));
  expect(await upload(join(home.path, "empty"), "-r")).toMatchObject({ code: 2 });
});

test("document upload from standard input needs a name", async () => {
  await using home = await temporaryHome();
  const ran = await runCli(["vault", "document", "upload", "-"], { home: home.path, stdin: "x" });
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.err).toContain("--name");
});

test("document download writes atomically and overwrites only with --force", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    [`GET /api/documents/${ID}`]: { status: 200, body: document },
    [`GET /api/documents/${ID}/content`]: {
      status: 200,
      body: Buffer.from("hello"),
      headers: { "Content-Type": "application/pdf" },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const path = join(home.path, "out.pdf");
  const line = ["vault", "document", "download", ID, "--output", path];
  expect(await runCli(line, { home: home.path })).toMatchObject({ code: 0 });
  expect(await readFile(path, "utf8")).toBe("hello");
  expect(await runCli(line, { home: home.path })).toMatchObject({ code: 7 });
  expect(await runCli([...line, "--force"], { home: home.path })).toMatchObject({ code: 0 });
});

test("an export keeps what it said of a file that it could not fetch again", async () => {
  await using home = await temporaryHome();
  let text = "one";
  let isAway = false;
  const described = () => ({
    ...document,
    filename: "a.pdf",
    topics: [],
    size_bytes: text.length,
    sha256: createHash("sha256").update(text).digest("hex"),
  });
  const list = (items: readonly object[]) => ({
    body: { items, total: items.length, page: 1, per_page: 100 },
  });
  await using daemon = await fakeDaemon({
    "GET /api/documents": () => list([described()]),
    "GET /api/shares": list([]),
    "GET /api/topics": { body: { items: [] } },
    [`GET /api/documents/${ID}/content`]: () =>
      isAway
        ? { status: 410, body: { detail: "gone" } }
        : { body: Buffer.from(text), headers: { "Content-Type": "application/pdf" } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const exportAll = () =>
    runCli(["vault", "document", "export", join(home.path, "out"), "--json"], { home: home.path });
  expect((await exportAll()).code).toBe(0);
  text = "two";
  isAway = true;
  expect((await exportAll()).code).toBe(6);
  isAway = false;
  expect((await exportAll()).code).toBe(0);
  expect(await readFile(join(home.path, "out", "Without topic", "a.pdf"), "utf8")).toBe("two");
});

test("document download shows a terminal no bytes of a document unless forced", async () => {
  await using home = await temporaryHome();
  const hostile = "\u001b]0;owned\u0007";
  await using daemon = await fakeDaemon({
    [`GET /api/documents/${ID}/content`]: {
      status: 200,
      body: Buffer.from(hostile),
      headers: { "Content-Type": "text/plain" },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const line = ["vault", "document", "download", ID, "--output", "-"];
  const inTerminal = { home: home.path, terminal: true };
  expect(await runCli(line, inTerminal)).toMatchObject({ code: 2, out: "" });
  expect(await runCli([...line, "--force"], inTerminal)).toMatchObject({ code: 0, out: hostile });
  expect(await runCli(line, { home: home.path })).toMatchObject({ code: 0, out: hostile });
  expect(await runCli([...line, "--json"], { home: home.path })).toMatchObject({ code: 2 });
});

test("document delete reports when the provider still has its copy", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    [`GET /api/documents/${ID}`]: { status: 200, body: document },
    [`DELETE /api/documents/${ID}`]: {
      status: 200,
      body: { success: false, cloud_delete_failed: true },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const ran = await runCli(["vault", "document", "delete", ID, "--yes"], { home: home.path });
  expect(ran.code).not.toBe(0);
  expect(ran.err).toContain("--remove-only");
});

test("names of the server cannot move the cursor of a table", async () => {
  await using home = await temporaryHome();
  const { extracted_text: _, ...listed } = document;
  await using daemon = await fakeDaemon({
    "GET /api/documents": {
      status: 200,
      body: { items: [{ ...listed, snippet: null }], total: 1, page: 1, per_page: 30 },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const ran = await runCli(["vault", "document", "list"], { home: home.path });
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.out).not.toContain("\u001b[31m");
});

test("search refuses a time that cannot be read", async () => {
  await using home = await temporaryHome();
  const ran = await runCli(["vault", "search", "x", "--from", "yesterday-ish"], {
    home: home.path,
  });
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.err).toContain("--from takes a time");
});

describe("a document given by its name", () => {
  const { extracted_text: _, ...wire } = document;
  const listed = { ...wire, snippet: null };
  const OTHER = "01912d4c-77aa-7cc4-9c2e-0123456789ff";
  const listOf = (...items: object[]) => ({
    body: { items, total: items.length, page: 1, per_page: 100 },
  });

  async function view(answers: Parameters<typeof fakeDaemon>[0], name: string) {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      [`GET /api/documents/${ID}`]: { body: document },
      "GET /api/shares/received": listOf(),
      ...answers,
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "document", "view", name, "--json=id"], { home: home.path });
    return { ran, requests: daemon.requests.map(({ path }) => path) };
  }

  test("is found by the index, whatever else has its words", async () => {
    const other = { ...listed, id: OTHER, filename: `copy of ${document.filename}` };
    const { ran, requests } = await view(
      { "GET /api/documents": listOf(other, listed) },
      document.filename,
    );
    expect(ran.json()).toEqual({ id: ID });
    expect(decodeURIComponent(requests[0] ?? "")).toContain(`q="${document.filename}"`);
  });

  test("is found among the newest before its text is in the index", async () => {
    const { ran } = await view(
      { "GET /api/documents": [listOf(), listOf(listed)] },
      document.filename,
    );
    expect(ran.json()).toEqual({ id: ID });
  });

  test("is found among those that others have shared", async () => {
    const share = {
      id: OTHER,
      document_id: ID,
      filename: document.filename,
      owner_handle: "noor",
      recipient_handle: "mira",
      permission: "view",
      created_at: document.created_at,
    };
    const { ran } = await view(
      { "GET /api/documents": listOf(), "GET /api/shares/received": listOf(share) },
      document.filename,
    );
    expect(ran.json()).toEqual({ id: ID });
  });

  test("is refused with the ids when several have the name, and when none has it", async () => {
    const { ran } = await view(
      { "GET /api/documents": listOf(listed, { ...listed, id: OTHER }) },
      document.filename,
    );
    expect(ran).toMatchObject({ code: 2 });
    expect(ran.err).toContain(`${ID}, ${OTHER}`);
    const none = await view({ "GET /api/documents": listOf() }, "nothing.txt");
    expect(none.ran).toMatchObject({ code: 6 });
  });
});

test("search shows what matched in bold, and items by an address that other commands take", async () => {
  await using home = await temporaryHome();
  const { extracted_text: _, ...wire } = document;
  const connection = {
    id: "01912d4c-77aa-7cc4-9c2e-0123456789c1",
    provider: "webdav",
    display_name: "Cloud",
    status: "connected",
  };
  const item = {
    name: "trip.txt",
    connection_id: connection.id,
    provider_item_id: "docs/trip.txt",
  };
  const snippet = { text: "the tax of 2025 (tax)", marks: [[4, 7]] };
  await using daemon = await fakeDaemon({
    "GET /api/cloud/connections": {
      body: { items: [connection], total: 1, page: 1, per_page: 100 },
    },
    "GET /api/search": {
      body: {
        items: [
          { kind: "document", document: wire, item: null, snippet, score: 2 },
          { kind: "item", document: null, item, snippet: { text: "none", marks: [] }, score: 1 },
        ],
        total: 2,
        page: 1,
        per_page: 30,
      },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const ran = await runCli(["vault", "search", "tax", "--connection", "cloud"], {
    home: home.path,
    terminal: true,
    env: { COLUMNS: "200" },
  });
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.out).toContain("the \u001b[1mtax\u001b[22m of 2025 (\u001b[1mtax\u001b[22m)");
  expect(ran.out).toContain("Cloud:docs/trip.txt");
  expect(daemon.requests.at(-2)?.path).toContain(`connection_id=${connection.id}`);
});

describe("several documents at once", () => {
  const { extracted_text: _, ...wire } = document;
  const OTHER = "01912d4c-77aa-7cc4-9c2e-0123456789ff";
  const [first, second] = [
    { ...document, filename: "a.pdf" },
    { ...document, id: OTHER, filename: "b.pdf", topics: [], sha256: sha256Of("world") },
  ];
  const views = {
    [`GET /api/documents/${ID}`]: { body: first },
    [`GET /api/documents/${OTHER}`]: { body: second },
  };

  async function run(answers: Parameters<typeof fakeDaemon>[0], line: readonly string[]) {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon(answers);
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "document", ...line], { home: home.path });
    return { requests: daemon.requests, ran };
  }

  test("are downloaded into a folder that is made for them", async () => {
    const bytes = (text: string) => ({
      body: Buffer.from(text),
      headers: { "Content-Type": "application/pdf" },
    });
    await using home = await temporaryHome();
    const folder = join(home.path, "papers");
    const planned = await run(views, ["download", ID, OTHER, "-o", folder, "--dry-run", "--json"]);
    expect(planned.ran.json()).toMatchObject({
      dry_run: true,
      downloads: [{ path: join(folder, "a.pdf") }, { path: join(folder, "b.pdf") }],
    });
    expect(await readdir(home.path)).not.toContain("papers");
    const { ran } = await run(
      {
        ...views,
        [`GET /api/documents/${ID}/content`]: bytes("hello"),
        [`GET /api/documents/${OTHER}/content`]: bytes("world"),
      },
      ["download", ID, OTHER, "-o", folder, "--json"],
    );
    expect(ran).toMatchObject({ code: 0 });
    expect(await readFile(join(folder, "a.pdf"), "utf8")).toBe("hello");
    expect(await readFile(join(folder, "b.pdf"), "utf8")).toBe("world");
    const sameName = { ...second, filename: first.filename, sha256: sha256Of("other") };
    const answers = { ...views, [`GET /api/documents/${OTHER}`]: { body: sameName } };
    const content = { [`GET /api/documents/${ID}/content`]: bytes("hello") };
    await run({ ...answers, ...content, [`GET /api/documents/${OTHER}/content`]: bytes("other") }, [
      "download",
      ID,
      OTHER,
      "-o",
      folder,
      "--force",
    ]);
    expect(await readFile(join(folder, "a (1).pdf"), "utf8")).toBe("other");
    const toOutput = await run(views, ["download", ID, OTHER, "-o", "-"]);
    expect(toOutput.ran).toMatchObject({ code: 2 });
  });

  test("get a topic without losing the others, and lose one", async () => {
    const patched = { [`PATCH /api/documents/${ID}`]: { body: first } };
    const { ran, requests } = await run(
      { ...views, ...patched, [`PATCH /api/documents/${OTHER}`]: { body: second } },
      ["edit", ID, OTHER, "--add-topic", "House", "--remove-topic", "TAXES", "--json"],
    );
    expect(ran).toMatchObject({ code: 0 });
    const sent = requests.filter(({ method }) => method === "PATCH");
    expect(sent.map(({ body }) => JSON.parse(body.toString()))).toEqual([
      { topics: ["House"] },
      { topics: ["House"] },
    ]);
    const extended = await run({ ...views, ...patched }, ["edit", ID, "--add-topic", "House"]);
    expect(JSON.parse(extended.requests.at(-1)?.body.toString() ?? "")).toEqual({
      topics: ["Taxes", "House"],
    });
    for (const flags of [["--topic", "A", "--add-topic", "B"], ["--no-topics", "--topic", "A"], []])
      expect((await run(views, ["edit", ID, ...flags])).ran, flags.join(" ")).toMatchObject({
        code: 2,
      });
    expect((await run(views, ["edit", ID, OTHER, "--name", "x"])).ran).toMatchObject({ code: 2 });
  });

  test("are deleted, and those that are missing are reported", async () => {
    const { ran } = await run(
      {
        ...views,
        [`DELETE /api/documents/${ID}`]: { body: { success: true } },
        [`DELETE /api/documents/${OTHER}`]: {
          status: 404,
          body: { detail: "Document not found" },
        },
      },
      ["delete", ID, OTHER, "--yes", "--json"],
    );
    expect(ran).toMatchObject({ code: 14 });
    expect(ran.json()).toMatchObject([
      { item: ID, filename: "a.pdf", error: null },
      { item: OTHER, error: { code: "not_found" } },
    ]);
  });

  test("are classified", async () => {
    const queued = (id: string) => ({
      status: 202,
      body: { document_id: id, status: "processing" },
    });
    const { ran } = await run(
      {
        [`POST /api/documents/${ID}/classify`]: queued(ID),
        [`POST /api/documents/${OTHER}/classify`]: queued(OTHER),
      },
      ["classify", ID, OTHER, "--json=document_id,status"],
    );
    expect(ran.json()).toEqual([
      { document_id: ID, status: "processing" },
      { document_id: OTHER, status: "processing" },
    ]);
  });

  test("upload --if-absent sends only files whose bytes are no document yet", async () => {
    await using home = await temporaryHome();
    const { requests, ran } = await run(
      {
        ...views,
        "GET /api/documents": [
          { body: { items: [{ ...wire, snippet: null }], total: 1, page: 1, per_page: 1 } },
          { body: { items: [], total: 0, page: 1, per_page: 1 } },
        ],
        "POST /api/documents/upload": { status: 201, body: second },
      },
      [
        "upload",
        ...(await Promise.all(
          ["old", "new"].map(async (name) => {
            const path = join(home.path, name);
            await writeFile(path, name);
            return path;
          }),
        )),
        "--if-absent",
        "--json=id",
      ],
    );
    expect(ran.json()).toEqual([{ id: ID }, { id: OTHER }]);
    expect(ran.err).toContain("nothing was uploaded");
    expect(requests[0]?.path).toContain(`sha256=${sha256Of("old")}`);
    expect(requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("--if-absent reads a pipe once, and sends all of its bytes", async () => {
    await using home = await temporaryHome();
    const sent: Buffer[] = [];
    await using daemon = await fakeDaemon({
      ...views,
      "GET /api/documents": { body: { items: [], total: 0, page: 1, per_page: 1 } },
      "POST /api/documents/upload": ({ body }) => {
        sent.push(body);
        return { status: 201, body: first };
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "document", "upload", "--name", "a.pdf", "--if-absent"];
    const fifo = join(home.path, "pipe");
    await promisify(execFile)("mkfifo", [fifo]);
    const fromFifo = runCli([...line, fifo], { home: home.path });
    await writeFile(fifo, "once, by a pipe");
    expect(await fromFifo).toMatchObject({ code: 0 });
    const fromInput = await runCli([...line, "-"], { home: home.path, stdin: "standard input" });
    expect(fromInput).toMatchObject({ code: 0 });
    expect(sent.map(String)).toEqual([
      expect.stringContaining("once, by a pipe"),
      expect.stringContaining("standard input"),
    ]);
    const asked = daemon.requests.filter(({ path }) => path.includes("sha256="));
    expect(asked.map(({ path }) => new URL(path, "http://x").searchParams.get("sha256"))).toEqual([
      sha256Of("once, by a pipe"),
      sha256Of("standard input"),
    ]);
  });

  test("a download of other bytes than the recorded ones leaves no file", async () => {
    await using home = await temporaryHome();
    const path = join(home.path, "a.pdf");
    const answers = {
      ...views,
      [`GET /api/documents/${ID}/content`]: { body: Buffer.from("hellO") },
    };
    const { ran } = await run(answers, ["download", ID, "-o", path]);
    expect(ran).toMatchObject({ code: 11 });
    expect(ran.err).toContain("another SHA-256");
    expect(await readdir(home.path)).not.toContain("a.pdf");
    expect((await readdir(home.path)).filter((name) => name.endsWith(".croft-part"))).toEqual([]);
  });

  test("two downloads of a document with a long name at once are both whole", async () => {
    await using home = await temporaryHome();
    const filename = `${"n".repeat(250)}.txt`;
    const bytes = Buffer.alloc(2_000_000, "x");
    const long = { ...first, filename, size_bytes: bytes.length, sha256: sha256Of(bytes) };
    await using daemon = await fakeDaemon({
      [`GET /api/documents/${ID}`]: { body: long },
      [`GET /api/documents/${ID}/content`]: { body: bytes },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const line = ["vault", "document", "download", ID, "-o", home.path];
    const ran = await Promise.all(
      Array.from({ length: 4 }, () => runCli(line, { home: home.path })),
    );
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const [saved = ""] = (await readdir(home.path)).filter((name) => name.startsWith("nnn"));
    expect((await readFile(join(home.path, saved))).equals(bytes)).toBe(true);
    expect((await readdir(home.path)).filter((name) => name.endsWith(".croft-part"))).toEqual([]);
  });
});
