import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createPrivateFolder,
  DataDirectoryError,
  emptyTemporaryFolder,
  holdsDatabase,
  openDataDirectory,
} from "../../../storage/data-directory.ts";
import { skipUnless } from "../../support/skip.ts";

const userId = process.getuid?.();
const options = { userId, createParents: false };
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-data-"));
});
afterEach(async () => {
  await chmod(folder, 0o700);
  await rm(folder, { recursive: true });
});

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
const refusal = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(DataDirectoryError);
  return error as DataDirectoryError;
};
const expectCode = async (promise: Promise<unknown>, code: string) =>
  expect((await refusal(promise)).code).toBe(code);

describe("a data directory", () => {
  test("a data directory is made with all its folders, each closed to others", async () => {
    const root = join(folder, "croft");
    const directory = await openDataDirectory(root, options);
    const names = await readdir(root);
    expect(names.toSorted()).toEqual([
      "backups",
      "cache",
      "exports",
      "keys",
      "objects",
      "outbox",
      "packages",
      "repositories",
      "tmp",
      "uploads",
    ]);
    expect(directory.database).toBe(join(root, "croft.db"));
    for (const name of ["", ...names]) {
      expect(await modeOf(join(root, name))).toBe("700");
    }
  });

  test("a data directory may be opened again, and a missing folder is created", async () => {
    const directory = await openDataDirectory(folder, options);
    await rm(directory.exports, { recursive: true });
    await openDataDirectory(folder, options);
    expect(await modeOf(directory.exports)).toBe("700");
  });

  test("a data directory that others may only read is closed to them", async () => {
    await writeFile(join(folder, "config.yaml"), "");
    await chmod(folder, 0o755);
    await openDataDirectory(folder, options);
    expect(await modeOf(folder)).toBe("700");
  });

  test.each(["tmp", "cache"])(
    "a data directory with a link in the place of %s is refused, and its target stays unchanged",
    async (name) => {
      const elsewhere = join(folder, "elsewhere");
      const root = join(folder, "croft");
      await openDataDirectory(root, options);
      await mkdir(join(elsewhere, "tmp"), { recursive: true });
      await writeFile(join(elsewhere, "letter.txt"), "dear");
      await rm(join(root, name), { recursive: true });
      await symlink(elsewhere, join(root, name));
      expect((await refusal(openDataDirectory(root, options))).message).toContain("is a link");
      expect(await readdir(elsewhere)).toEqual(["letter.txt", "tmp"]);
    },
  );

  test.each(["tmp", "cache"])(
    "rejects a data directory that another program uses when croft would empty its %s",
    async (name) => {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, "draft.txt"), "mine");
      await chmod(folder, 0o755);
      await expectCode(openDataDirectory(folder, options), "not_ours");
      expect(await readdir(folder)).toEqual([name]);
      expect(await modeOf(folder)).toBe("755");
      // A home that was restored from a copy is croft's, whatever lies there.
      await writeFile(join(folder, "croft.db"), "");
      await openDataDirectory(folder, options);
    },
  );

  test("a data directory whose first start was interrupted while it looked whether it can be written is opened", async () => {
    await mkdir(join(folder, "tmp"), { mode: 0o700 });
    await writeFile(join(folder, "tmp", ".write-test"), "half");
    await openDataDirectory(folder, options);
    expect(await readdir(join(folder, "tmp"))).toEqual([]);
  });

  test("a data directory that holds the log of this start alone and is writable by others is taken over", async () => {
    await mkdir(join(folder, "state"), { mode: 0o700 });
    await chmod(folder, 0o777);
    await openDataDirectory(folder, options);
    expect(await modeOf(folder)).toBe("700");
  });

  test("a data directory that is empty and writable by others is taken over", async () => {
    await chmod(folder, 0o777);
    await openDataDirectory(folder, options);
    expect(await modeOf(folder)).toBe("700");
  });

  test("knows whether it holds a database", async () => {
    const directory = await openDataDirectory(folder, options);
    expect(await holdsDatabase(directory)).toBe(false);
    await writeFile(directory.database, "");
    expect(await holdsDatabase(directory)).toBe(true);
  });

  test("deletes partial files when the holder requests it", async () => {
    const directory = await openDataDirectory(folder, options);
    await mkdir(join(directory.tmp, "a"));
    await writeFile(join(directory.tmp, "a", "b"), "half");
    await emptyTemporaryFolder(directory);
    expect(await readdir(directory.tmp)).toEqual([]);
  });
});

describe("a data directory is refused", () => {
  test("when it holds something and others may write to it", async () => {
    await writeFile(join(folder, "planted"), "");
    await chmod(folder, 0o775);
    const error = await refusal(openDataDirectory(folder, options));
    expect(error.code).toBe("exposed");
    expect(error.message).toContain("mode 0775");
    expect(error.message).toContain(`chmod 700 ${folder}`);
    expect(await modeOf(folder)).toBe("775");
  });

  test("when one of its folders is open to others", async () => {
    const { keys } = await openDataDirectory(folder, options);
    await writeFile(join(keys, "planted"), "");
    await chmod(keys, 0o722);
    expect(await refusal(openDataDirectory(folder, options))).toMatchObject({
      code: "exposed",
      path: keys,
    });
  });

  test("when it belongs to another user", async () => {
    const error = await refusal(openDataDirectory(folder, { ...options, userId: 4_000_000 }));
    expect(error).toMatchObject({ code: "not_ours" });
    expect(error.message).toContain("croft runs as user 4000000");
  });

  test("when the folder above does not exist, unless parents shall be made", async () => {
    const root = join(folder, "a", "b");
    const error = await refusal(openDataDirectory(root, options));
    expect(error).toMatchObject({ code: "missing_parent" });
    expect(error.message).toContain(join(folder, "a"));
    await openDataDirectory(root, { ...options, createParents: true });
    expect(await modeOf(join(folder, "a"))).toBe("700");
  });

  test("when it is a file, or lies below one", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    await expectCode(openDataDirectory(file, options), "not_a_folder");
    await expectCode(openDataDirectory(join(file, "x"), options), "not_a_folder");
  });

  test("when it is a dangling link or a loop of links", async () => {
    const link = join(folder, "link");
    await symlink(join(folder, "gone"), link);
    expect((await refusal(openDataDirectory(link, options))).message).toContain(
      "is a link to a missing folder",
    );
    const circle = join(folder, "circle");
    await symlink(circle, circle);
    expect((await refusal(openDataDirectory(circle, options))).message).toContain(
      "cycle of symbolic links",
    );
  });

  test("when its name is longer than a name may be", async () => {
    const error = await refusal(openDataDirectory(join(folder, "x".repeat(300)), options));
    expect(error.message).toContain("longer than the system allows");
  });

  // Node's recursive mkdir never returns there.
  skipUnless(process.platform === "linux", "only Linux has /proc").test(
    "when the folder above can hold none, whether or not parents shall be made",
    async () => {
      for (const createParents of [true, false]) {
        const root = createParents ? "/proc/croft-test/data" : "/proc/croft-test";
        const error = await refusal(openDataDirectory(root, { userId, createParents }));
        expect(error.message).not.toContain("/proc does not exist");
        await expectCode(createPrivateFolder(root), error.code);
      }
    },
  );

  skipUnless(userId !== 0, "root may write everywhere").test(
    "when it cannot be written",
    async () => {
      await chmod(folder, 0o500);
      await expectCode(openDataDirectory(folder, options), "readonly");
    },
  );
});
