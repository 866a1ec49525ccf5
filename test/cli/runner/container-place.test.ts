import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createContainerPlace } from "../../../cli/runner/places/container-place.ts";
import { emptyAsRoot } from "../../../cli/runner/places/engine.ts";
import { createJobProcesses } from "../../../cli/runner/places/job-processes.ts";
import type { OutputSink } from "../../../cli/runner/places/place.ts";
import {
  clearTaskFolder,
  createJobFolders,
  createTaskFolder,
  discardTaskFolder,
  recordContainer,
} from "../../../cli/runner/task-folder.ts";
import { skipUnless } from "../../support/skip.ts";
import { installEngine } from "../support/container-engine.ts";
import { temporaryHome } from "../support/run-cli.ts";

async function createPlace(home: string, image = "node:22") {
  const engine = await installEngine(home);
  const folder = await createTaskFolder(join(home, "jobs"), 1, MARK);
  const folders = await createJobFolders(folder);
  await recordContainer(folder, { engine: engine.path, image });
  const rows: string[] = [];
  const sink: OutputSink = {
    lineCharacters: () => 1_000,
    line: (line) => void rows.push(line),
    isFull: () => false,
    drained: () => Promise.resolve(),
  };
  const processes = createJobProcesses({
    mark: MARK,
    platform: process.platform,
    sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }),
  });
  let names = 0;
  const making = createContainerPlace({
    engine: engine.path,
    image,
    mark: MARK,
    repository: "mira/one",
    env: { CI: "true" },
    folders,
    processes,
    engineEnv: { PATH: process.env["PATH"] ?? "" },
    newName: (prefix) => `${prefix}${(names += 1)}`,
    sink,
    signal: new AbortController().signal,
  });
  return { making, rows, sink, folders, folder, engine };
}

const MARK = "0a1b2c";
const signal = new AbortController().signal;
const system = {
  env: { PATH: process.env["PATH"] },
  platform: process.platform,
  sleep: (milliseconds: number, until?: AbortSignal) =>
    sleep(milliseconds, undefined, { signal: until }),
};

test("a job in a container has its folders mounted, and its variables in no argument", async () => {
  await using home = await temporaryHome();
  const { making, rows, sink, folders, folder, engine } = await createPlace(home.path);
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
  const calls = await engine.calls();
  expect(calls.map(([verb]) => verb)).toEqual(["create", "start", "exec", "exec"]);
  expect(JSON.stringify(calls)).not.toContain("secret");
  expect(calls[0]).toEqual(
    expect.arrayContaining(["--volume", `${folders.workspace}:/workspace/mira/one`, "CI=true"]),
  );
  expect(await clearTaskFolder(folder, { system })).toBeUndefined();
  expect((await engine.calls()).at(-1)).toEqual(["rm", "--force", "--volumes", "croft-job-0a1b2c"]);
  await discardTaskFolder(folder, undefined, () => undefined);
  expect(await readdir(join(home.path, "jobs"))).toEqual([]);
});

test("the container engine copies a checkout, and only into the workspace", async () => {
  await using home = await temporaryHome();
  const { making, folders } = await createPlace(home.path);
  const place = await making;
  const fetched = join(home.path, "fetched");
  await mkdir(join(fetched, ".git"), { recursive: true });
  await writeFile(join(fetched, "a.txt"), "one");
  await place.install({ folder: fetched, target: "deep", stale: undefined, signal });
  expect(await readFile(join(folders.workspace, "deep", "a.txt"), "utf8")).toBe("one");
  const outside = { folder: fetched, target: "../../etc", stale: undefined, signal };
  await expect(place.install(outside)).rejects.toThrow("outside of the workspace");
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

test("files of other users in the folders of a job are removed by a container that gets these folders alone", async () => {
  await using home = await temporaryHome();
  const engine = await installEngine(home.path);
  const folders = ["workspace", "temp"].map((name) => join(home.path, name));
  for (const folder of folders) {
    await mkdir(join(folder, ".git", "closed"), { recursive: true, mode: 0o500 });
    await writeFile(join(folder, "..double"), "x");
  }
  const { sleep: wait, platform, env } = system;
  const processes = createJobProcesses({ mark: MARK, platform, sleep: wait });
  const deps = { engine: engine.path, processes, env: { PATH: env.PATH ?? "" }, sleep: wait };
  await emptyAsRoot({ ...deps, cwd: home.path }, { image: "node:22", mark: MARK, folders });
  for (const folder of folders) expect(await readdir(folder)).toEqual([]);
  const [run = [], ...rest] = await engine.calls();
  expect(run.filter((word) => word.startsWith("/"))).toEqual(
    folders.map((folder, at) => `${folder}:/croft/left/${at}`),
  );
  const rights = ["--user", "0:0", "--network", "none", "--pull", "never"];
  expect(run).toEqual(expect.arrayContaining(rights));
  expect(rest).toEqual([["rm", "--force", "--volumes", `croft-job-${MARK}-cleaner`]]);
});

skipUnless(process.platform !== "win32", "ulimit does not exist")(
  "a runner without free file descriptors fails the step or the job, and goes on with the next",
  async () => {
    const script = join(import.meta.dirname, "../../support/runner-without-files.ts");
    const command = ["-c", 'ulimit -n 64 && exec "$0" "$1"', process.execPath, script];
    const { stdout } = await promisify(execFile)("sh", command, { env: { PATH: "/usr/bin:/bin" } });
    expect(JSON.parse(stdout)).toEqual({
      without: ["EMFILE", "none", "EMFILE"],
      // The machine may have a container engine.
      with: [0, expect.stringMatching(/^none$|docker$|podman$/), "made"],
    });
  },
);
