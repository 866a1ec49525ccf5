import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { Agent } from "undici";
import { afterAll, describe, expect, test } from "vitest";
import { toHeaderJson } from "../../../../storage/cloud/dropbox/api.ts";
import { createContentHash, hashContent } from "../../../../storage/cloud/dropbox/content-hash.ts";
import { toDropboxFailure } from "../../../../storage/cloud/dropbox/failures.ts";
import { toDropboxItem } from "../../../../storage/cloud/dropbox/items.ts";
import { brokenDropboxRule } from "../../../../storage/cloud/dropbox/names.ts";
import { createDropboxType, dropbox } from "../../../../storage/cloud/dropbox/provider.ts";
import type { CloudProvider } from "../../../../storage/cloud/provider.ts";
import { createLocks } from "../../../../storage/locks.ts";
import {
  calm,
  done,
  get,
  inChunks,
  list,
  mkdir,
  move,
  names,
  pattern,
  put,
  remove,
  rename,
  same,
  tree,
  tryUpload,
} from "../../../conformance/cloud-provider/acting.ts";
import {
  startDropboxServer,
  type DropboxServer,
  type DropboxServerOptions,
} from "../../../stand-ins/dropbox-server.ts";
import { serve } from "../../../stand-ins/serve.ts";
import { startFaultProxy, type FaultProxy } from "../../../support/cloud/fault-proxy.ts";
import { testProviderDeps } from "../../../support/cloud/vault-cloud.ts";
import { connectDropbox } from "../../../support/cloud/vendor-drives.ts";

const agent = new Agent();
afterAll(() => agent.destroy());

interface Opened extends AsyncDisposable {
  readonly server: DropboxServer;
  readonly proxy: FaultProxy;
  readonly provider: CloudProvider;
}

async function open(options: DropboxServerOptions = {}): Promise<Opened> {
  const server = await startDropboxServer(options);
  const proxy = await startFaultProxy({ target: server.origin });
  const way = { dispatcher: agent, origin: proxy.origin };
  return {
    server,
    proxy,
    provider: await connectDropbox(server, way, 100_000),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const isRoute =
  (route: string) =>
  ({ path }: { path: string }) =>
    path === `/2/files/${route}`;

describe("the content hash", () => {
  const block = 4 * 1024 * 1024;
  const sha = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();

  test.each([0, 1, block - 1, block, block + 1, 2 * block + 5])(
    "the content hash of %i bytes is correct",
    (length) => {
      const bytes = pattern(length);
      const blocks = [];
      for (let at = 0; at < length; at += block) blocks.push(sha(bytes.subarray(at, at + block)));
      const expected = sha(Buffer.concat(blocks)).toString("hex");
      const hash = createContentHash();
      for (const piece of inChunks(bytes, 1_000_003)) hash.update(piece);
      expect([hash.digest(), hashContent(bytes)]).toEqual([expected, expected]);
    },
  );
});

describe("arguments in a header", () => {
  test.each(["a b", "é ü", "smile 😀", "\u007f", "עברית", 'quote " back \\', "\u2028"])(
    "%j is plain ASCII and means the same",
    (path) => {
      const text = toHeaderJson({ path });
      expect(text).toMatch(/^[\x20-\x7e]+$/);
      expect(JSON.parse(text)).toEqual({ path });
    },
  );
});

describe("names", () => {
  test.each([
    ["report.pdf", undefined],
    ['a:b"c<d>e|f?g*h', undefined],
    [" a", undefined],
    ["a\\b", "reserved_character"],
    ["a ", "outer_space"],
    ["a.", "trailing_dot"],
    ["Desktop.INI", "reserved_name"],
    ["Thumbs.db", "reserved_name"],
    [".DS_Store", "reserved_name"],
    [".dropbox", "reserved_name"],
    [".dropbox.attr", "reserved_name"],
    [".dropbox.cache", undefined],
    ["..", "dot_name"],
  ])("checks the name %j: %s", (name, rule) => expect(brokenDropboxRule(name)).toBe(rule));
});

describe("the meaning of an error", () => {
  const of = (status: number, body: object = {}, headers: Record<string, string> = {}) =>
    toDropboxFailure({ status, headers }, body as Record<string, unknown>, 0);
  const conflict = { ".tag": "conflict", conflict: { ".tag": "file" } };

  test.each([
    [{ ".tag": "path", path: { ".tag": "not_found" } }, "not_found"],
    [{ ".tag": "from_lookup", from_lookup: { ".tag": "not_found" } }, "not_found"],
    [{ ".tag": "path_lookup", path_lookup: "not_found" }, "not_found"],
    [{ ".tag": "path", path: { ".tag": "not_folder" } }, "stale"],
    [{ ".tag": "path", path: { ".tag": "not_file" } }, "unsupported"],
    [{ ".tag": "path", path: { ".tag": "restricted_content" } }, "forbidden"],
    [{ ".tag": "path", path: conflict }, "conflict"],
    [{ ".tag": "path", reason: conflict, upload_session_id: "" }, "conflict"],
    [{ ".tag": "to", to: conflict }, "conflict"],
    [
      { ".tag": "path", path: { ".tag": "conflict", conflict: "file_ancestor" } },
      "invalid_destination",
    ],
    [{ ".tag": "path", reason: { ".tag": "insufficient_space" } }, "quota_exceeded"],
    [{ ".tag": "insufficient_quota" }, "quota_exceeded"],
    [{ ".tag": "path", path: { ".tag": "no_write_permission" } }, "forbidden"],
    [{ ".tag": "cant_transfer_ownership" }, "forbidden"],
    [{ ".tag": "cant_move_shared_folder" }, "forbidden"],
    [{ ".tag": "to", to: { ".tag": "team_folder" } }, "forbidden"],
    [{ ".tag": "cant_move_folder_into_itself" }, "invalid_destination"],
    [{ ".tag": "duplicated_or_nested_paths" }, "invalid_destination"],
    [{ ".tag": "too_many_files" }, "unsupported"],
    [{ ".tag": "too_many_write_operations" }, "rate_limited"],
    [{ ".tag": "path", path: { ".tag": "disallowed_name" } }, "invalid_name"],
    [{ ".tag": "path", path: { ".tag": "malformed_path" } }, "invalid_name"],
    [{ ".tag": "internal_error" }, "offline"],
    [{ ".tag": "reset" }, "reset"],
    [{ ".tag": "something_new" }, "forbidden"],
  ])("maps the error 409 %j to %s", (error, kind) => expect(of(409, { error }).kind).toBe(kind));

  test("the kind of an error is read from the summary where tags are missing", () => {
    expect(of(409, { error_summary: "path/conflict/file/..." }).kind).toBe("conflict");
    expect(of(409, { error_summary: "path/not_found/" }).kind).toBe("not_found");
    expect(of(409, {}).kind).toBe("forbidden");
  });

  test("an upload session reports its offset", () => {
    const wrong = { ".tag": "incorrect_offset", correct_offset: 42 };
    for (const error of [wrong, { ".tag": "lookup_failed", lookup_failed: wrong }])
      expect(of(409, { error })).toMatchObject({ kind: "incorrect_offset", offset: 42 });
  });

  test.each([
    [400, "unsupported"],
    [401, "reauth"],
    [403, "forbidden"],
    [429, "rate_limited"],
    [500, "offline"],
    [502, "offline"],
    [302, "offline"],
  ])("maps the status %i without a body to %s", (status, kind) =>
    expect(of(status).kind).toBe(kind),
  );

  test("a delay is taken from the header or the body", () => {
    expect(of(429, {}, { "retry-after": "300" })).toMatchObject({ retryAfterSeconds: 300 });
    const error = { reason: { ".tag": "too_many_requests" }, retry_after: 15 };
    expect(of(429, { error })).toMatchObject({ kind: "rate_limited", retryAfterSeconds: 15 });
    expect(of(503, {}, { "retry-after": "2" }).kind).toBe("rate_limited");
  });

  test("words of the provider go no further", () => {
    const body = { error_summary: "https://internal/secret", error: { ".tag": "see https://x" } };
    expect(JSON.stringify(of(409, body))).not.toMatch(/http|secret/);
  });
});

describe("an item", () => {
  const raw = {
    ".tag": "file",
    id: "id:a4ayc_80_OEAAAAAAAAAXw",
    name: "a.txt",
    path_lower: "/a.txt",
    rev: "0123456789",
    size: 3,
  };
  test.each([
    { ...raw, ".tag": "deleted" },
    { ...raw, id: "/a.txt" },
    { ...raw, id: 7 },
    { ...raw, name: "" },
    { ...raw, path_lower: undefined },
    { ...raw, path_lower: "a.txt" },
    { ...raw, name: "a\0b" },
  ])("rejects an invalid item: %j", (strange) => {
    expect(toDropboxItem(strange)).toBeUndefined();
  });

  test("an item that lives in an editor, or is a link, has no bytes", () => {
    expect(toDropboxItem(raw)?.size).toBe(3);
    expect(toDropboxItem({ ...raw, is_downloadable: false })?.size).toBeUndefined();
    expect(toDropboxItem({ ...raw, symlink_info: { target: "x" } })?.size).toBeUndefined();
  });
});

describe("attack: answers that a vendor would not give", () => {
  async function against(answer: (request: IncomingMessage, response: ServerResponse) => void) {
    const server = await serve(async (request, response) => answer(request, response));
    const outcome = await createDropboxType(1000).connect(
      {
        connectionId: "c",
        settings: {},
        credentials: { access_token: "very.secret", refresh_token: "r" },
        probeResult: { account: "a" },
        saveCredentials: async () => undefined,
        signal: calm,
      },
      {
        ...testProviderDeps("/nowhere", Date.now),
        server: { dropboxBaseUrl: server.origin },
        direct: agent,
        guarded: agent,
      },
    );
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const { provider } = outcome;
    return { provider, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }
  const json = (response: ServerResponse, body: unknown, status = 200) =>
    void response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(body));

  test.each([
    ["no entries", { has_more: false }],
    ["entries that are none", { entries: [null], has_more: false }],
    ["no word on more", { entries: [] }],
    ["more without a cursor", { entries: [], has_more: true }],
    ["more for ever", { entries: [], has_more: true, cursor: "c" }],
  ])("a page with %s fails the listing", async (_title, page) => {
    await using vendor = await against((request, response) => {
      request.resume();
      json(response, page);
    });
    expect((await vendor.provider.list({ folder: "", signal: calm })).kind).toBe("offline");
  });

  test("stops a listing whose cursor is reset again and again", async () => {
    let listings = 0;
    await using vendor = await against((request, response) => {
      request.resume();
      if (request.url?.endsWith("/continue") === true)
        return json(response, { error: { ".tag": "reset" } }, 409);
      listings += 1;
      json(response, { entries: [], has_more: true, cursor: "c" });
    });
    expect((await vendor.provider.list({ folder: "", signal: calm })).kind).toBe("offline");
    expect(listings).toBe(3);
  });

  test("bytes without metadata are not returned", async () => {
    for (const result of [undefined, "{", "[]", '{"id":"/x"}']) {
      await using vendor = await against((request, response) => {
        request.resume();
        response.writeHead(200, result === undefined ? {} : { "dropbox-api-result": result });
        response.end("bytes");
      });
      expect((await vendor.provider.read({ id: "id:abc", signal: calm })).kind).toBe("offline");
    }
  });

  test("a path is not taken for an id", async () => {
    await using opened = await open();
    const { provider, proxy } = opened;
    await put(provider, "", "file.txt", "x");
    const before = proxy.log.length;
    for (const id of ["/file.txt", "rev:0123456789", "ns:1", "id:", "id:a/../b"]) {
      expect((await provider.stat({ id, signal: calm })).kind).toBe("not_found");
      expect((await provider.read({ id, signal: calm })).kind).toBe("not_found");
      expect((await provider.list({ folder: id, signal: calm })).kind).toBe("stale");
      expect((await remove(provider, { id })).kind).toBe("stale");
      expect((await rename(provider, { id }, "n")).kind).toBe("stale");
      expect((await tryUpload(provider, id, "n", "x")).kind).toBe("stale");
    }
    expect(proxy.log.length).toBe(before);
  });
});

describe("the list of hooks", () => {
  test("starts over when its cursor is no longer valid", async () => {
    await using opened = await open({ pageItems: 2 });
    const { provider, proxy, server } = opened;
    for (const name of ["a", "b", "c", "d", "e"]) await mkdir(provider, "", name);
    proxy.after(isRoute("list_folder"), async () => server.resetCursors());
    expect(await names(provider, "")).toEqual(["a", "b", "c", "d", "e"]);
    expect(proxy.log.filter((line) => line === "POST /2/files/list_folder").length).toBe(2);
  });
});

describe("changes", () => {
  test("changes of one account are serialized across its connections", async () => {
    await using server = await startDropboxServer();
    server.refuseMeetingChanges(true);
    const way = { dispatcher: agent, deps: { locks: createLocks() } };
    const clients = [await connectDropbox(server, way), await connectDropbox(server, way)];
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, at) => put(clients[at % 2]!, "", `${at}.txt`, "x")),
    );
    await Promise.all(made.map((item, at) => rename(clients[at % 2]!, item, `was ${at}`)));
    expect([(await list(clients[0]!, "")).length, server.changesAtOnce()]).toEqual([20, 1]);
  });

  test("of two changes based on the same version of an item, the first succeeds and the second is stale", async () => {
    await using server = await startDropboxServer();
    const way = { dispatcher: agent, deps: { locks: createLocks() } };
    const [one, other] = [await connectDropbox(server, way), await connectDropbox(server, way)];
    const folder = await mkdir(one, "", "folder");
    for (const item of [await put(one, "", "file.txt", "x"), await mkdir(one, "", "sub")]) {
      const { etag } = item;
      const outcomes = await Promise.all([
        rename(one, item, `${item.name} 1`, { etag }),
        rename(other, item, `${item.name} 2`, { etag }),
        move(other, item, folder.id, { etag }),
      ]);
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["ok", "stale", "stale"]);
    }
  });

  test("wait until a newly created item is visible", async () => {
    await using opened = await open();
    const { provider, server } = opened;
    const file = await put(provider, "", "file.txt", "x");
    server.delayMoves(2);
    expect((await rename(provider, file, "other.txt")).kind).toBe("ok");
    server.delayMoves(100);
    const file2 = await put(provider, "", "file.txt", "y");
    expect((await rename(provider, file2, "third.txt")).kind).toBe("stale");
  });

  test("changes of the case alone are done although a move does nothing", async () => {
    await using opened = await open();
    const { provider, server } = opened;
    const folder = await mkdir(provider, "", "Folder");
    const file = await put(provider, folder.id, "file.txt", "x");
    expect(done(await rename(provider, file, "FILE.txt")).name).toBe("FILE.txt");
    expect(done(await rename(provider, folder, "FOLDER")).name).toBe("FOLDER");
    expect(await tree(provider)).toEqual({ "FOLDER/": "", "FOLDER/FILE.txt": "x" });
    expect(server.tree.below(server.tree.root.id).length).toBe(2);
  });

  test("a new spelling that fails half way is reverted", async () => {
    await using opened = await open();
    const { provider, proxy } = opened;
    const file = await put(provider, "", "file.txt", "x");
    let moves = 0;
    const isSecondMove = (request: { path: string }) =>
      isRoute("move_v2")(request) && ++moves === 2;
    proxy.answerNext(isSecondMove, 403);
    expect((await rename(provider, file, "FILE.txt")).kind).toBe("forbidden");
    expect(await names(provider, "")).toEqual(["file.txt"]);
  });

  test("a version that is replaced between the check and the delete is stale", async () => {
    await using opened = await open();
    const { provider, proxy, server } = opened;
    const file = await put(provider, "", "file.txt", "x");
    proxy.after(isRoute("get_metadata"), async () =>
      server.tree.overwrite(file.id, Buffer.from("theirs")),
    );
    expect((await remove(provider, file)).kind).toBe("stale");
    expect(await tree(provider)).toEqual({ "file.txt": "theirs" });
  });

  test("no folder is made on the way to a new one", async () => {
    await using opened = await open();
    const { provider, server } = opened;
    const folder = await mkdir(provider, "", "folder");
    const file = await put(provider, "", "file.txt", "x");
    server.tree.remove(server.tree.find(folder.id)!);
    expect(await mkdir(provider, folder.id, "below").catch(() => "none")).toBe("none");
    expect((await move(provider, file, folder.id)).kind).toBe("stale");
    expect((await tryUpload(provider, folder.id, "new.txt", pattern(300_000))).kind).toBe("stale");
    expect(await names(provider, "")).toEqual(["file.txt"]);
  });
});

describe("uploads", () => {
  const bytes = pattern(450_000);

  test.each([
    ["start", "resetNext"],
    ["start", "loseNext"],
    ["append_v2", "resetNext"],
    ["append_v2", "loseNext"],
    ["finish", "resetNext"],
    ["finish", "loseNext"],
  ] as const)("uploads outlive %s: %s", async (route, way) => {
    await using opened = await open();
    opened.proxy[way](isRoute(`upload_session/${route}`));
    const item = done(await tryUpload(opened.provider, "", "large.bin", bytes));
    same(await get(opened.provider, item.id), bytes);
    expect(await names(opened.provider, "")).toEqual(["large.bin"]);
  });

  test.each([
    ["are refused once all of them are there", "refuseCommits"],
    ["are taken by half", "halvePieces"],
  ] as const)("resume at the offset that Dropbox reports when pieces %s", async (_what, way) => {
    await using opened = await open();
    opened.server[way](2);
    const item = done(await tryUpload(opened.provider, "", "large.bin", bytes));
    same(await get(opened.provider, item.id), bytes);
    opened.server[way](2);
    const twice = done(await tryUpload(opened.provider, "", "two.bin", bytes.subarray(0, 150_000)));
    same(await get(opened.provider, twice.id), bytes.subarray(0, 150_000));
  });

  test("uploads of a decomposed name are found again by its composed one", async () => {
    await using opened = await open();
    opened.proxy.loseNext(isRoute("upload_session/finish"));
    const item = done(await tryUpload(opened.provider, "", "a\u0308.bin", bytes));
    same(await get(opened.provider, item.id), bytes);
  });

  test("accepts uploads without a length", async () => {
    await using opened = await open();
    const outcome = await opened.provider.upload({
      parent: "",
      name: "large.bin",
      content: Readable.from(inChunks(bytes), { objectMode: false }),
      size: undefined,
      contentType: undefined,
      signal: calm,
    });
    same(await get(opened.provider, done(outcome).id), bytes);
  });

  test("uploads of bytes equal to those of an existing file are still a conflict", async () => {
    await using opened = await open();
    await put(opened.provider, "", "file.txt", "x");
    expect((await tryUpload(opened.provider, "", "FILE.txt", "x")).kind).toBe("conflict");
    await put(opened.provider, "", "large.bin", bytes);
    expect((await tryUpload(opened.provider, "", "large.bin", bytes)).kind).toBe("conflict");
  });

  test("uploads whose name is taken at the last moment are a conflict", async () => {
    await using opened = await open();
    const { provider, proxy, server } = opened;
    proxy.after(isRoute("upload_session/append_v2"), async () => {
      server.tree.add(server.tree.root.id, "large.bin", "file", Buffer.from("theirs"));
    });
    expect((await tryUpload(provider, "", "large.bin", bytes)).kind).toBe("conflict");
    expect(await tree(provider)).toEqual({ "large.bin": "theirs" });
  });
});

describe("too many requests", () => {
  test("reports the account's Retry-After for a rate limit whose body is not JSON", async () => {
    await using opened = await open({ requestsMax: 12 });
    const outcomes = [];
    for (let at = 0; at < 14; at++)
      outcomes.push(
        await opened.provider.createFolder({ parent: "", name: `${at}`, signal: calm }),
      );
    const made = outcomes.filter(({ kind }) => kind === "ok").length;
    expect(made).toBeGreaterThan(3);
    for (const outcome of outcomes.slice(made))
      expect(outcome).toMatchObject({
        kind: "rate_limited",
        retryAfterSeconds: expect.any(Number),
      });
    expect(opened.server.tree.children(opened.server.tree.root.id)).toHaveLength(made);
  });
});

describe("connecting", () => {
  test("another person's account is not taken for the same storage", async () => {
    await using server = await startDropboxServer();
    const request = { probeResult: { account: "another" } };
    const provider = await connectDropbox(server, { dispatcher: agent, request });
    expect(await provider.check({ signal: calm })).toMatchObject({ kind: "reauth" });
  });

  test("requests offline access at the consent page", () => {
    const url = new URL(
      dropbox.oauth?.authorizationUrl({
        server: { dropboxClientId: "key" },
        redirectUrl: "https://vault.example/api/cloud/authorize/dropbox/callback",
        state: "s",
        codeChallenge: "c",
      }) ?? "",
    );
    expect(url.origin + url.pathname).toBe("https://www.dropbox.com/oauth2/authorize");
    expect(url.searchParams.get("token_access_type")).toBe("offline");
  });
});
