import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { VaultCaller } from "../../daemon/vault/caller.ts";
import { createS3Type } from "../../storage/cloud/s3/provider.ts";
import { startS3Server, type S3Server, type S3ServerOptions } from "../stand-ins/s3-server.ts";
import { SMALL_PARTS } from "../support/cloud/s3-subject.ts";
import { openTestCloud, type TestCloud } from "../support/cloud/vault-cloud.ts";
import { cases } from "../support/property.ts";
import type { ConnectionId } from "../../storage/tables/vault/ids.ts";

// Files and folders of a bucket, changed through the service and by other programs behind its back. A successful
// operation has exactly the requested effect, failures change nothing, nothing is lost or duplicated, and the adapter
// leaves nothing of its own.

const NAMES = ["a", "b", "c", "ä +%", "A"];
const RUNS = 15;
/** Above this a content is uploaded and copied in parts. */
const LARGE = 620_000;

type Step =
  | { readonly do: "list" }
  | { readonly do: "folder" | "upload" | "large"; readonly at: number; readonly name: number }
  | { readonly do: "rename"; readonly item: number; readonly name: number }
  | { readonly do: "move"; readonly item: number; readonly at: number }
  | { readonly do: "delete"; readonly item: number }
  | { readonly do: "write" | "drop"; readonly item: number; readonly name: number };

const pick = fc.nat({ max: 1000 });
const name = fc.nat({ max: NAMES.length - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("list" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "folder" as const,
        "upload" as const,
        "upload" as const,
        "large" as const,
      ),
      at: pick,
      name,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("rename" as const), item: pick, name }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("move" as const), item: pick, at: pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), item: pick }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("write" as const, "drop" as const),
      item: pick,
      name,
    }),
  },
);

/** The contents of a bucket as a tree: contents by path, folders as null. */
type Tree = ReadonlyMap<string, string | null>;

const parentOf = (path: string) => path.slice(0, Math.max(path.lastIndexOf("/"), 0));
const baseOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const inFolder = (folder: string, leaf: string) => (folder === "" ? leaf : `${folder}/${leaf}`);

function treeOf(server: S3Server): Tree {
  const tree = new Map<string, string | null>();
  const { objects } = server.store.list({ prefix: "", delimiter: "", after: "", max: 10_000 });
  for (const { key, version } of objects) {
    const path = key.replace(/\/$/, "");
    for (let above = parentOf(path); above !== ""; above = parentOf(above)) tree.set(above, null);
    tree.set(path, key.endsWith("/") ? null : shorten(version.bytes));
  }
  return tree;
}

/** A content by its beginning and its length. */
function shorten(bytes: Buffer): string {
  return `${bytes.subarray(0, 40).toString().split("|", 1)[0]} (${bytes.length})`;
}

function contentOf(serial: number, isLarge: boolean): Buffer {
  const beginning = Buffer.from(`content ${serial}|`);
  return isLarge ? Buffer.concat([beginning, Buffer.alloc(LARGE, `${serial}`)]) : beginning;
}

/** Returns the tree after a successful step. */
function apply(tree: Tree, one: Step, where: Where): Tree {
  const next = new Map(tree);
  switch (one.do) {
    case "folder":
      return next.set(where.to, null);
    case "upload":
    case "large":
      return next.set(where.to, shorten(where.content));
    case "rename":
    case "move": {
      const content = tree.get(where.from) ?? null;
      next.delete(where.from);
      return next.set(where.to, content);
    }
    case "delete":
      for (const path of tree.keys())
        if (path === where.from || path.startsWith(`${where.from}/`)) next.delete(path);
      return next;
    default:
      return next;
  }
}

interface Where {
  readonly from: string;
  readonly to: string;
  readonly parent: string;
  readonly content: Buffer;
}

/** Which item and which place a step means, of those that there were when the service last looked. */
function locate(one: Step, seen: Tree, serial: number): Where {
  const paths = [...seen.keys()].sort();
  const folders = ["", ...paths.filter((path) => seen.get(path) === null)];
  const from = "item" in one ? (paths[one.item % Math.max(paths.length, 1)] ?? "missing") : "";
  const parent = "at" in one ? (folders[one.at % folders.length] ?? "") : parentOf(from);
  const leaf = "name" in one ? (NAMES[one.name] ?? "") : baseOf(from);
  return {
    from,
    parent,
    to: inFolder(parent, leaf),
    content: contentOf(serial, one.do === "large"),
  };
}

async function act(
  t: TestCloud,
  caller: VaultCaller,
  id: ConnectionId,
  one: Step,
  where: Where,
): Promise<{ readonly kind: string }> {
  const place = { connection_id: id, item_id: where.from };
  switch (one.do) {
    case "list":
    case "write":
    case "drop":
      return { kind: "looked" };
    case "folder":
      return t.cloud.changes.createFolder(caller, id, {
        parent_ref: where.parent,
        name: baseOf(where.to),
      });
    case "upload":
    case "large":
      return t.cloud.uploads.upload(caller, id, {
        parentRef: where.parent,
        name: baseOf(where.to),
        contentType: undefined,
        content: Readable.from([where.content], { objectMode: false }),
        size: one.do === "large" ? undefined : where.content.length,
      });
    case "rename":
      return t.cloud.changes.rename(caller, place, { new_name: baseOf(where.to) });
    case "move":
      return t.cloud.changes.move(caller, place, { destination_parent_ref: where.parent });
    case "delete":
      return t.cloud.changes.delete(caller, place);
  }
}

const DONE = new Set(["folder", "uploaded", "renamed", "moved", "deleted"]);

/** Lists every folder through the service. */
async function listAll(t: TestCloud, caller: VaultCaller, id: ConnectionId): Promise<void> {
  const folders = [""];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const page = await t.cloud.listings.browse(caller, id, {
      after: undefined,
      limit: 1000,
      refresh: true,
      name: undefined,
      parentRef: folder,
    });
    folders.push(
      ...page.items.filter(({ kind }) => kind === "folder").map((item) => item.providerItemId),
    );
  }
}

async function open(options: S3ServerOptions) {
  const server = await startS3Server({ pageEntries: 4, partBytesMin: 1024, ...options });
  const t = await openTestCloud({ providerTypes: [createS3Type(SMALL_PARTS)] });
  const connect = async (handle: string) => {
    const caller = await t.addUser(handle);
    const result = await t.cloud.connections.create(caller, {
      provider: "s3",
      display_name: "Bucket",
      settings: { endpoint: server.origin, bucket: server.bucket },
      credentials: { access_key_id: server.key.id, secret_access_key: server.key.secret },
    });
    if (result.kind !== "connected") throw new Error(JSON.stringify(result));
    return { caller, id: result.connection.id };
  };
  return {
    server,
    t,
    connect,
    async [Symbol.asyncDispose]() {
      await t[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function expectNoRemains(server: S3Server): void {
  expect(server.store.uploads.size).toBe(0);
  const { objects } = server.store.list({ prefix: ".croft/", delimiter: "", after: "", max: 9 });
  expect(objects.map(({ key }) => key)).toEqual([]);
}

describe.each<[string, S3ServerOptions]>([
  ["keeps conditions", {}],
  ["ignores conditions", { conditions: "ignored", encoding: "none" }],
  ["keeps versions", { isVersioned: true, encoding: "percent" }],
])("a bucket whose server %s", (_name, options) => {
  test("sequential calls: a success has its whole effect, a failure changes nothing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        await using opened = await open(options);
        const { server, t } = opened;
        const { caller, id } = await opened.connect("mira");
        let seen: Tree = new Map();
        let successes = 0;
        for (const [serial, one] of steps.entries()) {
          const before = treeOf(server);
          const where = locate(one, seen, serial);
          if (one.do === "list") {
            await listAll(t, caller, id);
            seen = before;
            continue;
          }
          if (one.do === "write" || one.do === "drop") {
            // Another program, which knows nothing of folders.
            if (before.get(where.from) === null) continue;
            if (one.do === "drop") server.store.remove(where.from);
            else if (where.from !== "missing")
              server.store.put(where.from, Buffer.from(`outside ${serial}|`), {});
            continue;
          }
          const { kind } = await act(t, caller, id, one, where);
          const isDone = DONE.has(kind);
          if (isDone) successes += 1;
          const stays = one.do === "rename" || one.do === "move" ? where.from === where.to : false;
          const isCounted = kind === "folder" && !treeOf(server).has(where.to);
          // A folder whose name was taken has a counter in its name: then one more folder is all that is new.
          const wanted = isDone && !stays ? apply(before, one, where) : before;
          const after = treeOf(server);
          if (isDone && one.do === "folder" && (isCounted || before.has(where.to)))
            expect(
              [...after].filter(([path]) => !before.has(path)).map(([, what]) => what),
            ).toEqual([null]);
          else expect(Object.fromEntries(after)).toEqual(Object.fromEntries(wanted));
          // A change by another client since the lookup makes the expectation stale.
          if (isDone && where.from !== "" && before.get(where.from) !== null)
            expect(seen.get(where.from)).toBe(before.get(where.from));
          if (!isDone && isSame(seen, before)) expect(kind).toBe(reasonOf(one, where, before));
          if (isDone) {
            await listAll(t, caller, id);
            seen = after;
          }
        }
        expectNoRemains(server);
        expect(
          (await t.audit()).filter(({ event_type }) => event_type.startsWith("cloud.")),
        ).toHaveLength(successes);
        expect(t.errors).toEqual([]);
      }),
      { ...cases(RUNS), endOnFailure: true },
    );
  });

  test("two users' connections at once lose and duplicate nothing", async () => {
    const quiet = step.filter(
      (one) => one.do !== "write" && one.do !== "drop" && one.do !== "list",
    );
    const rounds = fc.array(fc.array(quiet, { minLength: 2, maxLength: 7 }), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(rounds, async (all) => {
        await using opened = await open(options);
        const { server, t } = opened;
        const people = [await opened.connect("mira"), await opened.connect("noor")];
        for (const path of ["a", "b", "A/b", "A/c"])
          server.store.put(path, Buffer.from(`first ${path}|`), {});
        let serial = 0;
        for (const round of all) {
          for (const { caller, id } of people) await listAll(t, caller, id);
          const before = treeOf(server);
          const wanted = new Set([...before.values()].filter((content) => content !== null));
          const outcomes = await Promise.all(
            round.map(async (one) => {
              serial += 1;
              const where = locate(one, before, serial);
              // Items that are put into a folder during its deletion may or may not be deleted with it, so the model
              // skips them.
              if (one.do === "delete" && before.get(where.from) === null) return undefined;
              const person = people[serial % 2];
              if (person === undefined) return undefined;
              const { kind } = await act(t, person.caller, person.id, one, where);
              return { one, where, kind };
            }),
          );
          for (const done of outcomes)
            if (done?.kind === "uploaded") wanted.add(shorten(done.where.content));
          const deletions = outcomes.filter((done) => done?.kind === "deleted").length;
          const contents = [...treeOf(server).values()].filter((content) => content !== null);
          expect(new Set(contents).size).toBe(contents.length);
          expect(contents.filter((content) => !wanted.has(content))).toEqual([]);
          // Here an item is a path: a deletion also deletes an item that was just put there, so only the number of
          // deleted items is certain.
          expect(wanted.size - contents.length).toBe(deletions);
          expectNoRemains(server);
        }
        expect(t.errors).toEqual([]);
      }),
      { ...cases(RUNS), endOnFailure: true },
    );
  });
});

function isSame(one: Tree, other: Tree): boolean {
  return (
    one.size === other.size && [...one].every(([path, content]) => other.get(path) === content)
  );
}

/** Returns why a step without interference may fail. */
function reasonOf(one: Step, { from, to, parent }: Where, tree: Tree): string {
  if (one.do === "upload" || one.do === "large") return "conflict";
  if (!tree.has(from)) return "stale";
  if (one.do === "move" && (parent === from || parent.startsWith(`${from}/`)))
    return "invalid_destination";
  if (tree.get(from) === null && (one.do === "rename" || one.do === "move")) return "unsupported";
  return tree.has(to) ? "conflict" : "none";
}
