import { describe, expect, test } from "vitest";
import { type FakeAnswer, fakeDaemon, type RecordedRequest } from "../../../support/fake-daemon.ts";
import { toBatchListing } from "../../../support/fake-storage.ts";
import { optionsOf, refusalOf } from "../../../support/parse-line.ts";
import { type FakeSystemOptions, runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const base = "/api/cloud/connections/c1";
const connection = {
  id: "c1",
  provider: "local_folder",
  display_name: "home",
  status: "connected",
};
const items: Record<string, { name: string; kind: string; id: string }[]> = {
  "": [
    { name: "docs", kind: "folder", id: "docs" },
    { name: "top.txt", kind: "file", id: "top.txt" },
  ],
  docs: [
    { name: "deep", kind: "folder", id: "docs/deep" },
    { name: "a ü.txt", kind: "file", id: "docs/a ü.txt" },
  ],
  "docs/deep": [],
};

/** A tree: `/docs` holds an empty folder and `a ü.txt`. */
function listing({ path }: RecordedRequest): FakeAnswer {
  const query = new URL(path, "http://x").searchParams;
  const parent = query.get("parent_ref") ?? "";
  const name = query.get("name");
  const found = (items[parent] ?? []).filter((one) => name === null || one.name === name);
  return {
    body: {
      parent_ref: parent,
      refresh_state: "fresh",
      items: found.map((one) => ({
        provider_item_id: one.id,
        name: one.name,
        kind: one.kind,
        size: one.kind === "file" ? 5 : null,
        modified_at: null,
      })),
      next_cursor: null,
    },
  };
}

/** Runs `vault item …` against a daemon with the tree and these answers. */
async function go(
  words: readonly string[],
  answers: Parameters<typeof fakeDaemon>[0],
  more: Partial<FakeSystemOptions> = {},
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/cloud/connections": {
      body: { items: [connection], total: 1, page: 1, per_page: 100 },
    },
    [`GET ${base}/items`]: listing,
    [`POST ${base}/items/batch-list`]: toBatchListing(listing),
    ...answers,
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const ran = await runCli(["vault", "item", ...words], { home: home.path, ...more });
  return { ran, sent: daemon.requests.at(-1), url: daemon.url };
}

const encoded = "docs/a%20%C3%BC.txt";

describe("item mkdir", () => {
  const made = { kind: "folder", provider_item_id: "docs/new", name: "new", parent_ref: "docs" };

  test("the line becomes options", async () => {
    expect(await optionsOf("vault item mkdir", ["home:/docs/new"])).toMatchObject({
      folder: { kind: "path", connection: "home", path: ["docs", "new"], isFolder: false },
    });
  });

  test("makes a folder in the one above it", async () => {
    const { ran, sent } = await go(["mkdir", "home:/docs/new", "--json"], {
      [`POST ${base}/folders`]: { status: 201, body: made },
    });
    expect([sent?.json(), ran.json(), ran.code]).toEqual([
      { parent_ref: "docs", name: "new" },
      made,
      0,
    ]);
  });

  test("a provider without folders is unsupported although the status is 201", async () => {
    const { ran } = await go(["mkdir", "home:/new"], {
      [`POST ${base}/folders`]: {
        status: 201,
        body: { kind: "unsupported_operation", reason: "provider_unsupported" },
      },
    });
    expect(ran.code).toBe(15);
  });

  test("the root has no name, and a file has no children", async () => {
    expect((await go(["mkdir", "home:/"], {})).ran.code).toBe(2);
    expect((await go(["mkdir", "home:/top.txt/new"], {})).ran.code).toBe(6);
  });

  test("mkdir below a folder that does not exist points to --parents", async () => {
    const { ran } = await go(["mkdir", "home:/no/deeper/new"], {});
    expect(ran.code).toBe(6);
    expect(ran.err).toBe("croft: there is no home:/no/deeper\n--parents creates it\n");
  });

  test("the hint for an item that does not exist names a folder that does", async () => {
    const { ran } = await go(["rename", "home:/no/deeper/file", "new"], {});
    expect(ran.err).toContain('"croft vault item list home:/" shows what is there');
  });
});

describe("item rename", () => {
  const path = `PATCH ${base}/items/${encoded}/rename`;

  test("the line becomes options", async () => {
    expect(await optionsOf("vault item rename", ["home:/a", "b", "--if-match", "e1"])).toEqual({
      item: "home:/a",
      name: "b",
      ifMatch: "e1",
    });
  });

  test("sends the name, and the etag where it is given", async () => {
    const body = { kind: "renamed", provider_item_id: "docs/b.txt", name: "b.txt" };
    const { ran, sent } = await go(
      ["rename", "home:/docs/a ü.txt", "b.txt", "--if-match", "e1", "--json"],
      { [path]: { body } },
    );
    expect([sent?.json(), ran.json()]).toEqual([{ new_name: "b.txt", etag: "e1" }, body]);
  });

  test.each([
    [{ kind: "stale", reason: "item_changed" }, 409, "stale"],
    [{ kind: "conflict", reason: "name_collision" }, 409, "name_collision"],
  ])("%o ends with 7", async (body, status, code) => {
    const { ran } = await go(["rename", "home:/docs/a ü.txt", "b.txt", "--json"], {
      [path]: { status, body },
    });
    expect([ran.code, JSON.parse(ran.err).error.code, ran.out]).toEqual([7, code, ""]);
  });
});

describe("item move", () => {
  test("the line becomes options", async () => {
    expect(await optionsOf("vault item move", ["home:/a", "home:/docs"])).toMatchObject({
      items: ["home:/a", "home:/docs"],
    });
    expect(await optionsOf("vault item move", ["home:/a", "b", "home:docs"])).toEqual({
      items: ["home:/a", "b", "home:docs"],
    });
    for (const words of [["home:/a"], ["home:/a", "home:/b", "home:/docs", "--if-match", "e1"]])
      expect(await refusalOf("vault item move", words)).toMatch(/^croft: /);
  });

  test("sends the folder's id and connection", async () => {
    const body = { kind: "moved", provider_item_id: "docs/top.txt", parent_ref: "docs" };
    const { ran, sent } = await go(["mv", "home:/top.txt", "home:/docs", "--json"], {
      [`POST ${base}/items/top.txt/move`]: { body },
    });
    expect([sent?.json(), ran.json()]).toEqual([
      { destination_parent_ref: "docs", destination_connection_id: "c1" },
      body,
    ]);
  });
});

describe("item move of several", () => {
  const answers = {
    [`POST ${base}/items/top.txt/move`]: {
      body: { kind: "moved", provider_item_id: "docs/deep/top.txt", parent_ref: "docs/deep" },
    },
    [`POST ${base}/items/${encoded}/move`]: {
      status: 409,
      body: { kind: "conflict", reason: "name_collision" },
    },
    [`GET ${base}/items/docs/deep/detail`]: {
      body: { provider_item_id: "docs/deep", name: "deep", kind: "folder" },
    },
  };

  test("a batch of moves continues after failures and reports the result of each item", async () => {
    const line = ["mv", "home:/top.txt", "home:/docs/a ü.txt", "home:/none", "home:/docs/deep"];
    const { ran } = await go([...line, "--json"], answers);
    expect(ran.code).toBe(14);
    expect(ran.json()).toMatchObject([
      { item: "home:/top.txt", kind: "moved", parent_ref: "docs/deep", error: null },
      { item: "home:/docs/a ü.txt", error: { code: "name_collision" } },
      { item: "home:/none", error: { code: "not_found" } },
    ]);
    expect(JSON.parse(ran.err).error).toMatchObject({ code: "partial", exit_code: 14 });
    const rows = (await go(line, answers)).ran.out.split("\n").map((row) => row.split("\t"));
    expect(rows.slice(0, 2)).toEqual([
      ["home:/top.txt", "docs/deep/top.txt", ""],
      ["home:/docs/a ü.txt", "", expect.stringContaining("taken")],
    ]);
  });

  test("item move of several into a folder by its id", async () => {
    const { ran, sent } = await go(["mv", "home:/top.txt", "home:docs/deep"], answers);
    expect([ran.code, sent?.json()]).toMatchObject([0, { destination_parent_ref: "docs/deep" }]);
  });

  test("nothing is moved when the target is not a folder, or the whole storage", async () => {
    const into = async (target: string) =>
      (await go(["mv", "home:/docs", "home:/docs/deep", target, "--json"], answers)).ran.error();
    expect(await into("home:/top.txt")).toMatchObject({ code: "invalid_destination" });
    expect(await into("home:/new")).toMatchObject({ code: "not_found" });
    expect((await go(["mv", "home:/", "home:/docs"], answers)).ran).toMatchObject({
      code: 2,
      err: expect.stringContaining("home:/ is the whole storage"),
    });
  });

  test("--dry-run prints each request", async () => {
    const { ran } = await go(
      ["mv", "home:/top.txt", "home:/docs/a ü.txt", "home:/docs/deep", "--dry-run", "--json"],
      answers,
    );
    expect(ran.json()).toMatchObject({ dry_run: true, requests: [{}, {}] });
  });
});

describe("item addresses", () => {
  test("item addresses that end in a slash name no file", async () => {
    const { ran } = await go(["rm", "home:/top.txt/", "--yes"], {});
    expect([ran.code, ran.err]).toEqual([6, expect.stringContaining("there is no home:/top.txt/")]);
  });

  test("an invalid item path is refused with the expected form", async () => {
    const hintOf = async (word: string) =>
      (await go(["view", word, "--json"], {})).ran.error()["hint"];
    expect(await hintOf("home:")).toContain("write home:/ for its root");
    expect(await hintOf("home:/docs/*.txt")).toContain("patterns are not matched");
    expect(await hintOf("home:/docs/none")).toContain('"croft vault item list home:/docs"');
  });

  test.each(["view", "open", "analyze"])("%s refuses a whole storage", async (verb) => {
    const { ran } = await go([verb, "home:/"], {});
    expect([ran.code, ran.err]).toEqual([
      2,
      expect.stringContaining("home:/ is the whole storage"),
    ]);
  });

  test("refuses an address that several items have, and lists their ids", async () => {
    const twins = [
      { provider_item_id: "one", name: "twin.txt", kind: "file" },
      { provider_item_id: "two", name: "twin.txt", kind: "file" },
    ];
    const listed = { refresh_state: "fresh", items: twins, next_cursor: null };
    const { ran, sent } = await go(["rm", "home:/twin.txt", "--yes", "--json"], {
      [`GET ${base}/items`]: { body: listed },
    });
    expect(ran.code).toBe(2);
    expect(ran.error()).toMatchObject({
      message: 'several items are called "twin.txt"',
      hint: "name the one that is meant by its id: home:one, home:two",
    });
    expect(sent?.method).toBe("GET");
  });

  test.each([
    ["offline", 11, "connection test"],
    ["reauth_required", 13, "connection reconnect"],
    ["provider_error", 11, "connection test"],
  ])(
    "an address whose lookup at the provider fails (%s) is not reported as missing",
    async (code, exit, hint) => {
      const failed = { refresh_state: "failed", error_code: code, error_message: "No.", items: [] };
      const { ran } = await go(["cat", "home:/a.txt"], {
        [`GET ${base}/items`]: { body: { ...failed, next_cursor: null } },
      });
      expect([ran.code, ran.err]).toEqual([exit, expect.stringContaining(hint)]);
      expect(ran.err).toContain("No.");
    },
  );

  test("name folders by their ids, too", async () => {
    const detail = {
      [`GET ${base}/items/docs/detail`]: {
        body: { provider_item_id: "docs", name: "docs", kind: "folder" },
      },
    };
    const listed = await go(["ls", "home:docs", "--jq", ".[].name"], detail);
    expect(listed.ran.out).toBe("deep\na ü.txt\n");
    const walked = await go(["tree", "docs", "--jq", ".[].path"], detail);
    expect(walked.ran.out).toBe("deep/\na ü.txt\n");
  });
});

describe("item delete", () => {
  const body = {
    kind: "deleted",
    reason: "trashed",
    provider_item_id: "top.txt",
    item_kind: "file",
    is_folder: false,
  };

  test("the line becomes options", async () => {
    expect(await optionsOf("vault item delete", ["home:/a", "home:/b"])).toEqual({
      items: ["home:/a", "home:/b"],
    });
  });

  test("deletes several items and lists the failures", async () => {
    const { ran } = await go(["rm", "home:/top.txt", "home:/missing", "--yes", "--json"], {
      [`DELETE ${base}/items/top.txt`]: { body },
    });
    expect(ran.code).toBe(14);
    expect(ran.json()).toMatchObject([
      { item: "home:/top.txt", reason: "trashed", error: null },
      { error: { code: "not_found" } },
    ]);
  });

  test("waits for the daemon's limit with several items", async () => {
    const refused = {
      status: 429,
      headers: { "Retry-After": "9" },
      body: { detail: "Too many requests" },
    };
    const { ran } = await go(
      ["delete", "home:/top.txt", "home:/docs", "--yes"],
      {
        [`DELETE ${base}/items/top.txt`]: [refused, { body }],
        [`DELETE ${base}/items/docs`]: { body },
      },
      { hurried: true },
    );
    expect([ran.code, ran.err]).toEqual([0, "Rate limited by the server; waiting 9 s.\n"]);
  });

  test("item delete of an unknown id explains it", async () => {
    const stale = { status: 409, body: { kind: "stale", reason: "item_changed" } };
    const { ran } = await go(["delete", "out.pdf", "--yes", "--json"], {
      [`DELETE ${base}/items/out.pdf`]: stale,
      [`GET ${base}/items/out.pdf/detail`]: { status: 404, body: { detail: "Not found" } },
    });
    expect(ran.error()).toMatchObject({
      code: "not_found",
      message: "the vault has no item out.pdf",
    });
    const known = await go(["delete", "top.txt", "--yes", "--json"], {
      [`DELETE ${base}/items/top.txt`]: stale,
      [`GET ${base}/items/top.txt/detail`]: { body: { provider_item_id: "top.txt" } },
    });
    expect(known.ran.error()).toMatchObject({ code: "stale" });
  });

  test("asks for confirmation, and never deletes the root", async () => {
    expect((await go(["delete", "home:/top.txt", "--json"], {})).ran.code).toBe(2);
    expect((await go(["delete", "home:/", "--yes"], {})).ran.code).toBe(2);
  });
});

describe("item view, open, analyze", () => {
  test("their lines become options", async () => {
    for (const verb of ["view", "analyze"])
      expect(await optionsOf(`vault item ${verb}`, ["home:/a"])).toEqual({ item: "home:/a" });
    expect(await optionsOf("vault item open", ["home:/a", "--print"])).toEqual({
      item: "home:/a",
      print: true,
    });
  });

  test("view prints the known facts of an item", async () => {
    const body = { name: "a ü.txt", kind: "file", location: "/docs", topics: [], size: 5 };
    const { ran } = await go(["view", "home:/docs/a ü.txt", "--json"], {
      [`GET ${base}/items/${encoded}/detail`]: { body },
    });
    expect(ran.json()).toEqual(body);
  });

  test.each([
    ["too_large", "Dear", /^missing text: +a part: .*1,000,000 characters/m],
    ["encrypted", null, /^missing text: +all: .*password/m],
    [null, "Dear", /^missing text: *$/m],
  ])("view explains missing text: %s, %j", async (reason, text, expected) => {
    const body = {
      name: "a ü.txt",
      kind: "file",
      location: "/docs",
      topics: [],
      unsupported_analysis_reason: reason,
      extracted_text: text,
    };
    const { ran } = await go(
      ["view", "home:/docs/a ü.txt"],
      { [`GET ${base}/items/${encoded}/detail`]: { body } },
      { terminal: true, env: { NO_COLOR: "1" } },
    );
    expect(ran.out).toMatch(expected);
    if (text !== null) expect(ran.out).toContain(text);
  });

  test("open prints the whole address", async () => {
    const body = { kind: "open", url: `${base}/items/top.txt/download`, reason: "authorized" };
    const { ran, url } = await go(["open", "home:/top.txt"], {
      [`GET ${base}/items/top.txt/open`]: { body },
    });
    expect(ran.out).toBe(`${url}${body.url}\n`);
  });

  test("item analyze queues the analysis of an item", async () => {
    const body = { provider_item_id: "top.txt", analysis_status: "pending" };
    const { ran } = await go(["analyze", "home:/top.txt", "--json"], {
      [`POST ${base}/items/top.txt/analyze`]: { status: 202, body },
    });
    expect(ran.json()).toEqual(body);
  });
});

describe("item cat", () => {
  const bytes = (contentType: string) => ({
    [`GET ${base}/items/top.txt/download`]: {
      body: Buffer.from("hello"),
      headers: { "Content-Type": contentType },
    },
  });

  test("the line becomes options", async () => {
    expect(await optionsOf("vault item cat", ["home:/a", "home:/b"])).toEqual({
      items: ["home:/a", "home:/b"],
    });
  });

  test("writes the bytes as they are", async () => {
    expect((await go(["cat", "home:/top.txt"], bytes("application/octet-stream"))).ran.out).toBe(
      "hello",
    );
  });

  test("a terminal gets text only, unless forced", async () => {
    const terminal = { terminal: { out: true } };
    expect((await go(["cat", "home:/top.txt"], bytes("text/plain"), terminal)).ran.out).toBe(
      "hello",
    );
    expect((await go(["cat", "home:/top.txt"], bytes("image/png"), terminal)).ran.code).toBe(2);
    expect(
      (await go(["cat", "home:/top.txt", "--force"], bytes("image/png"), terminal)).ran.out,
    ).toBe("hello");
  });

  test("a folder has no bytes", async () => {
    expect((await go(["cat", "home:/docs"], {})).ran.code).toBe(15);
  });
});

describe("item tree", () => {
  test("the line becomes options", async () => {
    expect(await optionsOf("vault item tree", ["home:/", "--depth", "2"])).toMatchObject({
      depth: 2,
    });
    expect(await refusalOf("vault item tree", ["home:/", "--depth", "0"])).toMatch(/^croft: /);
  });

  test("each folder is followed by its items", async () => {
    const { ran } = await go(["tree", "home:/", "--json=path,depth"], {});
    expect(ran.json()).toEqual([
      { path: "docs/", depth: 1 },
      { path: "docs/deep/", depth: 2 },
      { path: "docs/a ü.txt", depth: 2 },
      { path: "top.txt", depth: 1 },
    ]);
    expect((await go(["tree", "home:/", "--depth", "1", "--jq", ".[].path"], {})).ran.out).toBe(
      "docs/\ntop.txt\n",
    );
  });
});
