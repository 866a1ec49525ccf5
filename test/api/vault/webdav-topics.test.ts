import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type DavAccount, startDavAccount } from "../../support/vault/dav-account.ts";

let account: DavAccount;
let dav: DavAccount["dav"];
beforeAll(async () => {
  account = await startDavAccount();
  ({ dav } = account);
});
afterAll(() => account.stop());

const LOCK = `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>`;

async function lock(href: string, depth = "infinity"): Promise<string> {
  const locked = await dav("LOCK", href, { body: LOCK, headers: { Depth: depth } });
  expect([200, 201]).toContain(locked.status);
  return locked.headers.get("lock-token") ?? "";
}

const unlock = (href: string, token: string) =>
  dav("UNLOCK", href, { headers: { "Lock-Token": token } });
const put = async (href: string, token?: string) => {
  const headers =
    token === undefined ? {} : { If: `<${account.daemon.url}/dav/${href}> (${token})` };
  return (await dav("PUT", href, { body: crypto.randomUUID(), headers })).status;
};
const transfer = async (method: string, from: string, to: string) =>
  (await dav(method, from, { headers: { Destination: `/dav/${to}` } })).status;

async function documentsOf(query = ""): Promise<Record<string, string[]>> {
  const { json } = await account.person.request(`/api/documents${query}`);
  return Object.fromEntries(
    json.items
      .map(({ filename, topics }: { filename: string; topics: string[] }) => [filename, topics])
      .toSorted(),
  );
}

/** Gives a document one more topic. */
async function addTopic(href: string, name: string): Promise<void> {
  const file = href.split("/").at(-1) ?? "";
  expect(await transfer("MOVE", `documents/all/${file}`, `documents/topics/${name}/${file}`)).toBe(
    201,
  );
}

beforeEach(async () => {
  for (const name of ["New", "Old", "Third"]) {
    await dav("DELETE", `documents/topics/${name}`);
    await dav("MKCOL", `documents/topics/${name}`);
  }
  const { json } = await account.person.request("/api/documents");
  for (const { id } of json.items)
    await account.person.request(`/api/documents/${id}`, { method: "DELETE" });
  await account.person.request("/api/documents/trash", { method: "DELETE" });
});

describe("a topic that takes the place of another one", () => {
  beforeEach(async () => {
    await put("documents/topics/New/new.txt");
    await put("documents/topics/New/both.txt");
    await put("documents/topics/Old/old.txt");
    await put("documents/topics/Old/third.txt");
    await addTopic("both.txt", "Old");
    await addTopic("third.txt", "Third");
  });
  const trashed = async () =>
    (await account.person.request("/api/documents/trash")).json.items.map(
      ({ filename }: { filename: string }) => filename,
    );

  test("keeps by a MOVE the documents that have both, or a third one", async () => {
    expect(await transfer("MOVE", "documents/topics/New", "documents/topics/Old")).toBe(204);
    expect(await documentsOf()).toEqual({
      "both.txt": ["Old"],
      "new.txt": ["Old"],
      "third.txt": ["Third"],
    });
    expect(await trashed()).toEqual(["old.txt"]);
  });

  test("keeps by a COPY the documents that have both, or a third one", async () => {
    expect(await transfer("COPY", "documents/topics/New", "documents/topics/Old")).toBe(204);
    expect(await documentsOf("?topic=New")).toEqual({ "both.txt": ["New"], "new.txt": ["New"] });
    expect(await documentsOf("?topic=Old")).toEqual({ "both.txt": ["Old"], "new.txt": ["Old"] });
    expect(await documentsOf("?topic=Third")).toEqual({ "third.txt": ["Third"] });
    expect(await trashed()).toEqual(["old.txt"]);
  });

  test("is gone after a MOVE into a connection, which has its documents", async () => {
    expect(await transfer("MOVE", "documents/topics/New", "Files/New")).toBe(201);
    expect((await readdir(join(account.folder, "New"))).toSorted()).toEqual([
      "both.txt",
      "new.txt",
    ]);
    expect((await dav("GET", "documents/topics/New")).status).toBe(404);
  });
});

describe("the names of topics", () => {
  test("have at most 100 characters, made by MKCOL or MOVE", async () => {
    const long = "n".repeat(101);
    expect((await dav("MKCOL", `documents/topics/${long}`)).status).toBe(403);
    expect(await transfer("MOVE", "documents/topics/New", `documents/topics/${long}`)).toBe(403);
    expect(await transfer("COPY", "documents/topics/New", `documents/topics/${long}`)).toBe(403);
    expect((await dav("GET", "documents/topics/New")).status).toBe(405);
    const longest = "n".repeat(100);
    expect((await dav("MKCOL", `documents/topics/${longest}`)).status).toBe(201);
    // The topic that is replaced has another name meanwhile, which has no more characters.
    await put(`documents/topics/${longest}/old.txt`);
    await put("documents/topics/New/new.txt");
    expect(await transfer("MOVE", "documents/topics/New", `documents/topics/${longest}`)).toBe(204);
    expect(await documentsOf()).toEqual({ "new.txt": [longest] });
    expect((await dav("DELETE", `documents/topics/${longest}`)).status).toBe(204);
  });
});

test("a document that is moved into two topics at once has both, and a rename keeps a topic that it gets meanwhile", async () => {
  await put("documents/all/many.txt");
  const intoTopics = ["New", "Old", "Third"].map((name) =>
    transfer("MOVE", "documents/all/many.txt", `documents/topics/${name}/many.txt`),
  );
  expect(await Promise.all(intoTopics)).toEqual([201, 201, 201]);
  expect(await documentsOf()).toEqual({ "many.txt": ["New", "Old", "Third"] });
  expect(
    await transfer("MOVE", "documents/topics/New/many.txt", "documents/topics/New/renamed.txt"),
  ).toBe(201);
  expect(await documentsOf()).toEqual({ "renamed.txt": ["New", "Old", "Third"] });
  expect(await transfer("MOVE", "documents/topics/New/renamed.txt", "documents/all/last.txt")).toBe(
    201,
  );
  expect(await documentsOf()).toEqual({ "last.txt": ["Old", "Third"] });
});

describe("a lock of a document", () => {
  test("holds at every path where the document is, and its token too", async () => {
    await put("documents/topics/New/held.txt");
    await addTopic("held.txt", "Old");
    const token = await lock("documents/topics/New/held.txt");
    for (const folder of ["all", "topics/Old", "topics/New"]) {
      const href = `documents/${folder}/held.txt`;
      expect([folder, await put(href)]).toEqual([folder, 423]);
      expect([folder, (await dav("DELETE", href)).status]).toEqual([folder, 423]);
      expect([folder, await transfer("MOVE", href, "documents/all/other.txt")]).toEqual([
        folder,
        423,
      ]);
      expect([folder, (await dav("LOCK", href, { body: LOCK })).status]).toEqual([folder, 423]);
      expect([folder, await put(href, token)]).toEqual([folder, 204]);
      const listed = await dav("PROPFIND", href, { headers: { Depth: "0" } });
      expect(listed.text).toContain("<D:lockroot><D:href>/dav/documents/topics/New/held.txt<");
    }
    expect((await dav("DELETE", "documents/topics/Old")).status).toBe(423);
    expect((await unlock("documents/all/held.txt", token)).status).toBe(204);
    expect(await put("documents/topics/Old/held.txt")).toBe(204);
  });

  test("that creates the document holds at its other paths, and ends with the document", async () => {
    const token = await lock("documents/topics/New/fresh.txt");
    expect(await put("documents/all/fresh.txt")).toBe(423);
    const If = `</dav/documents/all/fresh.txt> (${token})`;
    expect((await dav("DELETE", "documents/all/fresh.txt", { headers: { If } })).status).toBe(204);
    expect(await put("documents/topics/New/fresh.txt")).toBe(201);
  });

  test("of a folder of a topic covers its documents in all, and what other topics share with it", async () => {
    await put("documents/topics/New/in.txt");
    await addTopic("in.txt", "Old");
    await put("documents/all/out.txt");
    const token = await lock("documents/topics/New");
    expect(await put("documents/all/in.txt")).toBe(423);
    expect(await put("documents/topics/Old/in.txt")).toBe(423);
    expect((await dav("DELETE", "documents/topics/Old")).status).toBe(423);
    expect(await put("documents/all/out.txt")).toBe(204);
    expect(await put("documents/topics/Third/free.txt")).toBe(201);
    await unlock("documents/topics/New", token);
    const all = await lock("documents/all", "0");
    expect(await put("documents/topics/Third/more.txt")).toBe(423);
    expect(await put("documents/all/out.txt")).toBe(204);
    await unlock("documents/all", all);
  });

  test("holds for the file of a connected storage that has its bytes", async () => {
    const { person } = account;
    const choose = (backend: string) =>
      person.request("/api/auth/me/default-storage", { method: "PATCH", json: { backend } });
    expect((await choose("local_folder")).status).toBe(200);
    await put("documents/topics/New/stored.txt");
    await choose("internal");
    const [name = ""] = await readdir(join(account.folder, "croft"));
    const href = `Files/croft/${encodeURIComponent(name)}`;
    const token = await lock("documents/topics/New/stored.txt");
    expect(await put(href)).toBe(423);
    expect((await dav("DELETE", "Files/croft")).status).toBe(423);
    expect(await put(href, token)).toBe(204);
    await unlock(href, token);
    const deep = await lock("Files/croft");
    expect(await put("documents/all/stored.txt")).toBe(423);
    await unlock("Files/croft", deep);
    const own = await lock(href);
    expect(await put("documents/all/stored.txt")).toBe(423);
    await unlock(href, own);
    for (const method of ["MOVE", "COPY"]) {
      expect(await transfer(method, href, "documents/all/stored.txt")).toBe(403);
      expect(await transfer(method, "documents/all/stored.txt", href)).toBe(403);
    }
    expect(await readdir(join(account.folder, "croft"))).toEqual([name]);
  });
});
