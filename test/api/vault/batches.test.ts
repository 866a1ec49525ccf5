import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { extract } from "tar-stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { connectFolder, startFolderDaemon } from "../../support/vault/local-folders.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

const UPLOAD_MAX = 1024 * 1024;

let daemon: TestDaemon;
let files: string;
let mira: VaultPerson;
let noah: VaultPerson;
let stop: () => Promise<void>;
let folders = 0;

beforeAll(async () => {
  ({ daemon, files, mira, noah, stop } = await startFolderDaemon({
    CROFT_MAX_UPLOAD_BYTES: String(UPLOAD_MAX),
  }));
});
afterAll(() => stop());

const connect = () => connectFolder({ files }, mira, `folder ${++folders}`);

interface Part {
  readonly name: string;
  readonly parent?: string;
  readonly bytes: Uint8Array | string;
}

const quoted = (text: string) => `"${text.replace(/["\\]/g, "\\$&")}"`;

function toForm(parts: readonly Part[], end = "--BATCH--\r\n"): Buffer<ArrayBuffer> {
  const chunks = parts.flatMap(({ name, parent = "", bytes }) => [
    Buffer.from(
      `--BATCH\r\nContent-Disposition: form-data; name=${quoted(parent)}; filename=${quoted(name)}\r\n` +
        "Content-Type: application/octet-stream\r\n\r\n",
    ),
    Buffer.from(bytes as string),
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...chunks, Buffer.from(end)]);
}

const FORM = { "Content-Type": "multipart/form-data; boundary=BATCH" };

async function send(
  base: string,
  body: Buffer<ArrayBuffer>,
  person = mira,
  method: "POST" | "PUT" = "POST",
) {
  const answer = await fetch(`${daemon.url}${base}/items/batch`, {
    method,
    headers: {
      ...FORM,
      Authorization: `Bearer ${person.accessToken}`,
      "User-Agent": "croft-test",
    },
    body,
  });
  const text = await answer.text();
  const lines = answer.status === 200 ? text.trimEnd().split("\n").map(parse) : [];
  const { status, headers } = answer;
  return { status, headers, lines: lines.toSorted((a, b) => (a.index ?? 1e9) - (b.index ?? 1e9)) };
}

// oxlint-disable-next-line typescript/no-explicit-any -- lines of every shape
const parse = (line: string): any => JSON.parse(line);

/** A request that the test writes piece by piece. */
function openRequest(base: string) {
  const request = httpRequest(`${daemon.url}${base}/items/batch`, {
    method: "POST",
    headers: {
      ...FORM,
      Authorization: `Bearer ${mira.accessToken}`,
      "User-Agent": "croft-test",
      "Accept-Language": "*",
    },
  });
  request.on("error", () => undefined);
  return request;
}

async function signInAsAdministrator(): Promise<string> {
  const signedIn = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
  });
  return signedIn.json.access_token;
}

/** The names in a folder without croft's own. */
const namesIn = async (folder: string) =>
  (await readdir(folder)).filter((name) => name !== ".croft").toSorted();

describe("a batch of uploads", () => {
  test("carries many files, each with an outcome, a record and an audit row", async () => {
    const { base, folder } = await connect();
    const parts = Array.from({ length: 300 }, (_, at) => ({
      name: `${at}.txt`,
      bytes: `file ${at}`,
    }));
    const { status, headers, lines } = await send(base, toForm(parts));
    expect([status, headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
    expect(lines).toHaveLength(300);
    expect(lines[7]).toEqual({
      index: 7,
      filename: "7.txt",
      status: 200,
      etag: expect.stringMatching(/^[\w-]{22}$/),
      kind: "uploaded",
      provider_item_id: "7.txt",
      name: "7.txt",
      parent_ref: null,
      size: 6,
    });
    expect(await readFile(join(folder, "299.txt"), "utf8")).toBe("file 299");
    const audit = await daemon.request("/api/admin/audit?event_type=cloud&user_handle=mira", {
      bearer: await signInAsAdministrator(),
    });
    // With the record of the connection.
    expect(audit.json.total).toBe(301);
    expect(audit.json.items[0]).toMatchObject({
      event_type: "cloud.file_uploaded",
      metadata: { size_bytes: expect.any(Number), parent_ref: null },
    });
    const listed = await mira.request(`${base}/items?limit=1000`);
    expect(listed.json.items).toHaveLength(300);
  });

  test("keeps names and folders exactly as they were sent", async () => {
    const { base, folder } = await connect();
    await mkdir(join(folder, 'sub "x"'));
    const names = [
      'a "b".txt',
      "back\\slash",
      "per%22cent",
      "grün 🌱.txt",
      " lead;x=1 ",
      "-rf",
      "...",
    ];
    const parts = names.map((name) => ({ name, parent: 'sub "x"', bytes: name }));
    const { lines } = await send(base, toForm(parts));
    expect(lines.map(({ status, name }) => [status, name])).toEqual(
      names.map((name) => [200, name]),
    );
    expect((await readdir(join(folder, 'sub "x"'))).toSorted()).toEqual(names.toSorted());
  });

  test("answers a bad name, a taken name and a missing folder one by one and uploads the others", async () => {
    const { base, folder } = await connect();
    await writeFile(join(folder, "taken.txt"), "before");
    const { lines } = await send(
      base,
      toForm([
        { name: "../../escape", bytes: "x" },
        { name: "..", bytes: "x" },
        { name: "", bytes: "x" },
        { name: "taken.txt", bytes: "after" },
        { name: "lost.txt", parent: "no such folder", bytes: "x" },
        { name: "twice.txt", bytes: "one" },
        { name: "twice.txt", bytes: "two" },
        { name: "large.bin", bytes: randomBytes(UPLOAD_MAX + 1) },
        { name: "middle.bin", bytes: randomBytes(700_000) },
        { name: "fine.txt", bytes: "" },
      ]),
    );
    expect(lines.map(({ status, kind, reason }) => [status, kind, reason])).toEqual([
      [422, undefined, undefined],
      [422, undefined, undefined],
      [422, undefined, undefined],
      [200, "conflict", "name_collision"],
      [409, "stale", "item_changed"],
      [200, "uploaded", undefined],
      [200, "conflict", "name_collision"],
      [413, undefined, undefined],
      [200, "uploaded", undefined],
      [200, "uploaded", undefined],
    ]);
    expect(await readFile(join(folder, "taken.txt"), "utf8")).toBe("before");
    expect(await readFile(join(folder, "twice.txt"), "utf8")).toBe("one");
    expect(await namesIn(folder)).toEqual(["fine.txt", "middle.bin", "taken.txt", "twice.txt"]);
  });

  test("reports a file while the next ones are still on their way", async () => {
    const { base } = await connect();
    const request = openRequest(base);
    // The delimiter behind a file tells that it is whole.
    request.write(toForm([{ name: "first.txt", bytes: "1" }], "--BATCH"));
    const [response] = await once(request, "response");
    const [line] = await once(response, "data");
    expect(JSON.parse(String(line))).toMatchObject({ index: 0, status: 200 });
    request.end("--\r\n");
    response.resume();
    await once(response, "end");
  });

  test("finishes completely received files when the client leaves, and drops the rest", async () => {
    const { base, folder } = await connect();
    const request = openRequest(base);
    request.write(toForm([{ name: "whole.txt", bytes: "1" }], "--BATCH"));
    const [response] = await once(request, "response");
    await once(response, "data");
    response.on("error", () => undefined);
    const half = toForm([{ name: "half.bin", bytes: randomBytes(600_000) }], "");
    request.write(half.subarray(7, 400_000));
    await new Promise<void>((resolve) => request.write("x", () => resolve()));
    request.destroy();
    await expect
      .poll(async () => (await mira.request(`${base}/items?refresh=true`)).json.items.length)
      .toBe(1);
    expect(await namesIn(folder)).toEqual(["whole.txt"]);
  });

  test("ends with a line that describes the fault of a malformed form", async () => {
    const { base, folder } = await connect();
    const { status, lines } = await send(
      base,
      toForm([{ name: "a.txt", bytes: "a" }], "--BATCH\r\nContent-Disposition: form-data"),
    );
    expect(status).toBe(200);
    expect(lines[0]).toMatchObject({ index: 0, status: 200, kind: "uploaded" });
    expect(lines.at(-1)).toMatchObject({
      index: null,
      status: 422,
      detail: "The form is malformed.",
    });
    expect(await namesIn(folder)).toEqual(["a.txt"]);
  });

  test("is refused as a whole for another account, for no form and for too many bytes", async () => {
    const { base } = await connect();
    const form = toForm([{ name: "a.txt", bytes: "a" }]);
    expect((await send(base, form, noah)).status).toBe(404);
    const text = await mira.request(`${base}/items/batch`, { method: "POST", body: "x" });
    expect(text.status).toBe(422);
    const request = openRequest(base);
    request.setHeader("Content-Length", String(2 * 1024 ** 3));
    request.write("--BATCH");
    const [response] = await once(request, "response");
    expect(response.statusCode).toBe(413);
    request.destroy();
  });
});

describe("a batch of replacements", () => {
  const replace = (base: string, parts: readonly Part[], person = mira) =>
    send(base, toForm(parts), person, "PUT");

  test("replaces files under their etags and reports those that have changed or are missing", async () => {
    const { base, folder } = await connect();
    for (const name of ["a.txt", "b.txt", "c.txt", "large.bin"])
      await writeFile(join(folder, name), name);
    const listed = await mira.request(`${base}/items?refresh=true`);
    const items = listed.json.items as readonly {
      readonly provider_item_id: string;
      readonly etag: string;
    }[];
    const etagOf = (id: string) =>
      encodeURIComponent(items.find((item) => item.provider_item_id === id)?.etag ?? "");
    await writeFile(join(folder, "b.txt"), "changed meanwhile");
    const { status, lines } = await replace(base, [
      { parent: "a.txt", name: etagOf("a.txt"), bytes: "new" },
      { parent: "b.txt", name: etagOf("b.txt"), bytes: "new" },
      { parent: "c.txt", name: "*", bytes: "" },
      { parent: "large.bin", name: etagOf("large.bin"), bytes: randomBytes(700_000) },
      { parent: "gone.txt", name: "*", bytes: "new" },
      { parent: "a.txt", name: "", bytes: "new" },
      { parent: "a.txt", name: "%zz", bytes: "new" },
      { parent: "large.bin", name: "*", bytes: randomBytes(UPLOAD_MAX + 1) },
    ]);
    expect(status).toBe(200);
    expect(lines.map((line) => [line.status, line.kind, line.size])).toEqual([
      [200, "uploaded", 3],
      [409, "stale", undefined],
      [200, "uploaded", 0],
      [200, "uploaded", 700_000],
      [409, "stale", undefined],
      [428, undefined, undefined],
      [422, undefined, undefined],
      [413, undefined, undefined],
    ]);
    expect(await namesIn(folder)).toEqual(["a.txt", "b.txt", "c.txt", "large.bin"]);
    const texts = ["a.txt", "b.txt", "c.txt"].map((name) => readFile(join(folder, name), "utf8"));
    expect(await Promise.all(texts)).toEqual(["new", "changed meanwhile", ""]);
    const audit = await daemon.request("/api/admin/audit?event_type=cloud&user_handle=mira", {
      bearer: await signInAsAdministrator(),
    });
    const events = audit.json.items as readonly { readonly event_type: string }[];
    expect(events.filter(({ event_type: type }) => type === "cloud.file_replaced")).toHaveLength(3);
  });

  test("is refused for a connection of another account", async () => {
    const { base } = await connect();
    const refused = await replace(base, [{ parent: "a.txt", name: "*", bytes: "x" }], noah);
    expect([refused.status, refused.lines]).toEqual([404, []]);
  });
});

describe("a batch of downloads", () => {
  async function fetchArchive(base: string, ids: readonly string[], person = mira) {
    const response = await fetch(`${daemon.url}${base}/items/batch-download`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${person.accessToken}`,
        "User-Agent": "croft-test",
        "Content-Type": "application/json",
      },
      body: JSON.stringify({ item_ids: ids }),
    });
    if (response.status !== 200) return { status: response.status, entries: [], outcomes: [] };
    expect(response.headers.get("content-type")).toBe("application/x-tar");
    const archive = extract();
    const entries: { name: string; pax: Record<string, string>; bytes: Buffer }[] = [];
    Readable.fromWeb(response.body as never).pipe(archive as unknown as NodeJS.WritableStream);
    for await (const entry of archive) {
      const bytes = Buffer.concat((await Array.fromAsync(entry)) as Buffer[]);
      entries.push({
        name: entry.header.name,
        pax: (entry.header.pax ?? {}) as Record<string, string>,
        bytes,
      });
    }
    const last = entries.pop();
    expect(last?.name).toBe("croft-outcomes.ndjson");
    const outcomes = String(last?.bytes)
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    return { status: 200, entries, outcomes };
  }

  test("downloads files of any size in the requested order, with their hashes", async () => {
    const { base, folder } = await connect();
    const large = randomBytes(900_000);
    await mkdir(join(folder, "sub"));
    await writeFile(join(folder, "large.bin"), large);
    await writeFile(join(folder, "grün.txt"), "hallo");
    await writeFile(join(folder, "sub/grün.txt"), "noch einer");
    await writeFile(join(folder, "empty"), "");
    await mira.request(`${base}/items`);
    await mira.request(`${base}/items?parent_ref=sub`);
    const ids = ["large.bin", "grün.txt", "sub", "gone.txt", "sub/grün.txt", "empty"];
    for (const _time of ["cold", "cached"]) {
      const { entries, outcomes } = await fetchArchive(base, ids);
      expect(entries.map(({ name, pax }) => [name, pax["CROFT.item_id"]])).toEqual([
        ["large.bin", "large.bin"],
        ["grün.txt", "grün.txt"],
        ["1-grün.txt", "sub/grün.txt"],
        ["empty", "empty"],
      ]);
      expect(entries[0]?.bytes.equals(large)).toBe(true);
      expect(String(entries[2]?.bytes)).toBe("noch einer");
      expect(entries[1]?.pax["CROFT.sha256"]).toBe(
        createHash("sha256").update("hallo").digest("hex"),
      );
      expect(
        outcomes.map(({ provider_item_id: id, status, reason }) => [id, status, reason]),
      ).toEqual([
        ["large.bin", 200, undefined],
        ["grün.txt", 200, undefined],
        ["sub", 422, undefined],
        ["gone.txt", 503, "not_found"],
        ["sub/grün.txt", 200, undefined],
        ["empty", 200, undefined],
      ]);
    }
  });

  test("is open to a machine token that may only read; uploads are not", async () => {
    const { base, folder } = await connect();
    await writeFile(join(folder, "a.txt"), "a");
    const made = await mira.request("/api/auth/tokens", { json: { name: base, scope: "read" } });
    const reader = { ...mira, accessToken: made.json.token as string };
    expect((await fetchArchive(base, ["a.txt"], reader)).entries).toHaveLength(1);
    expect((await send(base, toForm([{ name: "b", bytes: "b" }]), reader)).status).toBe(403);
  });

  test("is refused for another account and for no or too many items", async () => {
    const { base } = await connect();
    expect((await fetchArchive(base, ["a"], noah)).status).toBe(404);
    expect((await fetchArchive(base, [])).status).toBe(422);
    expect((await fetchArchive(base, Array<string>(1001).fill("a"))).status).toBe(422);
  });
});

describe("a batch of new folders", () => {
  async function make(base: string, made: readonly object[], person = mira) {
    const response = await fetch(`${daemon.url}${base}/folders/batch`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${person.accessToken}`,
        "User-Agent": "croft-test",
        "Content-Type": "application/json",
      },
      body: JSON.stringify({ folders: made }),
    });
    const text = await response.text();
    const lines = response.status === 200 ? text.trimEnd().split("\n").map(parse) : [];
    return { status: response.status, lines };
  }

  test("creates a tree in order, keeps existing folders and reports each failure", async () => {
    const { base, folder } = await connect();
    await mkdir(join(folder, "unlisted/below"), { recursive: true });
    await writeFile(join(folder, "file"), "x");
    const before = await countCreated();
    const { status, lines } = await make(base, [
      { name: "new" },
      { parent_index: 0, name: "deep" },
      { parent_ref: "unlisted", name: "below" },
      { parent_index: 2, name: "more" },
      { parent_ref: "", name: "file" },
      { parent_index: 4, name: "lost" },
      { parent_index: 0, name: "deep" },
      { name: "a/b" },
      { parent_index: 8, name: "self" },
      { parent_ref: "missing", name: "x" },
    ]);
    expect(status).toBe(200);
    expect(lines).toMatchObject([
      { index: 0, status: 201, kind: "folder", provider_item_id: "new", parent_ref: null },
      { index: 1, status: 201, kind: "folder", provider_item_id: "new/deep", parent_ref: "new" },
      { index: 2, status: 200, kind: "existing_folder", provider_item_id: "unlisted/below" },
      { index: 3, status: 201, kind: "folder", provider_item_id: "unlisted/below/more" },
      { index: 4, status: 409, kind: "conflict", reason: "name_collision" },
      { index: 5, status: 424, kind: "failed", reason: "parent_failed" },
      { index: 6, status: 200, kind: "existing_folder", provider_item_id: "new/deep" },
      { index: 7, status: 422, detail: "A name must not contain a slash" },
      { index: 8, status: 422, detail: "parent_index must be the position of an earlier folder" },
      { index: 9, status: 409, kind: "stale" },
    ]);
    expect((await namesIn(folder)).toSorted()).toEqual(["file", "new", "unlisted"]);
    expect(await readdir(join(folder, "unlisted/below"))).toEqual(["more"]);
    expect((await countCreated()) - before).toBe(3);
  });

  test("several batches of the same folders at the same time create each once", async () => {
    const { base, folder } = await connect();
    const before = await countCreated();
    const tree = Array.from({ length: 30 }, (_, at) =>
      at < 10 ? { name: `top ${at}` } : { parent_index: at % 10, name: `sub ${at}` },
    );
    const batches = await Promise.all([make(base, tree), make(base, tree), make(base, tree)]);
    for (const { lines } of batches) {
      expect(lines.map(({ index }) => index)).toEqual(tree.map((_, at) => at));
      expect(lines.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
    }
    const paths = (await readdir(folder, { recursive: true })).filter(
      (path) => !path.startsWith(".croft"),
    );
    expect(paths).toHaveLength(30);
    expect((await countCreated()) - before).toBe(30);
  });

  test("is refused for another account, for no folder and for more than 100", async () => {
    const { base, folder } = await connect();
    expect((await make(base, [{ name: "a" }], noah)).status).toBe(404);
    expect((await make(base, [])).status).toBe(422);
    const many = Array.from({ length: 101 }, (_, n) => ({ name: `${n}` }));
    expect((await make(base, many)).status).toBe(422);
    expect(await namesIn(folder)).toEqual([]);
  });

  async function countCreated(): Promise<number> {
    const audit = await daemon.request("/api/admin/audit?event_type=cloud&user_handle=mira", {
      bearer: await signInAsAdministrator(),
    });
    return audit.json.total;
  }
});

describe("a batch of listings", () => {
  async function list(base: string, body: object, person = mira) {
    const response = await fetch(`${daemon.url}${base}/items/batch-list`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${person.accessToken}`,
        "User-Agent": "croft-test",
        "Content-Type": "application/json",
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    const lines = response.status === 200 ? text.trimEnd().split("\n").map(parse) : [];
    return { status: response.status, lines };
  }

  test("lists folders as single requests do, each with its own status", async () => {
    const { base, folder } = await connect();
    await mkdir(join(folder, "a/b"), { recursive: true });
    await writeFile(join(folder, "top.txt"), "x");
    await writeFile(join(folder, "a/b/deep.txt"), "x");
    await mira.request(`${base}/items`);
    await mira.request(`${base}/items?parent_ref=a`);
    const refs = ["", "a", "a/b", "a", "missing"];
    const { status, lines } = await list(base, { parent_refs: refs, refresh: true });
    expect(status).toBe(200);
    const found = lines.map(({ parent_ref: ref, status: one, items = [] }) => [
      ref,
      one,
      items.map(({ name }: { name: string }) => name),
    ]);
    expect(found.toSorted()).toEqual([
      ["", 200, ["a", "top.txt"]],
      ["a", 200, ["b"]],
      ["a/b", 200, ["deep.txt"]],
      ["missing", 404, []],
    ]);
    const single = await mira.request(`${base}/items?parent_ref=a`);
    const { status: _status, ...body } = lines.find(({ parent_ref: ref }) => ref === "a");
    expect(body).toEqual(single.json);
  });

  test("is refused for another account, for no folder and for more than 100", async () => {
    const { base } = await connect();
    expect((await list(base, { parent_refs: [""] }, noah)).status).toBe(404);
    expect((await list(base, { parent_refs: [] })).status).toBe(422);
    const refs = Array.from({ length: 101 }, (_, n) => `${n}`);
    expect((await list(base, { parent_refs: refs })).status).toBe(422);
  });
});

describe("the limit of requests", () => {
  test("counts a batch as one request and follows the setting of the owner", async () => {
    await using limited = await startTestDaemon({
      env: { CROFT_LOCAL_ROOTS: files, CROFT_CLOUD_REQUESTS_PER_MINUTE: "2" },
    });
    const ida = createPerson(limited, "ida", "192.0.2.3");
    await ida.register();
    await ida.signIn();
    await mkdir(join(files, "ida", "x"), { recursive: true });
    const made = await ida.request("/api/cloud/connections", {
      json: { provider: "local_folder", display_name: "x", settings: { root: "x" } },
    });
    const parts = Array.from({ length: 5 }, (_, at) => ({ name: `${at}`, bytes: "x" }));
    const upload = (end: string) =>
      fetch(`${limited.url}/api/cloud/connections/${made.json.id}/items/batch`, {
        method: "POST",
        headers: {
          ...FORM,
          Authorization: `Bearer ${ida.accessToken}`,
          "User-Agent": "croft-test",
        },
        body: toForm(parts.map((part) => ({ ...part, name: part.name + end }))),
      });
    const first = await upload("a");
    expect([first.status, first.headers.get("ratelimit-remaining")]).toEqual([200, "1"]);
    expect((await first.text()).trimEnd().split("\n")).toHaveLength(5);
    const second = await upload("b");
    await second.text();
    const third = await upload("c");
    expect([second.status, third.status]).toEqual([200, 429]);
    await third.text();
    expect(await namesIn(join(files, "ida", "x"))).toHaveLength(10);
  });
});

describe("replacing a file", () => {
  const put = (base: string, id: string, body: Buffer<ArrayBuffer>, ifMatch?: string, who = mira) =>
    who.request(`${base}/items/${encodeURIComponent(id)}/content`, {
      method: "PUT",
      headers: {
        "Content-Type": "application/octet-stream",
        ...(ifMatch === undefined ? {} : { "If-Match": ifMatch }),
      },
      body,
    });
  const etagOf = async (base: string, id: string) =>
    (await mira.request(`${base}/items/${encodeURIComponent(id)}/detail`)).json.etag as string;

  test("needs the etag of the version, and keeps the id and the record", async () => {
    const { base, folder } = await connect();
    await writeFile(join(folder, "a.txt"), "one");
    await mira.request(`${base}/items`);
    const before = await mira.request(`${base}/items/a.txt/detail`);
    const missing = await put(base, "a.txt", Buffer.from("two"));
    expect([missing.status, missing.json]).toEqual([428, { detail: expect.any(String) }]);
    const wrong = await put(base, "a.txt", Buffer.from("two"), '"other"');
    expect([wrong.status, wrong.json]).toEqual([409, { kind: "stale", reason: "item_changed" }]);
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one");
    const done = await put(base, "a.txt", Buffer.from("three"), `"${before.json.etag}"`);
    expect([done.status, done.json]).toEqual([
      200,
      {
        kind: "uploaded",
        provider_item_id: "a.txt",
        name: "a.txt",
        parent_ref: null,
        size: 5,
      },
    ]);
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("three");
    const after = await mira.request(`${base}/items/a.txt/detail`);
    expect(after.json.id).toBe(before.json.id);
    expect(after.json.etag).not.toBe(before.json.etag);
    const read = await mira.request(`${base}/items/a.txt/download`);
    expect(read.text).toBe("three");
    expect((await put(base, "a.txt", Buffer.from("four"), before.json.etag)).status).toBe(409);
    expect((await put(base, "a.txt", Buffer.from("four"), "*")).status).toBe(200);
    const all = await daemon.request("/api/admin/audit?event_type=cloud&per_page=2", {
      bearer: await signInAsAdministrator(),
    });
    expect(all.json.items[0]).toMatchObject({
      event_type: "cloud.file_replaced",
      metadata: { provider_item_id: "a.txt", filename: "a.txt", size_bytes: 4 },
    });
  });

  test("keeps the file unchanged when the upload is aborted or too large", async () => {
    const { base, folder } = await connect();
    await writeFile(join(folder, "a.txt"), "one");
    await mira.request(`${base}/items`);
    const etag = await etagOf(base, "a.txt");
    const begin = (length: number) => {
      const request = httpRequest(`${daemon.url}${base}/items/a.txt/content`, {
        method: "PUT",
        headers: {
          Authorization: `Bearer ${mira.accessToken}`,
          "User-Agent": "croft-test",
          "Accept-Language": "*",
          "Content-Length": String(length),
          "If-Match": etag,
        },
      });
      request.on("error", () => undefined);
      return request;
    };
    const large = begin(UPLOAD_MAX + 1);
    large.write("x");
    const [refused] = await once(large, "response");
    expect(refused.statusCode).toBe(413);
    large.destroy();
    const request = begin(1000);
    await new Promise<void>((resolve) => request.write("half", () => resolve()));
    const closed = new Promise((resolve) => request.once("close", resolve));
    request.destroy();
    await closed;
    expect((await put(base, "a.txt", Buffer.from("whole"), etag)).status).toBe(200);
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("whole");
    expect(await namesIn(folder)).toEqual(["a.txt"]);
  });

  test("of two replacements of one version exactly one wins", async () => {
    const { base, folder } = await connect();
    await writeFile(join(folder, "a.txt"), "one");
    await mira.request(`${base}/items`);
    const etag = await etagOf(base, "a.txt");
    const both = await Promise.all(
      ["first", "second"].map((text) => put(base, "a.txt", Buffer.from(text), etag)),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });

  test("is refused for a folder, a missing file and another account", async () => {
    const { base, folder } = await connect();
    await mkdir(join(folder, "sub"));
    await mira.request(`${base}/items`);
    const bytes = Buffer.from("x");
    expect((await put(base, "sub", bytes, "*")).status).toBe(422);
    expect((await put(base, "none", bytes, "*")).status).toBe(409);
    expect((await put(base, "sub", bytes, "*", noah)).status).toBe(404);
  });
});
