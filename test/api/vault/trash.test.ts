import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectFolder, startFolderDaemon } from "../../support/vault/local-folders.ts";
import type { VaultPerson } from "../../support/vault/vault-person.ts";

let files: string;
let mira: VaultPerson;
let noah: VaultPerson;
let stop: () => Promise<void>;
let folders = 0;

beforeAll(async () => {
  ({ files, mira, noah, stop } = await startFolderDaemon());
});
afterAll(() => stop());

/** A connection to a folder that holds `docs/a.txt` and `docs/b.txt`, both listed. */
async function connect(): Promise<{ readonly base: string; readonly folder: string }> {
  const { base, folder } = await connectFolder({ files }, mira, `folder ${++folders}`);
  await mkdir(join(folder, "docs"));
  for (const file of ["a", "b"]) await writeFile(join(folder, "docs", `${file}.txt`), file);
  for (const parent of ["", "docs"])
    expect((await mira.request(`${base}/items?parent_ref=${parent}`)).status).toBe(200);
  return { base, folder };
}

const remove = (base: string, id: string) =>
  mira.request(`${base}/items/${id}`, { method: "DELETE" });
const restore = (base: string, trashId: string, person = mira) =>
  person.request(`${base}/trash/restore`, { json: { trash_id: trashId } });

async function listTrash(base: string) {
  const listed = await mira.request(`${base}/trash`);
  expect([listed.status, listed.json.next_cursor]).toEqual([200, null]);
  return listed.json.items as { trash_id: string; name: string }[];
}

describe("the trash of a connection", () => {
  test("lists deleted items with where they were", async () => {
    const { base } = await connect();
    expect(await listTrash(base)).toEqual([]);
    expect((await remove(base, "docs/a.txt")).json).toMatchObject({ reason: "trashed" });
    expect(await listTrash(base)).toEqual([
      {
        trash_id: expect.any(String),
        name: "a.txt",
        kind: "file",
        location: "/docs",
        size: 1,
        deleted_at: expect.stringMatching(/^20\d\d-.*Z$/),
      },
    ]);
  });

  test("restores a file with its bytes and its record", async () => {
    const { base, folder } = await connect();
    await remove(base, "docs/a.txt");
    const [item] = await listTrash(base);
    const restored = await restore(base, item?.trash_id ?? "");
    expect([restored.status, restored.json]).toEqual([
      200,
      { kind: "restored", provider_item_id: "docs/a.txt", name: "a.txt", parent_ref: "docs" },
    ]);
    expect(await readFile(join(folder, "docs", "a.txt"), "utf8")).toBe("a");
    expect((await mira.request(`${base}/items/docs/a.txt/detail`)).status).toBe(200);
    expect((await restore(base, item?.trash_id ?? "")).json).toEqual({
      kind: "stale",
      reason: "item_changed",
    });
  });

  test("restores a folder with everything in it", async () => {
    const { base } = await connect();
    await remove(base, "docs");
    const [item] = await listTrash(base);
    expect(item).toMatchObject({ name: "docs", kind: "folder", location: "/", size: null });
    expect((await restore(base, item?.trash_id ?? "")).status).toBe(200);
    const listed = await mira.request(`${base}/items?parent_ref=docs`);
    expect(listed.json.items.map(({ name }: { name: string }) => name)).toEqual(["a.txt", "b.txt"]);
  });

  test("answers a conflict for a taken name and changes nothing", async () => {
    const { base, folder } = await connect();
    await remove(base, "docs/a.txt");
    await writeFile(join(folder, "docs", "a.txt"), "other");
    const [item] = await listTrash(base);
    const refused = await restore(base, item?.trash_id ?? "");
    expect([refused.status, refused.json]).toEqual([
      409,
      { kind: "conflict", reason: "name_collision" },
    ]);
    expect(await readFile(join(folder, "docs", "a.txt"), "utf8")).toBe("other");
    expect(await listTrash(base)).toHaveLength(1);
  });

  test("is emptied permanently", async () => {
    const { base, folder } = await connect();
    await remove(base, "docs/a.txt");
    await remove(base, "docs");
    const emptied = await mira.request(`${base}/trash`, { method: "DELETE" });
    expect([emptied.status, emptied.json]).toEqual([
      200,
      { kind: "emptied", removed: 2, has_more: false },
    ]);
    expect(await listTrash(base)).toEqual([]);
    expect(await readdir(join(folder, ".croft", "trash"))).toEqual([]);
  });

  test("refuses ids that lead out of the trash", async () => {
    const { base, folder } = await connect();
    await remove(base, "docs/a.txt");
    await writeFile(join(folder, "evil.json"), JSON.stringify({ path: "docs/c.txt" }));
    for (const id of ["../../evil", "..", ".", "%2e%2e", "a/b", "", "x".repeat(5000), "a\0b"]) {
      const refused = await restore(base, id);
      expect([409, 422], id).toContain(refused.status);
    }
    expect(await readdir(join(folder, "docs"))).toEqual(["b.txt"]);
  });

  test("does not restore to a place that a changed record names outside the root", async () => {
    const { base, folder } = await connect();
    await remove(base, "docs/a.txt");
    const trash = join(folder, ".croft", "trash");
    const record = (await readdir(trash)).find((name) => name.endsWith(".json")) ?? "";
    for (const path of ["../a.txt", ".croft/a.txt", "/etc/a.txt", ""]) {
      await writeFile(join(trash, record), JSON.stringify({ path, deleted_at: "now" }));
      expect((await restore(base, record.replace(".json", ""))).status).toBe(409);
    }
    await writeFile(join(trash, record), "{");
    expect(await listTrash(base)).toEqual([]);
  });

  test("belongs to the connection's owner alone", async () => {
    const { base } = await connect();
    await remove(base, "docs/a.txt");
    const [item] = await listTrash(base);
    for (const answer of [
      await noah.request(`${base}/trash`),
      await restore(base, item?.trash_id ?? "", noah),
      await noah.request(`${base}/trash`, { method: "DELETE" }),
    ])
      expect([answer.status, answer.json]).toEqual([404, { detail: "Connection not found" }]);
    expect(await listTrash(base)).toHaveLength(1);
  });
});
