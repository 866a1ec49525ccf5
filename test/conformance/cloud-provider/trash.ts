import { expect } from "vitest";
import type { CloudProvider } from "../../../storage/cloud/provider.ts";
import type { Trash, TrashedItem } from "../../../storage/cloud/trash.ts";
import type { Behaviour } from "../cloud-provider.suite.ts";
import { calm, done, mkdir, put, remove, tree } from "./acting.ts";

/** Listing, restoring and removing deleted items. */
export const trashBehaviours: readonly Behaviour[] = [
  {
    number: 57,
    title: "deleted items are listed and restored to their place, and never overwrite",
    unless: withoutTrash,
    async run({ provider }) {
      const trash = trashOf(provider);
      const folder = await mkdir(provider, "", "docs");
      const file = await put(provider, folder.id, "a ü%.txt", "one");
      const second = await put(provider, folder.id, "b.txt", "two");
      expect((await remove(provider, file)).kind).toBe("ok");
      const [entry, ...others] = await listAll(trash);
      if (entry === undefined) throw new Error("nothing is in the trash");
      expect([entry.name, others]).toEqual(["a ü%.txt", []]);
      expect([undefined, "file"]).toContain(entry.kind);
      expect(entry.from).toEqual(
        entry.from?.kind === "folder"
          ? { kind: "folder", id: folder.id }
          : { kind: "path", names: ["docs"] },
      );
      const restored = done(await trash.restore({ id: entry.id, signal: calm }));
      expect([restored.parent, restored.name]).toEqual([folder.id, "a ü%.txt"]);
      expect(await tree(provider)).toEqual({
        "docs/": "",
        "docs/a ü%.txt": "one",
        "docs/b.txt": "two",
      });
      expect(["stale", "conflict"]).toContain(
        (await trash.restore({ id: entry.id, signal: calm })).kind,
      );
      expect((await trash.restore({ id: "no such item", signal: calm })).kind).toBe("stale");
      expect(await listAll(trash)).toEqual([]);

      expect((await remove(provider, restored)).kind).toBe("ok");
      const [again] = await listAll(trash);
      await put(provider, folder.id, "a ü%.txt", "other");
      const taken = await trash.restore({ id: again?.id ?? "", signal: calm });
      expect(["stale", "conflict"]).toContain(taken.kind);
      expect(await tree(provider)).toHaveProperty("docs/a ü%.txt", "other");

      expect((await remove(provider, second)).kind).toBe("ok");
      const [deleted] = (await listAll(trash)).filter(({ name }) => name === "b.txt");
      expect((await remove(provider, folder)).kind).toBe("ok");
      // Without its folder an item has no place.
      const homeless = await trash.restore({ id: deleted?.id ?? "", signal: calm });
      expect(homeless.kind).toBe("stale");
      expect(await tree(provider)).toEqual({});
      const whole = (await listAll(trash)).find(({ kind }) => kind === "folder");
      if (whole === undefined) return;
      const back = done(await trash.restore({ id: whole.id, signal: calm }));
      expect([back.name, back.kind, back.parent]).toEqual(["docs", "folder", ""]);
      expect(await tree(provider)).toHaveProperty("docs/a ü%.txt", "other");
    },
  },
  {
    number: 58,
    title: "an emptied trash holds nothing, and what was not deleted stays",
    unless: withoutTrash,
    async run({ provider }) {
      const trash = trashOf(provider);
      const kept = await put(provider, "", "kept.txt", "kept");
      const folder = await mkdir(provider, "", "folder");
      await put(provider, folder.id, "inside.txt", "x");
      const file = await put(provider, "", "gone.txt", "y");
      expect((await remove(provider, folder)).kind).toBe("ok");
      expect((await remove(provider, file)).kind).toBe("ok");
      const [entry] = await listAll(trash);
      const emptied = await trash.empty?.({ signal: calm });
      expect(emptied).toMatchObject({ kind: "ok", isComplete: true });
      expect(await listAll(trash)).toEqual([]);
      expect((await trash.restore({ id: entry?.id ?? "", signal: calm })).kind).toBe("stale");
      expect(await tree(provider)).toEqual({ "kept.txt": "kept" });
      expect((await remove(provider, kept)).kind).toBe("ok");
      expect((await listAll(trash)).map(({ name }) => name)).toEqual(["kept.txt"]);
    },
  },
];

function withoutTrash({ trash }: { readonly trash: boolean }): string | undefined {
  return trash ? undefined : "this storage has no trash";
}

function trashOf({ trash }: CloudProvider): Trash {
  if (trash === undefined) throw new Error("the trash cannot be listed");
  return trash;
}

async function listAll(trash: Trash): Promise<readonly TrashedItem[]> {
  const items: TrashedItem[] = [];
  let cursor: string | undefined;
  do {
    const page = await trash.list({ cursor, signal: calm });
    if (page.kind !== "ok") throw new Error(`expected a page, got ${JSON.stringify(page)}`);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return items;
}
