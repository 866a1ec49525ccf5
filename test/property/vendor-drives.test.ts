import fc from "fast-check";
import { Agent } from "undici";
import { afterAll, describe, expect, test } from "vitest";
import type { CloudProvider, Expected } from "../../storage/cloud/provider.ts";
import type { ProviderItem } from "../../storage/cloud/item.ts";
import { isSameSpelling } from "../../storage/cloud/comparison.ts";
import { createLocks } from "../../storage/locks.ts";
import { calm, stat, toExpected, tree, tryUpload } from "../conformance/cloud-provider/acting.ts";
import { startDropboxServer } from "../stand-ins/dropbox-server.ts";
import { startOneDriveServer } from "../stand-ins/onedrive-server.ts";
import { startFaultProxy, type FaultProxy } from "../support/cloud/fault-proxy.ts";
import { connectDropbox, connectOneDrive } from "../support/cloud/vendor-drives.ts";
import { cases } from "../support/property.ts";

// Two clients change one drive, each according to its last listing, and now and then a request or a response is lost.
// Each outcome, and the final tree, must equal those of a model of a few lines.

const NAMES = ["a", "A", "b", "c d", "\u00e4", "a\u0308", "\u03a3"];

const step = fc.record({
  do: fc.constantFrom(
    "folder" as const,
    "upload" as const,
    "rename" as const,
    "rename" as const,
    "move" as const,
    "move" as const,
    "delete" as const,
    "look" as const,
  ),
  client: fc.nat({ max: 1 }),
  item: fc.nat({ max: 1000 }),
  at: fc.nat({ max: 1000 }),
  name: fc.constantFrom(...NAMES),
  fault: fc.option(
    fc.record({ way: fc.constantFrom("resetNext" as const, "loseNext" as const), at: fc.nat(5) }),
    { freq: 4 },
  ),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Drive extends AsyncDisposable {
  readonly clients: readonly CloudProvider[];
  /** Past the proxy. */
  readonly truth: CloudProvider;
  readonly proxy: FaultProxy;
}

const agent = new Agent();
afterAll(() => agent.destroy());

const drives: Record<string, () => Promise<Drive>> = {
  async onedrive() {
    const server = await startOneDriveServer({ driveType: "personal" });
    server.mixCase(true);
    const proxy = await startFaultProxy({ target: server.origin });
    const way = { dispatcher: agent, origin: proxy.origin };
    return {
      proxy,
      clients: [await connectOneDrive(server, way), await connectOneDrive(server, way)],
      truth: await connectOneDrive(server, { dispatcher: agent }),
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  },
  async dropbox() {
    const server = await startDropboxServer();
    const proxy = await startFaultProxy({ target: server.origin });
    const way = { dispatcher: agent, origin: proxy.origin, deps: { locks: createLocks() } };
    return {
      proxy,
      clients: [await connectDropbox(server, way), await connectDropbox(server, way)],
      truth: await connectDropbox(server, { dispatcher: agent }),
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

interface Node {
  item: ProviderItem;
  readonly content: string;
}

/** The items of the drive by id, as last reported. */
class Model {
  readonly nodes = new Map<string, Node>();

  isFolder(id: string): boolean {
    return id === "" || this.nodes.get(id)?.item.kind === "folder";
  }
  taken(parent: string, name: string, but?: string): boolean {
    return [...this.nodes.values()].some(
      ({ item }) => item.parent === parent && item.id !== but && isSameSpelling(item.name, name),
    );
  }
  /** Whether there is just this, and nothing in it. */
  holds(wanted: Partial<ProviderItem>, content: string): boolean {
    return [...this.nodes.values()].some(
      (node) =>
        node.content === content &&
        node.item.kind === wanted.kind &&
        node.item.parent === wanted.parent &&
        node.item.name.normalize("NFC") === wanted.name?.normalize("NFC") &&
        Object.keys(this.paths(node.item.id)).length === 0,
    );
  }
  isWithin(id: string, folder: string): boolean {
    for (let at = id; at !== ""; at = this.nodes.get(at)?.item.parent ?? "")
      if (at === folder) return true;
    return false;
  }
  remove(id: string): void {
    for (const { item } of [...this.nodes.values()])
      if (item.parent === id && this.nodes.has(item.id)) this.remove(item.id);
    this.nodes.delete(id);
  }
  /** Returns whether an item still matches an earlier observation. */
  isStill(seen: ProviderItem): boolean {
    const now = this.nodes.get(seen.id)?.item;
    return (
      now !== undefined &&
      now.name === seen.name &&
      now.parent === seen.parent &&
      now.etag === seen.etag
    );
  }
  paths(parent = "", path = ""): Record<string, string> {
    const found: Record<string, string> = {};
    for (const { item, content } of this.nodes.values()) {
      if (item.parent !== parent) continue;
      const at = path + item.name;
      if (item.kind === "folder") {
        found[`${at}/`] = "";
        Object.assign(found, this.paths(item.id, `${at}/`));
      } else found[at] = content;
    }
    return found;
  }
}

interface Planned {
  /** The expected outcome when nothing is lost. */
  readonly kind: string;
  readonly act: () => Promise<{ readonly kind: string; readonly item?: ProviderItem }>;
  readonly apply: (item: ProviderItem | undefined) => void;
  /** The requested result existed before: after a lost response it cannot be distinguished. */
  readonly isThere?: boolean;
}

function plan(
  model: Model,
  seen: Map<string, ProviderItem>,
  by: CloudProvider,
  what: Step,
): Planned {
  const known = [...seen.values()];
  const folders = ["", ...known.filter(({ kind }) => kind === "folder").map(({ id }) => id)];
  const parent = folders[what.at % folders.length] ?? "";
  const item = known[what.item % Math.max(known.length, 1)];
  const { name } = what;
  const put = (content: string) => (made: ProviderItem | undefined) => {
    if (made !== undefined) model.nodes.set(made.id, { item: made, content });
  };
  const update = (now: ProviderItem | undefined) => {
    const node = now && model.nodes.get(now.id);
    if (node !== undefined && now !== undefined) node.item = now;
  };
  if (what.do === "folder" || what.do === "upload") {
    const kind = !model.isFolder(parent) ? "stale" : model.taken(parent, name) ? "conflict" : "ok";
    const content = `content ${what.item}`;
    const wanted = { kind: what.do === "folder" ? "folder" : "file", name, parent } as const;
    const isThere = model.holds(wanted, what.do === "folder" ? "" : content);
    return what.do === "folder"
      ? {
          kind,
          act: () => by.createFolder({ parent, name, signal: calm }),
          apply: put(""),
          isThere,
        }
      : { kind, act: () => tryUpload(by, parent, name, content), apply: put(content), isThere };
  }
  if (item === undefined || what.do === "look")
    return { kind: "ok", act: async () => ({ kind: "ok" }), apply: () => undefined };
  const expected: Expected = toExpected(item);
  const { id } = item;
  if (what.do === "delete")
    return {
      kind: model.isStill(item) ? "ok" : "stale",
      act: () => by.delete({ id, expected, signal: calm }),
      apply: () => model.remove(id),
    };
  if (what.do === "rename") {
    const isTaken = model.taken(item.parent, name, id);
    return {
      kind: !model.isStill(item) ? "stale" : isTaken ? "conflict" : "ok",
      act: () => by.rename({ id, name, expected, signal: calm }),
      apply: update,
    };
  }
  const kind = () => {
    if (parent === id) return "invalid_destination";
    if (!model.isStill(item)) return "stale";
    if (item.parent === parent) return "ok";
    if (!model.isFolder(parent)) return "stale";
    if (model.isWithin(parent, id)) return "invalid_destination";
    return model.taken(parent, item.name, id) ? "conflict" : "ok";
  };
  return {
    kind: kind(),
    act: () => by.move({ id, parent, expected, signal: calm }),
    apply: update,
  };
}

async function run(open: () => Promise<Drive>, steps: readonly Step[]): Promise<void> {
  await using drive = await open();
  const model = new Model();
  const views = drive.clients.map(() => new Map<string, ProviderItem>());
  for (const what of steps) {
    const by = drive.clients[what.client];
    const seen = views[what.client];
    if (by === undefined || seen === undefined) throw new Error("unknown client");
    if (what.do === "look") {
      seen.clear();
      for (const { item } of model.nodes.values()) seen.set(item.id, item);
    }
    const planned = plan(model, seen, by, what);
    let requests = 0;
    if (what.fault !== null) {
      const { way, at } = what.fault;
      drive.proxy[way](() => requests++ === at);
    }
    const outcome = await planned.act();
    drive.proxy.faults.clear();
    const message = `${JSON.stringify(what)}: ${JSON.stringify(outcome)}`;
    const wasHit = what.fault !== null && requests > what.fault.at;
    if (!wasHit) expect(outcome.kind, message).toBe(planned.kind);
    else {
      const allowed = [planned.kind, "offline", "unknown_outcome"];
      if (planned.isThere === true) allowed.push("ok");
      expect(allowed, message).toContain(outcome.kind);
    }
    if (outcome.kind === "ok") {
      planned.apply(outcome.item);
      if (outcome.item !== undefined) seen.set(outcome.item.id, outcome.item);
    }
    const held = await tree(drive.truth);
    // The only permitted outcome of a change that was nevertheless made.
    if (outcome.kind === "unknown_outcome") return;
    expect(held, message).toEqual(model.paths());
    // A change that was made and undone has created another version.
    if (wasHit)
      for (const node of model.nodes.values()) node.item = await stat(drive.truth, node.item.id);
  }
}

describe.each(Object.entries(drives))("%s", (_name, open) => {
  test("reports the true outcome of every change, even when responses are lost", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), (steps) =>
        run(open, steps),
      ),
      cases(25),
    ));
});
