import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { Agent } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { createGoogleDriveType } from "../../../../storage/cloud/google-drive/provider.ts";
import { StreamAborted } from "../../../../storage/cloud/outcomes.ts";
import type { CloudProvider, ConnectOutcome } from "../../../../storage/cloud/provider.ts";
import {
  googleClient,
  startGoogleDriveServer,
  type GoogleDriveServerOptions,
} from "../../../stand-ins/google-drive-server.ts";
import { startFaultProxy, type ProxiedRequest } from "../../../support/cloud/fault-proxy.ts";
import { testProviderDeps } from "../../../support/cloud/vault-cloud.ts";

const ANN = "ann@example.org";
const PIECE = 256 * 1024;
const calm = new AbortController().signal;

const closers: AsyncDisposable[] = [];
afterEach(async () => {
  for (const closer of closers.splice(0).reverse()) await closer[Symbol.asyncDispose]();
});

async function open(options: GoogleDriveServerOptions = {}) {
  const server = await startGoogleDriveServer(options);
  const proxy = await startFaultProxy({
    target: server.origin,
    isUpload: ({ method, path }) => method === "PUT" && path.startsWith("/upload/"),
  });
  const agent = new Agent();
  closers.push(server, proxy, { [Symbol.asyncDispose]: () => agent.destroy() });
  /** Waits of the adapter: their requested lengths, and an event during them. */
  const waits: { ms: number[]; meanwhile: (() => void) | undefined } = {
    ms: [],
    meanwhile: undefined,
  };

  function tryConnect(type = createGoogleDriveType({ simpleBytesMax: 1000, pieceBytes: PIECE })) {
    const { accessToken, refreshToken } = server.oauth.grant(ANN);
    return type.connect(
      {
        connectionId: "c",
        settings: {},
        credentials: { access_token: accessToken, refresh_token: refreshToken },
        probeResult: undefined,
        saveCredentials: async () => undefined,
        signal: calm,
      },
      {
        ...testProviderDeps("/nowhere", Date.now),
        newId: () => crypto.randomUUID(),
        async sleep(ms, signal) {
          signal?.throwIfAborted();
          waits.ms.push(ms);
          waits.meanwhile?.();
          await new Promise((resolve) => setImmediate(resolve));
        },
        server: {
          googleClientId: googleClient.id,
          googleClientSecret: googleClient.secret,
          googleBaseUrl: proxy.origin,
        },
        direct: agent,
        guarded: agent,
      },
    );
  }

  async function connect(): Promise<CloudProvider> {
    return toProvider(await tryConnect());
  }
  const provider = await connect();
  const root = server.store.rootOf(ANN).id;
  const add = (name: string, mimeType: string, bytes?: Buffer, parent = root) =>
    server.store.add({ owner: ANN, name, mimeType, parent }, bytes);
  const names = async (folder = "") => {
    const listed = await provider.list({ folder, signal: calm });
    return listed.kind === "ok" ? listed.items.map(({ name }) => name).sort() : listed;
  };
  return { server, proxy, provider, connect, tryConnect, waits, add, names, root };
}

function toProvider(outcome: ConnectOutcome): CloudProvider {
  if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
  return outcome.provider;
}

function upload(provider: CloudProvider, name: string, bytes: Buffer, more: object = {}) {
  const content = Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000);
    })(),
    { objectMode: false },
  );
  return provider.upload({
    parent: "",
    name,
    content,
    size: bytes.length,
    contentType: undefined,
    signal: calm,
    ...more,
  });
}

describe("an item of a drive", () => {
  test("shows documents and shortcuts, which have no bytes and keep their names' slashes", async () => {
    const { provider, add } = await open();
    add("a/b", "application/vnd.google-apps.document");
    add("link", "application/vnd.google-apps.shortcut");
    const listed = await provider.list({ folder: "", signal: calm });
    if (listed.kind !== "ok") throw new Error(listed.kind);
    expect(
      listed.items.map(({ name, kind, size, version }) => [name, kind, size, version]),
    ).toEqual([
      ["link", "file", undefined, undefined],
      ["a/b", "file", undefined, undefined],
    ]);
    for (const { id } of listed.items)
      expect(await provider.read({ id, signal: calm })).toMatchObject({ kind: "unsupported" });
  });

  test("two items of a drive may have one name: both are listed, distinguished by their ids", async () => {
    const { provider, add, names } = await open();
    const [one, two] = [
      add("twin", "text/plain", Buffer.from("1")),
      add("twin", "text/plain", Buffer.from("2")),
    ];
    expect(await names()).toEqual(["twin", "twin"]);
    const renamed = await provider.rename({
      id: two.id,
      name: "other",
      expected: {},
      signal: calm,
    });
    expect(renamed.kind).toBe("ok");
    const read = await provider.read({ id: one.id, signal: calm });
    expect(read.kind === "ok" && (await buffer(read.stream)).toString()).toBe("1");
  });

  test("an incomplete search, a maintenance page and a response without files fail the listing", async () => {
    const { server, proxy, provider } = await open();
    server.searchIncompletely(true);
    expect(await provider.list({ folder: "", signal: calm })).toMatchObject({ kind: "offline" });
    server.searchIncompletely(false);
    for (const body of ["{}", '{"files":[{}]}', '{"files":"none"}']) {
      proxy.answerNext(() => true, 200, {}, body);
      expect(await provider.list({ folder: "", signal: calm })).toMatchObject({ kind: "offline" });
    }
    const file = await upload(provider, "x", Buffer.from("x"));
    const id = file.kind === "ok" ? file.item.id : "";
    // Only a response of Drive itself may mean that the item is missing.
    proxy.answerNext(() => true, 404, { "content-type": "text/html" }, "<h1>Not Found</h1>");
    expect(await provider.stat({ id, signal: calm })).toMatchObject({ kind: "offline" });
  });

  test("an item of a drive in the trash is missing, and so are items in a trashed folder", async () => {
    const { server, provider, add } = await open();
    const folder = add("folder", "application/vnd.google-apps.folder");
    const file = add("inside", "text/plain", Buffer.from("x"), folder.id);
    server.store.setTrashed(folder, true);
    for (const id of [folder.id, file.id])
      expect((await provider.stat({ id, signal: calm })).kind).toBe("not_found");
    expect((await provider.list({ folder: folder.id, signal: calm })).kind).toBe("stale");
  });

  test("an item of a drive does not find an item of another user", async () => {
    const { server, provider } = await open();
    const file = server.store.add(
      {
        owner: "ben@example.org",
        name: "x",
        mimeType: "text/plain",
        parent: server.store.rootOf("ben@example.org").id,
      },
      Buffer.from("x"),
    );
    expect((await provider.stat({ id: file.id, signal: calm })).kind).toBe("not_found");
    expect((await provider.stat({ id: "../about?fields=*#", signal: calm })).kind).toBe(
      "not_found",
    );
  });
});

describe("equal names in a drive", () => {
  test("equal names in a drive are not taken twice although listings lag: the younger item is deleted again", async () => {
    const { server, provider, connect, waits } = await open();
    const other = await connect();
    server.freezeListings(true);
    expect((await provider.createFolder({ parent: "", name: "n", signal: calm })).kind).toBe("ok");
    expect(waits.ms).toEqual([1000, 1000]);
    // The listings are unfrozen during the second call's wait: now every client sees both.
    waits.meanwhile = () => server.freezeListings(false);
    expect((await other.createFolder({ parent: "", name: "n", signal: calm })).kind).toBe(
      "conflict",
    );
    expect(server.store.children(server.store.rootOf(ANN).id).map(({ name }) => name)).toEqual([
      "n",
    ]);
  });

  test("the older item also yields when the younger one stays, because that one was listed first", async () => {
    const { proxy, provider, add, names } = await open();
    const isPost = ({ method }: { method: string }) => method === "POST";
    // Between the creation of our item and our check, another client creates one of that name without checking.
    proxy.after(isPost, async () => void add("n", "text/plain", Buffer.from("theirs")));
    expect((await upload(provider, "n", Buffer.from("ours"))).kind).toBe("conflict");
    expect(await names()).toEqual(["n"]);
    const listed = await provider.list({ folder: "", signal: calm });
    const [left] = listed.kind === "ok" ? listed.items : [];
    const read = await provider.read({ id: left?.id ?? "", signal: calm });
    expect(read.kind === "ok" && (await buffer(read.stream)).toString()).toBe("theirs");
  });

  test("a rename and a move that lose a race for a name are reverted", async () => {
    const { proxy, provider, add, names } = await open();
    const target = add("target", "application/vnd.google-apps.folder");
    const file = add("file", "text/plain", Buffer.from("x"));
    const isPatch = ({ method }: { method: string }) => method === "PATCH";
    proxy.after(isPatch, async () => void add("wanted", "text/plain", Buffer.from("theirs")));
    const renamed = await provider.rename({
      id: file.id,
      name: "wanted",
      expected: {},
      signal: calm,
    });
    expect(renamed.kind).toBe("conflict");
    expect(await names()).toEqual(["file", "target", "wanted"]);
    proxy.after(
      isPatch,
      async () => void add("file", "text/plain", Buffer.from("theirs"), target.id),
    );
    const moved = await provider.move({
      id: file.id,
      parent: target.id,
      expected: {},
      signal: calm,
    });
    expect(moved.kind).toBe("conflict");
    expect(await names()).toEqual(["file", "target", "wanted"]);
  });

  test("equal names in a drive that differ in case only are two, although Drive's search takes them for one", async () => {
    const { provider, names } = await open();
    for (const name of ["Name", "NAME", "it's \\ 'quoted'", "IT'S \\ 'QUOTED'"])
      expect((await provider.createFolder({ parent: "", name, signal: calm })).kind).toBe("ok");
    expect(await names()).toHaveLength(4);
  });
});

describe("guards", () => {
  test("retries a change with the new etag after an invisible change; a visible one is stale", async () => {
    const { server, proxy, provider, add } = await open();
    const folder = add("folder", "application/vnd.google-apps.folder");
    const found = await provider.stat({ id: folder.id, signal: calm });
    const etag = found.kind === "ok" ? found.item.etag : undefined;
    const isLook = ({ path }: { path: string }) => path.startsWith("/drive/v2/");
    proxy.after(isLook, async () => void add("child", "text/plain", Buffer.from("x"), folder.id));
    const renamed = await provider.rename({
      id: folder.id,
      name: "renamed",
      expected: { etag },
      signal: calm,
    });
    expect(renamed).toMatchObject({ kind: "ok", item: { name: "renamed" } });
    expect(proxy.log.filter((line) => line.startsWith("PATCH"))).toHaveLength(2);

    const file = add("file", "text/plain", Buffer.from("x"));
    proxy.after(isLook, async () => server.store.overwrite(file.id, Buffer.from("y")));
    const after = await provider.stat({ id: file.id, signal: calm });
    const expected = { etag: after.kind === "ok" ? after.item.etag : undefined };
    expect((await provider.delete({ id: file.id, expected, signal: calm })).kind).toBe("stale");
  });

  test("Drive refuses a move into a folder that was moved below the item meanwhile, and nothing is lost", async () => {
    const { server, proxy, provider, add } = await open();
    const [a, b] = [
      add("a", "application/vnd.google-apps.folder"),
      add("b", "application/vnd.google-apps.folder"),
    ];
    proxy.after(
      ({ path }) => path.startsWith("/drive/v2/"),
      async () => {
        b.parent = a.id;
        server.store.touch(b);
        // The adapter has just seen the tag of `a`.
        a.version -= 1;
      },
    );
    const moved = await provider.move({ id: a.id, parent: b.id, expected: {}, signal: calm });
    expect(moved).toMatchObject({ kind: "invalid_destination" });
  });
});

describe("uploads", () => {
  const bytes = Buffer.alloc(3 * PIECE + 5, "croft");

  test("uploads resume at the session's offset after a cut, a failure and a lost response", async () => {
    const { server, proxy, provider } = await open();
    const isPiece = ({ method }: { method: string }) => method === "PUT";
    const breaks = [
      () => proxy.faults.cutNextUpload(100_000),
      () => proxy.answerNext(isPiece, 503),
      () => proxy.answerNext(isPiece, 429, { "retry-after": "1" }),
      () => proxy.loseNext(isPiece),
      () => proxy.resetNext(isPiece),
      () => server.oauth.expireTokens(),
    ];
    for (const [at, fail] of breaks.entries()) {
      fail();
      const name = `file ${at}`;
      const outcome = await upload(provider, name, bytes);
      expect(outcome).toMatchObject({ kind: "ok", item: { name, size: bytes.length } });
      const read = await provider.read({
        id: outcome.kind === "ok" ? outcome.item.id : "",
        signal: calm,
      });
      expect(read.kind === "ok" && (await buffer(read.stream)).equals(bytes)).toBe(true);
    }
    expect(server.sessions()).toEqual([]);
  });

  test("uploads are found, too, when the session has expired after a lost last response", async () => {
    const { proxy, provider, names } = await open();
    proxy.loseNext(
      ({ method, headers }) =>
        method === "PUT" && String(headers["content-range"]).startsWith(`bytes ${3 * PIECE}-`),
    );
    const gone = { error: { code: 404, errors: [{ reason: "notFound" }] } };
    proxy.answerNext(
      ({ method, headers }) =>
        method === "PUT" && String(headers["content-range"]).startsWith("bytes */"),
      404,
      { "content-type": "application/json" },
      JSON.stringify(gone),
    );
    expect((await upload(provider, "large", bytes)).kind).toBe("ok");
    expect(await names()).toEqual(["large"]);
  });

  test("uploads query the session's offset when a response lacks it", async () => {
    const { proxy, provider, names } = await open();
    const isSecond = ({ headers }: ProxiedRequest) =>
      String(headers["content-range"]).startsWith(`bytes ${PIECE}-`);
    proxy.answerNext(isSecond, 308);
    expect((await upload(provider, "large", bytes)).kind).toBe("ok");
    expect(await names()).toEqual(["large"]);
  });

  test("uploads whose last answer is lost are found by the id that they were given", async () => {
    const { proxy, provider, names } = await open();
    proxy.loseNext(
      ({ method, headers }) =>
        method === "PUT" && String(headers["content-range"]).startsWith(`bytes ${3 * PIECE}-`),
    );
    expect((await upload(provider, "large", bytes)).kind).toBe("ok");
    proxy.loseNext(({ method }) => method === "POST");
    expect((await upload(provider, "small", Buffer.from("x"))).kind).toBe("ok");
    proxy.resetNext(({ method }) => method === "POST");
    expect((await upload(provider, "tiny", Buffer.from("x"))).kind).toBe("ok");
    expect(await names()).toEqual(["large", "small", "tiny"]);
  });

  test("uploads whose source fails before its first byte create nothing, and rethrow its error", async () => {
    const { server, provider, names } = await open();
    const content = new Readable({ read: () => undefined });
    content.destroy(new Error("the client went away"));
    const uploading = upload(provider, "never", Buffer.alloc(0), { content, size: 5 });
    await expect(uploading).rejects.toThrow("the client went away");
    expect([await names(), server.sessions()]).toEqual([[], []]);
  });

  test("an upload that is aborted during its last request leaves nothing", async () => {
    const { proxy, provider, server, names } = await open();
    const isPost = ({ method }: ProxiedRequest) => method === "POST";
    const isLastPiece = ({ headers }: ProxiedRequest) =>
      String(headers["content-range"]).startsWith(`bytes ${3 * PIECE}-`);
    const lasts = [
      [10, isPost],
      [bytes.length, isLastPiece],
    ] as const;
    for (const [size, isLast] of lasts) {
      const controller = new AbortController();
      proxy.after(isLast, async () => controller.abort());
      const { signal } = controller;
      const outcome = await upload(provider, "aborted", bytes.subarray(0, size), { signal });
      expect(outcome).toMatchObject({ kind: "offline", note: "aborted" });
      expect([await names(), server.sessions()]).toEqual([[], []]);
    }
  });

  test("need no length beforehand", async () => {
    const { provider } = await open();
    for (const size of [0, 1, PIECE, PIECE + 1, 2 * PIECE]) {
      const outcome = await upload(provider, `${size}`, bytes.subarray(0, size), {
        size: undefined,
      });
      expect(outcome).toMatchObject({ kind: "ok", item: { size } });
    }
  });

  test("never become one of Google's own documents, for any content type of the client", async () => {
    const { server, provider } = await open();
    for (const contentType of [
      "application/vnd.google-apps.document",
      "text/html\r\nx-evil: 1",
      undefined,
    ]) {
      const outcome = await upload(provider, String(contentType?.length), Buffer.from("<p>"), {
        contentType,
      });
      const file = outcome.kind === "ok" ? server.store.find(outcome.item.id) : undefined;
      expect(file?.mimeType).toBe("application/octet-stream");
    }
  });

  test("uploads that arrive damaged are deleted again", async () => {
    const { proxy, provider, server, names } = await open();
    expect((await upload(provider, "fine", Buffer.from("fine"))).kind).toBe("ok");
    proxy.answerNext(
      ({ path }) => path.includes("uploadType=multipart"),
      200,
      {},
      JSON.stringify({
        id: "x",
        name: "bad",
        mimeType: "text/plain",
        size: "4",
        md5Checksum: "0",
        parents: [],
        trashed: false,
      }),
    );
    expect((await upload(provider, "bad", Buffer.from("good"))).kind).toBe("offline");
    expect(await names()).toEqual(["fine"]);
    expect(server.sessions()).toEqual([]);
  });
});

describe("reading where revisions cannot be read", () => {
  test("ends with an error when the file changes during the download, and otherwise returns the complete file", async () => {
    const { server, provider, proxy, add } = await open();
    server.hideRevisions(true);
    const file = add("file", "text/plain", Buffer.alloc(300_000, 1));
    const calmRead = await provider.read({ id: file.id, signal: calm });
    expect(calmRead.kind === "ok" && (await buffer(calmRead.stream)).length).toBe(300_000);
    proxy.after(
      ({ path }) => path.includes("alt=media"),
      async () => server.store.overwrite(file.id, Buffer.alloc(300_000, 2)),
    );
    const read = await provider.read({ id: file.id, signal: calm });
    if (read.kind !== "ok") throw new Error(read.kind);
    await expect(buffer(read.stream)).rejects.toBeInstanceOf(StreamAborted);
  });
});

describe("a refusal of Drive", () => {
  const error = (status: number, reason: string) =>
    [
      status,
      JSON.stringify({ error: { code: status, message: "secret text", errors: [{ reason }] } }),
    ] as const;
  test.each([
    [...error(403, "rateLimitExceeded"), "rate_limited"],
    [...error(403, "userRateLimitExceeded"), "rate_limited"],
    [...error(403, "sharingRateLimitExceeded"), "rate_limited"],
    [...error(403, "storageQuotaExceeded"), "quota_exceeded"],
    [...error(403, "teamDriveFileLimitExceeded"), "quota_exceeded"],
    [...error(403, "insufficientPermissions"), "reauth"],
    [...error(403, "insufficientFilePermissions"), "forbidden"],
    [...error(403, "appNotAuthorizedToFile"), "forbidden"],
    [...error(403, "domainPolicy"), "forbidden"],
    [...error(403, "accessNotConfigured"), "forbidden"],
    [...error(403, "fileNotDownloadable"), "unsupported"],
    [...error(403, "crossDomainMoveRestriction"), "invalid_destination"],
    [403, "<html>", "forbidden"],
    [...error(400, "invalid"), "offline"],
    [...error(404, "notFound"), "stale"],
    [404, "<html>", "offline"],
    [...error(429, "anything"), "rate_limited"],
    [...error(500, "backendError"), "offline"],
    [503, "", "offline"],
    [307, "", "offline"],
  ] as const)("%i %s is %s", async (status, body, kind) => {
    const { proxy, provider } = await open();
    proxy.answerNext(({ path }) => path.startsWith("/drive/v3/files?"), status, {}, body);
    const outcome = await provider.list({ folder: "", signal: calm });
    expect(outcome.kind).toBe(kind);
    expect(JSON.stringify(outcome)).not.toMatch(/secret|html|127\.0/);
  });

  test("while connecting makes no connection", async () => {
    const { proxy, tryConnect } = await open();
    for (const [status, kind] of [
      [503, "offline"],
      [404, "offline"],
      [403, "forbidden"],
    ] as const) {
      proxy.answerNext(({ path }) => path.includes("/about"), status, {}, "{}");
      expect((await tryConnect()).kind).toBe(kind);
    }
  });
});
