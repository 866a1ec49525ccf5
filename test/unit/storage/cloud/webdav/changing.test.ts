import { Readable } from "node:stream";
import { Agent } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { webdav } from "../../../../../storage/cloud/webdav/provider.ts";
import { startDavStandIn, type DavQuirks } from "../../../../stand-ins/dav-server.ts";
import { startFaultProxy } from "../../../../support/cloud/fault-proxy.ts";
import { testProviderDeps } from "../../../../support/cloud/vault-cloud.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const signal = new AbortController().signal;
const anna = { username: "anna", password: "secret" };

async function start(quirks: DavQuirks = {}) {
  let now = Date.UTC(2026, 10, 21);
  const server = await startDavStandIn({ ...anna, ...quirks, clock: () => now });
  const proxy = await startFaultProxy({ target: server.origin });
  const agent = new Agent();
  closers.push(
    async () => server[Symbol.asyncDispose](),
    async () => proxy[Symbol.asyncDispose](),
    async () => agent.destroy(),
  );
  const outcome = await webdav.connect(
    {
      connectionId: "c",
      settings: { url: `${proxy.origin}/dav`, username: anna.username },
      credentials: { password: anna.password },
      probeResult: undefined,
      saveCredentials: async () => undefined,
      signal,
    },
    {
      ...testProviderDeps("/", () => now),
      newId: () => crypto.randomUUID(),
      guarded: proxy.impatient(agent),
    },
  );
  if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
  const { store } = server.dav;
  const root = store.ensure(["dav"]);
  const mark = proxy.log.length;
  return {
    server,
    proxy,
    store,
    root,
    provider: outcome.provider,
    probeResult: outcome.probeResult,
    names: () => [...root.children.values()].map(({ name }) => name).sort(),
    put: (name: string, text = "x") => store.add(root, name, "file", Buffer.from(text)),
    requests: () => proxy.log.slice(mark).map((line) => line.replace(/ .*/, "")),
    wait(ms: number) {
      now += ms;
    },
    rename: (id: string, name: string, etag?: string) =>
      outcome.provider.rename({ id, name, expected: { etag }, signal }),
    upload: (name: string, text: string) =>
      outcome.provider.upload({
        parent: "",
        name,
        content: Readable.from([Buffer.from(text)], { objectMode: false }),
        size: Buffer.byteLength(text),
        contentType: undefined,
        signal,
      }),
  };
}

const isMove = ({ method }: { readonly method: string }) => method === "MOVE";

describe("a move", () => {
  test("a move whose server falls silent is checked once: it has been waited for", async () => {
    const { proxy, put, rename, requests } = await start();
    put("a");
    proxy.after(isMove, async () => proxy.faults.stall());
    expect(await rename("a", "b")).toMatchObject({ kind: "unknown_outcome" });
    const methods = requests();
    expect(methods.slice(methods.indexOf("MOVE"))).toEqual(["MOVE", "PROPFIND"]);
  });

  test("a move that never reached the server is sent again", async () => {
    const { proxy, put, rename, names } = await start();
    put("a");
    proxy.resetNext(isMove);
    expect((await rename("a", "b")).kind).toBe("ok");
    expect(names()).toEqual(["b"]);
  });

  test("a move that the server reports but did not make is not a success", async () => {
    const { proxy, put, rename, names } = await start();
    put("a");
    proxy.answerNext(isMove, 201);
    expect(await rename("a", "b")).toMatchObject({
      kind: "offline",
      note: "accepted_but_not_done",
    });
    expect(names()).toEqual(["a"]);
  });

  test("a move whose precondition fails although the item is unchanged is retried without the precondition", async () => {
    const { proxy, put, rename, requests, probeResult } = await start();
    put("a");
    expect(probeResult["if_match"]).toBe(true);
    proxy.answerNext(isMove, 412);
    expect((await rename("a", "b")).kind).toBe("ok");
    expect(requests().filter((method) => method === "MOVE")).toHaveLength(2);
  });

  test("a move fails when its multistatus reports a failure of a part", async () => {
    const { proxy, put, rename, names } = await start();
    put("a");
    const part = (status: string) =>
      `<D:multistatus xmlns:D="DAV:"><D:response><D:href>/dav/b</D:href><D:status>HTTP/1.1 ${status}</D:status></D:response></D:multistatus>`;
    proxy.answerNext(isMove, 207, {}, part("423 Locked"));
    expect((await rename("a", "b")).kind).toBe("locked");
    proxy.answerNext(isMove, 207, {}, part("403 Forbidden"));
    expect((await rename("a", "b")).kind).toBe("forbidden");
    expect(names()).toEqual(["a"]);
  });

  test.each([
    [401, "reauth"],
    [403, "forbidden"],
    [400, "invalid_name"],
    [409, "offline"],
    [500, "offline"],
    [507, "quota_exceeded"],
  ])("answered %i is %s", async (status, kind) => {
    const { proxy, put, rename, names } = await start();
    put("a");
    proxy.faults.clear();
    for (const _ of [1, 2]) proxy.answerNext(isMove, status, {}, "secret");
    const first = await rename("a", "b");
    // A server's own error is tried once more, which then succeeds.
    expect(first.kind).toBe(status === 500 ? "ok" : kind);
    expect(names()).toEqual([status === 500 ? "b" : "a"]);
  });

  test("detects a change between the check and the operation, where the server honours conditions", async () => {
    const { proxy, store, put, rename, names } = await start();
    const node = put("a", "old");
    proxy.after(
      ({ method, path }) => method === "PROPFIND" && path === "/dav/b",
      async () => store.write(node, Buffer.from("new")),
    );
    expect((await rename("a", "b")).kind).toBe("stale");
    expect(names()).toEqual(["a"]);
  });

  test("onto a name that is taken at the last moment is a conflict", async () => {
    const { proxy, put, rename, names } = await start();
    put("a");
    proxy.after(
      ({ method, path }) => method === "PROPFIND" && path === "/dav/b",
      async () => void put("b", "another's"),
    );
    expect((await rename("a", "b")).kind).toBe("conflict");
    expect(names()).toEqual(["a", "b"]);
  });

  test("below itself never reaches the server", async () => {
    const { provider, store, root, requests } = await start();
    store.add(store.add(root, "a", "folder"), "inner", "folder");
    for (const parent of ["a", "a/inner"])
      expect((await provider.move({ id: "a", parent, expected: {}, signal })).kind).toBe(
        "invalid_destination",
      );
    expect(requests()).toEqual([]);
  });
});

test("a line that breaks before a change leaves it to be tried again", async () => {
  const { proxy, provider, put, rename, names } = await start();
  put("a");
  const calls = [
    () => rename("a", "b"),
    () => provider.delete({ id: "a", expected: {}, signal }),
    () => provider.createFolder({ parent: "", name: "b", signal }),
  ];
  for (const call of calls) {
    proxy.resetNext();
    expect(await call()).toMatchObject({ kind: "offline", sent: false });
  }
  expect(names()).toEqual(["a"]);
});

test("retries the check after a change when the connection breaks", async () => {
  const { proxy, put, rename } = await start();
  put("a");
  proxy.loseNext(isMove);
  proxy.after(
    ({ method, path }) => method === "PROPFIND" && path === "/dav/b",
    async () => proxy.resetNext(({ method }) => method === "PROPFIND"),
  );
  expect((await rename("a", "b")).kind).toBe("ok");
});

test("a file that is rewritten in place while it is read fails the stream", async () => {
  const { proxy, provider, store, put } = await start();
  const node = put("a", "x".repeat(600_000));
  proxy.after(
    ({ method }) => method === "GET",
    async () => store.write(node, Buffer.alloc(600_000, "y")),
  );
  const read = await provider.read({ id: "a", signal });
  if (read.kind !== "ok") throw new Error(read.kind);
  let bytes = 0;
  const reading = (async () => {
    for await (const chunk of read.stream as AsyncIterable<Buffer>) bytes += chunk.length;
  })();
  await expect(reading).rejects.toMatchObject({ failure: { kind: "changed" } });
  expect(bytes).toBeLessThan(600_000);
});

describe("a change of spelling", () => {
  test("takes two moves where the server is case-insensitive", async () => {
    const { put, rename, names, requests } = await start({ mixesSpellings: true });
    put("name.txt");
    expect(await rename("name.txt", "NAME.txt")).toMatchObject({ item: { name: "NAME.txt" } });
    expect(names()).toEqual(["NAME.txt"]);
    expect(requests().filter((method) => method === "MOVE")).toHaveLength(2);
  });

  test("a change of spelling is undone when the second move is refused", async () => {
    const { proxy, put, rename, names } = await start({ mixesSpellings: true });
    put("name.txt");
    proxy.after(isMove, async () => proxy.answerNext(isMove, 403));
    expect((await rename("name.txt", "NAME.txt")).kind).toBe("forbidden");
    expect(names()).toEqual(["name.txt"]);
  });
});

describe("an upload", () => {
  test("an upload whose bytes arrived continues when the answer was lost", async () => {
    const { proxy, upload, names } = await start();
    proxy.loseNext(({ method }) => method === "PUT");
    expect(await upload("a", "bytes")).toMatchObject({ kind: "ok", item: { name: "a", size: 5 } });
    expect(names()).toEqual(["a"]);
  });

  test("an interrupted upload leaves nothing, even on a server that keeps partial files", async () => {
    const { proxy, upload, names } = await start({ keepsTruncated: true });
    proxy.faults.cutNextUpload(100_000);
    expect((await upload("a", "x".repeat(300_000))).kind).toBe("offline");
    expect(names()).toEqual([]);
  });

  test("keeps an item that took the name meanwhile", async () => {
    const { proxy, put, upload, names, store } = await start();
    proxy.after(
      ({ method }) => method === "PUT",
      async () => void put("a", "another's"),
    );
    expect((await upload("a", "mine")).kind).toBe("conflict");
    expect(names()).toEqual(["a"]);
    expect(store.find(["dav", "a"])?.bytes.toString()).toBe("another's");
  });

  test("refuses names of croft's own temporary files", async () => {
    const { upload, requests } = await start();
    const outcome = await upload(`.croft-${crypto.randomUUID()}.tmp`, "x");
    expect(outcome).toEqual({ kind: "invalid_name", rule: "reserved_name" });
    expect(requests()).toEqual([]);
  });
});

test("a server that refuses dotfiles gets temporary names without a dot", async () => {
  const { upload, probeResult, names, proxy } = await start({ refusesDotNames: true });
  expect(probeResult).toMatchObject({ writable: true, dot_names: false });
  expect((await upload("a", "x")).kind).toBe("ok");
  expect(names()).toEqual(["a"]);
  expect(proxy.log.some((line) => /^PUT \/dav\/croft-home-[0-9a-f-]{36}\.tmp$/.test(line))).toBe(
    true,
  );
  expect(await upload(`croft-${crypto.randomUUID()}.tmp`, "x")).toMatchObject({
    kind: "invalid_name",
  });
});

test("no dotfiles are created on a server that does not list them", async () => {
  const { upload, rename, provider, probeResult, names, put } = await start({
    hidesDotNames: true,
  });
  expect(probeResult).toMatchObject({ dot_names: true, shows_dot_names: false });
  put("a");
  const hidden = { kind: "invalid_name", rule: "hidden_name" };
  expect(await upload(".b", "x")).toEqual(hidden);
  expect(await rename("a", ".b")).toEqual(hidden);
  expect(await provider.createFolder({ parent: "", name: ".b", signal })).toEqual(hidden);
  expect((await upload("b", "x")).kind).toBe("ok");
  expect(names()).toEqual(["a", "b"]);
  expect((await start()).probeResult).toMatchObject({ shows_dot_names: true });
});

test("a server that truncates destinations gets none with a question mark or semicolon", async () => {
  const { upload, rename, provider, probeResult, names, put, root, store } = await start({
    cutsDestinations: true,
  });
  expect(probeResult).toMatchObject({ whole_destinations: false });
  put("a");
  store.add(root, "x?y", "folder");
  const refused = { kind: "invalid_name", rule: "reserved_character" };
  for (const name of ["b?c", "b;c"]) {
    expect(await upload(name, "x")).toEqual(refused);
    expect(await rename("a", name)).toEqual(refused);
    expect(await provider.createFolder({ parent: "", name, signal })).toEqual(refused);
  }
  const content = Readable.from([Buffer.from("x")], { objectMode: false });
  expect(
    await provider.upload({
      parent: "x?y",
      name: "b",
      content,
      size: 1,
      contentType: undefined,
      signal,
    }),
  ).toEqual(refused);
  expect(names()).toEqual(["a", "x?y"]);
  expect((await start()).probeResult).toMatchObject({ whole_destinations: true });
});

test("the next listing deletes the leftovers of an interrupted upload, but not those of another daemon", async () => {
  const { provider, proxy, put, root, store, names } = await start();
  const id = crypto.randomUUID();
  const [own, other] = [`.croft-home-${id}.tmp`, `.croft-elsewhere-${id}.tmp`];
  put("a");
  put(own);
  put(other);
  store.add(store.add(root, `.croft-home-${crypto.randomUUID()}.tmp`, "folder"), "a", "file");
  const listed = await provider.list({ folder: "", signal });
  expect(listed).toMatchObject({ kind: "ok", items: [{ name: "a" }] });
  expect(names()).toEqual([other, "a"]);

  put(own);
  proxy.answerNext(({ method }) => method === "DELETE", 423);
  expect((await provider.list({ folder: "", signal })).kind).toBe("ok");
  expect(names()).toEqual([other, own, "a"]);
});

test("rejects an upload that a server damages, except for file types that servers rewrite", async () => {
  const { server, upload, names } = await start();
  server.dav.alterUploads(true);
  expect(await upload("a.bin", "x")).toMatchObject({ kind: "offline", note: "other_bytes" });
  expect(names()).toEqual([]);
  expect(await upload("a.docx", "x")).toMatchObject({ kind: "ok" });
});

test("an upload that is under way is not taken for a remainder", async () => {
  const { provider, proxy, upload, names } = await start();
  proxy.after(
    ({ method }) => method === "PUT",
    async () => {
      expect(await provider.list({ folder: "", signal })).toEqual({ kind: "ok", items: [] });
    },
  );
  expect((await upload("a", "x")).kind).toBe("ok");
  expect(names()).toEqual(["a"]);
});

test("leftovers of another daemon's upload are shown after a day, and can be deleted", async () => {
  const { provider, put, wait, names } = await start();
  const left = `.croft-${crypto.randomUUID()}.tmp`;
  put(left);
  expect(await provider.list({ folder: "", signal })).toEqual({ kind: "ok", items: [] });
  wait(25 * 3600 * 1000);
  expect(await provider.list({ folder: "", signal })).toMatchObject({ items: [{ name: left }] });
  expect((await provider.delete({ id: left, expected: {}, signal })).kind).toBe("ok");
  expect(names()).toEqual([]);
});

test("a password that is refused is not shown again", async () => {
  const { provider, proxy, upload, put, requests } = await start();
  put("a");
  for (const [method, act] of [
    ["PUT", () => upload("b", "x")],
    ["MOVE", () => provider.rename({ id: "a", name: "b", expected: {}, signal })],
    ["DELETE", () => provider.delete({ id: "a", expected: {}, signal })],
    ["MKCOL", () => provider.createFolder({ parent: "", name: "b", signal })],
  ] as const) {
    proxy.answerNext((request) => request.method === method, 401);
    expect((await act()).kind, method).toBe("reauth");
    expect(requests().at(-1)).toBe(method);
  }
});

test("deleting: a lost response is followed by a lookup, and a new item is kept", async () => {
  const { provider, proxy, put, store, names } = await start();
  put("a");
  proxy.faults.loseNextAnswer();
  expect(await provider.delete({ id: "a", expected: {}, signal })).toEqual({
    kind: "ok",
    how: "permanent",
  });
  const node = put("b", "old");
  proxy.after(
    ({ method }) => method === "PROPFIND",
    async () => store.write(node, Buffer.from("new")),
  );
  expect((await provider.delete({ id: "b", expected: {}, signal })).kind).toBe("stale");
  expect(names()).toEqual(["b"]);
});

test("connecting leaves no files, and tests the declared capabilities of a server", async () => {
  const good = await start();
  expect(good.probeResult).toMatchObject({
    etag: "fine",
    if_match: true,
    range: true,
    dot_names: true,
  });
  expect(good.names()).toEqual([]);
  const bad = await start({
    ignoresConditions: true,
    tags: "none",
    wantsPathDestination: true,
    mixesSpellings: true,
  });
  expect(bad.probeResult).toMatchObject({
    etag: "none",
    if_match: false,
    path_destination: true,
    case_sensitive: false,
    normalisation_sensitive: false,
  });
  expect(bad.names()).toEqual([]);
});

test("a name that the server answers 400 for is refused, and the storage is not offline for it", async () => {
  const { provider, put } = await start({ refusesBackslashes: true });
  put("a.txt");
  put("b\\c.txt");
  const refused = { kind: "invalid_name", rule: "refused_by_provider", note: "400" };
  const id = "b\\c.txt";
  expect(await provider.stat({ id, signal })).toEqual(refused);
  expect(await provider.read({ id, signal })).toEqual(refused);
  expect(await provider.list({ folder: id, signal })).toEqual(refused);
  expect(await provider.delete({ id, expected: {}, signal })).toEqual(refused);
  expect(await provider.rename({ id: "a.txt", name: "x\\y", expected: {}, signal })).toEqual(
    refused,
  );
  expect(await provider.createFolder({ parent: "", name: "x\\y", signal })).toEqual(refused);
  const content = Readable.from([Buffer.from("x")]);
  const upload = { parent: "", name: "x\\y", content, size: 1, contentType: undefined, signal };
  expect(await provider.upload(upload)).toEqual(refused);
});
