import { Readable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { VaultCaller } from "../../../../../daemon/vault/caller.ts";
import { createConnectionTree } from "../../../../../daemon/vault/dav/connection-tree.ts";
import type { DavContext } from "../../../../../daemon/vault/dav/context.ts";
import { createJunkFiles } from "../../../../../daemon/vault/dav/junk-files.ts";
import { createDavLocks } from "../../../../../daemon/vault/dav/locks.service.ts";
import type { DavFolder, DavUpload } from "../../../../../daemon/vault/dav/tree.ts";
import { type Destination, overDestination } from "../../../../../daemon/vault/dav/destination.ts";
import { DavRefusal, toDavRefusal } from "../../../../../daemon/vault/dav/refusals.ts";
import { createDavTrees } from "../../../../../daemon/vault/dav/spaces.ts";
import { createDavAddresses } from "../../../../../daemon/vault/dav/target.ts";
import { copy, move } from "../../../../../daemon/vault/dav/transfer-methods.ts";
import type { CloudProvider, CloudProviderType } from "../../../../../storage/cloud/provider.ts";
import {
  createMemoryStorage,
  memoryCapabilities,
} from "../../../../support/cloud/memory-provider.ts";
import { openTestCloud, type TestCloud } from "../../../../support/cloud/vault-cloud.ts";

const signal = new AbortController().signal;

const VERBS = [
  "list",
  "stat",
  "read",
  "createFolder",
  "upload",
  "rename",
  "move",
  "delete",
] as const;

/** A call of the provider that fails: before its work, or after it. */
interface Fault {
  readonly at: number;
  readonly when: "before" | "after";
}

/** What another client does before the next call of a verb. */
interface Meanwhile {
  readonly verb: (typeof VERBS)[number];
  readonly work: (scene: { add(path: readonly string[], tree: Tree): Promise<void> }) => unknown;
}

/** A storage in memory behind WebDAV, any call of which can fail. */
async function openScene(capabilities: typeof memoryCapabilities) {
  const storage = createMemoryStorage(capabilities);
  const faults: Faults = { calls: 0, next: undefined, meanwhile: undefined };
  const type: CloudProviderType = {
    ...storage.type,
    async connect(request, deps) {
      const connected = await storage.type.connect(request, deps);
      if (connected.kind !== "ok") return connected;
      return { ...connected, provider: withFaults(connected.provider, faults) };
    },
  };
  const t: TestCloud = await openTestCloud({ providerTypes: [type] });
  const mira: VaultCaller = await t.addUser("mira");
  const made = await t.cloud.connections.create(mira, {
    provider: "memory",
    display_name: "Memory",
    settings: {},
    credentials: {},
  });
  if (made.kind !== "connected") throw new Error(made.kind);
  const client = storage.connect();
  const deps = { db: t.db, clock: () => t.now, newId: () => crypto.randomUUID() };
  const junk = createJunkFiles(deps);
  const { listings, changes, uploads, replacements, bytes } = t.cloud;
  const openConnection = createConnectionTree({
    ...deps,
    listings,
    changes,
    uploads,
    replacements,
    bytes,
    uploadBytesMax: 1_000,
  });
  const documents = { createFile: async (_upload: DavUpload) => undefined as unknown };
  const openDocuments = () =>
    ({
      kind: "folder",
      find: async () => undefined,
      createFile: async (_name: string, upload: DavUpload) => documents.createFile(upload),
    }) as unknown as DavFolder;
  const addresses = createDavAddresses("http://127.0.0.1:1", "127.0.0.1:1");
  const openTree = createDavTrees({ db: t.db, openConnection, openDocuments, junk });

  let last = "";
  async function add(parent: string, tree: Tree): Promise<void> {
    for (const [name, content] of Object.entries(tree)) {
      const made =
        typeof content === "string"
          ? await client.upload({
              parent,
              name,
              content: Readable.from([Buffer.from(content)]),
              size: Buffer.byteLength(content),
              contentType: undefined,
              signal,
            })
          : await client.createFolder({ parent, name, signal });
      if (made.kind !== "ok") throw new Error(made.kind);
      if (typeof content === "string") last = made.item.id;
      else await add(made.item.id, content);
    }
  }

  async function read(folder: string): Promise<Tree> {
    const listed = await client.list({ folder, signal });
    if (listed.kind !== "ok") throw new Error(listed.kind);
    const entries: [string, string | Tree][] = [];
    for (const item of listed.items)
      entries.push([
        item.name,
        item.kind === "folder" ? await read(item.id) : await readFile(item.id),
      ]);
    return Object.fromEntries(entries);
  }

  async function findFolder(below: string, [name, ...rest]: readonly string[]): Promise<string> {
    if (name === undefined) return below;
    const listed = await client.list({ folder: below, signal });
    const found = listed.kind === "ok" && listed.items.find((item) => item.name === name);
    return found ? findFolder(found.id, rest) : "";
  }

  async function readFile(id: string): Promise<string> {
    const opened = await client.read({ id, signal });
    if (opened.kind !== "ok") throw new Error(opened.kind);
    return Buffer.concat(await opened.stream.toArray()).toString();
  }

  let runs = 0;
  return {
    documents,
    /** Changes the file that was added last in the storage. */
    overwriteLast: (content: string) => storage.overwrite(last, Buffer.from(content)),
    /** Sends a request in a folder of its own; returns what was said, and what the folder holds. */
    async run(
      { method, from, to, tree, destination }: Scenario,
      fault?: Fault,
      meanwhile?: Meanwhile,
    ): Promise<{ status: number; text: string; after: Tree; calls: number }> {
      const name = `run${(runs += 1)}`;
      await add("", { [name]: tree });
      const root = await client.list({ folder: "", signal });
      const folder = root.kind === "ok" && root.items.find((item) => item.name === name);
      if (!folder) throw new Error("no folder");
      // A later listing knows the folder.
      t.now += 3_600_000;
      const opened = openTree(mira);
      const source = await opened.find(["Memory", name, ...from]);
      const target = destination ?? ["Memory", name, ...to];
      await opened.find(target);
      Object.assign(faults, { calls: 0, next: fault });
      faults.meanwhile = meanwhile && {
        verb: meanwhile.verb,
        work: () =>
          meanwhile.work({
            add: async (path, added) => add(await findFolder(folder.id, path), added),
          }),
      };
      const context = {
        ...deps,
        junk,
        locks: createDavLocks(deps),
        log: { warn: () => undefined },
        request: {
          method,
          headers: {
            destination: addresses.toHref(target, false),
            overwrite: "T",
          },
        },
        caller: mira,
        tree: opened,
        found: source,
        addresses,
        ifLists: [],
        tokens: new Set<string>(),
      } as unknown as DavContext;
      const answer = await (method === "MOVE" ? move : copy)(context).catch((error: unknown) => {
        const refusal = toDavRefusal(error);
        if (refusal === undefined) throw error;
        return { status: refusal.status, body: refusal.message };
      });
      const { calls } = faults;
      faults.next = undefined;
      if (typeof answer === "number") throw new Error("no answer");
      return {
        status: answer.status,
        text: answer.body ?? "",
        after: await read(folder.id),
        calls,
      };
    },
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

interface Faults {
  calls: number;
  next: Fault | undefined;
  meanwhile: { readonly verb: string; readonly work: () => unknown } | undefined;
}

function withFaults(provider: CloudProvider, faults: Faults): CloudProvider {
  const wrapped = VERBS.map((verb) => [
    verb,
    async (input: never) => {
      const fault = faults.next?.at === faults.calls ? faults.next : undefined;
      faults.calls += 1;
      if (faults.meanwhile?.verb === verb) {
        const { work } = faults.meanwhile;
        faults.meanwhile = undefined;
        await work();
      }
      if (fault?.when === "before") return { kind: "forbidden" };
      const done = await (provider[verb] as (input: never) => Promise<unknown>)(input);
      return fault === undefined ? done : { kind: "unknown_outcome" };
    },
  ]);
  return { ...provider, ...Object.fromEntries(wrapped) };
}

interface Tree {
  readonly [name: string]: string | Tree;
}

interface Scenario {
  readonly method: "MOVE" | "COPY";
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly tree: Tree;
  /** Another path than `to` in the folder of the request. */
  readonly destination?: readonly string[];
}

const source = { "a.txt": "new a", "b.txt": "new b" };
const before = { "a.txt": "old a", inner: { "c.txt": "old c" } };
const scenarios: Readonly<Record<string, Scenario>> = {
  "MOVE of a file over a file": {
    method: "MOVE",
    from: ["source.txt"],
    to: ["target.txt"],
    tree: { "source.txt": "new", "target.txt": "old" },
  },
  "MOVE of a file over a file in a folder that has both names": {
    method: "MOVE",
    from: ["a", "source.txt"],
    to: ["b", "target.txt"],
    tree: {
      a: { "source.txt": "new", "target.txt": "other" },
      b: { "target.txt": "old", "source.txt": "other" },
    },
  },
  "MOVE of a file over a file whose longest name ends like an extension": {
    method: "MOVE",
    from: ["source.txt"],
    to: [`a.${"x".repeat(253)}`],
    tree: { "source.txt": "new", [`a.${"x".repeat(253)}`]: "old" },
  },
  "MOVE of a folder over a folder": {
    method: "MOVE",
    from: ["source"],
    to: ["target"],
    tree: { source, target: before },
  },
  "COPY of a folder over a folder": {
    method: "COPY",
    from: ["source"],
    to: ["target"],
    tree: { source, target: before },
  },
  "COPY of a file over a folder": {
    method: "COPY",
    from: ["source"],
    to: ["target"],
    tree: { source: "new", target: before },
  },
};

const storages = {
  "that renames folders": memoryCapabilities,
  "that renames files only and has no trash": {
    ...memoryCapabilities,
    folderMove: false,
    trash: false,
  },
};

describe.each(Object.entries(storages))("a storage %s", (_title, capabilities) => {
  let scene: Awaited<ReturnType<typeof openScene>>;
  beforeAll(async () => {
    scene = await openScene(capabilities);
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test.each(Object.entries(scenarios))(
    "loses neither end of a %s, whichever call of the storage fails",
    async (_name, scenario) => {
      const done = await scene.run(scenario);
      expect(done).toMatchObject({ status: 204, text: "" });
      expect(find(done.after, scenario.to)).toEqual(find(scenario.tree, scenario.from));
      expect(Object.keys(done.after).sort()).toEqual(
        Object.keys(scenario.tree)
          .filter((name) => scenario.method === "COPY" || name !== scenario.from.join("/"))
          .sort(),
      );
      const moved = find(scenario.tree, scenario.from);
      const canRename = capabilities.folderMove || typeof moved === "string";
      const told: unknown[] = [];
      for (let at = 0; at < done.calls; at += 1)
        for (const when of ["before", "after"] as const) {
          const { status, text, after } = await scene.run(scenario, { at, when });
          const step = { at, when, status, text };
          if (status < 300) {
            expect([step, find(after, scenario.to)]).toEqual([step, moved]);
            continue;
          }
          // The move may have happened although the storage did not say so.
          const isMoved = isDeepStrictEqual(find(after, scenario.to), moved);
          if (!isMoved) expect([step, find(after, scenario.from)]).toEqual([step, moved]);
          const [, aside] = /is called "(.*)" now/.exec(text) ?? [];
          const old = aside === undefined ? scenario.to : [...scenario.to.slice(0, -1), aside];
          // Only the deletion of a copied source comes after the old destination.
          if (!isMoved || aside !== undefined || canRename)
            expect([step, find(after, old)]).toEqual([step, find(scenario.tree, scenario.to)]);
          told.push(step);
        }
      expect(told.length).toBeGreaterThan(2);
    },
  );
});

test("a version that comes while a file is moved into another space stays", async () => {
  await using scene = await openScene(memoryCapabilities);
  const { documents, overwriteLast, run } = scene;
  const scenario: Scenario = {
    method: "MOVE",
    from: ["a.txt"],
    to: [],
    destination: ["documents", "a.txt"],
    tree: { "a.txt": "copied" },
  };
  const copied: string[] = [];
  documents.createFile = async ({ content }) => {
    copied.push(Buffer.concat(await content.toArray()).toString());
    return { holder: undefined };
  };
  const moved = await run(scenario);
  expect([moved.status, moved.after]).toEqual([201, {}]);
  const receive = documents.createFile;
  documents.createFile = async (upload) => {
    const file = await receive(upload);
    overwriteLast("newer");
    return file;
  };
  expect(await run(scenario)).toMatchObject({ status: 412, after: { "a.txt": "newer" } });
  expect(copied).toEqual(["copied", "copied"]);
});

describe("a storage that copies folders to move them", () => {
  let scene: Awaited<ReturnType<typeof openScene>>;
  beforeAll(async () => {
    scene = await openScene(storages["that renames files only and has no trash"]);
  });
  afterAll(() => scene[Symbol.asyncDispose]());
  const late = (...path: readonly string[]): Meanwhile => ({
    verb: "delete",
    work: ({ add }) => add(path, { "late.txt": "late" }),
  });
  const moveFolder: Omit<Scenario, "tree"> = { method: "MOVE", from: ["source"], to: ["target"] };

  test("keeps what comes into a folder while the folder is moved", async () => {
    const inner = { "x.txt": "x" };
    const tree = { source: { ...source, inner } };
    expect(await scene.run({ ...moveFolder, tree }, undefined, late("source"))).toMatchObject({
      status: 412,
      text: expect.stringContaining("The copy at the destination is complete"),
      after: { source: { "late.txt": "late" }, target: { ...source, inner } },
    });
    const deep = await scene.run({ ...moveFolder, tree }, undefined, late("source", "inner"));
    expect(deep).toMatchObject({
      status: 412,
      after: { source: { inner: { "late.txt": "late" } }, target: { ...source, inner } },
    });
  });

  test("keeps what comes into the folder at the destination, and the folder under its other name", async () => {
    const tree = { source, target: before };
    const { status, text, after } = await scene.run(
      { ...moveFolder, tree },
      undefined,
      late("target"),
    );
    const [, aside = ""] = /is called "(.*)" now/.exec(text) ?? [];
    expect([status, after]).toEqual([
      412,
      { source, target: { "late.txt": "late" }, [aside]: before },
    ]);
  });

  test("leaves no copy beside a destination that is another version by now", async () => {
    const overwritten = await scene.run(
      { ...moveFolder, tree: { source, target: { "a.txt": "old" } } },
      undefined,
      { verb: "delete", work: () => scene.overwriteLast("newer") },
    );
    expect(overwritten).toMatchObject({ status: 412 });
    expect(overwritten.after).toEqual({ source, target: { "a.txt": "newer" } });
  });

  test("replaces no version of a file that comes while another file is copied over it", async () => {
    const tree = { "source.txt": "new", "target.txt": "old" };
    const scenario: Scenario = { method: "COPY", from: ["source.txt"], to: ["target.txt"], tree };
    const work = () => scene.overwriteLast("newer");
    expect(await scene.run(scenario, undefined, { verb: "read", work })).toMatchObject({
      status: 412,
      after: { "source.txt": "new", "target.txt": "newer" },
    });
  });

  test("deletes of a copy that fails what it has created, and not what others put beside it", async () => {
    const scenario: Scenario = {
      method: "COPY",
      from: ["source"],
      to: ["target"],
      tree: { source },
    };
    const { calls } = await scene.run(scenario);
    const failed = await scene.run(
      scenario,
      { at: calls - 1, when: "before" },
      { verb: "upload", work: ({ add }) => add(["target"], { "late.txt": "late" }) },
    );
    expect(failed).toMatchObject({ status: 403 });
    expect(failed.after).toEqual({ source, target: { "late.txt": "late" } });
  });
});

test("undoes a move when the document at the destination is another version by now", async () => {
  const changed = new DavRefusal(412, "changed");
  const before = { kind: "file", sharesName: true, remove: () => Promise.reject(changed) };
  const target = { resource: before } as unknown as Destination;
  const steps: string[] = [];
  const moved = overDestination({} as DavContext, target, async () => {
    steps.push("moved");
    return async () => void steps.push("undone");
  });
  await expect(moved).rejects.toBe(changed);
  expect(steps).toEqual(["moved", "undone"]);
});

function find(tree: string | Tree | undefined, path: readonly string[]): string | Tree | undefined {
  const [name, ...rest] = path;
  if (name === undefined || typeof tree !== "object") return tree;
  return find(tree[name], rest);
}
