import { mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPartFolders } from "../../../cli/support/part-files.ts";
import { toPartPath } from "../../../cli/support/file-names.ts";
import { temporaryHome } from "./run-cli.ts";

const DAY_MS = 24 * 3_600_000;
const DEAD = 77;

test("a sweep removes the parts that killed processes have left of one target, and no others", async () => {
  await using home = await temporaryHome();
  const target = join(home.path, "a.bin");
  const long = join(home.path, "n".repeat(255));
  const now = Date.UTC(2026, 10, 28);
  const system = {
    ...{ pid: 1, clock: () => now, random: (length: number) => new Uint8Array(length) },
    isProcessAlive: (pid: number) => pid !== DEAD,
  };
  const removed = [
    toPartPath(target, `~${DEAD}_0badcafe`),
    toPartPath(target, "~0123456789abcdef"),
    toPartPath(long, `~${DEAD}_0badcafe`),
    // The archive of an artifact arrives in a part of the part that is extracted.
    toPartPath(toPartPath(target, `~${DEAD}_0badcafe`), `~${DEAD}_00000002`),
  ];
  const kept = [
    toPartPath(toPartPath(target, `~${DEAD}_0badcafe`), "~78_0badcafe"),
    toPartPath(toPartPath(join(home.path, "b.bin"), `~${DEAD}_0badcafe`), `~${DEAD}_00000002`),
    toPartPath(target, "~78_0badcafe"),
    toPartPath(target, `abcdefgh12~${DEAD}_0badcafe`),
    toPartPath(target, "abcdefgh12"),
    toPartPath(join(home.path, "b.bin"), `~${DEAD}_0badcafe`),
    toPartPath(join(home.path, `x${"n".repeat(254)}`), `~${DEAD}_0badcafe`),
    toPartPath(target, "~fedcba9876543210"),
    join(home.path, "a.bin.~.croft-part"),
  ];
  for (const path of [...removed, ...kept]) await writeFile(path, "half");
  const isRecent = toPartPath(target, "~fedcba9876543210");
  for (const path of [...removed, ...kept]) {
    const at = new Date(path === isRecent ? now - DAY_MS + 1 : now - DAY_MS);
    await utimes(path, at, at);
  }
  const link = toPartPath(target, `~${DEAD}_00000000`);
  await symlink("elsewhere", link);
  const folder = toPartPath(target, `~${DEAD}_00000001`);
  await mkdir(folder);
  const before = await readdir(home.path);
  const { sweep } = createPartFolders();
  await sweep(target, system);
  await sweep(long, system);
  await sweep(join(home.path, "missing", "a.bin"), system);
  const gone = before.filter((name) => removed.includes(join(home.path, name)));
  expect(gone).toHaveLength(4);
  expect((await readdir(home.path)).toSorted()).toEqual(
    before.filter((name) => !gone.includes(name)).toSorted(),
  );
});
