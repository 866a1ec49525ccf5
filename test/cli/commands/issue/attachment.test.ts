import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

test("files are attached, listed, renamed, downloaded and deleted", async () => {
  const line = ["mira/notes#1", "log.txt", "--name", "crash.log", "--comment", "7"];
  expect(await optionsOf("issue attach", line)).toEqual({
    issue: { owner: "mira", repo: "notes", index: "1" },
    file: "log.txt",
    name: "crash.log",
    comment: "7",
  });
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const token = daemon.first?.forge.token ?? "";
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: token };
  const croft = (...words: string[]) => runCli([...words, "--json"], { home: home.path, env });
  const send = async (path: string, json: unknown) =>
    (await daemon.request(`/api/v1${path}`, { method: "POST", token, json })).json;
  await send("/user/repos", { name: "notes", private: true });
  await send("/repos/keeper/notes/issues", { title: "Torn" });
  const { id: comment } = await send("/repos/keeper/notes/issues/1/comments", { body: "Look" });
  const file = join(home.path, "log.txt");
  await writeFile(file, "It broke.");
  const issue = "keeper/notes#1";
  for (const parent of [[], ["--comment", String(comment)]]) {
    const made = (await croft("issue", "attach", issue, file, ...parent)).json() as { id: number };
    expect(made).toMatchObject({ name: "log.txt", size: 9 });
    const id = String(made.id);
    const verb = (name: string, ...rest: string[]) =>
      croft("issue", "attachment", name, issue, ...rest, ...parent);
    expect((await verb("list")).json()).toMatchObject([{ name: "log.txt" }]);
    expect((await verb("rename", id, "crash.log")).json()).toMatchObject({ name: "crash.log" });
    const path = join(home.path, "out.log");
    await writeFile(path, "mine");
    expect(await verb("download", id, "--output", path)).toMatchObject({ code: 7 });
    expect(await readFile(path, "utf8")).toBe("mine");
    expect((await verb("download", id, "--output", path, "--force")).json()).toEqual({
      path,
      name: "crash.log",
    });
    expect(await readFile(path, "utf8")).toBe("It broke.");
    expect((await verb("delete", id, "--yes")).json()).toEqual({ deleted: true, id });
    expect((await verb("download", id)).code).toBe(6);
  }
});
