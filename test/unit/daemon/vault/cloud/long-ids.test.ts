import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { openTestCloud } from "../../../../support/cloud/vault-cloud.ts";

const root = { parentRef: "", after: undefined, limit: 100, refresh: false, name: undefined };
/** 200 bytes that no index can make smaller. */
const newName = () => randomBytes(150).toString("base64url");

describe.each(["sqlite", "postgres"] as const)("paths of 3,000 bytes as ids, on %s", (engine) => {
  test("items with long ids are listed, changed and follow their parent folders", async () => {
    const db = await openTestDatabase({ engine });
    onTestFinished(() => db.close());
    await using t = await openTestCloud({ db });
    const mira = await t.addUser("mira");
    const folders = Array.from({ length: 15 }, newName);
    await mkdir(join(t.files, ...folders), { recursive: true });
    await writeFile(join(t.files, ...folders, "old"), "1");
    const connection_id = await t.connectFolder(mira);
    const browse = (parentRef: string) =>
      t.cloud.listings.browse(mira, connection_id, { ...root, parentRef });
    for (let depth = 0; depth <= folders.length; depth++)
      expect((await browse(folders.slice(0, depth).join("/"))).items).toHaveLength(1);

    const deepest = folders.join("/");
    const made = await t.cloud.changes.createFolder(mira, connection_id, {
      parent_ref: deepest,
      name: "new",
    });
    expect(made).toMatchObject({ kind: "folder", item: { id: `${deepest}/new` } });
    const detail = (item_id: string) => t.cloud.items.detail(mira, { connection_id, item_id });
    const before = await detail(`${deepest}/old`);
    expect(before.folders).toEqual(folders);
    expect(before.item).toMatchObject({ providerItemId: `${deepest}/old`, parentRef: deepest });

    const [first = "", ...others] = folders;
    const rename = (item_id: string, new_name: string) =>
      t.cloud.changes.rename(mira, { connection_id, item_id }, { new_name });
    // To ids of which some are short now, and back to ids that are too long again.
    expect(await rename(first, "a")).toMatchObject({ kind: "renamed" });
    const after = await detail(["a", ...others, "old"].join("/"));
    expect([after.item.id, after.folders]).toEqual([before.item.id, ["a", ...others]]);
    expect((await browse(["a", ...others].join("/"))).items.map(({ name }) => name)).toEqual([
      "new",
      "old",
    ]);
    expect(await rename("a", first)).toMatchObject({ kind: "renamed" });
    expect((await detail(`${deepest}/old`)).item.id).toBe(before.item.id);

    const refused = await t.cloud.changes.move(
      mira,
      { connection_id, item_id: first },
      { destination_parent_ref: deepest },
    );
    expect(refused).toMatchObject({ kind: "invalid_destination" });
    expect(await t.cloud.changes.delete(mira, { connection_id, item_id: first })).toMatchObject({
      kind: "deleted",
    });
    await expect(detail(`${deepest}/old`)).rejects.toMatchObject({ code: "not_found" });
    expect(t.errors).toEqual([]);
  });
});
