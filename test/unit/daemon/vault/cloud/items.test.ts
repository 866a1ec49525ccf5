import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { openTestCloud, type TestCloud } from "../../../../support/vault-cloud.ts";

const all = { parentRef: "", after: undefined, limit: 100, refresh: false, name: undefined };

async function download(
  test: TestCloud,
  caller: Parameters<TestCloud["cloud"]["bytes"]["download"]>[0],
  connection_id: string,
  item_id: string,
) {
  const result = await test.cloud.bytes.download(caller, { connection_id, item_id });
  if (result.kind !== "bytes") throw new Error(result.kind);
  const bytes = result.bytes.buffer ?? (await buffer(await result.bytes.open()));
  result.bytes.release();
  return Buffer.from(bytes);
}

describe("a folder of the server as storage", () => {
  test("is browsed, uploaded to and downloaded from through the cache, with audit records", async () => {
    await using t = await openTestCloud();
    const mira = await t.addUser("mira");
    await mkdir(join(t.files, "Reports"));
    const large = randomBytes(3 * 1024 * 1024);
    await writeFile(join(t.files, "grün 🌱.bin"), large);
    const id = await t.connectFolder(mira);
    const page = await t.cloud.listings.browse(mira, id, all);
    expect(page.state).toMatchObject({ refreshState: "fresh" });
    expect(page.items.map((item) => [item.kind, item.name])).toEqual([
      ["folder", "Reports"],
      ["file", "grün 🌱.bin"],
    ]);
    expect(await download(t, mira, id, "grün 🌱.bin")).toEqual(large);
    expect(await download(t, mira, id, "grün 🌱.bin")).toEqual(large);

    const small = Buffer.from("hello");
    const uploaded = await t.cloud.uploads.upload(mira, id, {
      parentRef: "Reports",
      name: "a b.txt",
      contentType: "text/plain",
      content: Readable.from([small]),
      size: undefined,
    });
    expect(uploaded).toMatchObject({ kind: "uploaded", size: 5, parentRef: "Reports" });
    expect(await readFile(join(t.files, "Reports/a b.txt"), "utf8")).toBe("hello");
    expect(await download(t, mira, id, "Reports/a b.txt")).toEqual(small);
    const opened = await t.cloud.bytes.open(mira, {
      connection_id: id,
      item_id: "Reports/a b.txt",
    });
    expect(opened.name).toBe("a b.txt");
    expect(await t.audit()).toMatchObject([
      {
        event_type: "cloud.file_uploaded",
        metadata: { filename: "a b.txt", size_bytes: 5, parent_ref: "Reports" },
      },
      { event_type: "cloud.file_opened", metadata: { provider_item_id: "Reports/a b.txt" } },
    ]);
    expect(t.errors).toEqual([]);
    expect(createHash("sha256").update(large).digest("hex")).toHaveLength(64);
  });

  test("renames, moves and deletes", async () => {
    await using t = await openTestCloud();
    const mira = await t.addUser("mira");
    await mkdir(join(t.files, "a/b"), { recursive: true });
    await writeFile(join(t.files, "a/b/one.txt"), "1");
    const id = await t.connectFolder(mira);
    for (const parentRef of ["", "a", "a/b"])
      await t.cloud.listings.browse(mira, id, { ...all, parentRef });
    const renamed = await t.cloud.changes.rename(
      mira,
      { connection_id: id, item_id: "a" },
      { new_name: "ä" },
    );
    expect(renamed).toMatchObject({ kind: "renamed", item: { id: "ä" } });
    const detail = await t.cloud.bytes.detail(mira, { connection_id: id, item_id: "ä/b/one.txt" });
    expect(detail.folders).toEqual(["ä", "b"]);
    const moved = await t.cloud.changes.move(
      mira,
      { connection_id: id, item_id: "ä/b/one.txt" },
      { destination_parent_ref: "" },
    );
    expect(moved).toMatchObject({ kind: "moved", itemId: "one.txt" });
    const refused = await t.cloud.changes.move(
      mira,
      { connection_id: id, item_id: "ä" },
      { destination_parent_ref: "ä/b" },
    );
    expect(refused).toEqual({ kind: "invalid_destination", reason: "descendant_destination" });
    const deleted = await t.cloud.changes.delete(mira, { connection_id: id, item_id: "ä" });
    expect(deleted).toMatchObject({ kind: "deleted", how: "trashed", itemKind: "folder" });
    const page = await t.cloud.listings.browse(mira, id, all);
    expect(page.items.map((item) => item.name)).toEqual(["one.txt"]);
    expect((await readdir(t.files)).sort()).toEqual([".croft", "one.txt"]);
    expect((await t.audit()).map((row) => row.event_type)).toEqual([
      "cloud.item_renamed",
      "cloud.item_moved",
      "cloud.item_deleted",
    ]);
    expect(t.errors).toEqual([]);
  });
});
