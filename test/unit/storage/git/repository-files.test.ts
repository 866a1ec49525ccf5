import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openRepositoryFiles } from "../../../../storage/git/repository-files.ts";

async function openScene() {
  const root = await mkdtemp(join(tmpdir(), "croft-repository-files-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const files = await openRepositoryFiles({ git: {} as never, root });
  await mkdir(join(root, "mira/kiln.git"), { recursive: true });
  const make = async (path: string) => {
    await mkdir(join(root, path), { recursive: true });
    await writeFile(join(root, path, "HEAD"), path);
  };
  /** Lets `work` of another daemon happen once the target was found free. */
  const afterLook = (work: () => Promise<unknown>) =>
    Object.assign(files, {
      async exists() {
        await work();
        return false;
      },
    });
  return { root, files, make, afterLook };
}

test("a folder that another daemon places at the same time is not replaced", async () => {
  const { root, files, make, afterLook } = await openScene();
  await make(".croft/mine");
  afterLook(() => make("mira/kiln.git/.wiki"));
  expect(await files.place(".croft/mine", "mira/kiln.git/.wiki")).toBe("taken");
  expect((await readdir(join(root, ".croft"))).includes("mine")).toBe(true);
});

test("a folder that another daemon has moved away is not created again for what is placed in it", async () => {
  const { root, files, make, afterLook } = await openScene();
  await make(".croft/wiki");
  const moveAway = () => rename(join(root, "mira/kiln.git"), join(root, "mira/oven.git"));
  afterLook(moveAway);
  expect(await files.placeIn(".croft/wiki", "mira/kiln.git", ".wiki")).toBe("missing");
  expect(await files.placeIn(".croft/wiki", "mira/kiln.git", ".wiki")).toBe("missing");
  expect(await readdir(join(root, "mira"))).toEqual(["oven.git"]);
  expect(await readdir(join(root, ".croft"))).toEqual(["wiki"]);
});

test("a folder that another daemon moves at the same time is missing, not an error", async () => {
  const { root, files, make, afterLook } = await openScene();
  await make("mira/old.git");
  afterLook(() => rename(join(root, "mira/old.git"), join(root, "mira/new.git")));
  expect(await files.place("mira/old.git", "mira/new.git")).toBe("missing");
  expect((await readdir(join(root, "mira"))).toSorted()).toEqual(["kiln.git", "new.git"]);
});
