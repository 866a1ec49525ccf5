import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createLocalFolderSide } from "../../cli/commands/vault/item/two-way/local-side.ts";
import type { PairState } from "../../cli/commands/vault/item/two-way/pair-state.ts";
import type {
  RemoteEntry,
  RemoteScan,
  RemoteSide,
} from "../../cli/commands/vault/item/two-way/remote-side.ts";
import { runSides, type Sides } from "../../cli/commands/vault/item/two-way/run.ts";
import { noFlags } from "../../cli/flags.ts";
import { cases } from "../support/property.ts";
import { changedMeanwhile } from "../../cli/commands/vault/item/two-way/scan.ts";

/** The tree that a person works on: files with their content; undefined is a folder. */
interface Tree {
  list(): Promise<Map<string, string | undefined>>;
  write(path: string, content: string): Promise<void>;
  remove(path: string): Promise<void>;
  move(from: string, to: string): Promise<void>;
}

class Killed extends Error {}

const below = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

function localTree(root: string): Tree {
  return {
    async list() {
      const found = new Map<string, string | undefined>();
      for (const path of await readdir(root, { recursive: true })) {
        const isFolder = (await stat(join(root, path))).isDirectory();
        found.set(path, isFolder ? undefined : await readFile(join(root, path), "utf8"));
      }
      return found;
    },
    async write(path, content) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
    },
    remove: (path) => rm(join(root, path), { recursive: true }),
    async move(from, to) {
      await mkdir(dirname(join(root, to)), { recursive: true });
      await rename(join(root, from), join(root, to));
    },
  };
}

/** A storage in memory, whose ids are the paths or stay with the item. */
function memoryRemote(
  hasStableIds: boolean,
): Tree & { side: (local: Sides["local"]) => RemoteSide } {
  interface Node {
    uid: string;
    version: number;
    content: string | undefined;
  }
  const nodes = new Map<string, Node>();
  let count = 0;
  const fresh = (content: string | undefined): Node => ({
    uid: `uid-${++count}`,
    version: count,
    content,
  });
  const makeFolders = (path: string) => {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1))
      if (!nodes.has(path.slice(0, at))) nodes.set(path.slice(0, at), fresh(undefined));
  };
  const move = (from: string, to: string) => {
    makeFolders(to);
    for (const [path, node] of [...nodes])
      if (below(path, from)) {
        nodes.delete(path);
        nodes.set(`${to}${path.slice(from.length)}`, node);
      }
  };
  const toEntry = (path: string, { uid, version, content }: Node): RemoteEntry => {
    const id = hasStableIds ? uid : path;
    const size = content === undefined ? null : Buffer.byteLength(content);
    const etag = content === undefined ? uid : `v${version}`;
    const modifiedAt = new Date(version * 1000).toISOString();
    const kind = content === undefined ? "folder" : "file";
    const item = { provider_item_id: id, name: path, kind, size, etag, modified_at: modifiedAt };
    return {
      path,
      kind,
      mark: { id, etag, size, modifiedAt },
      item: item as unknown as RemoteEntry["item"],
    };
  };
  const pathOf = (id: string) =>
    id === "" ? "" : [...nodes].find(([path, { uid }]) => (hasStableIds ? uid : path) === id)?.[0];
  const current = (entry: RemoteEntry): string => {
    const path = pathOf(entry.mark.id);
    const node = path === undefined ? undefined : nodes.get(path);
    if (path === undefined || node === undefined) throw changedMeanwhile(entry.path);
    if (toEntry(path, node).mark.etag !== entry.mark.etag) throw changedMeanwhile(path);
    return path;
  };
  const childOf = (parentId: string, name: string) => {
    const parent = pathOf(parentId);
    if (parent === undefined || (parent !== "" && nodes.get(parent)?.content !== undefined))
      throw changedMeanwhile(name);
    return parent === "" ? name : `${parent}/${name}`;
  };
  return {
    list: async () => new Map([...nodes].map(([path, { content }]) => [path, content])),
    async write(path, content) {
      makeFolders(path);
      const known = nodes.get(path);
      nodes.set(path, { ...fresh(content), ...(known && { uid: known.uid }) });
    },
    async remove(path) {
      for (const known of [...nodes.keys()]) if (below(known, path)) nodes.delete(known);
    },
    move: async (from, to) => move(from, to),
    side: (local) => ({
      rootId: "",
      async scan(): Promise<RemoteScan> {
        const sorted = [...nodes].toSorted(([one], [other]) => (one < other ? -1 : 1));
        const entries = new Map(sorted.map(([path, node]) => [path, toEntry(path, node)]));
        const tree = entries as unknown as RemoteScan["tree"];
        return {
          entries,
          blocked: new Map(),
          holdsIgnored: new Set(),
          isCaseSensitive: true,
          tree,
        };
      },
      async makeFolder(parentId, name) {
        const path = childOf(parentId, name);
        const known = nodes.get(path);
        if (known?.content !== undefined) throw changedMeanwhile(path);
        if (known === undefined) nodes.set(path, fresh(undefined));
        return toEntry(path, nodes.get(path) as Node).mark.id;
      },
      async upload(entry, parentId, name) {
        const { bytes, sha256 } = await local.readStable(entry);
        const path = childOf(parentId, name);
        if (nodes.has(path)) throw changedMeanwhile(path);
        nodes.set(path, fresh(String(bytes)));
        return {
          sha256,
          mark: { ...toEntry(path, nodes.get(path) as Node).mark, modifiedAt: null },
        };
      },
      async replace(entry, replaced) {
        const { bytes, sha256 } = await local.readStable(entry);
        const path = current(replaced);
        const { uid } = nodes.get(path) as Node;
        nodes.set(path, { ...fresh(String(bytes)), uid });
        return {
          sha256,
          mark: { ...toEntry(path, nodes.get(path) as Node).mark, modifiedAt: null },
        };
      },
      async download(entry, write) {
        const { content } = nodes.get(current(entry)) as Node;
        await write(Buffer.from(content as string));
      },
      async move(entry, parentId, to) {
        const target = childOf(parentId, to.slice(to.lastIndexOf("/") + 1));
        if (nodes.has(target) || below(target, current(entry))) throw changedMeanwhile(target);
        move(current(entry), target);
      },
      async removeFile(entry) {
        nodes.delete(current(entry));
      },
      async removeFolder(key, entry, { tree }) {
        const path = current(entry);
        const seen = [...(tree as unknown as Map<string, RemoteEntry>)].filter(([one]) =>
          below(one, key),
        );
        const now = [...nodes].filter(([one]) => below(one, path));
        const isSame = seen.every(([one, { mark }]) => {
          const node = nodes.get(one);
          return node !== undefined && toEntry(one, node).mark.etag === mark.etag;
        });
        if (!isSame || seen.length !== now.length) throw changedMeanwhile(path);
        for (const [one] of now) nodes.delete(one);
      },
      flush: () => undefined,
    }),
  };
}

/** One thing that a person does at one side. */
interface Edit {
  readonly side: "local" | "remote";
  readonly verb: "write" | "write_same" | "remove" | "rename" | "rename_folder" | "remove_folder";
  readonly at: number;
  readonly to: number;
}

const paths = ["a", "b.txt", "d/a", "d/b.txt", "d/e/c", "x/y", "x/z/w.txt", "q"];
const folderNames = ["d", "d/e", "x", "moved", "x/n"];

const edit = fc.record<Edit>({
  side: fc.constantFrom("local", "remote"),
  verb: fc.constantFrom(
    "write",
    "write",
    "write_same",
    "remove",
    "rename",
    "rename_folder",
    "remove_folder",
  ),
  at: fc.nat(1000),
  to: fc.nat(1000),
});

/** Some edits, then a run that is killed at a port's operation and disturbed at another one. */
const round = fc.record({
  edits: fc.array(edit, { maxLength: 6 }),
  during: fc.array(fc.record({ step: fc.nat(25), edit }), { maxLength: 2 }),
  killAt: fc.option(fc.record({ step: fc.nat(40), isAfter: fc.boolean() }), { nil: undefined }),
});

test("whatever people edit and wherever runs are killed, both sides become equal and no content is lost", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(round, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      async (rounds, hasStableIds) => {
        const root = await mkdtemp(join(tmpdir(), "croft-two-way-"));
        try {
          await check(root, rounds, hasStableIds);
        } finally {
          await rm(root, { recursive: true });
        }
      },
    ),
    cases(60),
  );
}, 300_000);

async function check(
  root: string,
  rounds: readonly (typeof round extends fc.Arbitrary<infer R> ? R : never)[],
  hasStableIds: boolean,
): Promise<void> {
  const remote = memoryRemote(hasStableIds);
  const trees = { local: localTree(root), remote };
  const written = new Set<string>();
  const removed = new Set<string>();
  let saved: PairState | undefined;
  let count = 0;

  const forget = (contents: Iterable<string | undefined>) => {
    for (const content of contents) if (content !== undefined) removed.add(content);
  };

  async function make({ side, verb, at, to }: Edit): Promise<void> {
    const tree = trees[side];
    const there = await tree.list();
    const files = [...there].filter(
      ([path, content]) => content !== undefined && !path.endsWith(".croft-part"),
    );
    const folders = [...there].filter(([, content]) => content === undefined);
    const [path, content] = files[at % Math.max(1, files.length)] ?? [];
    const [folder] = folders[at % Math.max(1, folders.length)] ?? [];
    const isClear = (target: string) => {
      if (there.has(target)) return false;
      for (let end = target.indexOf("/"); end >= 0; end = target.indexOf("/", end + 1))
        if (there.get(target.slice(0, end)) !== undefined) return false;
      return true;
    };
    if (verb === "write" || verb === "write_same") {
      const target = paths[at % paths.length] as string;
      if (there.get(target) === undefined && !isClear(target)) return;
      // Some contents are equal on purpose: they look like copies and renames.
      const text = verb === "write" ? `content ${++count}` : "the same";
      if (there.get(target) !== undefined) forget([there.get(target)]);
      written.add(text);
      await tree.write(target, text);
    } else if (verb === "remove" && path !== undefined) {
      forget([content]);
      await tree.remove(path);
    } else if (verb === "rename" && path !== undefined) {
      const target = paths[to % paths.length] as string;
      if (isClear(target)) await tree.move(path, target);
    } else if (verb === "rename_folder" && folder !== undefined) {
      const target = folderNames[to % folderNames.length] as string;
      if (isClear(target) && !below(target, folder)) await tree.move(folder, target);
    } else if (verb === "remove_folder" && folder !== undefined) {
      forget([...there].filter(([one]) => below(one, folder)).map(([, text]) => text));
      await tree.remove(folder);
    }
  }

  async function run({ during, killAt }: Pick<(typeof rounds)[number], "during" | "killAt">) {
    let steps = 0;
    let isKilled = false;
    const disturb = <T extends object>(port: T): T =>
      new Proxy(port, {
        get(target, key) {
          const method = Reflect.get(target, key) as unknown;
          if (typeof method !== "function" || key === "streamStable" || key === "flush")
            return method;
          return async (...input: unknown[]) => {
            if (isKilled) throw new Killed();
            const step = steps++;
            for (const { edit: now } of during.filter((one) => one.step === step)) await make(now);
            const isLast = killAt?.step === step;
            if (isLast) isKilled = true;
            if (isLast && !killAt.isAfter) throw new Killed();
            const result: unknown = await (method as (...all: unknown[]) => unknown).apply(
              target,
              input,
            );
            if (isKilled) throw new Killed();
            return result;
          };
        },
      });
    const system = {
      pid: process.pid,
      platform: "linux" as const,
      random: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
      isProcessAlive: () => false,
    };
    const local = createLocalFolderSide(system, root);
    const state = disturb({
      path: "",
      load: async () => saved,
      // As in the file, where entries are in no relation to those in memory.
      save: async (now: PairState) => void (saved = structuredClone(now)),
    });
    return runSides({
      cli: { clock: Date.now, signal: new AbortController().signal, flags: noFlags },
      pair: {
        state,
        localWord: "here",
        remoteWord: "there:/",
        missing: { local: false, remote: undefined },
      },
      options: { maxDelete: { percent: 100 } },
      local: disturb(local),
      remote: disturb(remote.side(local)),
    });
  }

  for (const { edits, during, killAt } of rounds) {
    for (const one of edits) await make(one);
    await run({ during, killAt }).catch((error: unknown) => {
      if (!(error instanceof Killed) && !String(error).includes("Killed")) throw error;
    });
  }
  for (let quiet = 0; quiet < 3; quiet++) {
    const outcomes = await run({ during: [], killAt: undefined });
    if (quiet === 2)
      expect(outcomes.map(({ item, value, failure }) => [item, value, failure])).toEqual([]);
  }
  const [here, there] = [await trees.local.list(), await remote.list()];
  const isFinal = ([path]: readonly [string, unknown]) => !path.endsWith(".croft-part");
  expect(Object.fromEntries([...here].filter(isFinal).toSorted())).toEqual(
    Object.fromEntries([...there].toSorted()),
  );
  const left = new Set([...here.values(), ...there.values()]);
  for (const content of written) if (!removed.has(content)) expect(left).toContain(content);
}
