import { mkdir, mkdtemp, readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openQuarantine } from "../../../../storage/git/object-quarantine.ts";
import { isMissing } from "../../../../storage/system-errors.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "croft-quarantine-"));
  await mkdir(join(directory, "objects"));
});
afterEach(() => rm(directory, { recursive: true }));

/** Calls `change` again and again until `isOver` returns true; what it misses meanwhile does not matter. */
async function keepChanging(change: () => Promise<unknown>, isOver: () => boolean): Promise<void> {
  while (!isOver())
    await change().catch((error: unknown) => {
      if (!isMissing(error) && !(error as NodeJS.ErrnoException).code?.startsWith("ENOTEMPTY"))
        throw error;
    });
}

test("a quarantine is dropped while a git that outlived its run writes there", async () => {
  for (let round = 0; round < 10; round += 1) {
    const quarantine = await openQuarantine(directory, String(round));
    const path = join(directory, quarantine.folder);
    let written = 0;
    const until = Date.now() + 60;
    const writing = Promise.all(
      Array.from({ length: 4 }, () =>
        keepChanging(
          () => writeFile(join(path, `tmp_obj_${(written += 1)}`), ""),
          () => Date.now() > until,
        ),
      ),
    );
    await quarantine[Symbol.asyncDispose]();
    await writing;
  }
  expect(await readdir(join(directory, "objects"))).toEqual([]);
});

test("objects are accepted while git removes their empty folders", async () => {
  const quarantine = await openQuarantine(directory, "one");
  const objects = join(directory, "objects");
  const names = Array.from({ length: 300 }, (_, at) => at.toString(16).padStart(38, "0"));
  for (const [at, name] of names.entries()) {
    const folder = join(directory, quarantine.folder, (at % 256).toString(16).padStart(2, "0"));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, name), "");
  }
  let isAccepted = false;
  const collecting = Promise.all(
    Array.from({ length: 3 }, () =>
      keepChanging(
        async () => {
          for (const folder of await readdir(objects))
            await rmdir(join(objects, folder)).catch(() => undefined);
        },
        () => isAccepted,
      ),
    ),
  );
  await quarantine.accept().finally(() => (isAccepted = true));
  await collecting;
  const files = await readdir(objects, { recursive: true, withFileTypes: true });
  expect(files.filter((file) => file.isFile())).toHaveLength(names.length);
});
