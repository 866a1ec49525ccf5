import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { run } from "../../../cli/main.ts";
import { setUpWorkflows } from "../../support/forge/workflow-pushes.ts";
import { createRunnerStarter } from "../support/built-in-runner.ts";
import { installEngine } from "../support/container-engine.ts";
import { fakeSystem, temporaryHome } from "../support/run-cli.ts";

// Jobs that try to leave their container, and to hold or end the runner. With CROFT_TEST_CONTAINER_IMAGE they run in
// containers of that image by docker or podman, otherwise by a stand-in for docker.

const scene = setUpWorkflows();
const { people, workflows } = scene;
const startRunner = createRunnerStarter(() => scene.daemon, people);
const image = process.env["CROFT_TEST_CONTAINER_IMAGE"];

const workflow = (text: string) => ({ ".gitea/workflows/ci.yml": `on: push\n${text}` });

/** A file of the runner's user on the host, which no job names in its workflow. */
async function createOutside() {
  const home = await temporaryHome();
  const path = join(home.path, "outside");
  await mkdir(path);
  await writeFile(join(path, "key"), "KEY=of-the-owner\n");
  return { path, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

test(
  "a container job neither reads nor writes files of the host, runs nothing there and holds no runner",
  { timeout: 120_000 },
  async () => {
    await using outside = await createOutside();
    await using home = await temporaryHome();
    if (image === undefined) await installEngine(home.path);
    const labels = `caged:docker://${image ?? "node:22"}`;
    const engines = image === undefined ? { engines: home.path } : {};
    await using runner = await startRunner("caged", [], { labels, ...engines });
    const action = (text: string) =>
      `runs: { using: composite, steps: [{ shell: sh, run: 'echo tool ${text} in $(ls -A $GITHUB_ACTION_PATH | tr "\\n" " ")' }] }`;
    await workflows.push("tool", {
      "action.yml": action("main"),
      ".gitattributes": "* filter=x",
      ...workflow("jobs: { a: { runs-on: none, steps: [{ run: x }] } }\n"),
    });
    await scene.git.in("tool", "branch", "other");
    const origin = scene.daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`);
    await scene.git.in("tool", "push", "-q", `${origin}/mira/tool.git`, "other");
    const ran = join(outside.path, "ran");
    const key = join(outside.path, "key");
    const job = `jobs:
  a:
    runs-on: caged
    steps:
      - { id: first, uses: mira/tool@main }
      - run: |
          cd /croft/actions/
          for n in 0 1 2; do
            mkdir -p action-$n; git init -q action-$n 2>/dev/null || mkdir -p action-$n/.git
            printf '[core]\\n\\tfsmonitor = touch ${ran}\\n\\thooksPath = hooks\\n[filter "x"]\\n\\tsmudge = touch ${ran}\\n' > action-$n/.git/config
            mkdir -p action-$n/hooks; printf '#!/bin/sh\\ntouch ${ran}\\n' > action-$n/hooks/post-checkout; chmod +x action-$n/hooks/post-checkout
          done
      - { id: second, uses: mira/tool@other }
      - { id: link, continue-on-error: true, run: 'ln -sfn ${key} $GITHUB_OUTPUT' }
      - { id: env, continue-on-error: true, run: 'ln -sfn ${key} $GITHUB_ENV' }
      - { id: summary, continue-on-error: true, run: 'ln -sfn ${key} $GITHUB_STEP_SUMMARY' }
      - { id: pipe, continue-on-error: true, run: 'rm $GITHUB_OUTPUT; mkfifo $GITHUB_OUTPUT' }
      - { id: huge, continue-on-error: true, run: 'truncate -s 1T $GITHUB_PATH || dd if=/dev/zero of=$GITHUB_PATH bs=1M count=17' }
      - run: |
          for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
            ln -s ${outside.path}/written-$n /croft/scripts/script-$n.sh || true
            ln -s ${outside.path}/written-$n /croft/scripts/command-$n.sh || true
            ln -s ${outside.path}/written-$n /croft/temp/script-$n.sh
            ln -s ${outside.path}/written-$n /croft/temp/command-$n.sh
            ln -s ${outside.path} /croft/temp/files-$n
          done
          ln -s ${outside.path} found; ln -s ${key} found.lock; mkfifo pipe.lock
          mkdir -p closed/in; echo x > closed/in/file; chmod 000 closed/in closed
          mkdir -p act; ln -s ${key} act/action.yml
      - { id: after, run: 'echo "after \${{ hashFiles(''**/*.lock'', ''found/**'') }}|$KEY|"' }
      - { id: local, uses: ./act, continue-on-error: true }
      - run: |
          for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40; do
            ln -s ${outside.path}/written-$n /croft/files/step-$n-output || true
          done
      - { id: planted, continue-on-error: true, run: 'echo never runs' }
`;
    const id = await workflows.push("caged", { ...workflow(job), "a.txt": "x" });
    await workflows.ended("caged", id);
    const log = await workflows.logOf("caged", id, "a");
    const text = log.join("\n");
    expect(text).not.toContain("of-the-owner");
    // A step without command files of its own does not run.
    expect(log).not.toContain("never runs");
    expect(text).toContain("a command file: something else has its name");
    expect(log).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^tool main in .*action\.yml/),
        "::error::GITHUB_OUTPUT: a link, not a file",
        "::error::GITHUB_ENV: a link, not a file",
        "::warning::the summary of the step was not kept: GITHUB_STEP_SUMMARY: a link, not a file",
        "::error::GITHUB_OUTPUT: a pipe, not a file",
        "::error::GITHUB_PATH: larger than 16777216 bytes",
        "after ||",
        "::error::action.yml: a link, not a file",
      ]),
    );
    expect(await readdir(outside.path)).toEqual(["key"]);
    expect(await readFile(key, "utf8")).toBe("KEY=of-the-owner\n");
    const next = await workflows.push(
      "caged-next",
      workflow("jobs: { a: { runs-on: caged, steps: [{ run: echo still here }] } }\n"),
    );
    expect(await workflows.ended("caged-next", next)).toEqual({ a: "success" });
    const jobs = join(runner.home, "state", "runner");
    // The folder of the last job goes once its end is reported.
    await expect.poll(() => readdir(jobs)).toEqual(["lock.json"]);
  },
);

test(
  "a runner starts over whatever jobs have left, says what stays, and goes on after an error of its own folder",
  { timeout: 60_000 },
  async () => {
    await using home = await temporaryHome();
    const engine = await installEngine(home.path);
    await using runner = await startRunner("leaves", ["--capacity", "2"], {
      engines: home.path,
      labels: "leaves:host,boxed:docker://node:22",
    });
    const root = join(runner.home, "state", "runner");
    // A container that docker cannot remove may still write: its folder is moved aside.
    const boxed = `jobs: { a: { runs-on: boxed, steps: [{ uses: actions/checkout@v4 }] } }\n`;
    await engine.failAt("rm");
    await engine.failAt("ps");
    const first = await workflows.push("leaves", workflow(boxed));
    expect(await workflows.ended("leaves", first)).toEqual({ a: "success" });
    expect(await workflows.logOf("leaves", first, "a")).toContain(
      "::warning::the runner could not remove all files of the job",
    );
    await vi.waitUntil(() => runner.system.written.err().includes("stays:"), { timeout: 60_000 });
    const [aside = ""] = (await readdir(root)).filter((name) => name.startsWith("left-"));
    expect(runner.system.written.err()).toContain(`${aside} stays:`);
    expect(runner.system.written.err()).toContain("cannot remove the container of the job");
    // Its tokens are removed where the container has no access.
    expect(await readdir(join(root, aside))).toEqual(
      expect.arrayContaining(["engine", "image", "mark", "workspace"]),
    );
    expect(await readdir(join(root, aside))).not.toContain("private");

    // The folder of all jobs becomes a file: the next job fails with the reason, and the one after it runs.
    await rm(root, { recursive: true });
    await writeFile(root, "");
    const hosted = "jobs: { a: { runs-on: leaves, steps: [{ run: echo ran }] } }\n";
    const second = await workflows.push("second", workflow(hosted));
    expect(await workflows.ended("second", second)).toEqual({ a: "failure" });
    expect((await workflows.logOf("second", second, "a")).join()).toContain("the runner failed");
    await rm(root);
    await mkdir(root);
    const third = await workflows.push("third", workflow(hosted));
    expect(await workflows.ended("third", third)).toEqual({ a: "success" });
    expect(await runner.stop()).toBe(0);

    // Leftovers: records that are pipes, links and folders, a record of a container, and a file in place of a folder.
    for (const name of ["81", "82", "83", "left-84-0a"]) await mkdir(join(root, name));
    await symlink("/dev/zero", join(root, "81", "mark"));
    await mkdir(join(root, "82", "mark"));
    await writeFile(join(root, "83", "mark"), "0a1b2c");
    await writeFile(join(root, "83", "engine"), engine.path);
    await writeFile(join(root, "left-84-0a", "mark"), "\u0000".repeat(10_000));
    await writeFile(join(root, "85"), "");
    await mkdir(join(root, "lock.json"), { recursive: true });
    const system = fakeSystem({
      home: runner.home,
      env: { ...runner.env },
      program: [process.execPath, "croft"],
      hurried: false,
    });
    const ended = run(["runner", "run"], system);
    await vi.waitUntil(() => system.written.err().includes("waits for jobs"), { timeout: 60_000 });
    expect(system.written.err()).toContain("left-83-0a1b2c stays:");
    expect((await readdir(root)).toSorted()).toEqual(["left-83-0a1b2c", "lock.json"]);
    system.stops.send("SIGTERM");
    expect(await ended).toBe(0);
  },
);
