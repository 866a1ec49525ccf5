import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileObjects } from "../../storage/objects/file-objects.ts";
import type { ObjectDamage } from "../../storage/objects/verified-reads.ts";
import { openBucketSubject, SMALL_BUCKET_SIZES } from "../support/cloud/bucket-objects.ts";
import { flipBit, objectStoreSuite, type ObjectStoreSubject } from "./object-store.suite.ts";

objectStoreSuite("as files", { sizes: [0, 1, 65_536, 300_001], open: openFiles });
objectStoreSuite("in a bucket", { sizes: SMALL_BUCKET_SIZES, open: () => openBucketSubject() });
objectStoreSuite("in a folder of a bucket that keeps no conditions and lists names as they are", {
  sizes: [0, 1, 131_072],
  open: () =>
    openBucketSubject({
      root: "croft/main/",
      server: { conditions: "not_implemented", encoding: "none" },
    }),
});
objectStoreSuite("in a bucket that keeps versions", {
  sizes: [0, 131_072],
  open: () => openBucketSubject({ server: { isVersioned: true } }),
});

async function openFiles(): Promise<ObjectStoreSubject> {
  const home = await mkdtemp(join(tmpdir(), "croft-objects-"));
  const [folder, tmp] = [join(home, "packages"), join(home, "tmp")];
  for (const path of [folder, tmp]) await mkdir(path);
  const damages: ObjectDamage[] = [];
  const store = createFileObjects({
    folder,
    tmp,
    newId: () => crypto.randomUUID(),
    clock: () => Date.now(),
    onDamaged: (damage) => damages.push(damage),
  });
  const list = async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile());
  };
  return {
    store,
    other: store,
    now: () => Date.now(),
    async age(ms) {
      for (const { parentPath, name } of await list()) {
        const path = join(parentPath, name);
        const at = (await stat(path)).mtimeMs - ms;
        await utimes(path, at / 1000, at / 1000);
      }
    },
    copies: async (sha256) => (await list()).filter(({ name }) => name === sha256).length,
    waiting: () => readdir(tmp),
    damages,
    async damage(sha256) {
      for (const { parentPath, name } of await list()) {
        if (name !== sha256) continue;
        const path = join(parentPath, name);
        await writeFile(path, flipBit(await readFile(path)), { flag: "r+" });
      }
    },
    async quarantined() {
      const names = await readdir(join(folder, "quarantine")).catch(() => []);
      return names.map((name) => name.slice(0, 64));
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}
