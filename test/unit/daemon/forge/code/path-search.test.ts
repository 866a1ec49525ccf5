import { expect, test } from "vitest";
import { searchPaths } from "../../../../../daemon/forge/code/path-search.ts";
import { createTestCompute } from "../../../../support/forge/compute.ts";

const textOf = (paths: readonly string[]) => paths.map((path) => `${path}\0`).join("");
const search = (paths: readonly string[], text: string) =>
  searchPaths.run({ paths: textOf(paths), text });

test("finds the paths with every word in any letter case, matching names first, then shorter paths", () => {
  const paths = [
    "kiln/readme/a.txt",
    "docs/README.md",
    "README.md",
    "src/kiln.ts",
    "with\nline/README",
  ];
  expect(search(paths, "ReadMe")).toEqual({
    files: ["README.md", "docs/README.md", "with\nline/README", "kiln/readme/a.txt"],
    total: 4,
  });
  expect(search(paths, "  kiln  a kiln")).toEqual({ files: ["kiln/readme/a.txt"], total: 1 });
  expect(search(paths, "glaze")).toEqual({ files: [], total: 0 });
  expect(search([], "a")).toEqual({ files: [], total: 0 });
});

test("lists at most a hundred paths and counts all, with and without words", () => {
  const paths = Array.from({ length: 250 }, (_, at) => `file-${at}`);
  for (const text of ["", "file"]) {
    const { files, total } = search(paths, text);
    expect([files.length, total]).toEqual([100, 250]);
  }
});

test("a large list of paths is searched in a thread, whose account is charged", async () => {
  const compute = createTestCompute();
  const paths = textOf(
    Array.from({ length: 200_000 }, (_, at) => `folder-${at % 50}/file-${at}.txt`),
  );
  const input = { paths, text: "file-19999 txt" };
  expect(searchPaths.cost(input)).toBeGreaterThan(paths.length);
  const found = await compute.run(searchPaths, input, "1");
  expect(found).toMatchObject({ kind: "done", value: { total: 11 } });
  await compute.close();
});
