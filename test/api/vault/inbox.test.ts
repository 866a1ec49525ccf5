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
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
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

describe("an inbox", () => {
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
