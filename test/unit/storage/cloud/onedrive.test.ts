import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { Agent } from "undici";
import { afterAll, describe, expect, test } from "vitest";
import { toGraphFailure } from "../../../../storage/cloud/onedrive/failures.ts";
import {
  isHeaderValue,
  toDriveId,
  toDriveItem,
  toItemId,
} from "../../../../storage/cloud/onedrive/items.ts";
import { brokenOneDriveRule } from "../../../../storage/cloud/onedrive/names.ts";
import { oneDrive } from "../../../../storage/cloud/onedrive/provider.ts";
import { createQuickXorHash } from "../../../../storage/cloud/onedrive/quick-xor-hash.ts";
import type { CloudProvider } from "../../../../storage/cloud/provider.ts";
import {
  calm,
  done,
  get,
  inChunks,
  list,
  mkdir,
  move,
  pattern,
  put,
  remove,
  rename,
  same,
  tree,
  tryUpload,
} from "../../../conformance/cloud-provider/acting.ts";
import {
  oneDriveClient,
  startOneDriveServer,
  type OneDriveServer,
  type OneDriveServerOptions,
} from "../../../stand-ins/onedrive-server.ts";
import { serve } from "../../../stand-ins/serve.ts";
import { startFaultProxy, type FaultProxy } from "../../../support/cloud/fault-proxy.ts";
import { testProviderDeps } from "../../../support/cloud/vault-cloud.ts";
import { connectOneDrive } from "../../../support/cloud/vendor-drives.ts";

const agent = new Agent();
afterAll(() => agent.destroy());

const small = { simpleBytesMax: 1000, fragmentBytes: 320 * 1024 };

interface Opened extends AsyncDisposable {
  readonly server: OneDriveServer;
  readonly proxy: FaultProxy;
  readonly provider: CloudProvider;
}

async function open(options: OneDriveServerOptions = {}): Promise<Opened> {
  const server = await startOneDriveServer(options);
  const proxy = await startFaultProxy({ target: server.origin });
  const way = { dispatcher: agent, origin: proxy.origin };
  return {
    server,
    proxy,
    provider: await connectOneDrive(server, way, small),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      expect(server.leaks()).toBe(0);
    },
  };
}

const isFragment = ({ method, path }: { method: string; path: string }) =>
  method === "PUT" && path.startsWith("/signed/upload/");

describe("the QuickXorHash", () => {
  test.each([
    ["", "AAAAAAAAAAAAAAAAAAAAAAAAAAA="],
    ["Sg==", "SgAAAAAAAAAAAAAAAQAAAAAAAAA="],
    ["tbQ=", "taAFAAAAAAAAAAAAAgAAAAAAAAA="],
    ["0pZP", "0rDEEwAAAAAAAAAAAwAAAAAAAAA="],
  ])("the QuickXorHash of base64 %j is %s", (bytes, expected) => {
    const hash = createQuickXorHash();
    hash.update(Buffer.from(bytes, "base64"));
    expect(hash.digest()).toBe(expected);
  });

  test("the QuickXorHash is the same in pieces, and as bit by bit", () => {
    const bytes = pattern(1000);
    const hash = createQuickXorHash();
    for (const piece of inChunks(bytes, 77)) hash.update(piece);
    const bits = new Uint8Array(160);
    bytes.forEach((byte, index) => {
      for (let bit = 0; bit < 8; bit++) {
        const at = (index * 11 + bit) % 160;
        bits[at] = (bits[at] ?? 0) ^ ((byte >> bit) & 1);
      }
    });
    for (let bit = 0; bit < 64; bit++) {
      const at = 96 + bit;
      bits[at] = (bits[at] ?? 0) ^ Number((1000n >> BigInt(bit)) & 1n);
    }
    const expected = Buffer.alloc(20);
    bits.forEach((bit, at) => {
      expected[at >> 3] = (expected[at >> 3] ?? 0) | (bit << (at % 8));
    });
    expect(hash.digest()).toBe(expected.toString("base64"));
  });
});

describe("names", () => {
  test.each([
    ["report.pdf", undefined],
    ["100 % #1 & more.txt", undefined],
    ["con fusion", undefined],
    [".hidden", undefined],
    ["", "empty"],
    ["a/b", "slash"],
    ['a"b', "reserved_character"],
    ["a*b", "reserved_character"],
    ["a:b", "reserved_character"],
    ["a<b", "reserved_character"],
    ["a>b", "reserved_character"],
    ["a?b", "reserved_character"],
    ["a\\b", "reserved_character"],
    ["a|b", "reserved_character"],
    [" a", "outer_space"],
    ["a ", "outer_space"],
    ["a.", "trailing_dot"],
    ["CON", "reserved_name"],
    ["com0", "reserved_name"],
    ["lpt9", "reserved_name"],
    [".lock", "reserved_name"],
    ["Desktop.ini", "reserved_name"],
    ["a_vti_b", "reserved_name"],
    ["~$report.docx", "reserved_name"],
  ])("checks the name %j: %s", (name, rule) => expect(brokenOneDriveRule(name)).toBe(rule));

  test("invalid names are refused before any request", async () => {
    await using opened = await open();
    const { provider, proxy } = opened;
    const file = await put(provider, "", "file.txt", "x");
    const before = proxy.log.length;
    const refused = { kind: "invalid_name", rule: "reserved_name" };
    expect(await rename(provider, file, "aux")).toEqual(refused);
    expect(await provider.createFolder({ parent: "", name: "aux", signal: calm })).toEqual(refused);
    expect(await tryUpload(provider, "", "aux", "x")).toEqual(refused);
    expect(proxy.log.length).toBe(before);
  });
});

describe("the meaning of a status", () => {
  const of = (status: number, error: unknown = {}, headers: Record<string, string> = {}) =>
    toGraphFailure({ status, headers }, { error }, 0);
  test.each([
    [400, { code: "invalidRequest" }, "unsupported"],
    [400, { code: "invalidRequest", innererror: { code: "invalidName" } }, "invalid_name"],
    [401, { code: "InvalidAuthenticationToken" }, "reauth"],
    [403, { code: "accessDenied" }, "forbidden"],
    [403, { code: "accessDenied", innererror: { code: "throttledRequest" } }, "rate_limited"],
    [404, { code: "itemNotFound" }, "not_found"],
    [405, {}, "unsupported"],
    [409, { code: "nameAlreadyExists" }, "conflict"],
    [409, { code: "resourceModified" }, "stale"],
    [409, { code: "preconditionFailed" }, "stale"],
    [409, { code: "conflict", message: "The eTag does not match" }, "stale"],
    [409, { code: "invalidRequest", message: "The item is on hold" }, "forbidden"],
    [412, {}, "stale"],
    [413, {}, "unsupported"],
    [423, { code: "resourceLocked" }, "locked"],
    [429, {}, "rate_limited"],
    [500, {}, "offline"],
    [501, {}, "unsupported"],
    [503, {}, "offline"],
    [504, {}, "offline"],
    [507, {}, "quota_exceeded"],
    [403, { code: "quotaLimitReached" }, "quota_exceeded"],
    [509, {}, "rate_limited"],
    [302, {}, "offline"],
  ])("maps the status %i with %j to %s", (status, error, kind) =>
    expect(of(status, error).kind).toBe(kind),
  );

  test("a delay is passed on, and a 503 with a delay is not an outage", () => {
    const headers = { "retry-after": "120" };
    for (const status of [429, 503, 509])
      expect(of(status, {}, headers)).toMatchObject({
        kind: "rate_limited",
        retryAfterSeconds: 120,
      });
  });

  test("words of the provider go no further", () => {
    const error = { code: "see https://internal.example", message: "secret", innererror: [] };
    expect(JSON.stringify(of(409, error))).not.toMatch(/http|secret/);
    expect(toGraphFailure({ status: 409, headers: {} }, undefined, 0).kind).toBe("forbidden");
    expect(toGraphFailure({ status: 409, headers: {} }, { error: "text" }, 0).kind).toBe(
      "forbidden",
    );
  });
});

describe("an item", () => {
  const raw = { id: "A!1", name: "a.txt", size: 3, file: {}, parentReference: { id: "root" } };
  test("an item of the root's has no parent, of others has theirs", () => {
    expect(toDriveItem(raw, "root")?.item).toMatchObject({ parent: "", kind: "file", size: 3 });
    expect(toDriveItem(raw, "other")?.item.parent).toBe("root");
  });

  test.each([
    [{ id: "other", path: "/drive/root:" }, ""],
    [{ id: "other", path: "/drives/b!x/root:" }, ""],
    [{ id: "other", path: "/drives/b!x/root:/root:" }, "other"],
    [{ id: "other", path: 7 }, "other"],
  ])("an item in %j is in %j", (parentReference, parent) => {
    expect(toDriveItem({ ...raw, parentReference }, "root")?.item.parent).toBe(parent);
  });

  test.each(["package", "bundle", "remoteItem"])(
    "an item with a %s has no bytes of its own",
    (facet) => {
      const item = toDriveItem({ ...raw, folder: {}, [facet]: {} }, "root")?.item;
      expect(item).toMatchObject({ kind: "file", size: undefined, version: undefined });
    },
  );

  test.each([
    { ...raw, id: 7 },
    { ...raw, id: "" },
    { ...raw, id: "x".repeat(500) },
    { ...raw, name: null },
    { ...raw, name: "a\0b" },
    { ...raw, parentReference: "root" },
    { ...raw, parentReference: {} },
    { ...raw, deleted: { state: "deleted" } },
  ])("rejects an invalid item: %j", (strange) => {
    expect(toDriveItem(strange, "root")).toBeUndefined();
  });

  test("an item without a parent is in the listed folder", () => {
    const { parentReference: _untold, ...shared } = { ...raw, remoteItem: { id: "B!2" } };
    expect(toDriveItem(shared, "root", "folder")?.item).toMatchObject({ parent: "folder" });
    expect(toDriveItem(shared, "root", "")?.item).toMatchObject({ parent: "", kind: "file" });
    expect(toDriveItem(raw, "other", "folder")?.item.parent).toBe("root");
  });

  test("drops members of an item that have other types", () => {
    const strange = { ...raw, size: "3", eTag: {}, cTag: 4, lastModifiedDateTime: "soon" };
    expect(toDriveItem(strange, "root")?.item).toMatchObject({
      size: undefined,
      etag: undefined,
      version: undefined,
      modifiedAt: undefined,
    });
  });

  test("drops an etag that is invalid in a header", () => {
    expect(toDriveItem({ ...raw, eTag: '"a"\r\nx: y' }, "root")?.item.etag).toBeUndefined();
    expect(isHeaderValue('"{6B1C},2"')).toBe(true);
  });
});

describe("ids of personal drives", () => {
  test("ids of personal drives are one however they are spelled", () => {
    expect(toItemId("66d53be8a5056eca!SEA8CC6")).toBe("66D53BE8A5056ECA!sea8cc6");
    expect(toItemId("66D53BE8A5056ECA!sea8cc6")).toBe("66D53BE8A5056ECA!sea8cc6");
    expect(toItemId("6D53BE8A5056ECA!101")).toBe("06D53BE8A5056ECA!101");
    expect(toDriveId("6D53BE8A5056ECA")).toBe("06d53be8a5056eca");
  });

  test("ids of work drives stay unchanged", () => {
    expect(toItemId("01ABCdefGHIJKLMNOP")).toBe("01ABCdefGHIJKLMNOP");
    expect(toDriveId("b!aBcDeF")).toBe("b!aBcDeF");
    expect([toItemId(7), toDriveId("")]).toEqual([undefined, undefined]);
  });

  test("ids of personal drives do not make another account of one", async () => {
    await using opened = await open();
    const { provider, server } = opened;
    server.mixCase(true);
    for (let look = 0; look < 4; look++)
      expect((await provider.check({ signal: calm })).kind).toBe("ok");
  });
});

describe("attack: answers that a vendor would not give", () => {
  /** A Graph that returns the given responses; the drive itself is known. */
  async function against(answer: (response: ServerResponse, path: string) => void) {
    const server = await serve(async (_request, response, url) => answer(response, url.pathname));
    const { origin } = server;
    const outcome = await oneDrive.connect(
      {
        connectionId: "c",
        settings: {},
        credentials: { access_token: "very.secret", refresh_token: "r" },
        probeResult: { drive_id: "d", root_id: "r", drive_type: "personal", tells_quota: true },
        saveCredentials: async () => undefined,
        signal: calm,
      },
      {
        ...testProviderDeps("/nowhere", Date.now),
        server: { onedriveBaseUrl: origin, onedriveTenantId: "common" },
        direct: agent,
        guarded: agent,
      },
    );
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const { provider } = outcome;
    return { provider, origin, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }
  const json = (response: ServerResponse, body: unknown, status = 200) =>
    void response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(body));

  test("a next page on another host is not requested, with or without the token", async () => {
    const seen: (string | undefined)[] = [];
    await using thief = await serve(async (request, response) => {
      seen.push(request.headers.authorization);
      json(response, { value: [] });
    });
    for (const link of [`${thief.origin}/v1.0/x`, "file:///etc/passwd", "//", 7, {}]) {
      await using vendor = await against((response) =>
        json(response, { value: [], "@odata.nextLink": link }),
      );
      const outcome = await vendor.provider.list({ folder: "", signal: calm });
      expect(outcome).toEqual({ kind: "offline", sent: true, note: "strange_next_page" });
    }
    expect(seen).toEqual([]);
  });

  test("an entry without a parent does not fail a listing", async () => {
    await using vendor = await against((response) =>
      json(response, { value: [{ id: "x", name: "shared", remoteItem: { id: "B!2" } }] }),
    );
    const outcome = await vendor.provider.list({ folder: "", signal: calm });
    expect(outcome).toMatchObject({ kind: "ok", items: [{ id: "x", parent: "" }] });
  });

  test.each([
    ["no list", { value: {} }],
    ["no value", {}],
    ["an invalid entry", { value: [null] }],
    ["an entry without a name", { value: [{ id: "x", parentReference: { id: "r" } }] }],
  ])("a page with %s fails the listing", async (_title, page) => {
    await using vendor = await against((response) => json(response, page));
    expect((await vendor.provider.list({ folder: "", signal: calm })).kind).toBe("offline");
  });

  test.each(["http://169.254.169.254/", "ftp://x/", "nothing", "https://user@host/"])(
    "neither bytes nor uploads go to %s",
    async (address) => {
      const raw = {
        id: "i",
        name: "a",
        size: 3,
        cTag: "c",
        file: {},
        parentReference: { id: "r" },
      };
      await using vendor = await against((response, path) => {
        if (path.endsWith("/content")) response.writeHead(302, { location: address }).end();
        else if (path.endsWith("/createUploadSession")) json(response, { uploadUrl: address });
        else if (path.endsWith(":")) json(response, { error: { code: "itemNotFound" } }, 404);
        else json(response, raw);
      });
      expect(await vendor.provider.read({ id: "i", signal: calm })).toMatchObject({
        kind: "offline",
        note: "strange_location",
      });
      const content = Readable.from(inChunks(pattern(5_000_000)), { objectMode: false });
      const uploaded = await vendor.provider.upload({
        parent: "",
        name: "large",
        content,
        size: 5_000_000,
        contentType: undefined,
        signal: calm,
      });
      expect(uploaded).toMatchObject({ kind: "offline", note: "strange_session" });
      expect(content.destroyed).toBe(true);
    },
  );

  test("an id cannot lead to another address", async () => {
    const paths: string[] = [];
    await using vendor = await against((response, path) => {
      paths.push(path);
      json(response, { error: { code: "itemNotFound" } }, 404);
    });
    for (const id of ["../../me", "a/children", "a?b=c", "a:/b:", "a#b"])
      expect((await vendor.provider.stat({ id, signal: calm })).kind).toBe("not_found");
    const asked = paths.length;
    for (const id of [".", "..", "a\0b"]) {
      const file = Readable.from([Buffer.from("x")]);
      const upload = { name: "n", content: file, size: 1, contentType: undefined, signal: calm };
      const outcomes = [
        await vendor.provider.stat({ id, signal: calm }),
        await vendor.provider.read({ id, signal: calm }),
        await vendor.provider.list({ folder: id, signal: calm }),
        await vendor.provider.createFolder({ parent: id, name: "n", signal: calm }),
        await vendor.provider.upload({ ...upload, parent: id }),
        await rename(vendor.provider, { id }, "n"),
        await remove(vendor.provider, { id }),
      ];
      expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(["not_found", "stale"]));
    }
    expect(paths.length).toBe(asked);
    for (const path of paths) expect(path).toMatch(/^\/v1\.0\/drives\/d\/items\/[^/]+$/);
  });

  test("an etag from anywhere cannot break a header", async () => {
    await using opened = await open();
    const file = await put(opened.provider, "", "file.txt", "x");
    const before = opened.proxy.log.length;
    const outcome = await rename(opened.provider, file, "b", { etag: 'x"\r\nX-Evil: 1' });
    expect([outcome.kind, opened.proxy.log.length]).toEqual(["stale", before]);
  });
});

describe("upload sessions", () => {
  const bytes = pattern(1_000_000);

  test.each([
    ["a fragment that never arrives", "resetNext"],
    ["an answer that is lost", "loseNext"],
  ] as const)("continue after %s", async (_title, way) => {
    await using opened = await open();
    const { provider, proxy, server } = opened;
    let fragments = 0;
    proxy[way]((request) => isFragment(request) && ++fragments === 2);
    const item = done(await tryUpload(provider, "", "large.bin", bytes));
    same(await get(provider, item.id), bytes);
    expect(server.sessions()).toEqual([]);
    expect(proxy.log.some((line) => line.startsWith("GET /signed/upload/"))).toBe(true);
  });

  test("upload sessions whose last answer is lost are looked for until the file can be seen", async () => {
    await using opened = await open();
    const { provider, proxy } = opened;
    let fragments = 0;
    proxy.loseNext((request) => isFragment(request) && ++fragments === 4);
    const notYet = JSON.stringify({ error: { code: "itemNotFound" } });
    proxy.answerNext(
      ({ method, path }) => method === "GET" && path.includes("large.bin") && fragments === 4,
      404,
      { "content-type": "application/json" },
      notYet,
    );
    const item = done(await tryUpload(provider, "", "large.bin", bytes));
    same(await get(provider, item.id), bytes);
    expect(proxy.log.filter((line) => /^GET .*large\.bin/.test(line))).toHaveLength(3);
  });

  test("discards the upload session when the storage fails permanently", async () => {
    await using opened = await open();
    const { provider, proxy, server } = opened;
    proxy.answerNext(isFragment, 507);
    expect((await tryUpload(provider, "", "large.bin", bytes)).kind).toBe("quota_exceeded");
    expect(server.sessions()).toEqual([]);
  });

  test("discards the upload session when the name is taken at the last moment", async () => {
    await using opened = await open();
    const { provider, proxy, server } = opened;
    proxy.after(isFragment, async () => {
      server.tree.add(server.tree.root.id, "large.bin", "file", Buffer.from("theirs"));
    });
    expect((await tryUpload(provider, "", "large.bin", bytes)).kind).toBe("conflict");
    expect([await tree(provider), server.sessions()]).toEqual([{ "large.bin": "theirs" }, []]);
  });

  test("wait for the requested delay, up to the patience of a user", async () => {
    await using opened = await open();
    const { provider, proxy } = opened;
    proxy.answerNext(isFragment, 429, { "Retry-After": "1" });
    expect((await tryUpload(provider, "", "one.bin", bytes)).kind).toBe("ok");
    proxy.answerNext(isFragment, 429, { "Retry-After": "315" });
    expect(await tryUpload(provider, "", "two.bin", bytes)).toMatchObject({
      kind: "rate_limited",
      retryAfterSeconds: 315,
    });
  });

  test("upload sessions are not begun for a name that is taken", async () => {
    await using opened = await open({ driveType: "business" });
    const { provider, proxy } = opened;
    await put(provider, "", "large.bin", "x");
    expect((await tryUpload(provider, "", "LARGE.bin", bytes)).kind).toBe("conflict");
    expect(proxy.log.some((line) => line.includes("createUploadSession"))).toBe(false);
  });

  test("an upload session whose response was lost reserves the name although no file has it", async () => {
    await using opened = await open({ driveType: "business" });
    const { provider, proxy } = opened;
    proxy.loseNext(({ path }) => path.endsWith("/createUploadSession"));
    expect((await tryUpload(provider, "", "large.bin", bytes)).kind).toBe("locked");
    expect(await list(provider, "")).toEqual([]);
  });

  test("an expired address does not mean that the sign-in is invalid", async () => {
    await using opened = await open();
    opened.proxy.answerNext(isFragment, 401);
    const outcome = await tryUpload(opened.provider, "", "large.bin", bytes);
    expect(outcome.kind).toBe("unknown_outcome");
    expect(await list(opened.provider, "")).toEqual([]);
  });
});

describe("guards", () => {
  test("a delete whose precondition is refused although it is met is done without", async () => {
    await using opened = await open();
    const { provider, server } = opened;
    const file = await put(provider, "", "file.txt", "x");
    server.breakDeleteGuard(true);
    expect(await remove(provider, file)).toEqual({ kind: "ok", how: "trashed" });
  });

  test("an item that changes between lookup and change is stale", async () => {
    await using opened = await open();
    const { provider, proxy, server } = opened;
    const file = await put(provider, "", "file.txt", "x");
    const isLook = ({ method, path }: { method: string; path: string }) =>
      method === "GET" && path.includes("/items/");
    for (const change of [
      () => rename(provider, file, "other.txt"),
      () => remove(provider, file, { expected: {} }),
    ]) {
      proxy.after(isLook, async () => server.tree.overwrite(file.id, Buffer.from("theirs")));
      expect((await change()).kind).toBe("stale");
    }
    expect(await tree(provider)).toEqual({ "file.txt": "theirs" });
  });

  test("the token is never shown to signed addresses, and downloads outlive its end", async () => {
    await using opened = await open();
    const { provider, server } = opened;
    const file = await put(provider, "", "file.bin", pattern(300_000));
    server.oauth.expireTokens();
    same(await get(provider, file.id), pattern(300_000));
    expect([server.leaks(), server.oauth.renewals()]).toEqual([0, 1]);
  });

  test("a file that changes while its bytes arrive fails the stream", async () => {
    await using opened = await open();
    const { provider, proxy, server } = opened;
    const file = await put(provider, "", "file.bin", pattern(300_000));
    proxy.after(
      ({ path }) => path.includes("/signed/download/"),
      async () => server.tree.overwrite(file.id, pattern(300_000, 2)),
    );
    await expect(get(provider, file.id)).rejects.toMatchObject({ failure: { kind: "changed" } });
  });
});

describe("listings that lag behind", () => {
  test("mislead neither uploads nor renames nor moves", async () => {
    await using opened = await open();
    const { provider, proxy, server } = opened;
    const folder = await mkdir(provider, "", "folder");
    server.freezeListings(true);
    proxy.faults.loseNextAnswer();
    const file = await put(provider, "", "file.txt", "x");
    proxy.faults.loseNextAnswer();
    const renamed = done(await rename(provider, file, "renamed.txt"));
    proxy.faults.loseNextAnswer();
    const moved = done(await move(provider, renamed, folder.id));
    expect(moved).toMatchObject({ name: "renamed.txt", parent: folder.id });
    expect((await list(provider, "")).map(({ name }) => name)).toEqual(["folder"]);
    server.freezeListings(false);
    expect(await tree(provider)).toEqual({ "folder/": "", "folder/renamed.txt": "x" });
  });
});

describe("too many requests", () => {
  test("reports the drive's Retry-After for a rate limit", async () => {
    await using opened = await open({ requestsMax: 12 });
    const outcomes = [];
    for (let at = 0; at < 12; at++)
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
  test("probes the drive's capabilities, and sends no request when they are known", async () => {
    await using business = await startOneDriveServer({ driveType: "business" });
    const provider = await connectOneDrive(business, { dispatcher: agent });
    expect(provider.capabilities.permanentDelete).toBe(true);
    const checked = await provider.check({ signal: calm });
    if (checked.kind !== "ok") throw new Error(checked.kind);
    const before = business.requests();
    const way = { dispatcher: agent, request: { probeResult: checked.probeResult } };
    expect((await connectOneDrive(business, way)).capabilities).toEqual(provider.capabilities);
    expect(business.requests()).toBe(before);
  });

  test("another person's drive is not taken for the same storage", async () => {
    await using server = await startOneDriveServer();
    const probeResult = {
      drive_id: "another",
      root_id: "r",
      drive_type: "personal",
      tells_quota: true,
    };
    const provider = await connectOneDrive(server, { dispatcher: agent, request: { probeResult } });
    expect(await provider.check({ signal: calm })).toMatchObject({ kind: "reauth" });
  });

  test("a quota of zero means that the drive has no quota", async () => {
    await using server = await startOneDriveServer({ totalBytes: 0 });
    const provider = await connectOneDrive(server, { dispatcher: agent });
    expect(provider.capabilities.quota).toBe(false);
    expect(await provider.quota({ signal: calm })).toEqual({
      kind: "ok",
      usedBytes: undefined,
      totalBytes: undefined,
    });
  });

  test("the consent page is the tenant's, and asks for no more than is needed", () => {
    const { oauth } = oneDrive;
    const url = new URL(
      oauth?.authorizationUrl({
        server: { onedriveClientId: oneDriveClient.id, onedriveTenantId: "contoso.example" },
        redirectUrl: "https://vault.example/api/cloud/authorize/onedrive/callback",
        state: "s",
        codeChallenge: "c",
      }) ?? "",
    );
    expect(url.origin + url.pathname).toBe(
      "https://login.microsoftonline.com/contoso.example/oauth2/v2.0/authorize",
    );
    expect(url.searchParams.get("scope")).toBe("Files.ReadWrite offline_access User.Read");
    expect(oauth?.serverSettings).toEqual([
      "onedriveClientId",
      "onedriveClientSecret",
      "onedriveTenantId",
    ]);
  });
});
