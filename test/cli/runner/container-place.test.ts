import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createContainerPlace } from "../../../cli/runner/places/container-place.ts";
import { createJobProcesses } from "../../../cli/runner/places/job-processes.ts";
import type { OutputSink } from "../../../cli/runner/places/place.ts";
import { temporaryHome } from "../support/run-cli.ts";

/**
 * A stand-in for docker: a container is a folder, its mounts are links in it, and programs run on this machine with
 * the paths of the container replaced.
 */
const ENGINE = `#!/usr/bin/env node
const { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { spawnSync } = require("node:child_process");
const home = __dirname;
const [verb, ...words] = process.argv.slice(2);
appendFileSync(join(home, "calls"), JSON.stringify([verb, ...words]) + "\\n");
const root = (name) => join(home, "containers", name);
const inside = (name, text) => text.replaceAll(/\\/(workspace|croft)\\//g, (found) => root(name) + found);
if (verb === "create") {
  const image = words[words.indexOf("tail") + 1];
  if (image === "no/such:image") { console.error("pull access denied"); process.exit(125); }
  const name = words[words.indexOf("--name") + 1];
  for (const [at, word] of words.entries()) {
    if (word !== "--volume") continue;
    const [from, to] = words[at + 1].split(":");
    mkdirSync(dirname(join(root(name), to)), { recursive: true });
    symlinkSync(from, join(root(name), to));
  }
  console.log("created " + name);
} else if (verb === "exec") {
  const [name, program, ...rest] = words;
  const last = rest.map((word) => inside(name, word));
  if (rest[0] && rest[0].endsWith(".sh")) writeFileSync(last[0], inside(name, readFileSync(last[0], "utf8")));
  process.exit(spawnSync(program, last, { stdio: "inherit" }).status ?? 137);
} else if (verb === "cp") {
  const [name, to] = words[1].split(":");
  cpSync(words[0], join(root(name), to), { recursive: true });
} else if (verb === "rm") rmSync(root(words.at(-1)), { recursive: true, force: true });
`;

async function createPlace(home: string, image = "node:22") {
  const engine = join(home, "docker");
  await writeFile(engine, ENGINE);
  await chmod(engine, 0o755);
  const folders = {
    root: home,
    workspace: join(home, "job", "workspace"),
    temp: join(home, "job", "temp"),
    actions: join(home, "job", "actions"),
  };
  for (const path of [folders.workspace, folders.temp, folders.actions])
    await mkdir(path, { recursive: true });
  const rows: string[] = [];
  const sink: OutputSink = {
    lineCharacters: () => 1_000,
    line: (line) => void rows.push(line),
    isFull: () => false,
    drained: () => Promise.resolve(),
  };
  const processes = createJobProcesses({
    mark: "0a1b2c",
    platform: process.platform,
    sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }),
  });
  let names = 0;
  const making = createContainerPlace({
    engine,
    image,
    mark: "0a1b2c",
    repository: "mira/one",
    env: { CI: "true" },
    folders,
    processes,
    engineEnv: { PATH: process.env["PATH"] ?? "" },
    newName: (prefix) => `${prefix}${(names += 1)}`,
    sink,
    signal: new AbortController().signal,
  });
  const callsOf = async () =>
    (await readFile(join(home, "calls"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as string[]);
  return { making, rows, sink, folders, callsOf };
}

test("a job in a container has its folders mounted, and its variables in no argument", async () => {
  await using home = await temporaryHome();
  const { making, rows, sink, folders, callsOf } = await createPlace(home.path);
  const place = await making;
  expect(place.workspace).toBe("/workspace/mira/one");
  expect(place.toStepPath(join(folders.temp, "x"))).toBe("/croft/temp/x");
  await writeFile(join(folders.workspace, "file"), "content");
  const script = 'cat file; echo "$SECRET|$LINES"; echo $PATH; exit 7';
  const start = (argv: readonly string[]) =>
    place.run({
      argv,
      env: { SECRET: "it's secret", LINES: "a\nb", "INPUT_WITH-DASH": "dashed value" },
      path: ["/added/bin"],
      cwd: place.workspace,
      sink,
      signal: new AbortController().signal,
    });
  expect(await start(["sh", "-c", script])).toBe(7);
  // A shell would drop this variable.
  expect(await start(["env"])).toBe(0);
  expect(rows).toContain("INPUT_WITH-DASH=dashed value");
  expect(rows.join("\n")).toContain("contentit's secret|a\nb\n/added/bin:");
  const calls = await callsOf();
  expect(calls.map(([verb]) => verb)).toEqual(["create", "start", "exec", "exec"]);
  expect(JSON.stringify(calls)).not.toContain("secret");
  expect(calls[0]).toEqual(
    expect.arrayContaining(["--volume", `${folders.workspace}:/workspace/mira/one`, "CI=true"]),
  );
  await place.end();
  expect((await callsOf()).at(-1)).toEqual(["rm", "--force", "--volumes", "croft-job-0a1b2c"]);
});

test("the container engine copies a checkout, and only into the workspace", async () => {
  await using home = await temporaryHome();
  const { making, folders } = await createPlace(home.path);
  const place = await making;
  const fetched = join(home.path, "fetched");
  await mkdir(join(fetched, ".git"), { recursive: true });
  await writeFile(join(fetched, "a.txt"), "one");
  await place.install(fetched, "deep");
  expect(await readFile(join(folders.workspace, "deep", "a.txt"), "utf8")).toBe("one");
  await expect(place.install(fetched, "../../etc")).rejects.toThrow("outside of the workspace");
});

test("a cancelled step ends inside the container", async () => {
  await using home = await temporaryHome();
  const { making, sink, rows } = await createPlace(home.path);
  const place = await making;
  const stop = new AbortController();
  const code = place.run({
    argv: ["sh", "-c", "echo begun; exec sleep 1000"],
    env: {},
    path: [],
    cwd: place.workspace,
    sink,
    signal: stop.signal,
  });
  await expect.poll(() => rows).toContain("begun");
  stop.abort();
  expect(await code).toBeGreaterThan(0);
});

test("an image that cannot be had fails the job with its reason", async () => {
  await using home = await temporaryHome();
  const { making, rows } = await createPlace(home.path, "no/such:image");
  await expect(making).rejects.toThrow("docker cannot create a container of no/such:image");
  expect(rows).toContain("pull access denied");
});
