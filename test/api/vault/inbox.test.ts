import {
  access,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { withOneDaemon } from "../../support/skip.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let mira: VaultPerson;
let noah: VaultPerson;
let inbox: string;
let token: string;
let now = Date.now();

beforeAll(async () => {
  daemon = await startTestDaemon({
    clock: () => now,
    env: { CROFT_INBOX: "on", CROFT_RATE_LIMITS: "off" },
  });
  mira = createPerson(daemon, "mira", "192.0.2.1");
  noah = createPerson(daemon, "noah", "192.0.2.2");
  for (const person of [mira, noah]) {
    await person.register();
    await person.signIn();
  }
  token = daemon.first?.forge?.token ?? "";
  inbox = join(daemon.home, "inbox", "mira");
  await look();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Runs the scheduled task, which looks at the folders. */
async function look(): Promise<void> {
  const ran = await daemon.request("/api/v1/admin/cron/take_in_inboxes", { method: "POST", token });
  expect(ran.status).toBe(204);
}

/** Looks twice, between which files settle. */
async function settle(): Promise<void> {
  await look();
  now += 6_000;
  await look();
}

const documentsOf = async (person: VaultPerson): Promise<string[]> => {
  const { json } = await person.request("/api/documents?sort=name&per_page=100");
  return json.items.map(({ filename }: { filename: string }) => filename);
};

withOneDaemon.describe("an inbox", () => {
  test("makes documents of files that have settled, and deletes them in the folder", async () => {
    await writeFile(join(inbox, "letter.txt"), "one");
    await look();
    expect(await documentsOf(mira)).toEqual([]);
    await writeFile(join(inbox, "letter.txt"), "one two");
    now += 6_000;
    await look();
    expect(await documentsOf(mira)).toEqual([]);
    now += 6_000;
    await look();
    expect(await documentsOf(mira)).toEqual(["letter.txt"]);
    expect(await readdir(inbox)).toEqual([]);
    const { items } = (await mira.request("/api/documents")).json;
    const content = await mira.request(`/api/documents/${items[0].id}/content`);
    expect(content.text).toBe("one two");
    expect(["pending", "processing", "ready"]).toContain(items[0].status);
    await mira.request(`/api/documents/${items[0].id}?permanent=true`, { method: "DELETE" });
  });

  test("leaves unfinished files, links, files with a second name, folders and what lies in them", async () => {
    const outside = await mkdtemp(join(tmpdir(), "croft-outside-"));
    await writeFile(join(outside, "secret.txt"), "secret");
    const names = [
      ".hidden",
      "~$a.docx",
      "a.part",
      "b.crdownload",
      "c~",
      "Thumbs.db",
      "x.error.txt",
    ];
    for (const name of names) await writeFile(join(inbox, name), "x");
    await symlink(join(outside, "secret.txt"), join(inbox, "link.txt"));
    await symlink(outside, join(inbox, "folder-link"));
    await link(join(outside, "secret.txt"), join(inbox, "second-name.txt"));
    await mkdir(join(inbox, "sub"));
    await writeFile(join(inbox, "sub", "deep.txt"), "x");
    const before = (await readdir(inbox)).toSorted();
    await settle();
    expect(await documentsOf(mira)).toEqual([]);
    expect((await readdir(inbox)).toSorted()).toEqual(before);
    for (const name of before) await rm(join(inbox, name), { recursive: true });
    await rm(outside, { recursive: true });
  });

  test("writes the reason beside a file that it refuses, and tries again once that is deleted or the file has changed", async () => {
    await writeFile(join(inbox, "a\\b.txt"), "x");
    const big = join(inbox, "big.bin");
    await writeFile(big, Buffer.alloc(101 * 1024 * 1024));
    await settle();
    expect(await readFile(`${big}.error.txt`, "utf8")).toBe("Storage quota exceeded\n");
    expect(await readFile(join(inbox, "a\\b.txt.error.txt"), "utf8")).toContain("name");
    await access(big);
    await writeFile(big, "small now");
    const later = new Date(Date.now() + 5_000);
    await utimes(big, later, later);
    await settle();
    expect(await documentsOf(mira)).toEqual(["big.bin"]);
    expect((await readdir(inbox)).toSorted()).toEqual(["a\\b.txt", "a\\b.txt.error.txt"]);
    await rm(join(inbox, "a\\b.txt"));
    await rm(join(inbox, "a\\b.txt.error.txt"));
  });

  test("writes no reason through a link", async () => {
    const target = join(daemon.home, "target.txt");
    await writeFile(target, "untouched");
    await writeFile(join(inbox, "c\\d.txt"), "x");
    await symlink(target, join(inbox, "c\\d.txt.error.txt"));
    // The link counts as a reason until the file is newer.
    const later = new Date(Date.now() + 60_000);
    await utimes(join(inbox, "c\\d.txt"), later, later);
    await settle();
    expect(await readFile(target, "utf8")).toBe("untouched");
    for (const name of await readdir(inbox)) await rm(join(inbox, name));
  });

  test("shows its owner the files that wait and why others were refused, and tries them again on request", async () => {
    await mkdir(join(daemon.home, "inbox", "mira"), { recursive: true });
    await look();
    await writeFile(join(inbox, "e\\f.txt"), "x");
    await settle();
    await writeFile(join(inbox, "new.txt"), "new");
    const state = await mira.request("/api/inbox");
    expect(state).toMatchObject({
      status: 200,
      json: {
        is_enabled: true,
        folder: "inbox/mira",
        problem: null,
        files: [
          { name: "e\\f.txt", status: "refused", reason: expect.stringContaining("name") },
          { name: "new.txt", status: "waiting", reason: null, size_bytes: 3 },
        ],
      },
    });
    expect((await noah.request("/api/inbox")).json.files).toEqual([]);
    expect((await daemon.request("/api/inbox")).status).toBe(401);

    const retry = (json: object, person = mira) =>
      person.request("/api/inbox/retry", { method: "POST", json });
    expect(await retry({ name: "new.txt" })).toMatchObject({ status: 404 });
    expect(await retry({ name: "../mira/e\\f.txt" })).toMatchObject({ status: 404 });
    expect(await retry({}, noah)).toMatchObject({ status: 200, json: { retried: 0 } });
    expect(await retry({ name: "e\\f.txt" })).toMatchObject({ status: 200, json: { retried: 1 } });
    expect(await readdir(inbox)).not.toContain("e\\f.txt.error.txt");

    // A program that may write into the folder must not read the daemon's files by it.
    const secret = join(daemon.home, "secret.txt");
    await writeFile(secret, "the daemon's own");
    for (const make of [symlink, link]) {
      await make(secret, join(inbox, "e\\f.txt.error.txt"));
      const { text } = await mira.request("/api/inbox");
      expect(text).toContain('"refused"');
      expect(text).not.toContain("daemon's own");
      await rm(join(inbox, "e\\f.txt.error.txt"));
    }
    for (const name of await readdir(inbox)) await rm(join(inbox, name));
  });

  test("takes a file of each account, and not those of a deactivated one or of a name without an account", async () => {
    await mkdir(join(daemon.home, "inbox", "stranger"));
    await look();
    for (const handle of ["mira", "noah", "stranger"])
      await writeFile(join(daemon.home, "inbox", handle, `${handle}.txt`), handle);
    await settle();
    expect(await documentsOf(mira)).toContain("mira.txt");
    expect(await documentsOf(noah)).toEqual(["noah.txt"]);
    expect(await readdir(join(daemon.home, "inbox", "stranger"))).toEqual(["stranger.txt"]);
  });

  test("does not use a folder that is a link", async () => {
    const ivo = createPerson(daemon, "ivo", "192.0.2.3");
    const outside = await mkdtemp(join(tmpdir(), "croft-outside-"));
    await writeFile(join(outside, "secret.txt"), "secret");
    await symlink(outside, join(daemon.home, "inbox", "ivo"));
    await ivo.register();
    await ivo.signIn();
    await settle();
    expect(await documentsOf(ivo)).toEqual([]);
    expect(await readdir(outside)).toEqual(["secret.txt"]);
    expect(daemon.log.some(({ message }) => message === "inbox folder is not used")).toBe(true);
    await rm(outside, { recursive: true });
  });
});

test("an inbox that is off says so to its owner", async () => {
  await using off = await startTestDaemon();
  const ida = createPerson(off, "ida", "192.0.2.9");
  await ida.register();
  await ida.signIn();
  expect(await ida.request("/api/inbox")).toMatchObject({
    status: 200,
    json: { is_enabled: false, problem: expect.stringContaining("CROFT_INBOX=on"), files: [] },
  });
  expect(await ida.request("/api/inbox/retry", { method: "POST", json: {} })).toMatchObject({
    status: 409,
  });
});
