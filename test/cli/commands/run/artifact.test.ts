import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ARTIFACT_SERVICE } from "../../../../daemon/contract/api-of.ts";
import { startTestDaemon, type TestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { createGitClient } from "../../../support/forge/git-client.ts";
import { createWorkflowRepository } from "../../../support/forge/workflow-repository.ts";
import { zip } from "../../../support/zip.ts";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

let daemon: TestDaemon;
let run: string;
const people = createForgePeople(() => daemon);

/** A run with one job that has uploaded these artifacts. */
beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await people.newUser("mira");
  await using git = await createGitClient();
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", "one");
  await repository.create();
  await repository.push({
    "ci.yml": "on: push\njobs: { a: { runs-on: one, steps: [{ run: x }] } }\n",
  });
  run = `mira/one/${(await repository.waitForRuns(1)).id}`;
  const { task } = await repository.take();
  const bearer = task?.context?.["gitea_runtime_token"] as string;
  const upload = async (name: string, bytes: Uint8Array<ArrayBuffer> | string, type?: string) => {
    const ids = { workflow_run_backend_id: "", workflow_job_run_backend_id: "", name };
    const call = (method: string, fields: object) =>
      daemon.request(`${ARTIFACT_SERVICE}/${method}`, { bearer, json: { ...ids, ...fields } });
    const { json } = await call("CreateArtifact", { mime_type: type });
    const address = json.signed_upload_url.slice(daemon.url.length);
    await daemon.request(address, { method: "PUT", body: bytes });
    const done = await call("FinalizeArtifact", { size: Buffer.byteLength(bytes) });
    expect(done.status, done.text).toBe(200);
  };
  await upload("site", zip({ "index.html": "<p>", "deep/er/page.html": "deep" }));
  await upload("notes.txt", "a note", "text/plain");
  await upload("leads-out", zip({ "../out.txt": "out" }));
});
afterAll(() => daemon[Symbol.asyncDispose]());

const env = () => ({ CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") });

test("the lines of artifact commands become options", async () => {
  const named = { run: { owner: "mira", repo: "one", id: 7 } };
  expect(await optionsOf("run artifact list", ["mira/one/7"])).toEqual(named);
  expect(await optionsOf("run artifact list", ["mira/one"])).toEqual({
    run: { owner: "mira", repo: "one" },
  });
  expect(await optionsOf("run artifact delete", ["mira/one/7", "site"])).toEqual({
    ...named,
    name: "site",
  });
  expect(await optionsOf("run download", ["mira/one/7", "site", "-D", "out", "--force"])).toEqual({
    ...named,
    name: "site",
    dir: "out",
    force: true,
  });
});

test("artifacts are listed, downloaded, unpacked and deleted by commands", async () => {
  await using home = await temporaryHome();
  const croft = (...line: readonly string[]) =>
    runCli([...line, "--json"], { home: home.path, env: env() });
  const out = join(home.path, "out");
  expect((await croft("run", "artifact", "list", run)).json()).toMatchObject([
    { name: "site", expired: false },
    { name: "notes.txt" },
    { name: "leads-out" },
  ]);
  expect((await croft("run", "artifact", "list", "mira/one")).json()).toHaveLength(3);
  const site = await croft("run", "download", run, "site", "-D", out);
  expect(site.err).toBe("");
  expect(site.json()).toEqual({ path: out, artifacts: 1, files: 2 });
  expect(await readFile(join(out, "deep/er/page.html"), "utf8")).toBe("deep");
  expect(await readdir(out)).toEqual(["deep", "index.html"]);

  // Files that exist stay as they are.
  await writeFile(join(out, "index.html"), "mine");
  const again = await croft("run", "download", run, "site", "-D", out);
  expect([again.code === 0, again.err]).toEqual([false, expect.stringContaining("--force")]);
  expect(await readFile(join(out, "index.html"), "utf8")).toBe("mine");
  expect((await croft("run", "download", run, "site", "-D", out, "--force")).code).toBe(0);
  expect(await readFile(join(out, "index.html"), "utf8")).toBe("<p>");

  const note = await croft("run", "download", run, "notes.txt", "-D", out, "--progress", "json");
  expect(note.json()).toMatchObject({ files: 1 });
  expect(note.err).toContain('"item":"notes.txt"');
  expect(await readFile(join(out, "notes.txt"), "utf8")).toBe("a note");
  expect((await croft("run", "download", run, "notes.txt", "-D", out)).code).not.toBe(0);

  await mkdir(join(home.path, "deep"));
  const escaping = await croft("run", "download", run, "leads-out", "-D", join(home.path, "deep"));
  expect(escaping.code).not.toBe(0);
  await expect(stat(join(home.path, "out.txt"))).rejects.toThrow();
  expect(await readdir(join(home.path, "deep"))).toEqual([]);

  expect((await croft("run", "artifact", "delete", run, "leads-out", "--yes")).code).toBe(0);
  const whole = join(home.path, "whole");
  expect((await croft("run", "download", run, "-D", whole)).json()).toMatchObject({ artifacts: 2 });
  expect((await readdir(whole)).toSorted()).toEqual(["notes.txt", "site"]);
  expect((await croft("run", "download", run, "absent")).code).toBe(6);
});

test("an artifact whose name leads out of the folder is unpacked inside it", async () => {
  await using home = await temporaryHome();
  await using hostile = await fakeDaemon({
    "GET /api/v1/repos/mira/one/actions/runs/7/artifacts": {
      status: 200,
      body: {
        total_count: 1,
        artifacts: [{ id: 1, name: "..", created_at: "2026-11-20T12:00:00Z" }],
      },
    },
  });
  await signIn(home.path, { url: hostile.url, forgeToken: "t" });
  const out = join(home.path, "out");
  const line = ["run", "download", "mira/one/7", "-D", out, "--dry-run", "--json"];
  const ran = await runCli(line, { home: home.path });
  expect(ran.err).toBe("");
  expect(ran.json()).toMatchObject({ downloads: [{ path: join(out, "_") }] });
});
