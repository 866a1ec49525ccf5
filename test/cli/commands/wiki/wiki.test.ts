import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

describe("croft wiki", () => {
  test("flags become options", async () => {
    const repository = { owner: "mira", repo: "kiln" };
    expect(
      await optionsOf("wiki create", ["mira/kiln", "Home", "-F", "home.md", "-m", "Begin"]),
    ).toEqual({ repository, title: "Home", bodyFile: "home.md", message: "Begin" });
    expect(await optionsOf("wiki edit", ["mira/kiln", "Home", "-t", "Start", "-b", "-"])).toEqual({
      repository,
      page: "Home",
      title: "Start",
      body: "-",
    });
  });

  test("pages are created, listed, shown, edited by flags and by an editor, renamed, and deleted", async () => {
    await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    await using home = await temporaryHome();
    const people = createForgePeople(() => daemon);
    await people.newUser("mira");
    const editor = join(home.path, "editor.sh");
    await writeFile(editor, '#!/bin/sh\nprintf "edited" >> "$1"\n');
    await chmod(editor, 0o700);
    const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
    const croft = (...words: readonly string[]) =>
      runCli(["wiki", ...words, "--json"], { home: home.path, env, workingDirectory: home.path });
    await runCli(["repo", "create", "kiln"], { home: home.path, env });

    expect((await croft("list", "mira/kiln")).error()).toMatchObject({
      code: "not_found",
      message: expect.stringContaining("the wiki has no pages"),
    });
    expect((await croft("create", "mira/kiln", "Home")).error()).toMatchObject({ code: "usage" });
    await writeFile(join(home.path, "home.md"), "# Home\n");
    const made = await croft("create", "mira/kiln", "Up-to date", "--body-file", "home.md");
    expect(made.json()).toMatchObject({ title: "Up-to date", sub_url: "Up-to+date.-" });
    await croft("create", "mira/kiln", "C++ notes", "--body", "plus", "--message", "Add C++");
    await croft("create", "mira/kiln", "Drafted", "--editor", editor);
    const listed = (await croft("list", "mira/kiln")).json() as { title: string }[];
    expect(listed.map(({ title }) => title).toSorted()).toEqual([
      "C++ notes",
      "Drafted",
      "Up-to date",
    ]);
    // By its title, and by the last part of its address.
    for (const name of ["Up-to date", "Up-to+date.-"])
      expect((await croft("view", "mira/kiln", name)).json()).toMatchObject({
        title: "Up-to date",
        content_base64: Buffer.from("# Home\n").toString("base64"),
      });
    for (const name of ["C++ notes", "C%2B%2B-notes"])
      expect((await croft("view", "mira/kiln", name)).json()).toMatchObject({ title: "C++ notes" });
    const edited = await croft("edit", "mira/kiln", "Up-to date", "--editor", editor);
    expect(edited.json()).toMatchObject({
      commit_count: 2,
      content_base64: Buffer.from("# Home\nedited").toString("base64"),
    });
    const renamed = await croft("edit", "mira/kiln", "C++ notes", "--title", "C");
    expect(renamed.json()).toMatchObject({
      title: "C",
      content_base64: Buffer.from("plus").toString("base64"),
    });
    const failing = `sh -c 'printf mine > "$0"; exit 3'`;
    const failed = (await croft("edit", "mira/kiln", "C", "--editor", failing)).error();
    const [, kept = ""] = /^your version is kept in (.*)$/.exec(String(failed["hint"])) ?? [];
    expect([failed["code"], await readFile(kept, "utf8")]).toEqual(["cancelled", "mine"]);
    await rm(dirname(kept), { recursive: true });
    const planned = await croft("edit", "mira/kiln", "C", "--editor", editor, "--dry-run");
    expect([planned.code, planned.json()]).toMatchObject([0, { dry_run: true }]);
    const same = await croft("edit", "mira/kiln", "C", "--editor", "true");
    expect(same.json()).toMatchObject({ title: "C", commit_count: 1 });
    expect((await croft("history", "mira/kiln", "Up-to date")).json()).toMatchObject([
      { message: 'Update "Up-to+date.-"\n' },
      { message: 'Add "Up-to date"\n' },
    ]);
    expect((await croft("delete", "mira/kiln", "C", "--yes")).json()).toEqual({
      deleted: true,
      title: "C",
    });
    expect((await croft("view", "mira/kiln", "C")).error()).toMatchObject({ code: "not_found" });
  });
});
