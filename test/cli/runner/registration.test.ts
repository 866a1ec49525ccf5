import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { setUpWorkflows } from "../../support/forge/workflow-pushes.ts";
import { createRunnerStarter } from "../support/built-in-runner.ts";
import { optionsOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

const scene = setUpWorkflows();
const { people } = scene;
const startRunner = createRunnerStarter(() => scene.daemon, people);

test("the lines become options", async () => {
  expect(
    await optionsOf("runner register", ["--token-stdin", "--name", "n", "--labels", "a:host"]),
  ).toEqual({ tokenStdin: true, name: "n", labels: "a:host" });
  expect(await optionsOf("runner run", ["--capacity", "4", "--allow", "mira"])).toEqual({
    capacity: "4",
    finishWithin: "10",
    allow: ["mira"],
  });
});

test("registering keeps the credential in a file of the owner's alone, and refuses what is invalid", async () => {
  await using home = await temporaryHome();
  const env = { CROFT_URL: scene.daemon.url, CROFT_FORGE_TOKEN: people.admin };
  const croft = (...words: string[]) => runCli([...words, "--json"], { home: home.path, env });
  const made = (await croft("runner", "register", "--name", "kept")).json();
  expect(made).toMatchObject({
    name: "kept",
    allow: ["*"],
    ephemeral: false,
    url: scene.daemon.url,
  });
  const path = join(home.path, "runner.json");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(JSON.stringify(made)).not.toContain(JSON.parse(await readFile(path, "utf8")).token);
  expect((await croft("runner", "register", "--labels", "a:vm")).code).toBe(2);
  expect((await croft("runner", "register", "--allow", "a/b/c")).code).toBe(2);
  const refused = await runCli(["runner", "register", "--token-stdin", "--json"], {
    home: home.path,
    env,
    stdin: "wrong\n",
  });
  expect(refused.error()["message"]).toContain("registration token not found");
});

test("registering with --if-absent keeps a runner that the daemon still knows, and replaces a deleted one", async () => {
  await using home = await temporaryHome();
  const env = { CROFT_URL: scene.daemon.url, CROFT_FORGE_TOKEN: people.admin };
  const croft = (...words: string[]) => runCli([...words, "--json"], { home: home.path, env });
  const registerOnce = () =>
    croft("runner", "register", "--name", "once-only", "--labels", "a:host", "--if-absent");
  const made = (await registerOnce()).json() as { id: number };
  const again = await registerOnce();
  expect(again.json()).toEqual(made);
  expect(again.err).toContain("exists already");
  expect((await croft("runner", "delete", String(made.id), "--yes")).code).toBe(0);
  const replaced = (await registerOnce()).json() as { id: number };
  expect(replaced).toMatchObject({ name: "once-only", labels: ["a:host"] });
  expect(replaced.id).not.toBe(made.id);
});

/** Installs programs named as the engines that respond, or do not. */
async function installEngines(folder: string, exitCode: number): Promise<string> {
  await mkdir(folder);
  for (const name of ["docker", "podman"])
    await writeFile(join(folder, name), `#!/bin/sh\nexit ${exitCode}\n`, { mode: 0o755 });
  return folder;
}

test(
  "a runner offers labels of containers only where an engine responds",
  { timeout: 60_000 },
  async () => {
    await using home = await temporaryHome();
    const silent = await installEngines(join(home.path, "silent"), 1);
    const responding = await installEngines(join(home.path, "responding"), 0);
    const credentials = { CROFT_URL: scene.daemon.url, CROFT_FORGE_TOKEN: people.admin };
    const registerBeside = async (engines: string, name: string) => {
      const env = { ...credentials, PATH: `${engines}:${process.env["PATH"]}` };
      const words = ["runner", "register", "--name", name, "--json"];
      return (await runCli(words, { home: join(home.path, name), env })).json();
    };
    expect(await registerBeside(silent, "one")).toMatchObject({ labels: ["host:host"] });
    expect(await registerBeside(responding, "two")).toMatchObject({
      labels: ["host:host", expect.stringContaining("ubuntu-latest:docker://")],
    });
    const labels = "boxed:docker://node:22,plain:host";
    await using runner = await startRunner("mixed", [], { engines: silent, labels });
    expect(runner.system.written.err()).toContain("jobs with the labels boxed wait for another");
    expect(runner.system.written.err()).toContain("mixed waits for jobs with the labels plain");
    const { runners } = (await people.api("GET", "/admin/actions/runners")).json;
    const shown = runners.find(({ name }: { name: string }) => name === "mixed");
    expect(shown.labels.map(({ name }: { name: string }) => name)).toEqual(["plain"]);
  },
);
