import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { extractArchive } from "../../../cli/support/extract-archive.ts";
import { createContext } from "../../../cli/context.ts";
import { neverStopping } from "../../../cli/report.ts";
import { zip } from "../../support/zip.ts";
import { fakeSystem, temporaryHome } from "./run-cli.ts";

type Entries = Parameters<typeof zip>[0];

/** Unpacks an archive into a folder `out` that has neighbours. Returns the outcome and all files afterwards. */
async function unpack(entries: Entries) {
  await using home = await temporaryHome();
  const work = join(home.path, "work");
  const out = join(work, "out");
  await mkdir(out, { recursive: true });
  await writeFile(join(work, "beside.txt"), "mine");
  await symlink(join(work, "beside.txt"), join(out, "alias"));
  const archive = join(home.path, "a.zip");
  await writeFile(archive, zip(entries));
  const cli = createContext(fakeSystem({ home: home.path }), neverStopping);
  const outcome = await extractArchive(cli, archive, out, { overwrite: true }).catch(
    (error: unknown) => error,
  );
  const files: Record<string, string> = {};
  for (const one of await readdir(work, { recursive: true, withFileTypes: true })) {
    const path = join(one.parentPath, one.name);
    files[path.slice(work.length + 1)] = one.isFile() ? await readFile(path, "utf8") : "";
  }
  return { outcome, files };
}

describe("attack: names of an archive that lead out of the folder", () => {
  test.each<[string, Entries]>([
    ["..", { "..": "evil" }],
    ["../beside.txt", { "../beside.txt": "evil" }],
    ["x/../../beside.txt", { "x/../../beside.txt": "evil" }],
    ["x\\..\\..\\beside.txt", { "x\\..\\..\\beside.txt": "evil" }],
    ["..\\beside.txt", { "..\\beside.txt": "evil" }],
    ["../new/", { "../new/": "" }],
    ["/tmp/croft-out.txt", { "/tmp/croft-out.txt": "evil" }],
    ["\\\\server\\share\\x", { "\\\\server\\share\\x": "evil" }],
    ["C:\\x", { "C:\\x": "evil" }],
    ["c:x", { "c:x": "evil" }],
    ["a NUL", { "x\0/../../beside.txt": "evil", "n\0l": "evil" }],
    ["a symbolic link", { link: { content: "..", mode: 0o120777 }, "link/beside.txt": "evil" }],
    ["a file that is a folder too", { link: "file", "link/../../beside.txt": "evil" }],
  ])("%s is refused", async (_, entries) => {
    const { outcome, files } = await unpack({ "first.txt": "first", ...entries });
    expect(outcome).toMatchObject({ code: "file_error" });
    expect(files).toEqual({
      "beside.txt": "mine",
      out: "",
      "out/alias": "",
      "out/first.txt": "first",
      ...(entries["link"] === "file" && { "out/link": "file" }),
    });
  });

  test("names that only look like one are unpacked inside", async () => {
    const { outcome, files } = await unpack({ "..x/...": "a", "./b": "b", "x/./c": "c" });
    expect(outcome).toBe(3);
    expect(files).toMatchObject({ "out/..x/...": "a", "out/b": "b", "out/x/c": "c" });
  });
});

test("an entry that unpacks to more than it states is refused", async () => {
  const { outcome, files } = await unpack({ bomb: { content: "x".repeat(100_000), size: 5 } });
  expect(outcome).toMatchObject({ code: "file_error" });
  // A file that is not complete has no name.
  expect(files).toEqual({ "beside.txt": "mine", out: "", "out/alias": "" });
});

test("a link in the folder is replaced, not followed", async () => {
  const { outcome, files } = await unpack({ alias: "new" });
  expect(outcome).toBe(1);
  expect(files).toMatchObject({ "beside.txt": "mine", "out/alias": "new" });
});
