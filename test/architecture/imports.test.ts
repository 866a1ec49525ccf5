import { describe, expect, test } from "vitest";
import { productRooms, readSources } from "./source-tree.ts";
import type { Import, SourceFile } from "./source-tree.ts";

/** The modules that a part of the product may import. The first rule whose `of` matches a file applies. */
interface Rule {
  readonly name: string;
  /** Files that the rule is about. */
  readonly of: RegExp;
  /** Imports that it refuses. */
  readonly refuses: (imported: Import, source: SourceFile) => boolean;
  readonly because: string;
}

const rules: readonly Rule[] = [
  {
    name: "storage imports nothing outside itself",
    of: /^storage\//,
    refuses: ({ target }) => isOurs(target) && !target.startsWith("storage/"),
    because:
      "it stores rows and bytes for any caller; a dependency on one of them would tie them together",
  },
  {
    name: "the contract is pure",
    of: /^daemon\/contract\//,
    refuses: ({ target }) => target !== "zod" && !/^daemon\/(contract|settings)\//.test(target),
    because:
      "both ends of the wire load it; I/O or a feature in it would end up in the command line too",
  },
  {
    name: "settings are pure",
    of: /^daemon\/settings\//,
    refuses: ({ target }) =>
      target !== "zod" && target !== "node:path" && !target.startsWith("daemon/settings/"),
    because: "the command line loads them too; what they read is handed to them",
  },
  {
    name: "the transport knows endpoints, not features",
    of: /^daemon\/http\//,
    // It counts requests in rows of its own, spools forms to disk, owns the streams that it sends, and knows the failures of the port and of a full disk.
    refuses: ({ target }) =>
      !/^storage\/(engine\/database|system-errors|owner|spool|tables\/common\/rate-limits)\.ts$/.test(
        target,
      ) && /^(daemon\/(forge|vault|jobs|outbound)|storage)\//.test(target),
    because: "routes are handed to it as values; a feature it knew could not change without it",
  },
  {
    name: "forge and vault are strangers",
    of: /(^|\/)forge\//,
    refuses: ({ target }) => /(^|\/)vault\//.test(target),
    because: "the two APIs share nothing, users included; what both need lies beside them",
  },
  {
    name: "vault and forge are strangers",
    of: /(^|\/)vault\//,
    refuses: ({ target }) => /(^|\/)forge\//.test(target),
    because: "the two APIs share nothing, users included; what both need lies beside them",
  },
  {
    name: "what both APIs show pages with knows neither",
    of: /^daemon\/(pages|rendering)\//,
    refuses: ({ target }) => /^(daemon\/(forge|vault|composition)|storage)\//.test(target),
    because: "forge and vault hand it their callers, texts and operations",
  },
  {
    name: "services know no HTTP",
    of: /^daemon\/.*\.service\.ts$/,
    refuses: ({ target }) => target.startsWith("daemon/http/") || target === "h3",
    because: "a rule must hold for every caller: a route, a job or a test",
  },
  {
    name: "views know no HTTP",
    of: /^daemon\/.*\.view\.ts$/,
    refuses: ({ target, typeOnly }) =>
      (target.startsWith("daemon/http/") && !typeOnly) || target === "h3",
    because: "a view turns a record into its wire form and does nothing else",
  },
  {
    name: "routes know no storage",
    of: /^daemon\/.*\.routes\.ts$/,
    refuses: ({ target }) => target.startsWith("storage/"),
    because: "a route calls one service and one view; rules and rows belong to the service",
  },
  {
    name: "adapters are chosen in one place",
    of: /^daemon\/(?!composition\/).+\//,
    refuses: ({ target, typeOnly }) =>
      !typeOnly &&
      /^storage\/(engine\/(sqlite|postgres|open)|cloud\/registry|keys\/open)/.test(target),
    because:
      "only the composition root (daemon/main.ts and daemon/composition) names engines, providers and key sources; the rest is handed them",
  },
  {
    name: "only the entry knows the composition root",
    of: /^(?!daemon\/(main\.ts$|composition\/))/,
    refuses: ({ target }) => target.startsWith("daemon/composition/"),
    because: "it constructs and connects; code that others need belongs to a room",
  },
  {
    name: "rows do not know which engine keeps them",
    of: /^storage\/tables\//,
    refuses: ({ target }) =>
      target.startsWith("storage/") &&
      !/^storage\/(tables\/|engine\/(database|values|json-column)\.ts)/.test(target),
    because: "one SQL text serves both engines through the port",
  },
  {
    name: "the daemon does not know the command line",
    of: /^daemon\//,
    refuses: ({ target }) => /^(cli|bin)\//.test(target),
    because: "the daemon runs without it",
  },
  {
    name: "what runs workflows on both sides of the wire is pure",
    of: /^daemon\/workflows\//,
    refuses: ({ target }) =>
      !/^(yaml|@bufbuild\/protobuf.*|daemon\/workflows\/.+|daemon\/utilities\/automaton\.ts)$/.test(
        target,
      ),
    because:
      "the built-in runner loads it too: workflows, expressions and the messages of the protocol",
  },
  {
    name: "the built-in runner is a client that also reads workflows",
    of: /^cli\/runner\//,
    refuses: ({ target }) =>
      isOurs(target) &&
      !/^(cli\/|storage\/start-process\.ts$|daemon\/(settings|workflows)\/)/.test(target),
    because: "it talks to daemons over the wire as any runner does, of other versions too",
  },
  {
    name: "the command line knows the contract and the settings only",
    of: /^cli\/(?!runner\/)/,
    refuses: ({ target, dynamic, typeOnly }) =>
      isOurs(target) &&
      !/^(cli\/|daemon\/(contract|settings)\/|storage\/start-process\.ts$|package\.json$)/.test(
        target,
      ) &&
      !(target === "daemon/main.ts" && (dynamic || typeOnly)),
    because:
      "it talks to daemons over the wire, of other versions too; serve and init load daemon/main.ts when they run; programs start in one way everywhere",
  },
  {
    name: "programs, scripts and threads start in one place each",
    of: /^(cli|daemon|storage)\/(?!.*(start-process|thread-pool|backup\/prover)\.ts$)/,
    refuses: ({ target, names, typeOnly }) =>
      !typeOnly &&
      (target === "node:child_process" ||
        (target === "node:worker_threads" && names.includes("Worker"))),
    because:
      "a start that fails throws, returns a process without pipes, or emits an error; storage/start-process.ts, daemon/jobs/thread-pool.ts and storage/backup/prover.ts handle all three",
  },
  {
    name: "the runner opens files of jobs in one place",
    of: /^cli\/runner\/(?!files\/|places\/job-processes\.ts$)/,
    refuses: ({ target, names, typeOnly }) =>
      !typeOnly &&
      /^node:fs(\/promises)?$/.test(target) &&
      !(names.length > 0 && names.every((name) => ["access", "constants"].includes(name))),
    because:
      "a job may put a link, a pipe or an endless file in the place of any of its files; cli/runner/files opens them so that nothing is followed, waits or has no maximum",
  },
  {
    name: "nothing of the product knows tests, benchmarks or the build",
    of: /^(cli|daemon|storage)\//,
    refuses: ({ target }) => /^(test|bench|bin)\//.test(target) || target === "vitest",
    because: "they are not there in what a user installs",
  },
];

const sources = readSources([...productRooms, "bin"]);

describe("imports between the parts of the product", () => {
  test.each(rules)("$name", ({ of, refuses, because }) => {
    const refusals = sources
      .filter(({ path }) => of.test(path))
      .flatMap((source) =>
        source.imports
          .filter((imported) => refuses(imported, source))
          .map(
            ({ specifier, line }) =>
              `${source.path}:${line} may not import ${specifier}: ${because}`,
          ),
      );
    expect(refusals).toEqual([]);
  });
});

test("no files import each other in a cycle, neither by value, nor by type, nor when they run", () => {
  const graph = new Map(
    sources.map(({ path, imports }) => [path, imports.map(({ target }) => target)]),
  );
  expect(findCycles(graph)).toEqual([]);
});

test("rooms of the daemon and of storage depend on each other in one direction", () => {
  const graph = new Map<string, string[]>();
  for (const { path, imports } of sources.filter((source) => !source.path.startsWith("cli/"))) {
    const targets = imports
      .map(({ target }) => toRoom(target))
      .filter((target) => isOurs(target) && target !== toRoom(path));
    graph.set(toRoom(path), [...(graph.get(toRoom(path)) ?? []), ...targets]);
  }
  expect(findCycles(graph)).toEqual([]);
});

test("imports of the project's own files are relative and carry the extension", () => {
  const wrong = sources.flatMap(({ path, imports }) =>
    imports
      .filter(
        ({ specifier }) =>
          specifier.startsWith("/") || specifier.startsWith("#") || specifier.startsWith("~"),
      )
      .concat(
        imports.filter(
          ({ specifier }) => specifier.startsWith(".") && !/\.(tsx?|js|json)$/.test(specifier),
        ),
      )
      .map(({ specifier, line }) => `${path}:${line} ${specifier}`),
  );
  expect(wrong).toEqual([]);
});

test("Node's own modules are named with their prefix", () => {
  const wrong = sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ specifier }) =>
        /^(assert|buffer|child_process|crypto|events|fs|http|https|net|os|path|stream|url|util|zlib)(\/|$)/.test(
          specifier,
        ),
      )
      .map(({ specifier, line }) => `${path}:${line} ${specifier}`),
  );
  expect(wrong).toEqual([]);
});

/** Returns one cycle, as a list of paths, of each group of files that import each other. Depth-first search. */
function findCycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const visit = (path: string, above: readonly string[]) => {
    const seen = above.indexOf(path);
    if (seen !== -1) cycles.push(above.slice(seen));
    if (seen !== -1 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...above, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return cycles;
}

/** The folders that hold several rooms; each of their other files is a room of its own. */
const HALLS = ["daemon", "daemon/forge", "daemon/vault", "storage", "storage/cloud"];

/** Returns the room of a file: a folder with all below it, or a file between rooms. */
function toRoom(path: string): string {
  const folders = path.split("/").slice(0, -1);
  const depth = folders.findIndex((_, at) => !HALLS.includes(folders.slice(0, at + 1).join("/")));
  return depth === -1 ? path : folders.slice(0, depth + 1).join("/");
}

function isOurs(target: string): boolean {
  return /^(bench|bin|cli|daemon|storage|test)\//.test(target) || target === "package.json";
}
