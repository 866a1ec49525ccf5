import { expect, test } from "vitest";
import { productRooms, readSources } from "./source-tree.ts";

/**
 * The modules of the forge and the vault that may load at each start: what the first jobs, schedules and ports need. All
 * else is loaded by the first request, job or scheduled task that needs it, so that a feature costs nothing at the start
 * (ARCHITECTURE.md, "The start").
 */
const mayLoad: readonly RegExp[] = [
  // The schedules and their list.
  /^daemon\/(?:forge|vault)\/tasks\.ts$/,
  /^daemon\/forge\/(?:cron\/(?:gitea-tasks|cron\.service)|refusals)\.ts$/,
  // Moves of folders that a crash interrupted.
  /^daemon\/forge\/repositories\/(?:repository-folders|folder-moves)\.ts$/,
  // The port of SSH, without the library.
  /^daemon\/forge\/git\/ssh\/(?:host-keys|ssh-server|read-scheduler|ssh-session|ssh-command)\.ts$/,
  // Which part serves an address.
  /^daemon\/(?:contract\/(?:api-of|endpoint)|pages\/is-page)\.ts$/,
  // The rules of the first administrators.
  /^daemon\/contract\/(?:issue-text|password-rules|forge\/rules|vault\/common)\.ts$/,
  /^daemon\/vault\/accounts\/password-rules\.ts$/,
];

/** The packages that may load at each start. */
const packages = ["argon2", "better-sqlite3", "croner", "ipaddr.js", "pino", "prom-client", "zod"];

const sources = new Map(
  readSources([...productRooms, "bin"]).map((source) => [source.path, source]),
);

/** Returns the modules that load with a module, because they are imported by value and not on demand. */
function closureOf(entry: string): ReadonlySet<string> {
  const loaded = new Set<string>();
  const visit = (path: string) => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const { target, dynamic, typeOnly } of sources.get(path)?.imports ?? [])
      if (!dynamic && !typeOnly) visit(target);
  };
  visit(entry);
  return loaded;
}

const atStart = [...closureOf("daemon/main.ts")];

test("the start loads no module of the forge and the vault that is not listed", () => {
  const parts = /^daemon\/(?:contract|forge|pages|rendering|vault|workflows)\//;
  const refused = atStart.filter(
    (path) => parts.test(path) && !mayLoad.some((allowed) => allowed.test(path)),
  );
  expect(refused).toEqual([]);
});

test("the start loads no package that is not listed", () => {
  const isPackage = (path: string) => !/^(?:node:|daemon\/|storage\/|package\.json)/.test(path);
  expect(atStart.filter(isPackage).toSorted()).toEqual(packages);
});
