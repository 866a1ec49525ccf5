import { expect } from "vitest";
import type { ProviderCapabilities } from "../../../storage/cloud/provider.ts";
import type { Behaviour } from "../cloud-provider.suite.ts";
import {
  calm,
  done,
  get,
  HOSTILE_NAMES,
  list,
  mkdir,
  move,
  names,
  put,
  remove,
  rename,
  stat,
  tree,
  tryUpload,
} from "./acting.ts";

/** Whether a second spelling of a taken name is a name of its own. */
async function expectSpelling(
  subject: Parameters<Behaviour["run"]>[0],
  [first, second]: readonly [string, string],
  areTwo: boolean,
): Promise<void> {
  const { provider } = subject;
  await put(provider, "", first, "first");
  const outcome = await tryUpload(provider, "", second, "second");
  expect(outcome.kind).toBe(areTwo ? "ok" : "conflict");
  const expected = areTwo ? { [first]: "first", [second]: "second" } : { [first]: "first" };
  expect(await tree(provider)).toEqual(expected);
}

const pathIds = (capabilities: ProviderCapabilities) => capabilities.ids === "path";

/** Listing and identity. */
export const listingBehaviours: readonly Behaviour[] = [
  {
    number: 1,
    title: "an empty root lists as empty, and never lists itself",
    async run({ provider }) {
      expect(await list(provider, "")).toEqual([]);
      const folder = await mkdir(provider, "", "only");
      expect((await list(provider, "")).map((item) => item.id)).toEqual([folder.id]);
      expect(await list(provider, folder.id)).toEqual([]);
    },
  },
  {
    number: 2,
    title: "a folder of more than two pages lists every entry exactly once",
    async run({ provider }, { entriesForPages = 300 }) {
      const wanted = Array.from({ length: entriesForPages }, (_, at) => `entry ${at}`);
      for (let at = 0; at < wanted.length; at += 20)
        await Promise.all(wanted.slice(at, at + 20).map((name) => mkdir(provider, "", name)));
      expect(await names(provider, "")).toEqual([...wanted].sort());
    },
  },
  {
    number: 3,
    title: "a missing folder is stale, never empty",
    async run({ provider }) {
      const gone = await mkdir(provider, "", "gone");
      expect((await remove(provider, gone)).kind).toBe("ok");
      expect((await provider.list({ folder: gone.id, signal: calm })).kind).toBe("stale");
    },
  },
  {
    number: 4,
    title: "listing a file is an error, never empty",
    async run({ provider }) {
      const file = await put(provider, "", "file.txt", "x");
      expect((await provider.list({ folder: file.id, signal: calm })).kind).not.toBe("ok");
    },
  },
  {
    number: 5,
    title: "a failing second page fails the listing",
    needs: ["failSecondPage"],
    async run({ provider, faults }, { entriesForPages = 300 }) {
      for (let at = 0; at < entriesForPages; at++) await mkdir(provider, "", `entry ${at}`);
      faults.failSecondPage?.();
      expect((await provider.list({ folder: "", signal: calm })).kind).toBe("offline");
      faults.clear?.();
      expect(await list(provider, "")).toHaveLength(entriesForPages);
    },
  },
  {
    number: 6,
    title: "entries carry kind, size, time, guard, version and id",
    async run({ provider, other }) {
      const before = Date.now() - 60_000;
      await put(provider, "", "file.txt", "12345");
      await mkdir(provider, "", "folder");
      const items = await list(other, "");
      const file = items.find((item) => item.name === "file.txt");
      const folder = items.find((item) => item.name === "folder");
      expect(file).toMatchObject({ kind: "file", size: 5, parent: "" });
      expect(folder).toMatchObject({
        kind: "folder",
        parent: "",
        size: undefined,
        version: undefined,
      });
      expect(file?.modifiedAt).toBeGreaterThan(before);
      expect([typeof file?.version, typeof file?.id, typeof folder?.id]).toEqual([
        "string",
        "string",
        "string",
      ]);
    },
  },
  {
    number: 7,
    title: "hostile names survive every operation",
    async run({ provider, other }, { refusesName = () => false, spell = (name) => name }) {
      const folder = await mkdir(provider, "", "from & to");
      const target = await mkdir(provider, "", "to ✓");
      for (const name of HOSTILE_NAMES) {
        if (refusesName(name)) {
          expect((await tryUpload(provider, folder.id, name, name)).kind).toBe("invalid_name");
          continue;
        }
        const item = await put(provider, folder.id, name, name);
        expect(item.name).toBe(spell(name));
        expect((await get(other, item.id)).toString()).toBe(name);
        const seen = (await list(other, folder.id)).find((one) => one.id === item.id);
        const moved = done(await move(other, seen ?? item, target.id));
        expect(moved.name).toBe(spell(name));
        const renamed = done(await rename(provider, moved, `was ${name}`.slice(0, 60)));
        expect((await get(provider, renamed.id)).toString()).toBe(name);
        const back = done(await rename(provider, renamed, name));
        expect((await stat(other, back.id)).name).toBe(spell(name));
        expect((await remove(provider, back)).kind).toBe("ok");
      }
      expect(await tree(provider)).toEqual({ "from & to/": "", "to ✓/": "" });
    },
  },
  {
    number: 8,
    title: "names that differ only in case are two or a conflict, as declared",
    unless: (capabilities) => (capabilities.duplicateNames ? "names may repeat here" : undefined),
    run: (subject) =>
      expectSpelling(
        subject,
        ["Name.txt", "nAME.txt"],
        subject.provider.capabilities.caseSensitive,
      ),
  },
  {
    number: 9,
    title: "names that differ only in normal form are two or a conflict, as declared",
    unless: (capabilities) => (capabilities.duplicateNames ? "names may repeat here" : undefined),
    run: (subject) =>
      expectSpelling(
        subject,
        ["\u00e4.txt", "a\u0308.txt"],
        subject.provider.capabilities.normalisationSensitive,
      ),
  },
  {
    number: 10,
    title: "a look at one item equals its entry, and what vanished is not found",
    async run({ provider, other }) {
      const folder = await mkdir(provider, "", "folder");
      await put(provider, folder.id, "file.txt", "x");
      for (const parent of ["", folder.id])
        for (const entry of await list(provider, parent))
          expect(await stat(other, entry.id)).toEqual(entry);
      const [entry] = await list(provider, folder.id);
      if (entry === undefined) throw new Error("the file is missing");
      expect((await remove(other, entry)).kind).toBe("ok");
      expect((await provider.stat({ id: entry.id, signal: calm })).kind).toBe("not_found");
    },
  },
  {
    number: 11,
    title: "ids stay or change on rename and move, as declared; an old id is not found",
    async run({ provider }) {
      const folder = await mkdir(provider, "", "folder");
      const file = await put(provider, "", "file.txt", "x");
      const renamed = done(await rename(provider, file, "other.txt"));
      const moved = done(await move(provider, renamed, folder.id));
      const isPath = pathIds(provider.capabilities);
      expect([renamed.id === file.id, moved.id === renamed.id]).toEqual([!isPath, !isPath]);
      if (isPath)
        expect((await provider.stat({ id: file.id, signal: calm })).kind).toBe("not_found");
      expect(await stat(provider, moved.id)).toEqual(moved);
    },
  },
];
