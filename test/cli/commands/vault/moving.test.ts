import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTools } from "../../../../cli/commands/mcp.ts";
import { startTestDaemon, type TestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { STRONG } from "../../../support/vault/vault-accounts.ts";
import { createPerson } from "../../../support/vault/vault-person.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

type Home = Awaited<ReturnType<typeof temporaryHome>>;

let daemon: TestDaemon;
let folder: string;
const homes: Record<string, Home> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-moving-"));
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_LOCAL_ROOTS: folder },
  });
  for (const [index, name] of ["mira", "noor", "ada", "zoe"].entries()) {
    homes[name] = await temporaryHome();
    await createPerson(daemon, name, `192.0.2.${index + 1}`).register();
    const line = ["login", "vault", "--email", `${name}@example.org`, "--password-stdin"];
    const login = await runCli(line, {
      home: homes[name].path,
      env: { CROFT_URL: daemon.url },
      stdin: STRONG,
    });
    expect(login.code, login.err).toBe(0);
  }
});
afterAll(async () => {
  for (const home of Object.values(homes)) await home[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function croft(name: string, words: readonly string[], stdin?: string) {
  return runCli(words, {
    home: homes[name]?.path ?? "",
    env: { CROFT_URL: daemon.url },
    ...(stdin === undefined ? {} : { stdin }),
  });
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Returns the paths of all files of a folder, sorted. */
async function filesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .toSorted();
}

/** Returns the data of an export without what belongs to the account: ids and times. */
async function dataOf(root: string) {
  const { documents, topics } = JSON.parse(
    await readFile(join(root, "croft-documents.json"), "utf8"),
  ) as { documents: Record<string, unknown>[]; topics: unknown[] };
  return {
    topics,
    documents: documents.map(({ file, filename, sha256: hash, topics: names }) => ({
      file,
      filename,
      hash,
      topics: (names as { name: string }[]).map(({ name }) => name),
    })),
  };
}

interface ExportedFiles {
  readonly file: string;
  readonly filename: string;
  readonly versions?: readonly { readonly file: string }[];
}

describe("documents that move", () => {
  test("an export, its import into an empty account and another export are equal, and each may run again", async () => {
    const one = join(folder, "one");
    const two = join(folder, "two");
    for (const [topic, description] of [
      ["Bills: 2026", "Bills & invoices"],
      ["Taxes", ""],
    ] as const)
      await croft("mira", ["vault", "topic", "create", topic, "--description", description]);
    const upload = async (name: string, text: string, ...topics: string[]) => {
      const made = await croft(
        "mira",
        ["vault", "document", "upload", "-", "--name", name, "--json"],
        text,
      );
      expect(made.code, made.err).toBe(0);
      const { id } = made.json() as { id: string };
      const edit = ["vault", "document", "edit", id];
      for (const topic of topics) edit.push("--topic", topic);
      const edited = await croft("mira", topics.length === 0 ? [...edit, "--name", name] : edit);
      expect(edited.code, edited.err).toBe(0);
      return id;
    };
    await upload("gas.txt", "a gas bill", "Taxes", "Bills: 2026");
    await upload("gas.txt", "another gas bill", "Bills: 2026");
    await upload("CON.txt", "a name that Windows reserves", "Taxes");
    const shared = await upload("a?b:c.txt", "characters that Windows refuses", "Taxes");
    await croft("mira", ["vault", "share", "create", shared, "--to", "noor"]);
    const shown = ["--json", "--progress", "json"];
    const line = ["vault", "document", "export", one];
    const planned = (await croft("mira", [...line, "--dry-run", "--json"])).json();
    expect((planned as { downloads: object[] }).downloads).toHaveLength(4);
    await expect(readdir(one)).rejects.toThrow("ENOENT");
    const exported = await croft("mira", [...line, ...shown]);
    expect(exported.code, exported.err).toBe(0);
    expect(exported.err).toContain('{"event":"total","files":4,"bytes":');
    expect((exported.json() as { state: string }[]).map(({ state }) => state)).toEqual(
      Array.from({ length: 4 }, () => "fetched"),
    );
    expect(await filesOf(one)).toEqual([
      "Bills_ 2026/gas (1).txt",
      "Bills_ 2026/gas.txt",
      "Taxes/_CON.txt",
      "Taxes/a_b_c.txt",
      "croft-documents.json",
    ]);
    const { documents } = JSON.parse(await readFile(join(one, "croft-documents.json"), "utf8"));
    expect(documents.find(({ id }: { id: string }) => id === shared)).toMatchObject({
      filename: "a?b:c.txt",
      sha256: sha256("characters that Windows refuses"),
      shares: [{ recipient: "noor", permission: "view" }],
    });

    await rm(join(one, "Taxes/_CON.txt"));
    await writeFile(join(one, "Taxes/a_b_c.txt"), "changed");
    const kept = await croft("mira", ["vault", "document", "export", one, "--json"]);
    expect(kept.code).toBe(14);
    expect(await readFile(join(one, "Taxes/a_b_c.txt"), "utf8")).toBe("changed");
    await rm(join(one, "Taxes/_CON.txt"));
    // What an export has left that was killed.
    for (const name of ["_CON.txt", "a_b_c.txt"])
      await writeFile(join(one, `Taxes/${name}.~77_0badcafe.croft-part`), "half");
    const again = await croft("mira", ["vault", "document", "export", one, "--force", "--json"]);
    const states = again.json() as { item: string; state: string }[];
    expect(Object.fromEntries(states.map(({ item, state }) => [item, state]))).toEqual({
      "Bills_ 2026/gas (1).txt": "present",
      "Bills_ 2026/gas.txt": "present",
      "Taxes/_CON.txt": "fetched",
      "Taxes/a_b_c.txt": "fetched",
    });

    for (const state of ["imported", "present"]) {
      const ran = await croft("noor", ["vault", "document", "import", one, ...shown]);
      expect(ran.code, ran.err).toBe(0);
      expect(ran.err).toContain('{"event":"total","files":4,');
      expect((ran.json() as { state: string }[]).map((each) => each.state)).toEqual(
        Array.from({ length: 4 }, () => state),
      );
    }
    expect((await croft("noor", ["vault", "document", "export", two])).code).toBe(0);
    expect(await filesOf(two)).toEqual(await filesOf(one));
    expect(await dataOf(two)).toEqual(await dataOf(one));
  });

  test("earlier contents have folders of their own, whatever the other documents are called", async () => {
    const root = join(folder, "versions");
    const send = (text: string, ...words: string[]) =>
      croft("zoe", ["vault", "document", ...words, "--jq", ".id"], text);
    const long = "n".repeat(247);
    for (const name of ["a.txt", `${long}1.txt`, `${long}2.txt`]) {
      const { out } = await send(`first ${name}`, "upload", "-", "--name", name);
      const replaced = await send(`second ${name}`, "replace", out.trim(), "-");
      expect(replaced.code, replaced.err).toBe(0);
    }
    await send("a document", "upload", "-", "--name", "a.txt.versions");
    const ran = await croft("zoe", ["vault", "document", "export", root, "--versions"]);
    expect(ran.code, ran.err).toBe(0);
    const { documents } = JSON.parse(await readFile(join(root, "croft-documents.json"), "utf8"));
    const files = documents.flatMap(({ file, versions = [] }: ExportedFiles) => [
      file,
      ...versions.map((version) => version.file),
    ]);
    expect(new Set(files).size).toBe(7);
    expect(await filesOf(root)).toEqual([...files, "croft-documents.json"].toSorted());
    for (const { filename, versions = [] } of documents as ExportedFiles[])
      for (const { file } of versions)
        expect(await readFile(join(root, file), "utf8")).toBe(`first ${filename}`);
  });

  test("a file that is no part of an export is not replaced without --force", async () => {
    const root = join(folder, "foreign");
    await mkdir(join(root, "Taxes"), { recursive: true });
    await writeFile(join(root, "Taxes/_CON.txt"), "mine");
    const ran = await croft("mira", ["vault", "document", "export", root, "--json"]);
    expect(ran.code).toBe(14);
    const failed = (ran.json() as { item: string; error: object | null }[]).filter(
      ({ error }) => error,
    );
    expect(failed).toMatchObject([{ item: "Taxes/_CON.txt", error: { code: "conflict" } }]);
    expect(await readFile(join(root, "Taxes/_CON.txt"), "utf8")).toBe("mine");
    const forced = await croft("mira", ["vault", "document", "export", root, "--force"]);
    expect(forced.code, forced.err).toBe(0);
    await writeFile(join(root, "croft-documents.json"), "{}");
    expect((await croft("mira", ["vault", "document", "export", root])).code).toBe(7);
  });

  test("an export of Paperless-ngx becomes documents whose tags, correspondents and types are topics; hostile entries are refused", async () => {
    const root = join(folder, "paperless");
    await mkdir(join(root, "originals"), { recursive: true });
    await writeFile(join(folder, "outside.pdf"), "outside");
    await symlink(join(folder, "outside.pdf"), join(root, "originals/link.pdf"));
    await writeFile(join(root, "originals/0000001.pdf"), "first");
    await writeFile(join(root, "originals/0000002.txt"), "second");
    const md5 = createHash("md5").update("first").digest("hex");
    const document = (pk: number, file: unknown, fields: object) => ({
      model: "documents.document",
      pk,
      fields: {
        title: `Paper ${pk}`,
        tags: [],
        correspondent: null,
        document_type: null,
        ...fields,
      },
      __exported_file_name__: file,
    });
    const records = [
      { model: "auth.user", pk: 1, fields: { username: "mira" } },
      { model: "documents.tag", pk: 1, fields: { name: "House", is_inbox_tag: false } },
      { model: "documents.tag", pk: 2, fields: { name: "Inbox", is_inbox_tag: true } },
      { model: "documents.correspondent", pk: 1, fields: { name: "City works" } },
      { model: "documents.documenttype", pk: 1, fields: { name: "Bill" } },
      document(1, "originals/0000001.pdf", {
        title: "Water/2026",
        tags: [1, 2, 99],
        correspondent: 1,
        document_type: 1,
        checksum: md5,
      }),
      document(2, "originals/0000002.txt", { checksum: "0".repeat(32) }),
      document(3, "../outside.pdf", {}),
      document(4, join(folder, "outside.pdf"), {}),
      document(5, "originals/link.pdf", {}),
      document(6, "originals", {}),
      document(7, "originals/missing.pdf", {}),
      document(8, 7, {}),
      null,
      { model: "documents.document" },
    ];
    const write = (file: string, data: unknown) =>
      writeFile(join(root, file), JSON.stringify(data));
    await write("manifest.json", records);
    const line = ["vault", "document", "import", root, "--from", "paperless", "--json"];
    const ran = await croft("ada", line);
    expect(ran.code, ran.err).toBe(14);
    const results = ran.json() as { id?: string; error: { message: string } | null }[];
    expect(results.map(({ error }) => error?.message)).toEqual([
      undefined,
      "the file has other bytes than its export says",
      "the path leaves the folder of the export",
      "the path leaves the folder of the export",
      "the path leads over a link",
      "it is not a regular file",
      "the file is missing in the folder",
      "the manifest names no file for it",
    ]);
    const view = await croft("ada", ["vault", "document", "view", results[0]?.id ?? "", "--json"]);
    expect(view.json()).toMatchObject({
      filename: "Water_2026.pdf",
      topics: ["Bill", "City works", "House"],
      sha256: sha256("first"),
    });
    // With --split-manifest, the records of a document, its notes and fields are beside it or below json/.
    const isDocument = (record: unknown) =>
      (record as { model?: string } | null)?.model === "documents.document";
    await mkdir(join(root, "json/originals"), { recursive: true });
    await write(
      "manifest.json",
      records.filter((record) => !isDocument(record)),
    );
    await write("originals/0000001-manifest.json", [
      records.find(isDocument),
      { model: "documents.note", pk: 1, fields: { document: 1, note: "paid" } },
    ]);
    await write("json/originals/0000002-manifest.json", [
      document(2, "originals/0000002.txt", { title: "Second", tags: [1] }),
    ]);
    const split = await croft("ada", line);
    expect(split.code, split.err).toBe(0);
    expect(
      (split.json() as { item: string; state: string }[]).map(({ item, state }) => [item, state]),
    ).toEqual([
      ["originals/0000002.txt", "imported"],
      ["originals/0000001.pdf", "present"],
    ]);
    await rm(join(root, "json"), { recursive: true });
    await rm(join(root, "originals/0000001-manifest.json"));
    for (const [text, code] of [
      ["{", 12],
      ["{}", 12],
      ["[]", 0],
    ] as const) {
      await writeFile(join(root, "manifest.json"), text);
      expect((await croft("ada", line)).code, text).toBe(code);
    }
    expect((await croft("ada", ["vault", "document", "import", folder])).code).toBe(17);
  });
});

interface Reply {
  readonly id: unknown;
  readonly result?: {
    readonly content: readonly { readonly type: string; readonly text: string }[];
    readonly tools: readonly {
      readonly name: string;
      readonly inputSchema: object;
      readonly annotations: { readonly readOnlyHint: boolean };
    }[];
  };
  readonly error?: object;
}

describe("croft mcp", () => {
  const ask = async (words: readonly string[], messages: readonly unknown[]) => {
    const lines = messages.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
    const ran = await croft("mira", ["mcp", ...words], `${lines.join("\n")}\n`);
    expect(ran.code, ran.err).toBe(0);
    const replies = ran.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Reply);
    return (id: unknown) => replies.find((reply) => reply.id === id);
  };
  const textOf = (reply: Reply | undefined) => reply?.result?.content[0]?.text ?? "";
  const request = (id: number, method: string, params: object = {}) => ({
    jsonrpc: "2.0",
    id,
    method,
    params,
  });
  const call = (id: number, name: string, args: object = {}) =>
    request(id, "tools/call", { name, arguments: args });

  test("a client initializes, lists tools that only read, and calls them; failures are results", async () => {
    const found = await ask(
      [],
      [
        request(1, "initialize", {
          protocolVersion: "2025-03-26",
          capabilities: {},
          clientInfo: {},
        }),
        { jsonrpc: "2.0", method: "notifications/initialized" },
        request(2, "tools/list"),
        call(3, "vault_documents_list", { per_page: "2" }),
        call(4, "vault_documents_view", { document_id: "01912d4c-77aa-7cc4-9c2e-0123456789ab" }),
        call(5, "vault_documents_list", { nothing: 1 }),
        call(6, "vault_documents_delete", { document_id: "01912d4c-77aa-7cc4-9c2e-0123456789ab" }),
        request(7, "resources/list"),
        request(8, "ping"),
        call(9, "vault_documents_view"),
        call(10, "forge_user_get"),
        "{",
        "[]",
      ],
    );
    expect(found(1)?.result).toMatchObject({
      protocolVersion: "2025-03-26",
      capabilities: { tools: {} },
      serverInfo: { name: "croft" },
    });
    const tools = found(2)?.result?.tools ?? [];
    expect(tools.length).toBeGreaterThan(200);
    expect(tools.every(({ annotations }) => annotations.readOnlyHint)).toBe(true);
    expect(tools.find(({ name }) => name === "vault_documents_list")?.inputSchema).toMatchObject({
      type: "object",
      properties: { topic: { type: "string" } },
      additionalProperties: false,
    });
    expect(JSON.parse(textOf(found(3))).items).toHaveLength(2);
    expect(found(4)?.result).toMatchObject({ isError: true, content: [{ type: "text" }] });
    expect(textOf(found(4))).toMatch(/^not_found: /);
    expect(textOf(found(5))).toBe("usage: there is no argument nothing");
    expect(found(6)?.error).toMatchObject({ code: -32602 });
    expect(found(7)?.error).toMatchObject({ code: -32601 });
    expect(found(8)?.result).toEqual({});
    expect(textOf(found(9))).toBe("usage: document_id is missing");
    expect(textOf(found(10))).toMatch(/^not_signed_in: /);
    expect(found(null)?.error).toBeDefined();
  });

  test("with --write an operation changes something, and answers are bounded", async () => {
    await croft(
      "mira",
      ["vault", "document", "upload", "-", "--name", "long.txt"],
      "x".repeat(300_000),
    );
    const listed = await croft("mira", ["vault", "document", "list", "--json=id,filename"]);
    const long = (listed.json() as { id: string; filename: string }[]).find(
      ({ filename }) => filename === "long.txt",
    );
    const found = await ask(
      ["--write", "--only", "vault.topics", "vault.documents"],
      [
        call(1, "vault_topics_create", { body: { name: "From an assistant" } }),
        call(2, "vault_topics_create", { body: { name: "" } }),
        call(3, "vault_documents_content", { document_id: long?.id }),
      ],
    );
    expect(JSON.parse(textOf(found(1)))).toMatchObject({
      name: "From an assistant",
    });
    expect(found(2)?.result).toMatchObject({ isError: true });
    expect(textOf(found(3))).toMatch(/^unsupported: the answer has more than 262144 bytes/);
  });

  test("names of tools fit all clients, differ, and none gives out credentials", () => {
    const tools = createTools({ mayWrite: true, only: [] });
    for (const [name, { description }] of tools) {
      expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(name).not.toMatch(/password|totp|token|secret|^vault_auth/);
      expect((description["inputSchema"] as { type: string }).type).toBe("object");
    }
    const reading = createTools({ mayWrite: false, only: [] });
    expect(reading.size).toBeGreaterThan(200);
    expect(
      [...reading.values()].filter(
        ({ endpoint }) => endpoint.method !== "GET" && endpoint.onlyReads !== true,
      ),
    ).toEqual([]);
  });
});

test("a document and an item of the vault become files of an issue", async () => {
  const people = createForgePeople(() => daemon);
  await people.newUser("mira");
  await people.api("POST", "/admin/users/mira/repos", { name: "notes", auto_init: true });
  await people.api("POST", "/repos/mira/notes/issues", { title: "Roof" });
  const login = await croft(
    "mira",
    ["login", "forge", "--token-stdin"],
    daemon.first?.forge.token ?? "",
  );
  expect(login.code, login.err).toBe(0);
  await mkdir(join(folder, "mira"), { recursive: true });
  await writeFile(join(folder, "mira/plan.txt"), "a plan");
  const connect = [
    "vault",
    "connection",
    "add",
    "local_folder",
    "--name",
    "Papers",
    "--setting",
    `root=${join(folder, "mira")}`,
  ];
  const connected = await croft("mira", connect);
  expect(connected.code, connected.err).toBe(0);
  for (const [word, name] of [
    ["CON.txt", "CON.txt"],
    ["Papers:/plan.txt", "plan.txt"],
  ] as const) {
    const line = ["issue", "attach", "mira/notes#1", word, "--from-vault", "--json"];
    const ran = await croft("mira", line);
    expect(ran.code, ran.err).toBe(0);
    expect(ran.json()).toMatchObject({ name });
  }
  for (const [word, code] of [
    ["nothing.txt", 6],
    ["Papers:/", 15],
    ["Papers:/nothing.txt", 6],
  ] as const)
    expect(
      (await croft("mira", ["issue", "attach", "mira/notes#1", word, "--from-vault"])).code,
      word,
    ).toBe(code);
});
