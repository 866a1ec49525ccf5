import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { VaultCaller } from "../../daemon/vault/caller.ts";
import { openTestCloud, type TestCloud } from "../support/cloud/vault-cloud.ts";
import { cases } from "../support/property.ts";
import type { ConnectionId } from "../../storage/tables/vault/ids.ts";

// A tree of folders and files that several clients change through the service, and other programs behind its back,
// against a model of a few lines. Each response, the files on disk, the service's listings and its audit records must
// equal those of the model.

const NAMES = ["a", "b", "c", "ä ö", "A"];
const CLIENTS = 3;

type Step =
  | { readonly do: "list"; readonly client: number; readonly at: number }
  | { readonly do: "folder"; readonly client: number; readonly at: number; readonly name: number }
  | { readonly do: "upload"; readonly client: number; readonly at: number; readonly name: number }
  | { readonly do: "rename"; readonly client: number; readonly item: number; readonly name: number }
  | { readonly do: "move"; readonly client: number; readonly item: number; readonly at: number }
  | { readonly do: "delete"; readonly client: number; readonly item: number }
  | {
      readonly do: "outside";
      readonly what: "write" | "remove" | "make";
      readonly item: number;
      readonly name: number;
    };

const pick = fc.nat({ max: 1000 });
const client = fc.nat({ max: CLIENTS - 1 });
const name = fc.nat({ max: NAMES.length - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("list" as const), client, at: pick }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("folder" as const), client, at: pick, name }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("upload" as const), client, at: pick, name }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("rename" as const), client, item: pick, name }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("move" as const), client, item: pick, at: pick }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), client, item: pick }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("outside" as const),
      what: fc.constantFrom("write" as const, "remove" as const, "make" as const),
      item: pick,
      name,
    }),
  },
);

/** One file or folder; `version` grows with its content. */
interface Node {
  readonly kind: "file" | "folder";
  version: number;
  content: string;
}

/** A past observation: which node, in which version. */
interface Seen {
  readonly node: Node;
  readonly version: number;
  readonly etag: string | undefined;
}

const parentOf = (path: string) => (dirname(path) === "." ? "" : dirname(path));
const baseOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const below = (path: string, folder: string) => path.startsWith(`${folder}/`);
const inFolder = (folder: string, leaf: string) => (folder === "" ? leaf : `${folder}/${leaf}`);

class Model {
  readonly tree = new Map<string, Node>();
  /** The service's records of items, by their ids. */
  readonly known = new Map<string, Seen>();
  /** Why a folder must be listed again; undefined when it was listed. */
  readonly states = new Map<string, string | undefined>();
  readonly views = Array.from({ length: CLIENTS }, () => new Map<string, Seen>());
  readonly audit: string[] = [];

  isFolder(path: string): boolean {
    return path === "" || this.tree.get(path)?.kind === "folder";
  }
  children(folder: string): [string, Node][] {
    return [...this.tree].filter(([path]) => parentOf(path) === folder);
  }
  relocate(from: string, to: string): void {
    for (const map of [this.tree, this.known, this.states] as Map<string, unknown>[]) {
      const moving = [...map].filter(([path]) => path === from || below(path, from));
      for (const path of [...map.keys()]) if (path === to || below(path, to)) map.delete(path);
      for (const [path] of moving) map.delete(path);
      for (const [path, value] of moving) map.set(to + path.slice(from.length), value);
    }
  }
  /** Returns whether the item at a path is unchanged since it was seen. */
  isStill(path: string, seen: Seen | undefined): boolean {
    const node = this.tree.get(path);
    return (
      node !== undefined &&
      (seen === undefined ||
        (seen.node === node && (node.kind === "folder" || seen.version === node.version)))
    );
  }
  /** The folders that a client may name: those that it saw, and the root. */
  folders(at: number): string[] {
    return [
      "",
      ...[...(this.views[at] ?? [])]
        .filter(([, seen]) => seen.node.kind === "folder")
        .map(([path]) => path),
    ];
  }
}

const all = { after: undefined, limit: 1000, refresh: true, name: undefined };

/** Lists a folder through the service and records the result for service and client. */
async function list(
  t: TestCloud,
  mira: VaultCaller,
  id: ConnectionId,
  model: Model,
  at: number,
  folder: string,
): Promise<void> {
  const browsing = t.cloud.listings.browse(mira, id, { ...all, parentRef: folder });
  if (!model.isFolder(folder) && !model.known.has(folder)) {
    await expect(browsing).rejects.toMatchObject({ code: "not_found" });
    return;
  }
  const page = await browsing;
  if (!model.isFolder(folder)) {
    expect(page.state.refreshState).toBe("failed");
    model.states.set(folder, "provider_error");
    model.states.set(parentOf(folder), "stale_listing");
    return;
  }
  expect(page.items.map((item) => item.providerItemId).sort()).toEqual(
    model
      .children(folder)
      .map(([path]) => path)
      .sort(),
  );
  for (const path of [...model.known.keys()])
    if (parentOf(path) === folder && model.tree.get(path) === undefined) {
      for (const one of [...model.known.keys()])
        if (one === path || below(one, path)) model.known.delete(one);
    }
  for (const item of page.items) {
    const node = model.tree.get(item.providerItemId);
    if (node === undefined) throw new Error("listed what is not there");
    const seen = { node, version: node.version, etag: item.etag };
    model.known.set(item.providerItemId, seen);
    model.views[at]?.set(item.providerItemId, seen);
  }
  model.states.set(folder, undefined);
}

async function run(
  t: TestCloud,
  mira: VaultCaller,
  id: ConnectionId,
  model: Model,
  one: Step,
  serial: number,
): Promise<void> {
  const pickFrom = <T>(from: readonly T[], at: number): T | undefined =>
    from[at % Math.max(from.length, 1)];
  switch (one.do) {
    case "list": {
      await list(t, mira, id, model, one.client, pickFrom(model.folders(one.client), one.at) ?? "");
      return;
    }
    case "folder": {
      const parent = pickFrom(model.folders(one.client), one.at) ?? "";
      const wanted = NAMES[one.name] ?? "";
      const result = await t.cloud.changes.createFolder(mira, id, {
        parent_ref: parent,
        name: wanted,
      });
      if (!model.isFolder(parent)) {
        expect(result.kind).toBe("stale");
        model.states.set(parent, "stale_listing");
        return;
      }
      const free = [wanted, ...[1, 2, 3, 4, 5].map((n) => `${wanted} (${n})`)].find(
        (leaf) => !model.tree.has(inFolder(parent, leaf)),
      );
      if (free === undefined) {
        expect(result.kind).toBe("conflict");
        return;
      }
      expect(result).toMatchObject({
        kind: "folder",
        item: { id: inFolder(parent, free), name: free },
      });
      note(
        model,
        one.client,
        inFolder(parent, free),
        { kind: "folder", version: 1, content: "" },
        result.kind === "folder" ? result.item.etag : "",
      );
      model.states.set(parent, "create_folder_mutated");
      model.audit.push("cloud.folder_created");
      return;
    }
    case "upload": {
      const parent = pickFrom(model.folders(one.client), one.at) ?? "";
      const path = inFolder(parent, NAMES[one.name] ?? "");
      const content = `content ${serial}`;
      const result = await t.cloud.uploads.upload(mira, id, {
        parentRef: parent,
        name: NAMES[one.name] ?? "",
        contentType: undefined,
        content: Readable.from([Buffer.from(content)]),
        size: undefined,
      });
      if (model.known.has(path)) expect(result.kind).toBe("conflict");
      else if (!model.isFolder(parent)) {
        expect(result.kind).toBe("stale");
        model.states.set(parent, "stale_listing");
      } else if (model.tree.has(path)) expect(result.kind).toBe("conflict");
      else {
        expect(result).toMatchObject({
          kind: "uploaded",
          item: { id: path },
          size: content.length,
        });
        note(
          model,
          one.client,
          path,
          { kind: "file", version: 1, content },
          result.kind === "uploaded" ? result.item.etag : "",
        );
        model.states.set(parent, "upload_mutated");
        model.audit.push("cloud.file_uploaded");
      }
      return;
    }
    case "rename": {
      const seen = pickFrom([...(model.views[one.client] ?? [])], one.item);
      if (seen === undefined) return;
      const [path, what] = seen;
      const to = inFolder(parentOf(path), NAMES[one.name] ?? "");
      const result = await t.cloud.changes.rename(
        mira,
        { connection_id: id, item_id: path },
        { new_name: NAMES[one.name] ?? "", etag: what.etag },
      );
      if (!model.isStill(path, what) || !kindFits(model, path)) {
        expect(result.kind).toBe("stale");
        model.states.set(parentOf(path), "stale_listing");
      } else if (to !== path && model.tree.has(to)) expect(result.kind).toBe("conflict");
      else {
        expect(result).toMatchObject({ kind: "renamed", item: { id: to } });
        if (to !== path) model.relocate(path, to);
        const node = model.tree.get(to);
        if (node !== undefined)
          note(model, one.client, to, node, result.kind === "renamed" ? result.item.etag : "");
        model.states.set(parentOf(to), "rename_mutated");
        model.audit.push("cloud.item_renamed");
      }
      return;
    }
    case "move": {
      const seen = pickFrom([...(model.views[one.client] ?? [])], one.item);
      if (seen === undefined) return;
      const [path, what] = seen;
      const destination =
        pickFrom(
          [...model.folders(one.client), ...(model.views[one.client]?.keys() ?? [])],
          one.at,
        ) ?? "";
      const to = inFolder(destination, baseOf(path));
      const result = await t.cloud.changes.move(
        mira,
        { connection_id: id, item_id: path },
        { destination_parent_ref: destination, etag: what.etag },
      );
      if (
        destination === path ||
        below(destination, path) ||
        model.tree.get(destination)?.kind === "file"
      )
        expect(result.kind).toBe("invalid_destination");
      else if (
        !model.isFolder(destination) ||
        !model.isStill(path, what) ||
        !kindFits(model, path)
      ) {
        // Something other than a folder on the way there counts as a file or as missing, whichever is found first.
        if (result.kind === "invalid_destination") return;
        expect(result.kind).toBe("stale");
        model.states.set(parentOf(path), "stale_listing");
      } else if (to !== path && model.tree.has(to)) expect(result.kind).toBe("conflict");
      else {
        expect(result).toMatchObject({ kind: "moved", itemId: to });
        if (to !== path) model.relocate(path, to);
        const node = model.tree.get(to);
        const etag = (await t.cloud.items.detail(mira, { connection_id: id, item_id: to })).item
          .etag;
        if (node !== undefined) note(model, one.client, to, node, etag);
        for (const folder of [parentOf(path), destination])
          model.states.set(folder, "move_mutated");
        model.audit.push("cloud.item_moved");
      }
      return;
    }
    case "delete": {
      const seen = pickFrom([...(model.views[one.client] ?? [])], one.item);
      if (seen === undefined) return;
      const [path] = seen;
      const result = await t.cloud.changes.delete(mira, { connection_id: id, item_id: path });
      if (!model.isStill(path, model.known.get(path))) {
        expect(result.kind).toBe("stale");
        model.states.set(parentOf(path), "stale_listing");
      } else {
        expect(result).toMatchObject({ kind: "deleted", how: "trashed" });
        for (const map of [model.tree, model.known] as Map<string, unknown>[])
          for (const at of [...map.keys()]) if (at === path || below(at, path)) map.delete(at);
        model.states.set(parentOf(path), "delete_mutated");
        model.audit.push("cloud.item_deleted");
      }
      return;
    }
    case "outside": {
      const [path, node] = pickFrom([...model.tree], one.item) ?? [];
      if (one.what === "make") {
        const folder = node?.kind === "folder" ? (path ?? "") : "";
        const made = inFolder(folder, NAMES[one.name] ?? "");
        if (model.tree.has(made)) return;
        await writeFile(join(t.files, made), `outside ${serial}`);
        model.tree.set(made, { kind: "file", version: 1, content: `outside ${serial}` });
      } else if (
        path !== undefined &&
        node !== undefined &&
        one.what === "write" &&
        node.kind === "file"
      ) {
        node.content = `changed ${serial}, longer than it was`;
        node.version += 1;
        await writeFile(join(t.files, path), node.content);
      } else if (path !== undefined && one.what === "remove") {
        await rm(join(t.files, path), { recursive: true });
        for (const at of [...model.tree.keys()])
          if (at === path || below(at, path)) model.tree.delete(at);
      }
    }
  }
}

/** The service refuses an item that has become another kind than it knows. */
function kindFits(model: Model, path: string): boolean {
  const known = model.known.get(path);
  return known === undefined || known.node.kind === model.tree.get(path)?.kind;
}

function note(model: Model, at: number, path: string, node: Node, etag: string | undefined): void {
  model.tree.set(path, node);
  const seen = { node, version: node.version, etag };
  model.known.set(path, seen);
  model.views[at]?.set(path, seen);
}

async function readTree(folder: string, path = ""): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(join(folder, path), { withFileTypes: true })) {
    const at = inFolder(path, entry.name);
    if (at === ".croft") continue;
    if (entry.isDirectory()) Object.assign(found, { [at]: "/" }, await readTree(folder, at));
    else found[at] = await readFile(join(folder, at), "utf8");
  }
  return found;
}

async function check(t: TestCloud, id: ConnectionId, model: Model): Promise<void> {
  const wanted = Object.fromEntries(
    [...model.tree].map(([path, node]) => [path, node.kind === "folder" ? "/" : node.content]),
  );
  expect(await readTree(t.files)).toEqual(wanted);
  const rows = await t.db.all<{ provider_item_id: string; parent_ref: string }>(
    "SELECT provider_item_id, parent_ref FROM vault_items WHERE connection_id = ? AND deleted_at IS NULL",
    id,
  );
  expect(rows.map((row) => row.provider_item_id).sort()).toEqual([...model.known.keys()].sort());
  for (const row of rows) expect(row.parent_ref).toBe(parentOf(row.provider_item_id));
  const states = await t.db.all<{ parent_ref: string; error_code: string | null }>(
    "SELECT parent_ref, error_code FROM vault_folders WHERE connection_id = ?",
    id,
  );
  expect(
    Object.fromEntries(states.map((row) => [row.parent_ref, row.error_code ?? undefined])),
  ).toEqual(Object.fromEntries(model.states));
  expect((await t.audit()).map((row) => row.event_type)).toEqual(model.audit);
}

test("one call after the other: every answer, tree, state and record is the model's", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      await using t = await openTestCloud();
      const mira = await t.addUser("mira");
      const id = await t.connectFolder(mira);
      const model = new Model();
      for (const [serial, one] of steps.entries()) {
        await run(t, mira, id, model, one, serial);
        await check(t, id, model);
      }
      expect(t.errors).toEqual([]);
    }),
    { ...cases(60), endOnFailure: true },
  );
});

test("concurrent calls lose and duplicate nothing, and every success is audited", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 2, maxLength: 8 }), { minLength: 2, maxLength: 6 }),
      async (rounds) => {
        await using t = await openTestCloud();
        const mira = await t.addUser("mira");
        const id = await t.connectFolder(mira);
        for (const leaf of ["a", "b", "a/c"]) await mkdir(join(t.files, leaf));
        const uploaded: string[] = [];
        const stale: string[] = [];
        const unsure: string[] = [];
        let successes = 0;
        let serial = 0;
        for (const round of rounds) {
          await listAll(t, mira, id);
          const items = await t.db.all<{ provider_item_id: string; kind: string; etag: string }>(
            "SELECT provider_item_id, kind, etag FROM vault_items WHERE deleted_at IS NULL ORDER BY provider_item_id",
          );
          const folders = [
            "",
            ...items.filter((item) => item.kind === "folder").map((item) => item.provider_item_id),
          ];
          const results = await Promise.all(
            round.map(async (one) => {
              serial += 1;
              const at = "at" in one ? (folders[one.at % folders.length] ?? "") : "";
              const item = "item" in one ? items[one.item % Math.max(items.length, 1)] : undefined;
              const place = { connection_id: id, item_id: item?.provider_item_id ?? "missing" };
              const leaf = "name" in one ? (NAMES[one.name] ?? "") : "";
              switch (one.do) {
                case "folder":
                  return t.cloud.changes.createFolder(mira, id, { parent_ref: at, name: leaf });
                case "upload": {
                  const content = `content ${serial}`;
                  const result = await t.cloud.uploads.upload(mira, id, {
                    parentRef: at,
                    name: leaf,
                    contentType: undefined,
                    content: Readable.from([Buffer.from(content)]),
                    size: undefined,
                  });
                  if (result.kind === "uploaded") uploaded.push(content);
                  if (result.kind === "stale") stale.push(content);
                  if (result.kind === "unknown_outcome") unsure.push(content);
                  return result;
                }
                case "rename":
                  return t.cloud.changes.rename(mira, place, { new_name: leaf, etag: item?.etag });
                case "move":
                  return t.cloud.changes.move(mira, place, {
                    destination_parent_ref: at,
                    etag: item?.etag,
                  });
                case "delete":
                  return t.cloud.changes.delete(mira, place);
                default:
                  await t.cloud.listings
                    .browse(mira, id, { ...all, parentRef: at })
                    .catch(() => undefined);
                  return { kind: "looked" };
              }
            }),
          );
          for (const { kind } of results) {
            expect([
              "folder",
              "uploaded",
              "renamed",
              "moved",
              "deleted",
              "stale",
              "conflict",
              "invalid_destination",
              "unknown_outcome",
              "looked",
            ]).toContain(kind);
            if (["folder", "uploaded", "renamed", "moved", "deleted"].includes(kind))
              successes += 1;
          }
        }
        expect((await t.audit()).length).toBe(successes);
        await listAll(t, mira, id);
        const tree = await readTree(t.files);
        const known = await t.db.all<{ provider_item_id: string }>(
          "SELECT provider_item_id FROM vault_items WHERE deleted_at IS NULL",
        );
        expect(known.map((row) => row.provider_item_id).sort()).toEqual(Object.keys(tree).sort());
        // Every uploaded content exists exactly once: in the tree, or in the trash. An upload into a folder that
        // another client deletes at the same time is deleted with it, and its response is `stale`, or `unknown_outcome`
        // where another folder has the name by then.
        const isContent = (text: string) => text.startsWith("content ");
        const trash = await readTree(join(t.files, ".croft", "trash")).catch(() => ({}));
        const kept = Object.values(tree).filter(isContent);
        const trashed = Object.values(trash).filter(isContent);
        expect(kept.filter((content) => ![...uploaded, ...unsure].includes(content))).toEqual([]);
        const everywhere = [...kept, ...trashed];
        const wentAlong = trashed.filter((content) => stale.includes(content));
        const found = everywhere.filter((content) => unsure.includes(content));
        expect(everywhere.sort()).toEqual([...uploaded, ...wentAlong, ...found].sort());
        expect(await readdir(join(t.files, ".croft", "tmp"))).toEqual([]);
        expect(t.errors).toEqual([]);
      },
    ),
    { ...cases(40), endOnFailure: true },
  );
});

/** Lists every folder from the root down. */
async function listAll(t: TestCloud, mira: VaultCaller, id: ConnectionId): Promise<void> {
  const waiting = [""];
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    const page = await t.cloud.listings.browse(mira, id, { ...all, parentRef: folder });
    expect(page.state.refreshState).toBe("fresh");
    waiting.push(
      ...page.items.filter((item) => item.kind === "folder").map((item) => item.providerItemId),
    );
  }
}
