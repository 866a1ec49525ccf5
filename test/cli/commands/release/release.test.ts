import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const repository = { owner: "mira", repo: "kiln" };

describe("croft release", () => {
  test("flags become options", async () => {
    const create = ["mira/kiln", "v1", "a.txt", "b.txt", "-t", "One", "-n", "Text", "-d", "-p"];
    expect(await optionsOf("release create", [...create, "--generate-notes"])).toEqual({
      repository,
      tag: "v1",
      files: ["a.txt", "b.txt"],
      title: "One",
      notes: "Text",
      draft: true,
      prerelease: true,
      generateNotes: true,
    });
    const edit = ["mira/kiln", "v1", "--tag", "v2", "--no-draft", "--no-prerelease"];
    expect(await optionsOf("release edit", edit)).toEqual({
      repository,
      release: "v1",
      tag: "v2",
      draft: false,
      prerelease: false,
    });
    const download = ["mira/kiln", "-p", "*.txt", "-p", "a?", "-D", "out", "--skip-existing"];
    expect(await optionsOf("release download", download)).toEqual({
      repository,
      pattern: ["*.txt", "a?"],
      dir: "out",
      skipExisting: true,
    });
  });

  test("a release is created with files and notes, listed, edited, downloaded and deleted with its tag", async () => {
    await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    await using home = await temporaryHome();
    const people = createForgePeople(() => daemon);
    await people.newUser("mira");
    const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
    const croft = (...words: readonly string[]) =>
      runCli([...words, "--json"], { home: home.path, env, workingDirectory: home.path });
    await croft("repo", "create", "kiln", "--add-readme");
    for (const [name, text] of [
      ["a.txt", "alpha"],
      ["b.bin", "beta"],
    ] as const)
      await writeFile(join(home.path, name), text);
    for (const title of ["Leaks *heat*", "Door jams"])
      await croft("issue", "create", "mira/kiln", "--title", title);
    await croft("label", "create", "mira/kiln", "bug");
    await croft("issue", "edit", "mira/kiln#1", "--add-label", "bug");
    for (const number of ["1", "2"]) await croft("issue", "close", `mira/kiln#${number}`);

    const missing = await croft("release", "create", "mira/kiln", "v1", "none.txt");
    expect(missing.error()).toMatchObject({ code: "file_error" });
    expect((await croft("release", "list", "mira/kiln")).json()).toEqual([]);
    const made = await croft(
      ...["release", "create", "mira/kiln", "v1", "a.txt", "b.bin", "--notes", "Hot."],
      "--generate-notes",
    );
    expect(made.json()).toMatchObject({
      tag_name: "v1",
      name: "v1",
      draft: false,
      body: "Hot.\n\n## What's changed\n\n### bug\n\n- Leaks \\*heat\\* (#1)\n\n### Other changes\n\n- Door jams (#2)\n",
      assets: [{ name: "a.txt", size: 5 }, { name: "b.bin" }],
    });
    const again = await croft("release", "create", "mira/kiln", "v2", "--generate-notes");
    expect(again.json()).toMatchObject({ body: "" });
    const listed = await croft("release", "list", "mira/kiln", "--exclude-pre-releases");
    expect(listed.json()).toMatchObject([{ tag_name: "v2" }, { tag_name: "v1" }]);
    const edited = await croft("release", "edit", "mira/kiln", "v2", "--prerelease", "-t", "Two");
    expect(edited.json()).toMatchObject({ prerelease: true, name: "Two" });
    expect((await croft("release", "view", "mira/kiln")).json()).toMatchObject({ tag_name: "v1" });
    expect((await croft("release", "edit", "mira/kiln", "v2")).error()).toMatchObject({
      code: "missing_input",
    });

    await writeFile(join(home.path, "a.txt"), "alpha 2");
    const upload = ["release", "upload", "mira/kiln", "v1", "a.txt"];
    expect((await croft(...upload)).error()).toMatchObject({ code: "conflict" });
    expect((await croft(...upload, "--clobber")).json()).toMatchObject({
      assets: [{ name: "b.bin" }, { name: "a.txt", size: 7 }],
    });
    const download = (...flags: readonly string[]) =>
      croft("release", "download", "mira/kiln", ...flags);
    const fetched = await download("-p", "*.txt", "-D", "out", "--progress", "json");
    expect([fetched.json(), fetched.err]).toMatchObject([
      { files: 1 },
      expect.stringContaining('"item":"a.txt"'),
    ]);
    expect(await readFile(join(home.path, "out", "a.txt"), "utf8")).toBe("alpha 2");
    expect((await download("v1", "-D", "out")).error()).toMatchObject({ code: "conflict" });
    expect((await download("v1", "-D", "out", "--skip-existing")).json()).toMatchObject({
      files: 1,
    });
    expect((await download("v1", "-p", "*.zip")).error()).toMatchObject({ code: "not_found" });
    expect((await download("v1", "-A", "zip", "-O", "kiln.zip")).json()).toMatchObject({
      files: 1,
    });
    expect((await readFile(join(home.path, "kiln.zip"))).subarray(0, 2).toString()).toBe("PK");

    const asset = await croft("release", "delete-asset", "mira/kiln", "v1", "b.bin", "--yes");
    expect(asset.json()).toEqual({ deleted: true, name: "b.bin" });
    const removed = await croft("release", "delete", "mira/kiln", "v1", "--cleanup-tag", "--yes");
    expect(removed.json()).toEqual({ deleted: true, tag: "v1", deleted_tag: true });
    expect((await croft("repo", "tag", "list", "mira/kiln")).json()).toMatchObject([
      { name: "v2" },
    ]);

    await croft("release", "create", "mira/kiln", "v99.1.0");
    const updates = `${daemon.url}/api/v1/repos/mira/kiln/releases/latest`;
    const checked = await runCli(["version", "--check", "--json"], {
      home: home.path,
      env: { CROFT_UPDATE_URL: updates },
    });
    expect(checked.json()).toMatchObject({
      latest: "99.1.0",
      is_latest: false,
      release_url: `${daemon.url}/mira/kiln/releases/tag/v99.1.0`,
    });
  });
});
