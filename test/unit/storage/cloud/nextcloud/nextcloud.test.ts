import { Readable } from "node:stream";
import { Agent } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { createNextcloudType } from "../../../../../storage/cloud/nextcloud/provider.ts";
import type { ProbeResult } from "../../../../../storage/cloud/provider.ts";
import { startDavStandIn } from "../../../../stand-ins/dav-server.ts";
import { startNextcloud, type NextcloudOptions } from "../../../../stand-ins/nextcloud-server.ts";
import { startFaultProxy, type ProxiedRequest } from "../../../../support/cloud/fault-proxy.ts";
import { testProviderDeps } from "../../../../support/cloud/vault-cloud.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const signal = new AbortController().signal;
const anna = { username: "anna@example.org", password: "app-password", userId: "anna 1" };
const nextcloud = createNextcloudType(100);

async function connect(
  url: string,
  more: {
    readonly probeResult?: ProbeResult;
    readonly root?: string;
    readonly password?: string;
  } = {},
  type = nextcloud,
) {
  const agent = new Agent();
  closers.push(async () => agent.destroy());
  return type.connect(
    {
      connectionId: "c",
      settings: { url, username: anna.username, root: more.root ?? "" },
      credentials: { password: more.password ?? anna.password },
      probeResult: more.probeResult,
      saveCredentials: async () => undefined,
      signal,
    },
    // Sleeps are short, but let the server proceed.
    {
      ...testProviderDeps("/", Date.now),
      newId: () => crypto.randomUUID(),
      sleep: (ms) => new Promise((done) => setTimeout(done, Math.min(ms, 30))),
      guarded: agent,
    },
  );
}

async function start(options: Partial<NextcloudOptions> = {}, type = nextcloud) {
  const server = await startNextcloud({ ...anna, ...options });
  const proxy = await startFaultProxy({ target: server.origin });
  closers.push(
    async () => server[Symbol.asyncDispose](),
    async () => proxy[Symbol.asyncDispose](),
  );
  const outcome = await connect(proxy.origin + (options.base ?? ""), {}, type);
  if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
  const { provider, probeResult } = outcome;
  const { store } = server.dav;
  return {
    server,
    proxy,
    provider,
    probeResult,
    names: () => [...server.files.children.values()].map(({ name }) => name),
    pieces: () => server.uploads.children.size,
    put: (name: string, text = "x") => store.add(server.files, name, "file", Buffer.from(text)),
    upload: (name: string, size: number) =>
      provider.upload({
        parent: "",
        name,
        content: Readable.from([Buffer.alloc(size, "x")], { objectMode: false }),
        size,
        contentType: undefined,
        signal,
      }),
  };
}

describe("replacing", () => {
  test.each([
    ["one request", 4],
    ["pieces", 1_100_000],
  ])("bytes of one size in the same second get a new etag, by %s", async (_way, size) => {
    const { provider, server } = await start({}, createNextcloudType(500_000));
    const made = server.dav.store.add(server.files, "a.txt", "file", Buffer.alloc(size, "a"));
    made.modifiedAt = Date.now();
    const first = await provider.stat({ id: "a.txt", signal });
    if (first.kind !== "ok") throw new Error(JSON.stringify(first));
    const replace = (letter: string) =>
      provider.replace?.({
        id: "a.txt",
        expected: { etag: first.item.etag },
        content: Readable.from([Buffer.alloc(size, letter)], { objectMode: false }),
        size,
        contentType: undefined,
        signal,
      });
    expect((await replace("b"))?.kind).toBe("ok");
    expect((await replace("c"))?.kind).toBe("stale");
    expect(made.bytes.equals(Buffer.alloc(size, "b"))).toBe(true);
  });
});

describe("connecting", () => {
  test("determines the user and the capabilities of the server", async () => {
    const { probeResult, provider, proxy } = await start();
    expect(probeResult).toMatchObject({
      product: "nextcloud",
      server_version: "31.0.5",
      user: "anna 1",
      trash: true,
      chunks: true,
    });
    expect((await provider.list({ folder: "", signal })).kind).toBe("ok");
    expect(proxy.log).toContain("PROPFIND /remote.php/dav/files/anna%201/");
  });

  test("reports that the server stores other bytes than were sent, and keeps them", async () => {
    const { server, upload, names } = await start();
    server.dav.alterUploads(true);
    const unknown = { kind: "unknown_outcome", note: "other_bytes" };
    expect(await upload("a.bin", 50)).toEqual(unknown);
    expect(names()).toEqual(["a.bin"]);
  });

  test("connecting does not show a password again that is refused in the middle of an upload", async () => {
    for (const isIt of [
      ({ method, path }: ProxiedRequest) => method === "PUT" && path.endsWith("/00002"),
      ({ method }: ProxiedRequest) => method === "MOVE",
    ]) {
      const { proxy, upload } = await start();
      proxy.answerNext(isIt, 401);
      expect((await upload("big", 250)).kind).toBe("reauth");
      const [method = "", path = ""] = proxy.log.at(-1)?.split(" ") ?? [];
      expect(isIt({ method, path, headers: {} }), proxy.log.at(-1)).toBe(true);
    }
  });

  test("takes addresses of pages and WebDAV folders for the server's", async () => {
    const { proxy } = await start({ base: "/cloud" });
    for (const path of [
      "/cloud",
      "/cloud/",
      "/cloud/index.php/apps/files/",
      "/cloud/remote.php/dav/files/anna%201/",
      "/cloud/remote.php/webdav",
    ])
      expect((await connect(proxy.origin + path)).kind).toBe("ok");
  });

  test("connecting with a probe result sends no request", async () => {
    const { proxy, probeResult } = await start();
    const before = proxy.log.length;
    expect((await connect(proxy.origin, { probeResult })).kind).toBe("ok");
    expect(proxy.log.length).toBe(before);
  });

  test("reports the cause of a failure", async () => {
    const { proxy, server } = await start();
    expect(await connect(proxy.origin, { password: "wrong" })).toMatchObject({ kind: "reauth" });
    expect(await connect(proxy.origin, { root: "missing" })).toMatchObject({
      kind: "invalid_setting",
      setting: "root",
      reason: "folder_missing",
    });
    expect(await connect(proxy.origin, { root: "a/../.." })).toMatchObject({ setting: "root" });
    server.setMaintenance(true);
    expect(await connect(proxy.origin)).toEqual({
      kind: "offline",
      sent: true,
      note: "maintenance",
    });
    const other = await startDavStandIn({ ...anna });
    closers.push(async () => other[Symbol.asyncDispose]());
    expect(await connect(other.origin)).toEqual({
      kind: "invalid_setting",
      setting: "url",
      reason: "not_nextcloud",
    });
  });

  test("a wrong password is tried once: servers slow down those who guess", async () => {
    const { proxy } = await start();
    const before = proxy.log.length;
    await connect(proxy.origin, { password: "wrong" });
    expect(proxy.log.slice(before)).toEqual(["GET /status.php", "GET /ocs/v2.php/cloud/user"]);
  });
});

test("maintenance is offline for every call, and no empty folder", async () => {
  const { provider, server, put, upload } = await start();
  put("there");
  server.setMaintenance(true);
  const call = { id: "there", expected: {}, signal };
  for (const size of [1, 250]) expect((await upload("new", size)).kind).toBe("offline");
  expect((await provider.rename({ ...call, name: "b" })).kind).toBe("offline");
  expect((await provider.delete(call)).kind).toBe("offline");
  expect((await provider.list({ folder: "", signal })).kind).toBe("offline");
  expect((await provider.createFolder({ parent: "", name: "a", signal })).kind).toBe("offline");
});

describe("a lost answer on a server that keeps no times", () => {
  test.each([50, 250])(
    "a lost answer on a server that keeps no times is not a conflict with the own file (%i bytes)",
    async (size) => {
      const { proxy, upload, names } = await start({ keepsTimes: false, clock: () => 1e12 });
      proxy.loseNext(
        ({ method, path }) =>
          path.endsWith(size === 50 ? "/a.bin" : "/.file") &&
          (method === "PUT" || method === "MOVE"),
      );
      expect(await upload("a.bin", size)).toMatchObject({ kind: "ok", item: { size } });
      expect(names()).toEqual(["a.bin"]);
    },
  );

  test("a lost answer on a server that keeps no times is a conflict with another's file of the same size", async () => {
    const { proxy, put, upload } = await start({ keepsTimes: false, clock: () => 1e12 });
    put("a.bin", "y".repeat(50));
    proxy.answerNext(({ method }) => method === "PUT", 502);
    expect((await upload("a.bin", 50)).kind).toBe("conflict");
  });
});

describe("a name", () => {
  test.each([".htaccess", ".HTACCESS", "a.part", "a.FilePart", "con", "Con.txt", "a\\b"])(
    "that the server announces as forbidden is refused without a request: %s",
    async (name) => {
      const { proxy, provider, upload } = await start();
      const before = proxy.log.length;
      expect((await upload(name, 1)).kind).toBe("invalid_name");
      const made = await provider.createFolder({ parent: "", name, signal });
      expect(made.kind).toBe("invalid_name");
      expect(proxy.log).toHaveLength(before);
    },
  );

  test.each(["apart", "part", "icon.txt", "con2", "htaccess"])(
    "that resembles a forbidden one is taken: %s",
    async (name) => {
      const { upload } = await start();
      expect((await upload(name, 1)).kind).toBe("ok");
    },
  );

  test("that the server refuses in every request is invalid", async () => {
    const { upload } = await start();
    expect(await upload("web.config", 1)).toMatchObject({
      kind: "invalid_name",
      rule: "refused_by_provider",
    });
  });

  test("that another upload is writing is a conflict, and a locked one that stays free is locked", async () => {
    const { proxy, put, upload } = await start();
    const isUpload = (name: string) => (request: ProxiedRequest) =>
      request.method === "PUT" && request.path.endsWith(`/${name}`);
    proxy.answerNext((request) => isUpload("wanted")(request) && put("wanted") !== undefined, 423);
    expect((await upload("wanted", 1)).kind).toBe("conflict");
    proxy.answerNext(isUpload("locked"), 423);
    expect((await upload("locked", 1)).kind).toBe("locked");
  });
});

describe("an upload in pieces", () => {
  test("a retried assembly that has already succeeded does not conflict with itself", async () => {
    const { server, proxy, put, upload, names } = await start();
    proxy.answerNext(({ method }) => method === "MOVE", 504);
    let looks = 0;
    const isLastLook = ({ method, path }: ProxiedRequest) =>
      method === "PROPFIND" && path.includes("/uploads/") && ++looks === 10;
    proxy.after(isLastLook, async () => {
      put("big", "x".repeat(250));
      server.uploads.children.clear();
    });
    expect(await upload("big", 250)).toMatchObject({ kind: "ok", item: { size: 250 } });
    expect(proxy.log.filter((line) => line.startsWith("MOVE"))).toHaveLength(2);
    expect(names()).toEqual(["big"]);
  });

  test("an upload in pieces sends numbered pieces with their destination", async () => {
    const { proxy, upload, names, pieces } = await start();
    const before = proxy.log.length;
    expect(await upload("b g.bin", 250)).toMatchObject({ kind: "ok", item: { size: 250 } });
    const sent = proxy.log
      .slice(before)
      .filter((line) => !line.startsWith("PROPFIND"))
      .map((line) => line.replace(/croft-home-[0-9a-f-]+\.tmp/, "ID"));
    const folder = "/remote.php/dav/uploads/anna%201/ID";
    expect(sent).toEqual([
      `MKCOL ${folder}/`,
      `PUT ${folder}/00001`,
      `PUT ${folder}/00002`,
      `PUT ${folder}/00003`,
      `MOVE ${folder}/.file`,
    ]);
    expect([names(), pieces()]).toEqual([["b g.bin"], 0]);
  });

  test.each([1, 2])(
    "an upload in pieces that takes longer than the line lasts is waited for (%i)",
    async (refusals) => {
      const { server, upload, names, pieces } = await start();
      server.assembleSlowly(refusals);
      expect(await upload("big", 250)).toMatchObject({ kind: "ok", item: { size: 250 } });
      expect([names(), pieces()]).toEqual([["big"], 0]);
    },
  );

  test("sends a piece again when the line broke", async () => {
    const { proxy, upload, names } = await start();
    proxy.resetNext(({ path }) => path.endsWith("/00002"));
    expect((await upload("big", 250)).kind).toBe("ok");
    proxy.loseNext(({ path }) => path.endsWith("/.file"));
    expect((await upload("bigger", 350)).kind).toBe("ok");
    expect(names()).toEqual(["big", "bigger"]);
  });

  test("onto a name that was taken meanwhile is a conflict, and the pieces go", async () => {
    const { proxy, put, upload, pieces } = await start();
    proxy.after(
      ({ path }) => path.endsWith("/00003"),
      async () => void put("big", "another's"),
    );
    expect((await upload("big", 250)).kind).toBe("conflict");
    expect(pieces()).toBe(0);
  });

  test("an upload in pieces of a source that breaks its word ends without a trace", async () => {
    const { provider, names, pieces } = await start();
    const uploading = provider.upload({
      parent: "",
      name: "big",
      content: Readable.from([Buffer.alloc(150)], { objectMode: false }),
      size: 250,
      contentType: undefined,
      signal,
    });
    await expect(uploading).rejects.toThrow("shorter than declared");
    expect([names(), pieces()]).toEqual([[], 0]);
  });
});

describe("pieces of an upload that was cut", () => {
  const idOf = (at: number) => `00000000-0000-4000-8000-00000000000${at}`;

  test.each(["listing", "start"])(
    "pieces of an upload that was cut are removed by the first %s, those of other daemons stay",
    async (way) => {
      const { server, provider } = await start();
      const { store } = server.dav;
      const [own, other, foreign] = [
        `croft-home-${idOf(1)}.tmp`,
        `croft-away-${idOf(2)}.tmp`,
        "web",
      ];
      for (const name of [own, other, foreign]) {
        const folder = store.add(server.uploads, name, "folder");
        store.add(folder, "00001", "file", Buffer.from("x"));
      }
      if (way === "listing") await provider.list({ folder: "", signal });
      else await provider.recover?.({ signal });
      expect([...server.uploads.children.keys()].length).toBe(2);
      expect([...server.uploads.children.values()].map(({ name }) => name).toSorted()).toEqual([
        other,
        foreign,
      ]);
    },
  );

  test("pieces of an upload that was cut are removed by the next listing when the server was away at their end", async () => {
    const { provider, proxy, upload, pieces } = await start();
    await provider.list({ folder: "", signal });
    proxy.answerNext(({ path }) => path.endsWith("/00002"), 403);
    proxy.resetNext(({ method }) => method === "DELETE");
    expect((await upload("big", 250)).kind).toBe("forbidden");
    expect(pieces()).toBe(1);
    await provider.list({ folder: "", signal });
    expect(pieces()).toBe(0);
    const before = proxy.log.length;
    await provider.list({ folder: "", signal });
    expect(proxy.log.slice(before)).toEqual(["PROPFIND /remote.php/dav/files/anna%201/"]);
  });

  test("stay while the upload is under way", async () => {
    const { provider, proxy, upload, names } = await start();
    proxy.after(
      ({ path }) => path.endsWith("/00002"),
      async () => void (await provider.list({ folder: "", signal })),
    );
    expect((await upload("big", 250)).kind).toBe("ok");
    expect(names()).toEqual(["big"]);
  });
});

test("sends no request for an operation that the permission letters forbid", async () => {
  const { server, provider, proxy, put, names } = await start();
  server.permit(put("shared"), "SRG");
  const before = proxy.log.length;
  const expected = {};
  expect((await provider.rename({ id: "shared", name: "b", expected, signal })).kind).toBe(
    "forbidden",
  );
  expect((await provider.delete({ id: "shared", expected, signal })).kind).toBe("forbidden");
  expect(names()).toEqual(["shared"]);
  expect(proxy.log.slice(before).every((line) => line.startsWith("PROPFIND"))).toBe(true);
});

test("an item of the same name that is another one is stale, folders included", async () => {
  const { server, provider } = await start();
  const { store } = server.dav;
  const first = store.add(server.files, "folder", "folder");
  const seen = await provider.stat({ id: "folder", signal });
  if (seen.kind !== "ok") throw new Error(seen.kind);
  store.detach(first);
  const second = store.add(server.files, "folder", "folder");
  const expected = { etag: seen.item.etag, kind: "folder" } as const;
  expect((await provider.delete({ id: "folder", expected, signal })).kind).toBe("stale");
  // A change below a folder does not change its version.
  const again = await provider.stat({ id: "folder", signal });
  store.add(second, "child", "file");
  const etag = again.kind === "ok" ? again.item.etag : undefined;
  expect(
    (await provider.rename({ id: "folder", name: "b", expected: { etag }, signal })).kind,
  ).toBe("ok");
});

test("names that the server refuses are refused before any request", async () => {
  const { provider, proxy } = await start();
  const before = proxy.log.length;
  for (const [name, rule] of [
    ["back\\slash", "forbidden_character"],
    ["x".repeat(251), "too_long"],
    ["..", "dot_name"],
    [".htaccess", "forbidden_name"],
  ])
    expect(await provider.createFolder({ parent: "", name: name ?? "", signal })).toEqual({
      kind: "invalid_name",
      rule,
    });
  expect(proxy.log.length).toBe(before);
  expect(await provider.createFolder({ parent: "", name: "web.config", signal })).toMatchObject({
    kind: "invalid_name",
    rule: "refused_by_provider",
  });
});

test("a deleted item of a mounted storage is reported as trashed only when it is in the trash", async () => {
  const { server, provider, put } = await start({ skipsTrash: true });
  server.permit(put("mounted"), "SRMGDNVW");
  expect(await provider.delete({ id: "mounted", expected: {}, signal })).toEqual({
    kind: "ok",
    how: "trashed",
  });
  expect(server.trash.children.size).toBe(1);
});
