import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSyncFilter } from "../../../../../cli/commands/vault/item/sync-filter.ts";
import { toMaxDelete } from "../../../../../cli/commands/vault/item/two-way/limits.ts";
import { createLocalFolderSide } from "../../../../../cli/commands/vault/item/two-way/local-side.ts";
import type { Agreed } from "../../../../../cli/commands/vault/item/two-way/pair-state.ts";
import { planBoth } from "../../../../../cli/commands/vault/item/two-way/plan.ts";
import type { RemoteEntry } from "../../../../../cli/commands/vault/item/two-way/remote-side.ts";
import type { LocalEntry } from "../../../../../cli/commands/vault/item/two-way/scan.ts";

const local = (path: string, kind: "file" | "folder" = "file"): [string, LocalEntry] => [
  path,
  { path, kind, mark: { size: 1, mtime: "1", ctime: "1", ino: path } },
];
const remote = (path: string, kind: "file" | "folder" = "file"): [string, RemoteEntry] => [
  path,
  { path, kind, mark: { id: path, etag: path, size: 1, modifiedAt: "t" } } as RemoteEntry,
];

function plan(
  here: readonly [string, LocalEntry][],
  there: readonly [string, RemoteEntry][],
  agreements: readonly [string, Agreed][] = [],
  isCaseSensitive = true,
) {
  const rest = { blocked: new Map(), holdsIgnored: new Set<string>() };
  const steps = planBoth({
    agreements: new Map(agreements),
    local: { entries: new Map(here), ...rest, isCaseSensitive: true, rootIno: "1" },
    remote: { entries: new Map(there), ...rest, isCaseSensitive, tree: new Map() },
    hashes: new Map(),
    scannedAt: 0,
  });
  return steps.map((step) => [step.action, step.path, "on" in step ? step.on : null]);
}

test("names that one side does not distinguish are skipped, and nothing is deleted for them", () => {
  const steps = plan([local("A"), local("a"), local("b")], [remote("a")], [], false);
  expect(steps).toEqual([
    ["skip", "A", null],
    ["skip", "a", null],
    ["upload", "b", null],
  ]);
});

test("a file in the way of a folder is set aside, and what is in the folder waits", () => {
  const steps = plan([local("x")], [remote("x", "folder"), remote("x/y")]);
  expect(steps).toEqual([["set_aside", "x", "local"]]);
});

test("the files of a folder whose disk is not mounted are not deleted", () => {
  const file: Agreed = {
    kind: "file",
    sha256: "h",
    local: { size: 1, mtime: "1", ctime: "1", ino: "m/f" },
    localSeenAt: 1e9,
    remote: { id: "m/f", etag: "m/f", size: 1, modifiedAt: "t" },
  };
  const agreements: [string, Agreed][] = [
    ["m", { kind: "folder", isMount: true }],
    ["m/f", file],
  ];
  const there = [remote("m", "folder"), remote("m/f")];
  expect(plan([local("m", "folder")], there, agreements)).toEqual([["skip", "m", null]]);
  const [, ...plain] = agreements;
  expect(plan([local("m", "folder")], there, [["m", { kind: "folder" }], ...plain])).toEqual([
    ["agree", "m", null],
    ["delete", "m/f", "remote"],
  ]);
});

test("a scan follows no link, and reports names that a connection cannot have", async () => {
  const root = await mkdtemp(join(tmpdir(), "croft-scan-"));
  try {
    await mkdir(join(root, "out"));
    await writeFile(join(root, "out/secret"), "s");
    await mkdir(join(root, "in"));
    await symlink("../out", join(root, "in/link"));
    await writeFile(join(root, "in/line\nbreak"), "x");
    await writeFile(join(root, "in/cafe\u0301"), "x");
    await writeFile(join(root, "in/caf\u00e9"), "x");
    await writeFile(Buffer.concat([Buffer.from(join(root, "in/")), Buffer.from([0xff])]), "x");
    await writeFile(join(root, "in/fine"), "x");
    const system = {
      pid: 1,
      platform: "linux" as const,
      random: (length: number) => new Uint8Array(length),
      isProcessAlive: () => false,
    };
    const side = createLocalFolderSide(system, join(root, "in"));
    const { entries, blocked } = await side.scan(createSyncFilter({}));
    expect([...entries.keys()]).toEqual(["fine"]);
    expect(Object.fromEntries([...blocked].map(([path, { isQuiet }]) => [path, isQuiet]))).toEqual({
      link: true,
      "line\nbreak": false,
      "caf\u00e9": false,
      "\ufffd": false,
    });
  } finally {
    await rm(root, { recursive: true });
  }
});

test("--max-delete takes a number or a percentage", () => {
  expect(toMaxDelete("20")).toEqual({ count: 20 });
  expect(toMaxDelete("80%")).toEqual({ percent: 80 });
  for (const text of ["", "x", "-1", "101%", "1.5"])
    expect(() => toMaxDelete(text)).toThrow("--max-delete");
});
