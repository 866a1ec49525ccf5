import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestAnswer, TestDaemon, TestRequest } from "../../support/daemon.ts";
import { tickAfter } from "../../support/storage/file-clock.ts";
import { startFolderDaemon } from "../../support/vault/local-folders.ts";
import type { VaultPerson } from "../../support/vault/vault-person.ts";

const UPLOAD_MAX = 3 * 1024 * 1024;

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

interface Place {
  readonly id: string;
  readonly folder: string;
  readonly base: string;
  get(path: string, init?: TestRequest): Promise<TestAnswer>;
  list(parent?: string, more?: string): Promise<TestAnswer>;
  upload(
    name: string,
    bytes: Uint8Array | string,
    parent?: string,
    type?: string,
  ): Promise<TestAnswer>;
}

/** A connection of its own to an empty folder of its own. */
async function connect(person: VaultPerson = mira): Promise<Place> {
  const name = `folder ${++folders}`;
  const folder = join(files, person.handle, name);
  await mkdir(folder, { recursive: true });
  const made = await person.request("/api/cloud/connections", {
    json: { provider: "local_folder", display_name: name, settings: { root: folder } },
  });
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  const base = `/api/cloud/connections/${made.json.id}`;
  return {
    id: made.json.id,
    folder,
    base,
    get: (path, init) => person.request(`${base}${path}`, init),
    list: (parent = "", more = "") =>
      person.request(`${base}/items?parent_ref=${encodeURIComponent(parent)}${more}`),
    upload(filename, bytes, parent, type = "application/octet-stream") {
      const form = new FormData();
      if (parent !== undefined) form.set("parent_ref", parent);
      form.set("filename", filename);
      form.set("file", new Blob([bytes as string], { type }), "ignored.bin");
      return person.request(`${base}/items/upload`, { body: form });
    },
  };
}

const item = (id: string, action: string) => `/items/${encodeURIComponent(id)}${action}`;

describe("the main path", () => {
  test("connect, browse, upload, download, open, detail", async () => {
    const place = await connect();
    await mkdir(join(place.folder, "Berichte"));
    await writeFile(join(place.folder, "grün 🌱.txt"), "hallo");
    const listed = await place.list();
    expect(listed.json).toMatchObject({
      parent_ref: "",
      refresh_state: "fresh",
      error_code: null,
      next_cursor: null,
    });
    expect(listed.json.items).toMatchObject([
      { name: "Berichte", kind: "folder", parent_ref: null, size: null, content_type: null },
      { name: "grün 🌱.txt", kind: "file", parent_ref: null, size: 5, content_type: "text/plain" },
    ]);
    const bytes = randomBytes(2 * 1024 * 1024);
    const uploaded = await place.upload("neu.bin", bytes, "Berichte");
    expect([uploaded.status, uploaded.json]).toEqual([
      200,
      {
        kind: "uploaded",
        provider_item_id: "Berichte/neu.bin",
        name: "neu.bin",
        parent_ref: "Berichte",
        size: bytes.length,
      },
    ]);
    expect((await readFile(join(place.folder, "Berichte/neu.bin"))).equals(bytes)).toBe(true);
    expect((await place.upload("neu.bin", bytes, "Berichte")).json).toEqual({
      kind: "conflict",
      reason: "name_collision",
      existing_name: "neu.bin",
    });
    const opened = await place.get(item("Berichte/neu.bin", "/open"));
    expect(opened.json).toEqual({
      kind: "open",
      url: `${place.base}/items/Berichte/neu.bin/download`,
      reason: "authorized",
    });
    for (const _time of ["cold", "cached"]) {
      const got = await fetch(daemon.url + opened.json.url, {
        headers: {
          Authorization: `Bearer ${mira.accessToken}`,
          "User-Agent": "croft-test",
          "Accept-Language": "*",
        },
      });
      expect(got.status).toBe(200);
      expect(Buffer.from(await got.arrayBuffer()).equals(bytes)).toBe(true);
    }
    const detail = await place.get(item("Berichte/neu.bin", "/detail"));
    expect(detail.json).toMatchObject({
      provider_item_id: "Berichte/neu.bin",
      provider: "local_folder",
      display_name: "folder 1",
      location: "/Berichte",
      size: bytes.length,
      analysis_status: "none",
      semantic_index_status: "none",
      extracted_text: null,
      topics: [],
      capabilities: {},
      unsupported_analysis_reason: null,
      is_stale: false,
    });
    expect(detail.text).not.toContain(place.folder);
    expect(detail.json).not.toHaveProperty("version");
    expect((await place.list("Berichte")).json.items).toHaveLength(1);
  });

  test("create folder with counters, rename, move, delete", async () => {
    const place = await connect();
    const make = (name: string, parent_ref?: string | null) =>
      place.get("/folders", { json: parent_ref === undefined ? { name } : { name, parent_ref } });
    const names: string[] = [];
    for (let at = 0; at < 6; at++) names.push((await make("New", null)).json.name);
    expect(names).toEqual(["New", "New (1)", "New (2)", "New (3)", "New (4)", "New (5)"]);
    const seventh = await make("New");
    expect([seventh.status, seventh.json]).toEqual([
      409,
      { kind: "conflict", reason: "name_collision" },
    ]);
    const inner = await make("inner", "New");
    expect([inner.status, inner.json]).toEqual([
      201,
      { kind: "folder", provider_item_id: "New/inner", name: "inner", parent_ref: "New" },
    ]);
    const long = "ö".repeat(127);
    expect((await make(long)).json.name).toBe(long);
    expect((await make(long)).json.name).toBe(`${"ö".repeat(125)} (1)`);

    const renamed = await place.get(item("New/inner", "/rename"), {
      method: "PATCH",
      json: { new_name: "deep" },
    });
    expect(renamed.json).toEqual({ kind: "renamed", provider_item_id: "New/deep", name: "deep" });
    const moved = await place.get(item("New/deep", "/move"), {
      json: { destination_parent_ref: "New (1)" },
    });
    expect(moved.json).toEqual({
      kind: "moved",
      provider_item_id: "New (1)/deep",
      parent_ref: "New (1)",
    });
    const deleted = await place.get(item("New (1)/deep", ""), { method: "DELETE" });
    expect(deleted.json).toEqual({
      kind: "deleted",
      reason: "trashed",
      provider_item_id: "New (1)/deep",
      item_kind: "folder",
      is_folder: true,
    });
    expect((await place.get(item("New (1)/deep", "/detail"))).status).toBe(404);
  });

  test("checks the three conditions of a move in order before any lookup", async () => {
    const place = await connect();
    for (const [name, parent_ref] of [
      ["a", ""],
      ["b", "a"],
      ["c", "a/b"],
    ])
      await place.get("/folders", { json: { name, parent_ref } });
    const move = (destination_parent_ref: string, more: object = {}) =>
      place.get(item("a", "/move"), { json: { destination_parent_ref, ...more } });
    const other = "01970000-0000-7000-8000-000000000000";
    const reasons = await Promise.all([
      move("a", { destination_connection_id: other }),
      move("a"),
      move("a/b/c"),
      move("", { destination_connection_id: "" }),
    ]);
    expect(reasons.map(({ status, json }) => [status, json.kind, json.reason])).toEqual([
      [409, "invalid_destination", "cross_connection"],
      [409, "invalid_destination", "self_destination"],
      [409, "invalid_destination", "descendant_destination"],
      [200, "moved", undefined],
    ]);
    const foreign = `/api/cloud/connections/${other}/items/a/move`;
    const unowned = (destination_parent_ref: string) =>
      mira.request(foreign, { json: { destination_parent_ref } });
    expect((await unowned("a")).json).toEqual({
      kind: "invalid_destination",
      reason: "self_destination",
    });
    expect((await unowned("b")).json).toEqual({ detail: "Connection not found" });
  });

  test("when two clients rename with one etag, one succeeds and the other is stale", async () => {
    const place = await connect();
    await place.upload("file.txt", "x");
    const { etag } = (await place.get(item("file.txt", "/detail"))).json;
    const answers = await Promise.all(
      ["one.txt", "two.txt"].map((new_name) =>
        place.get(item("file.txt", "/rename"), { method: "PATCH", json: { new_name, etag } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)?.json).toEqual({
      kind: "stale",
      reason: "item_changed",
    });
    expect((await readdir(place.folder)).filter((name) => name.endsWith(".txt"))).toHaveLength(1);
    const listed = await place.list();
    expect(listed.json.items).toHaveLength(1);
  });

  test("a delete with If-Match refuses another version", async () => {
    const place = await connect();
    await place.upload("file.txt", "x");
    const { etag } = (await place.get(item("file.txt", "/detail"))).json;
    const remove = (ifMatch: string) =>
      place.get(item("file.txt", ""), { method: "DELETE", headers: { "If-Match": ifMatch } });
    const refused = await remove('"other"');
    expect([refused.status, refused.json.kind]).toEqual([409, "stale"]);
    expect(await readdir(place.folder)).toContain("file.txt");
    expect((await remove(`"${etag}"`)).json).toMatchObject({ kind: "deleted" });
  });

  test("paging with a cursor shows every item once, folders first", async () => {
    const place = await connect();
    for (let at = 0; at < 25; at++)
      await mkdir(join(place.folder, `Folder ${String.fromCharCode(97 + at)}`));
    for (let at = 0; at < 25; at++) await writeFile(join(place.folder, `file ${at}`), "x");
    const seen: string[] = [];
    for (let cursor = ""; ;) {
      const page = await place.list("", `&limit=7&cursor=${cursor}`);
      expect(page.status).toBe(200);
      seen.push(...page.json.items.map((one: { name: string }) => one.name));
      if (page.json.next_cursor === null) break;
      expect(page.json.items).toHaveLength(7);
      cursor = page.json.next_cursor;
    }
    expect(new Set(seen).size).toBe(50);
    expect(seen.slice(0, 25).every((name) => name.startsWith("Folder"))).toBe(true);
    expect((await place.list("", "&cursor=rubbish")).status).toBe(422);
    expect((await place.list("", "&limit=0")).status).toBe(422);
    expect((await place.list("", "&limit=1001")).status).toBe(422);
    expect(
      (await place.list("", `&name=${encodeURIComponent("file 7")}`)).json.items,
    ).toMatchObject([{ name: "file 7" }]);
  });
});

describe("connections", () => {
  test("a connection is created, changed, listed and deleted", async () => {
    const place = await connect();
    const one = await place.get("");
    expect(one.json).toMatchObject({
      provider: "local_folder",
      status: "connected",
      quota: { total_bytes: expect.any(Number) },
    });
    expect(one.text).not.toContain(files);
    const listed = await mira.request("/api/cloud/connections?per_page=100");
    expect(listed.json).toMatchObject({ page: 1, per_page: 100, total: listed.json.items.length });
    const renamed = await place.get("", { method: "PATCH", json: { display_name: "Renamed" } });
    expect(renamed.json.display_name).toBe("Renamed");
    expect((await place.get("/test", { method: "POST" })).json.status).toBe("connected");
    await place.upload("file.txt", "x".repeat(400_000));
    await place.get(item("file.txt", "/download"));
    const removed = await place.get("", { method: "DELETE" });
    expect(removed.json).toEqual({ kind: "deleted", id: place.id });
    expect((await place.get("")).status).toBe(404);
    expect(await readFile(join(place.folder, "file.txt"), "utf8")).toHaveLength(400_000);
  });

  test("a failed connection attempt returns the reason", async () => {
    const tries: [object, number, object][] = [
      [{ provider: "nothing" }, 422, { detail: [{ loc: ["body", "provider"] }] }],
      [{ settings: {} }, 422, { detail: [{ loc: ["body", "settings", "root"] }] }],
      [
        { settings: { root: ".", more: "x" } },
        422,
        { detail: [{ loc: ["body", "settings", "more"] }] },
      ],
      [{ settings: { root: "a\0b" } }, 422, { detail: [{ loc: ["body", "settings", "root"] }] }],
      [
        { settings: { root: "/etc" } },
        422,
        { kind: "invalid_setting", reason: "outside_allowed_roots", setting: "root" },
      ],
      [
        { settings: { root: "missing" } },
        422,
        { kind: "invalid_setting", reason: "folder_missing" },
      ],
      [{ display_name: " " }, 422, { detail: [{ loc: ["body", "display_name"] }] }],
    ];
    for (const [change, status, body] of tries) {
      const json = {
        provider: "local_folder",
        display_name: "x",
        settings: { root: "." },
        ...change,
      };
      const answer = await mira.request("/api/cloud/connections", { json });
      expect([answer.status, answer.json]).toMatchObject([status, body]);
    }
  });

  test("a name is taken once in an account, without case, also when two clients take it together", async () => {
    const create = (name: string, person = mira) =>
      person.request("/api/cloud/connections", {
        json: { provider: "local_folder", display_name: name, settings: { root: "." } },
      });
    const both = await Promise.all([create("Höhle"), create("HÖHLE")]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
    const refused = both.find(({ status }) => status === 409);
    expect(refused?.json).toMatchObject({ kind: "conflict", reason: "name_collision" });
    expect((await create("höhle", noah)).status).toBe(201);
    const other = await create("Other");
    const rename = (name: string, more: object = {}) =>
      mira.request(`/api/cloud/connections/${other.json.id}`, {
        method: "PATCH",
        json: { display_name: name, ...more },
      });
    expect((await rename("höhle")).json).toMatchObject({ reason: "name_collision" });
    expect((await rename("höhle", { credentials: {} })).status).toBe(409);
    expect((await rename("OTHER")).json.display_name).toBe("OTHER");
  });

  test("another user's connection is not found by any route", async () => {
    const place = await connect();
    await place.upload("file.txt", "x");
    const paths: [string, TestRequest][] = [
      ["", {}],
      ["", { method: "PATCH", json: { display_name: "x" } }],
      ["", { method: "DELETE" }],
      ["/test", { method: "POST" }],
      ["/items", {}],
      ["/items/file.txt/open", {}],
      ["/items/file.txt/detail", {}],
      ["/items/file.txt/preview", {}],
      ["/items/file.txt/download", {}],
      ["/items/file.txt/analyze", { method: "POST" }],
      ["/folders", { json: { name: "x" } }],
      ["/items/file.txt/rename", { method: "PATCH", json: { new_name: "y" } }],
      ["/items/file.txt/move", { json: { destination_parent_ref: "" } }],
      ["/items/file.txt", { method: "DELETE" }],
    ];
    for (const [path, init] of paths) {
      const answer = await noah.request(place.base + path, init);
      expect([path, answer.status, answer.json]).toEqual([
        path,
        404,
        { detail: "Connection not found" },
      ]);
    }
    const form = new FormData();
    form.set("file", new Blob(["x"]), "planted.txt");
    expect((await noah.request(`${place.base}/items/upload`, { body: form })).json).toEqual({
      detail: "Connection not found",
    });
    expect(await readdir(place.folder)).toEqual([".croft", "file.txt"]);
  });

  test("an item of one connection is not found under another of the same user", async () => {
    const [one, two] = [await connect(), await connect()];
    await one.upload("only here.txt", "x");
    expect((await two.get(item("only here.txt", "/detail"))).json).toEqual({
      detail: "Cloud item not found",
    });
    const got = await two.get(item("only here.txt", "/download"));
    expect([got.status, got.json.reason]).toEqual([503, "not_found"]);
  });

  test("providers list their settings and capabilities", async () => {
    const answer = await mira.request("/api/cloud/providers");
    expect(answer.json.items).toContainEqual(
      expect.objectContaining({
        type: "local_folder",
        available: true,
        missing_settings: [],
        can: expect.objectContaining({
          trash: true,
          quota: true,
          range: true,
          guarded_rename: "emulated",
        }),
        settings: [
          expect.objectContaining({ name: "root", type: "path", required: true, secret: false }),
        ],
      }),
    );
  });

  test("refuses a sign-in by browser for a storage without one", async () => {
    expect((await mira.request("/api/cloud/authorize/local_folder")).status).toBe(422);
    expect((await mira.request("/api/cloud/authorize/nothing")).status).toBe(422);
  });
});

describe("bytes", () => {
  const bytes = randomBytes(700_000);

  test("serves ranges, conditions and HEAD, cold and cached", async () => {
    const place = await connect();
    await writeFile(join(place.folder, "file.bin"), bytes);
    await place.list();
    const path = item("file.bin", "/download");
    const head = await place.get(path, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), head.text]).toEqual([
      200,
      "700000",
      "",
    ]);
    const etag = head.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{27}"$/);
    for (const _time of ["once", "again"]) {
      for (const [range, start, end] of [
        ["0-0", 0, 0],
        ["5-9", 5, 9],
        ["699999-", 699_999, 699_999],
        ["-4", 699_996, 699_999],
      ] as const) {
        const part = await raw(place, path, { Range: `bytes=${range}` });
        expect([part.status, part.headers["content-range"]]).toEqual([
          206,
          `bytes ${start}-${end}/700000`,
        ]);
        expect(part.body.equals(bytes.subarray(start, end + 1))).toBe(true);
      }
      expect((await raw(place, path, { Range: "bytes=700000-" })).status).toBe(416);
      expect((await raw(place, path, { "If-None-Match": etag })).status).toBe(304);
      expect((await raw(place, path, { Range: "bytes=1-2", "If-Range": etag })).status).toBe(206);
      const whole = await raw(place, path, { Range: "bytes=1-2", "If-Range": '"other"' });
      expect([whole.status, whole.body.equals(bytes)]).toEqual([200, true]);
    }
    expect(
      (await raw(place, path, { "If-None-Match": etag })).headers["x-content-type-options"],
    ).toBe("nosniff");
  });

  test("sends a large file cold, cached, in parts, and to a client that disconnects", async () => {
    const place = await connect();
    const large = randomBytes(10 * 1024 * 1024);
    await writeFile(join(place.folder, "large.bin"), large);
    await place.list();
    const path = item("large.bin", "/download");
    for (const _time of ["cold", "cached", "cached"]) {
      const whole = await raw(place, path);
      expect([whole.status, whole.body.equals(large)]).toEqual([200, true]);
      const part = await raw(place, path, { Range: "bytes=1000000-9000000" });
      expect([part.status, part.body.equals(large.subarray(1_000_000, 9_000_001))]).toEqual([
        206,
        true,
      ]);
    }
    await new Promise<void>((resolve) => {
      const request = httpRequest(
        daemon.url + place.base + path,
        { headers: headers() },
        (response) => {
          response.once("data", () => request.destroy());
          response.on("error", () => undefined);
        },
      );
      request.on("error", () => undefined);
      request.on("close", resolve);
      request.end();
    });
    expect((await raw(place, path)).body.equals(large)).toBe(true);
  });

  test.each(["..", "%2e%2E", ".%2e", "../", "a/../..", "./..", "..?x=1"])(
    "the item id %s is not found and never names its connection",
    async (name) => {
      const place = await connect();
      await place.upload("a.txt", "x");
      const answer = await rawPath(`${place.base}/items/${name}`, {}, "DELETE");
      expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([
        404,
        { detail: "Not Found" },
      ]);
      expect((await place.get("")).status).toBe(200);
    },
  );

  test("a backslash is a character of a name, encoded or not", async () => {
    const place = await connect();
    await writeFile(join(place.folder, "a\\b.txt"), "with a backslash");
    await mkdir(join(place.folder, "a"));
    await writeFile(join(place.folder, "a", "b.txt"), "in a folder");
    await place.list();
    for (const name of ["a\\b.txt", "a%5Cb.txt"]) {
      const got = await rawPath(`${place.base}/items/${name}/download`);
      expect([got.status, got.body.toString()]).toEqual([200, "with a backslash"]);
    }
  });

  test("serves an empty file", async () => {
    const place = await connect();
    expect((await place.upload("empty.txt", "")).json).toMatchObject({ kind: "uploaded", size: 0 });
    const got = await raw(place, item("empty.txt", "/download"));
    expect([got.status, got.headers["content-length"], got.body.length]).toEqual([200, "0", 0]);
  });

  test("a file that is replaced on disk has its new bytes and another tag after a listing", async () => {
    const place = await connect();
    await writeFile(join(place.folder, "file.txt"), "first");
    await place.list();
    const first = await raw(place, item("file.txt", "/download"));
    await tickAfter(join(place.folder, "file.txt"));
    await writeFile(join(place.folder, "file.txt"), "other");
    await place.list("", "&refresh=true");
    const second = await raw(place, item("file.txt", "/download"), {
      "If-None-Match": first.headers["etag"] ?? "",
    });
    expect([second.status, second.body.toString()]).toEqual([200, "other"]);
  });

  test("requests an item that was never listed from the provider by its id", async () => {
    const place = await connect();
    await mkdir(join(place.folder, "deep"));
    await writeFile(join(place.folder, "deep/file.txt"), "x");
    const got = await raw(place, item("deep/file.txt", "/download"));
    expect([got.status, got.headers["content-disposition"]]).toEqual([
      200,
      "attachment; filename*=UTF-8''deep%2Ffile.txt",
    ]);
    const missing = await place.get(item("nothing", "/download"));
    expect([missing.status, missing.headers.get("x-croft-reason"), missing.json]).toEqual([
      503,
      "not_found",
      { detail: "The provider has no file with this id.", reason: "not_found" },
    ]);
    const head = await place.get(item("nothing", "/download"), { method: "HEAD" });
    expect([head.status, head.headers.get("x-croft-reason")]).toEqual([503, "not_found"]);
    expect((await place.get(item("deep", "/download"))).status).toBe(422);
  });

  test("a download of a file that was deleted at the provider reports it and deletes its record", async () => {
    const place = await connect();
    await place.upload("gone.txt", "x");
    await place.list();
    await rm(join(place.folder, "gone.txt"));
    const got = await place.get(item("gone.txt", "/download"));
    expect([got.status, got.json]).toEqual([
      503,
      { detail: "This file was deleted at the provider.", reason: "not_found" },
    ]);
    expect((await place.get(item("gone.txt", "/detail"))).status).toBe(404);
    expect((await place.get(item("gone.txt", "/download"))).json.reason).toBe("not_found");
    const listed = await place.list();
    expect([listed.json.refresh_state, listed.json.items]).toEqual(["fresh", []]);
  });

  test("a download while the provider is away names no reason", async () => {
    const place = await connect();
    await place.upload("file.txt", "x");
    await rename(place.folder, `${place.folder} away`);
    const got = await place.get(item("file.txt", "/download"));
    expect([got.status, got.headers.get("x-croft-reason"), got.json.reason]).toEqual([
      503,
      null,
      undefined,
    ]);
    await rename(`${place.folder} away`, place.folder);
    expect((await place.get(item("file.txt", "/download"))).text).toBe("x");
  });

  test("preview shows safe types inline, and reports the reason for others", async () => {
    const place = await connect();
    const kinds: [string, string, string | undefined][] = [
      ["a.pdf", "%PDF-1.7", "application/pdf"],
      ["a.png", "\u0089PNG", "image/png"],
      ["a.md", "# x", "text/markdown; charset=utf-8"],
      ["a.txt", "x", "text/plain; charset=utf-8"],
      ["a.json", "{}", "application/json"],
      ["a.mp4", "x", "video/mp4"],
      ["a.svg", "<svg onload='alert(1)'/>", undefined],
      ["a.html", "<script>alert(1)</script>", undefined],
      ["a.xml", "<x/>", undefined],
      ["a.docx", "x", undefined],
      ["a", "x", undefined],
    ];
    for (const [name, text] of kinds) await writeFile(join(place.folder, name), text);
    await mkdir(join(place.folder, "folder.pdf"));
    await place.list();
    for (const [name, text, type] of [...kinds, ["folder.pdf", "", undefined] as const]) {
      const got = await raw(place, item(name, "/preview"));
      expect([name, got.status, got.headers["x-content-type-options"]]).toEqual([
        name,
        200,
        "nosniff",
      ]);
      if (type === undefined) {
        expect(JSON.parse(got.body.toString())).toEqual({
          kind: "unsupported_preview",
          reason: "unsupported_format",
          url: `${place.base}/items/${name}/download`,
        });
      } else {
        expect([
          got.headers["content-type"],
          got.headers["content-disposition"],
          got.body.toString(),
        ]).toEqual([type, "inline", text]);
        expect(got.headers["content-security-policy"]).toContain("sandbox");
      }
    }
    expect((await place.get(item("nothing.pdf", "/preview"))).status).toBe(404);
  });
});

describe("uploads", () => {
  test("larger than allowed is 413 and leaves nothing, by one byte and by many", async () => {
    const place = await connect();
    for (const size of [UPLOAD_MAX + 1, UPLOAD_MAX + 500_000]) {
      const answer = await place.upload("big.bin", randomBytes(size));
      expect([answer.status, answer.json]).toEqual([413, { detail: expect.any(String) }]);
    }
    expect((await place.upload("fits.bin", randomBytes(UPLOAD_MAX))).json).toMatchObject({
      kind: "uploaded",
      size: UPLOAD_MAX,
    });
    expect((await readdir(place.folder)).sort()).toEqual([".croft", "fits.bin"]);
    await expect.poll(() => readdir(join(place.folder, ".croft/tmp"))).toEqual([]);
  });

  test("an upload whose client disconnects in the middle leaves nothing", async () => {
    const place = await connect();
    const request = httpRequest(`${daemon.url}${place.base}/items/upload`, {
      method: "POST",
      headers: {
        ...headers(),
        "Content-Type": "multipart/form-data; boundary=b",
        "Content-Length": 2_000_000,
      },
    });
    const broken = once(request, "error");
    request.write('--b\r\nContent-Disposition: form-data; name="parent_ref"\r\n\r\n\r\n');
    request.write(
      '--b\r\nContent-Disposition: form-data; name="file"; filename="half.bin"\r\n\r\n',
    );
    request.write(randomBytes(500_000));
    const listHalves = () => readdir(join(place.folder, ".croft/tmp")).catch(() => []);
    await expect.poll(async () => (await listHalves()).length, { interval: 5 }).toBe(1);
    request.destroy(new Error("gone"));
    await broken;
    await expect.poll(listHalves, { interval: 5 }).toEqual([]);
    expect(await readdir(place.folder)).toEqual([".croft"]);
  });

  test("a taken name is answered although the file is still being sent", async () => {
    const place = await connect();
    await writeFile(join(place.folder, "taken.bin"), "old");
    for (const _known of ["unknown to the service", "listed"]) {
      const answer = await place.upload("taken.bin", randomBytes(2_500_000));
      expect(answer.json).toEqual({
        kind: "conflict",
        reason: "name_collision",
        existing_name: "taken.bin",
      });
      await place.list();
    }
    expect(await readFile(join(place.folder, "taken.bin"), "utf8")).toBe("old");
  });

  test("the name is the field, else the file's, else upload", async () => {
    const place = await connect();
    const send = async (fill: (form: FormData) => void) => {
      const form = new FormData();
      fill(form);
      return (await place.get("/items/upload", { body: form })).json.name;
    };
    expect(
      await send((form) => {
        form.set("filename", "field.txt");
        form.set("file", new Blob(["x"]), "file.txt");
      }),
    ).toBe("field.txt");
    expect(await send((form) => form.set("file", new Blob(["x"]), "file.txt"))).toBe("file.txt");
    const bare = await place.get("/items/upload", {
      headers: { "Content-Type": "multipart/form-data; boundary=b" },
      body: '--b\r\nContent-Disposition: form-data; name="file"\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--b--\r\n',
      method: "POST",
    });
    expect(bare.json.name).toBe("upload");
  });

  test("refuses malformed forms", async () => {
    const place = await connect();
    const empty = new FormData();
    empty.set("parent_ref", "");
    expect((await place.get("/items/upload", { body: empty })).status).toBe(422);
    expect((await place.get("/items/upload", { json: {} })).status).toBe(422);
    const other = new FormData();
    other.set("document", new Blob(["x"]), "x");
    expect((await place.get("/items/upload", { body: other })).status).toBe(422);
    expect((await place.upload("x", "x", "missing folder")).json).toEqual({
      kind: "stale",
      reason: "item_changed",
    });
  });

  const part = (rest: string) => `--b\r\nContent-Disposition: form-data; ${rest}\r\n\r\nx\r\n`;
  test.each([
    ["has a second file", `${part('name="file"; filename="b"')}--b--\r\n`],
    ["is cut off in the next part", '--b\r\nContent-Disposition: form-data; name="more"\r\n\r\n'],
    ["has no end", ""],
  ])("a form that %s is refused and leaves nothing", async (_what, rest) => {
    const place = await connect();
    const answer = await place.get("/items/upload", {
      method: "POST",
      headers: { "Content-Type": "multipart/form-data; boundary=b" },
      body: `${part('name="parent_ref"').replace("x\r\n", "\r\n")}${part('name="file"; filename="a"')}${rest}`,
    });
    expect([answer.status, answer.json]).toMatchObject([422, { detail: [{ loc: ["body"] }] }]);
    await expect.poll(() => readdir(join(place.folder, ".croft/tmp"))).toEqual([]);
    expect(await readdir(place.folder)).toEqual([".croft"]);
  });
});

describe("attack: names and ids", () => {
  const hostile = [
    "two words",
    "%",
    "%41",
    "%2F",
    "#",
    "?",
    "+",
    "&",
    "'",
    '"',
    "\\",
    ".hidden",
    "open",
    "upload",
    "rename",
    "a;b=c",
    "\u202eevil.txt",
    "😀",
    "עברית",
    "e\u0301.txt",
    "\u00e9.txt",
    "a".repeat(255),
    "~",
    "*(star)!",
    "-dash",
    "CON",
    "file.txt::$DATA",
    "trailing.",
    " leading",
    "trailing ",
    "..double",
    "日本語.txt",
  ];

  test.each(hostile)(
    "%j keeps its name through upload, listing, download, rename, move and delete",
    async (name) => {
      const place = await connect();
      const normal = name.normalize("NFC");
      await place.get("/folders", { json: { name: "sub" } });
      expect((await place.upload(name, "content")).json).toMatchObject({
        kind: "uploaded",
        name: normal,
      });
      expect((await readdir(place.folder)).sort()).toContain(normal);
      expect((await place.list()).json.items.map((one: { name: string }) => one.name)).toContain(
        normal,
      );
      const got = await raw(place, item(normal, "/download"));
      expect(got.body.toString()).toBe("content");
      const disposition = got.headers["content-disposition"] ?? "";
      expect(disposition).toMatch(/^attachment; filename\*=UTF-8''[A-Za-z0-9.%_~-]+$/);
      expect(decodeURIComponent(disposition.slice("attachment; filename*=UTF-8''".length))).toBe(
        normal,
      );
      const moved = await place.get(item(normal, "/move"), {
        json: { destination_parent_ref: "sub" },
      });
      expect(moved.json).toMatchObject({ kind: "moved", provider_item_id: `sub/${normal}` });
      // Slashes of the id may come raw or encoded.
      const rawSlash = `/items/sub/${encodeURIComponent(normal)}/detail`;
      expect((await place.get(rawSlash)).json.name).toBe(normal);
      expect((await place.get(item(`sub/${normal}`, "/detail"))).json.location).toBe("/sub");
      const renamed = await place.get(item(`sub/${normal}`, "/rename"), {
        method: "PATCH",
        json: { new_name: "plain" },
      });
      expect(renamed.json.name).toBe("plain");
      const back = await place.get(item("sub/plain", "/rename"), {
        method: "PATCH",
        json: { new_name: name },
      });
      expect(back.json).toMatchObject({ kind: "renamed", name: normal });
      expect((await place.get(item(`sub/${normal}`, ""), { method: "DELETE" })).json.kind).toBe(
        "deleted",
      );
    },
  );

  test("reaches items that are named like actions, inside of each other", async () => {
    const place = await connect();
    await mkdir(join(place.folder, "open/rename"), { recursive: true });
    await writeFile(join(place.folder, "open/rename/open"), "x");
    await writeFile(join(place.folder, "upload"), "y");
    for (const parent of ["", "open", "open/rename"]) await place.list(parent);
    expect((await place.get("/items/open/rename/open/detail")).json.name).toBe("open");
    expect((await place.get("/items/open/rename/open/open")).json.url).toBe(
      `${place.base}/items/open/rename/open/download`,
    );
    expect((await place.get("/items/upload/download")).text).toBe("y");
    expect(
      (await place.get("/items/upload/rename", { method: "PATCH", json: { new_name: "move" } }))
        .json.kind,
    ).toBe("renamed");
    expect(
      (await place.get("/items/move/move", { json: { destination_parent_ref: "open" } })).json
        .provider_item_id,
    ).toBe("open/move");
  });

  test.each([
    "",
    ".",
    "..",
    "a/b",
    "a\0b",
    "a\nb",
    "\u007f",
    "\u0085",
    "x".repeat(256),
    "ö".repeat(128),
  ])("the name %j is refused with its place", async (name) => {
    const place = await connect();
    await place.upload("file.txt", "x");
    const folder = await place.get("/folders", { json: { name } });
    expect([folder.status, folder.json.detail?.[0]?.loc]).toEqual([422, ["body", "name"]]);
    const renamed = await place.get(item("file.txt", "/rename"), {
      method: "PATCH",
      json: { new_name: name },
    });
    expect([renamed.status, renamed.json.detail?.[0]?.loc]).toEqual([422, ["body", "new_name"]]);
    // An empty field counts as absent.
    if (name !== "") {
      const uploaded = await place.upload(name, "x");
      expect([uploaded.status, uploaded.json.detail?.[0]?.loc]).toEqual([
        422,
        ["body", "filename"],
      ]);
    }
    expect((await readdir(place.folder)).sort()).toEqual([".croft", "file.txt"]);
  });

  test.each([".", ".."])(
    "a file whose own name is %j is refused, not stored under another name",
    async (name) => {
      const place = await connect();
      const form = new FormData();
      form.set("file", new Blob(["x"]), name);
      const uploaded = await place.get("/items/upload", { body: form });
      expect([uploaded.status, uploaded.json.detail?.[0]]).toMatchObject([
        422,
        { loc: ["body", "filename"], type: "invalid_name" },
      ]);
      expect(await readdir(place.folder)).not.toContain("upload");
    },
  );

  test.each([
    "../secret",
    "..%2f..%2fsecret",
    "%2e%2e%2fsecret",
    "%252e%252e%252fsecret",
    "..%5csecret",
    "%2fetc%2fpasswd",
    ".croft%2ftrash",
    "a%2f%2fb",
    "%c0%ae%c0%ae%2fsecret",
    "%",
    "%zz",
  ])("the address %s leads nowhere", async (encoded) => {
    const place = await connect();
    await writeFile(join(files, "secret"), "secret");
    for (const action of ["/download", "/detail", "/open", "/preview"]) {
      const answer = await rawPath(`${place.base}/items/${encoded}${action}`);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).not.toBe(500);
      expect(answer.body.toString()).not.toContain("secret\n");
      expect(answer.body.toString()).not.toContain(files);
    }
  });

  test("a name cannot inject a header", async () => {
    const place = await connect();
    const name = 'x"\r\nSet-Cookie: a=b\r\n\r\n<script>';
    await writeFile(join(place.folder, name.replaceAll("/", "")), "x");
    await place.list();
    const got = await raw(place, item(name, "/download"));
    expect(got.status).toBe(200);
    expect(got.headers["set-cookie"]).toBeUndefined();
    expect(got.headers["content-disposition"]).toBe(
      "attachment; filename*=UTF-8''x%22%0D%0ASet-Cookie%3A%20a%3Db%0D%0A%0D%0A%3Cscript%3E",
    );
  });
});

describe("choices and analyses", () => {
  test("the cache limit can be changed and takes effect at once", async () => {
    const before = await noah.request("/api/cloud/analysis-settings");
    expect(before.json).toEqual({
      byte_cache_limit_bytes: 536_870_912,
      auto_analyze: false,
      max_analyze_bytes: 52_428_800,
    });
    const changed = await noah.request("/api/cloud/analysis-settings", {
      method: "PATCH",
      json: { byte_cache_limit_bytes: 0 },
    });
    expect(changed.json).toEqual({ ...before.json, byte_cache_limit_bytes: 0 });
    const place = await connect(noah);
    await place.upload("file.bin", randomBytes(500_000));
    expect((await place.get(item("file.bin", "/download"))).status).toBe(200);
    expect(
      (
        await noah.request("/api/cloud/analysis-settings", {
          method: "PATCH",
          json: { byte_cache_limit_bytes: -1 },
        })
      ).status,
    ).toBe(422);
  });

  test("queues an analysis of a file, and refuses one of a folder", async () => {
    const place = await connect();
    await place.upload("file.txt", "x");
    await place.get("/folders", { json: { name: "folder" } });
    const answer = await place.get(item("file.txt", "/analyze"), { method: "POST" });
    expect([answer.status, answer.json]).toEqual([
      202,
      { provider_item_id: "file.txt", analysis_status: "pending" },
    ]);
    await expect
      .poll(async () => (await place.get(item("file.txt", "/detail"))).json.analysis_status)
      .toBe("ready");
    expect((await place.get(item("folder", "/analyze"), { method: "POST" })).status).toBe(422);
    expect((await place.get(item("nothing", "/analyze"), { method: "POST" })).status).toBe(404);
  });
});

function headers(): Record<string, string> {
  return {
    Authorization: `Bearer ${mira.accessToken}`,
    "User-Agent": "croft-test",
    "Accept-Language": "*",
    "X-Forwarded-For": "192.0.2.1",
  };
}

interface RawAnswer {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly body: Buffer;
}

function raw(place: Place, path: string, more: Record<string, string> = {}): Promise<RawAnswer> {
  return rawPath(place.base + path, more);
}

/** Sends a request whose path is not normalized. */
function rawPath(
  path: string,
  more: Record<string, string> = {},
  method = "GET",
): Promise<RawAnswer> {
  const { hostname, port } = new URL(daemon.url);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { hostname, port, method, path, headers: { ...headers(), ...more } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Record<string, string | undefined>,
            body: Buffer.concat(chunks),
          }),
        );
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end();
  });
}
