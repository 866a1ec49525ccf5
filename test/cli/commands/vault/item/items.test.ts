import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { toFileName } from "../../../../../cli/support/file-names.ts";
import { run } from "../../../../../cli/main.ts";
import { toItemAddress } from "../../../../../cli/support/items.ts";
import { type FakeAnswer, fakeDaemon, type RecordedRequest } from "../../../support/fake-daemon.ts";
import { toBatchListing } from "../../../support/fake-storage.ts";
import { optionsOf, refusalOf } from "../../../support/parse-line.ts";
import {
  fakeSystem,
  type FakeSystemOptions,
  runCli,
  temporaryHome,
  toRan,
} from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const connection = {
  id: "c1",
  provider: "local_folder",
  display_name: "home",
  status: "connected",
  created_at: "x",
  last_checked_at: null,
  quota: null,
};
const item = (id: string, kind: "file" | "folder" = "file", size: number | null = 5) => ({
  id: `u-${id}`,
  provider_item_id: id,
  name: id.split("/").at(-1),
  kind,
  parent_ref: null,
  content_type: kind === "file" ? "text/plain" : null,
  size,
  modified_at: null,
});

/** A tree: `/docs` is a folder with `a ü.txt`. */
function listing({ path }: RecordedRequest): FakeAnswer {
  const query = new URL(path, "http://x").searchParams;
  const all =
    query.get("parent_ref") === ""
      ? [item("docs", "folder", null), item("top.txt")]
      : [item("docs/a ü.txt")];
  const name = query.get("name");
  const items = name === null ? all : all.filter((one) => one.name === name);
  return {
    body: {
      parent_ref: query.get("parent_ref"),
      refresh_state: "fresh",
      error_code: null,
      error_message: null,
      listed_at: "x",
      items,
      next_cursor: null,
    },
  };
}

const tree = {
  "GET /api/cloud/connections": { body: { items: [connection], total: 1, page: 1, per_page: 100 } },
  "GET /api/cloud/connections/c1/items": listing,
  "POST /api/cloud/connections/c1/items/batch-list": toBatchListing(listing),
};

async function inHome<T>(
  answers: Parameters<typeof fakeDaemon>[0],
  work: (
    home: string,
    go: (words: readonly string[], more?: Partial<FakeSystemOptions>) => ReturnType<typeof runCli>,
    requests: readonly RecordedRequest[],
  ) => Promise<T>,
): Promise<T> {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ ...tree, ...answers });
  await signIn(home.path, { url: daemon.url, vault: {} });
  return await work(
    home.path,
    (words, more) => runCli(["vault", "item", ...words], { home: home.path, ...more }),
    daemon.requests,
  );
}

describe("an item's name", () => {
  test.each([
    ["home:/a/b.txt", { kind: "path", connection: "home", path: ["a", "b.txt"], isFolder: false }],
    ["home:/", { kind: "path", connection: "home", path: [], isFolder: true }],
    ["my: drive:/x/", { kind: "path", connection: "my: drive", path: ["x"], isFolder: true }],
    ["home:/a//./b", { kind: "path", connection: "home", path: ["a", "b"], isFolder: false }],
    ["home:01HX", { kind: "id", connection: "home", id: "01HX" }],
    ["01HX", { kind: "id", connection: undefined, id: "01HX" }],
  ])("resolves the name of an item: %s", (word, address) => {
    expect(toItemAddress(word)).toEqual(address);
  });

  test("cannot go upwards", () => {
    expect(() => toItemAddress("home:/a/../../b")).toThrow("is not allowed");
  });
});

describe("item list", () => {
  test("the line becomes options", async () => {
    expect(await optionsOf("vault item list", ["home:/docs", "--refresh"])).toMatchObject({
      folder: "home:/docs",
      refresh: true,
    });
  });

  test("a word that is not the id of a folder is refused with the expected form", async () => {
    const unknown = { status: 404, body: { detail: "Cloud item not found" } };
    const answers = {
      "GET /api/cloud/connections/c1/items/docs/detail": unknown,
      "GET /api/cloud/connections/c1/items": unknown,
      "POST /api/cloud/connections/c1/items/batch-list": toBatchListing(() => unknown),
    };
    await inHome(answers, async (_home, go) => {
      for (const line of [
        ["list", "docs"],
        ["tree", "docs"],
        ["view", "docs"],
      ]) {
        const ran = await go([...line, "--json"]);
        expect(ran.error()).toMatchObject({
          code: "not_found",
          hint: "items are written CONNECTION:/path or CONNECTION:ID",
        });
      }
    });
  });

  test("finds the folder by its path and prints its items", async () => {
    await inHome({}, async (_home, go, requests) => {
      const ran = await go(["list", "HOME:/docs", "--json=name,size"]);
      expect(ran.json()).toEqual([{ name: "a ü.txt", size: 5 }]);
      expect(requests.at(-1)?.path).toBe("/api/cloud/connections/c1/items?parent_ref=docs");
    });
  });

  test("prints a file as a list of one", async () => {
    await inHome({}, async (_home, go) => {
      expect((await go(["list", "home:/top.txt"])).out).toBe(
        "file\ttop.txt\t5\t\ttext/plain\ttop.txt\n",
      );
    });
  });

  test("a folder that could never be listed is a failure; one that was listed before is shown", async () => {
    const failed = { refresh_state: "failed", error_code: "offline", error_message: "No way." };
    const listed = { ...failed, items: [item("a")], listed_at: "2026-01-01T00:00:00Z" };
    const pages = [{ ...failed, items: [], listed_at: null }, listed].map((body) => ({
      body: { ...body, next_cursor: null },
    }));
    await inHome({ "GET /api/cloud/connections/c1/items": pages }, async (_home, go) => {
      const never = await go(["list", "home:/", "--json"]);
      expect(never.error()).toMatchObject({ code: "provider_offline", message: "No way." });
      const before = await go(["list", "home:/", "--jq", ".[].name"]);
      expect([before.code, before.out]).toEqual([0, "a\n"]);
    });
  });

  test("follows the cursor with --all", async () => {
    const pages = [
      { items: [item("a")], next_cursor: "n1", refresh_state: "fresh" },
      { items: [item("b")], next_cursor: null, refresh_state: "fresh" },
    ].map((body) => ({ body }));
    await inHome({ "GET /api/cloud/connections/c1/items": pages }, async (_home, go, requests) => {
      const ran = await go(["list", "home:/", "--all", "--jq", ".[].name", "--refresh"]);
      expect(ran.out).toBe("a\nb\n");
      expect(requests.map(({ path }) => path).slice(1)).toEqual([
        "/api/cloud/connections/c1/items?parent_ref=&limit=1000&refresh=true",
        "/api/cloud/connections/c1/items?parent_ref=&limit=1000&cursor=n1",
      ]);
    });
  });

  test.each([
    ["an unknown connection", "work:/", 'there is no connection "work"'],
    ["an unknown path", "home:/docs/none", "there is no home:/docs/none"],
    ["a path through a file", "home:/top.txt/x", "there is no home:/top.txt/x"],
  ])("item list of %s is not found", async (_what, word, message) => {
    await inHome({}, async (_home, go) => {
      const ran = await go(["list", word, "--json"]);
      expect(ran.error()).toMatchObject({ code: "not_found", exit_code: 6, message });
    });
  });
});

describe("item upload", () => {
  const uploaded = {
    kind: "uploaded",
    provider_item_id: "docs/x.bin",
    name: "x.bin",
    parent_ref: "docs",
    size: 3,
  };
  const route = "POST /api/cloud/connections/c1/items/upload";

  test("the line becomes options", async () => {
    expect(await optionsOf("vault item upload", ["a", "b", "home:/docs"])).toMatchObject({
      files: ["a", "b", "home:/docs"],
      transfers: 4,
    });
    for (const words of [["home:/docs"], ["a", "b"]])
      expect(await refusalOf("vault item upload", words)).toMatch(/^croft: /);
  });

  test("sends the fields before the file, with its length", async () => {
    await inHome({ [route]: { body: uploaded } }, async (home, go, requests) => {
      await writeFile(join(home, 'a "ü".bin'), "\u0000\r\n");
      const ran = await go(["upload", 'a "ü".bin', "home:/docs", "--json"]);
      expect(ran.json()).toEqual([{ item: 'a "ü".bin', ...uploaded, skipped: null, error: null }]);
      const request = requests.at(-1)!;
      const boundary = /boundary=(\w+)$/.exec(request.headers["content-type"] ?? "")?.[1];
      expect(request.headers["content-length"]).toBe(String(request.body.byteLength));
      expect(request.headers["transfer-encoding"]).toBeUndefined();
      expect(request.body.toString()).toBe(
        [
          `--${boundary}`,
          'Content-Disposition: form-data; name="parent_ref"',
          "",
          "docs",
          `--${boundary}`,
          'Content-Disposition: form-data; name="filename"',
          "",
          'a "ü".bin',
          `--${boundary}`,
          'Content-Disposition: form-data; name="file"; filename="a %22ü%22.bin"',
          "Content-Type: application/octet-stream",
          "",
          "\u0000\r\n",
          `--${boundary}--`,
          "",
        ].join("\r\n"),
      );
    });
  });

  test("gives a single file another name, and takes standard input under one", async () => {
    await inHome({ [route]: { body: uploaded } }, async (_home, go, requests) => {
      const ran = await go(["upload", "-", "home:/docs/new.txt"], {
        stdin: Readable.from([Buffer.from("abc")]),
      });
      expect(ran.code).toBe(0);
      expect(requests.at(-1)?.headers["transfer-encoding"]).toBe("chunked");
      expect(requests.at(-1)?.body.toString()).toContain('name="filename"\r\n\r\nnew.txt\r\n');
      const nameless = await go(["upload", "-", "home:/docs", "--json"]);
      expect(nameless.error()).toMatchObject({ code: "usage", hint: "write home:/docs/NAME" });
    });
  });

  test("onto a taken name exits 7 although the status is 200", async () => {
    const body = { kind: "conflict", reason: "name_collision", existing_name: "top.txt" };
    await inHome({ [route]: { body } }, async (home, go) => {
      await writeFile(join(home, "top.txt"), "x");
      const ran = await go(["upload", "top.txt", "home:/", "--json"]);
      expect(ran.error()).toMatchObject({
        code: "name_collision",
        exit_code: 7,
        http_status: 200,
        reason: "name_collision",
        hint: "choose another name, or give --replace to replace it",
      });
    });
  });

  test("a name that is not UTF-8 is told apart from a missing file", async () => {
    await inHome({ [route]: { body: uploaded } }, async (home, go) => {
      await writeFile(Buffer.from(`${home}/\xff.txt`, "latin1"), "x");
      const ran = await go(["upload", "\ufffd.txt", "home:/", "--json"]);
      expect(ran.error()).toMatchObject({
        code: "file_error",
        message: "\ufffd.txt: the name is not valid UTF-8",
      });
    });
  });

  test("an upload of several files reports the failed ones and exits 14", async () => {
    const line = { index: 0, filename: "x.bin", status: 200, ...uploaded };
    const body = Buffer.from(`${JSON.stringify(line)}\n`);
    const batch = route.replace(/upload$/, "batch");
    await inHome({ [batch]: { body } }, async (home, go) => {
      await writeFile(join(home, "x.bin"), "abc");
      const ran = await go(["upload", "x.bin", "missing.bin", "home:/docs", "--json"]);
      expect(ran.code).toBe(14);
      expect(ran.json()).toEqual([
        { item: "x.bin", ...uploaded, skipped: null, error: null },
        {
          item: "missing.bin",
          error: { code: "file_error", message: "missing.bin: there is no such file" },
        },
      ]);
      expect(ran.error()).toMatchObject({ code: "partial", message: "1 of 2 were not uploaded" });
    });
  });

  test("an upload of several files that all fail exits with their reason", async () => {
    await inHome({}, async (_home, go) => {
      const ran = await go(["upload", "a", "b", "home:/docs", "--json"]);
      expect(ran).toMatchObject({ code: 17, out: "" });
      expect(ran.error()).toMatchObject({ code: "file_error" });
    });
  });

  test("item upload with --dry-run shows the requests and sends none", async () => {
    await inHome({}, async (home, go) => {
      await writeFile(join(home, "x.bin"), "abc");
      const ran = await go(["upload", "x.bin", "home:/docs", "--dry-run", "--json"]);
      expect(ran.json()).toMatchObject({
        dry_run: true,
        request: {
          method: "POST",
          body: { parent_ref: "docs", filename: "x.bin", file: { filename: "x.bin", size: 3 } },
        },
      });
    });
  });

  test("item upload is repeated with a new token after a refusal, since a file can be read again", async () => {
    const refusal = { status: 401, body: { detail: "Invalid or expired token" } };
    const answers = {
      [route]: [refusal, { body: uploaded }],
      "POST /api/auth/refresh": {
        body: { access_token: "new" },
        headers: { "Set-Cookie": "refresh_token=r2; Path=/" },
      },
    };
    await inHome(answers, async (home, go, requests) => {
      await writeFile(join(home, "x.bin"), "abc");
      expect((await go(["upload", "x.bin", "home:/docs"])).code).toBe(0);
      const uploads = requests.filter(
        ({ method, path }) => method === "POST" && path.endsWith("upload"),
      );
      expect(uploads.map(({ headers }) => headers.authorization)).toEqual([
        "Bearer access-1",
        "Bearer new",
      ]);
      expect(uploads.map(({ body }) => body.includes("abc"))).toEqual([true, true]);
    });
  });
});

describe("item download", () => {
  const route = "GET /api/cloud/connections/c1/items/docs/a%20%C3%BC.txt/download";
  const bytes = { body: Buffer.from("hello") };

  test("the line becomes options", async () => {
    expect(await optionsOf("vault item download", ["home:/a", "ID", "-o", "dir"])).toEqual({
      items: ["home:/a", "ID"],
      output: "dir",
      transfers: 4,
    });
  });

  test("writes the file under its own name and leaves no part behind", async () => {
    await inHome({ [route]: bytes }, async (home, go) => {
      await mkdir(join(home, "to"));
      const ran = await go(["download", "home:/docs/a ü.txt", "--output", "to", "--json"]);
      expect(ran.json()).toEqual([
        {
          item: "home:/docs/a ü.txt",
          path: join(home, "to", "a ü.txt"),
          size: 5,
          skipped: null,
          error: null,
        },
      ]);
      expect(await readFile(join(home, "to", "a ü.txt"), "utf8")).toBe("hello");
      expect(await readdir(join(home, "to"))).toEqual(["a ü.txt"]);
    });
  });

  test("writes to a file that was named, replacing it, and to standard output", async () => {
    await inHome({ [route]: bytes }, async (home, go) => {
      await writeFile(join(home, "out"), "before");
      expect((await go(["download", "home:/docs/a ü.txt", "-o", "out"])).code).toBe(0);
      expect(await readFile(join(home, "out"), "utf8")).toBe("hello");
      expect(await go(["download", "home:/docs/a ü.txt", "-o", "-"])).toMatchObject({
        code: 0,
        out: "hello",
      });
    });
  });

  test("item download does not replace a file whose name the server chose, without --force", async () => {
    await inHome({ [route]: bytes }, async (home, go) => {
      await writeFile(join(home, "a ü.txt"), "mine");
      const ran = await go(["download", "home:/docs/a ü.txt", "--json"]);
      expect(ran.error()).toMatchObject({
        code: "conflict",
        exit_code: 7,
        hint: "--force replaces it, --skip-existing leaves what is the same",
      });
      expect(await readFile(join(home, "a ü.txt"), "utf8")).toBe("mine");
      expect((await go(["download", "home:/docs/a ü.txt", "--force"])).code).toBe(0);
      expect(await readFile(join(home, "a ü.txt"), "utf8")).toBe("hello");
    });
  });

  test("item download does not send bytes to a terminal without --force", async () => {
    await inHome({ [route]: bytes }, async (_home, go, requests) => {
      const refused = await go(["download", "home:/docs/a ü.txt", "-o", "-"], { terminal: true });
      expect(refused).toMatchObject({ code: 2, out: "" });
      expect(requests).toEqual([]);
      const forced = await go(["download", "home:/docs/a ü.txt", "-o", "-", "--force", "--quiet"], {
        terminal: true,
      });
      expect(forced).toMatchObject({ code: 0, out: "hello" });
    });
  });

  test("removes the part of an interrupted download", async () => {
    await inHome({ [route]: { ...bytes, cut: true } }, async (home, go) => {
      const ran = await go(["download", "home:/docs/a ü.txt", "-o", "out", "--json"]);
      expect(ran.error()).toMatchObject({
        code: "provider_failed",
        message: expect.stringMatching(/^a ü\.txt: the stream ended after \d of 105 bytes$/),
      });
      expect((await readdir(home)).filter((name) => name.startsWith("out"))).toEqual([]);
    });
  });

  test("item download of an item by its id asks the only connection, and takes the name from the answer", async () => {
    const answer = {
      ...bytes,
      headers: { "Content-Disposition": "attachment; filename*=UTF-8''..%2F..%2Fetc%2Fp%00x" },
    };
    await inHome(
      {
        "GET /api/cloud/connections/c1/items/ID1/detail": {
          status: 404,
          body: { detail: "Cloud item not found" },
        },
        "GET /api/cloud/connections/c1/items/ID1/download": answer,
      },
      async (home, go) => {
        expect((await go(["download", "ID1"])).code).toBe(0);
        expect(await readdir(home)).toContain(".._.._etc_p_x");
      },
    );
  });

  test("item download that the provider refuses exits with its own code", async () => {
    const refusals = [
      { status: 401, body: { detail: "Reconnect this connection" } },
      { status: 503, body: { detail: "The provider is temporarily unavailable" } },
    ];
    await inHome({ [route]: refusals }, async (home, go) => {
      expect((await go(["download", "home:/docs/a ü.txt", "--json"])).error()).toMatchObject({
        code: "reauth_required",
        exit_code: 13,
      });
      expect((await go(["download", "home:/docs/a ü.txt", "--json"])).error()).toMatchObject({
        code: "provider_failed",
        exit_code: 11,
      });
      expect((await readdir(home)).filter((name) => name.includes(".txt"))).toEqual([]);
    });
  });

  test("item download that is interrupted exits 130 and leaves nothing", async () => {
    await using home = await temporaryHome();
    const { createServer } = await import("node:http");
    const server = createServer((request, response) => {
      const body = (value: unknown) =>
        response.setHeader("Content-Type", "application/json").end(JSON.stringify(value));
      if (request.url?.startsWith("/api/cloud/connections?"))
        return void body(tree["GET /api/cloud/connections"].body);
      if (request.url?.includes("/items?"))
        return void body(listing({ path: request.url } as RecordedRequest).body);
      response.setHeader("Content-Length", 1000).write("begins");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await signIn(home.path, { url: `http://127.0.0.1:${port}`, vault: {} });
    const system = fakeSystem({ home: home.path });
    const running = run(["vault", "item", "download", "home:/docs/a ü.txt", "-o", "out"], system);
    while (!(await readdir(home.path)).some((name) => name.startsWith("out.")))
      await new Promise((resolve) => setTimeout(resolve, 5));
    system.stops.send("SIGINT");
    expect(toRan(await running, system)).toMatchObject({ code: 130, out: "" });
    expect((await readdir(home.path)).filter((name) => name.startsWith("out"))).toEqual([]);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});

test.each([
  ["../../etc/passwd", ".._.._etc_passwd", ".._.._etc_passwd"],
  ["a:b?.txt", "a:b?.txt", "a_b_.txt"],
  ["CON.txt", "CON.txt", "_CON.txt"],
  ["com¹ .x", "com¹ .x", "_com¹ .x"],
  ["..\\..\\x", "..\\..\\x", ".._.._x"],
  [`${"ü".repeat(200)}.pdf`, `${"ü".repeat(125)}.pdf`, `${"ü".repeat(125)}.pdf`],
  ["\ud800x", "\ufffdx", "\ufffdx"],
  ["dot. ", "dot. ", "dot__"],
  ["a.x.croft-part", "a.x.croft-part_", "a.x.croft-part_"],
  ["..", "_", "_"],
  ["a\u0000\nb", "a__b", "a__b"],
  ["Größe 😀.pdf", "Größe 😀.pdf", "Größe 😀.pdf"],
])("the server's name %j becomes %j, on Windows %j", (name, posix, windows) => {
  expect(toFileName(name, "linux")).toBe(posix);
  expect(toFileName(name, "win32")).toBe(windows);
});
