import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { callRunner } from "../../support/forge/runner-client.ts";
import {
  createWorkflowRepository,
  type WorkflowRepository,
} from "../../support/forge/workflow-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const user of ["mira", "noah"]) await people.newUser(user);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

async function newRepository(name: string, owner = "mira"): Promise<WorkflowRepository> {
  const repository = createWorkflowRepository({ daemon, people, git }, owner, name);
  await repository.create();
  return repository;
}

/** Takes the next job, which must exist. Returns the task of its runner, and a function that ends it. */
async function take(repository: WorkflowRepository) {
  const { runner, task } = await repository.take();
  if (task === undefined) throw new Error("no job waits");
  const context = task.context as unknown as {
    readonly job: string;
    readonly event_name: string;
    readonly event: { readonly inputs?: object };
    readonly token: string;
  };
  return {
    task,
    context,
    payload: parse(Buffer.from(task.workflowPayload ?? []).toString()),
    end: async (result: string, outputs: Record<string, string> = {}) => {
      const state = { id: String(task.id), result: `RESULT_${result}` };
      const answer = await callRunner(daemon, "UpdateTask", { state, outputs }, runner);
      expect(answer.status, answer.text).toBe(200);
    },
  };
}

const job = (label: string, rest = "") => `{ runs-on: ${label}, steps: [{ run: x }]${rest} }`;
const secret = (repository: WorkflowRepository, name: string, data: string) =>
  people.api("PUT", `${repository.api}/secrets/${name}`, { data });

describe("a job that calls a workflow of its repository", () => {
  test("a calling job passes inputs and secrets, and gets the declared outputs", async () => {
    const repository = await newRepository("call");
    await secret(repository, "KEY", "key-of-the-gate");
    await secret(repository, "OTHER", "stays-at-home");
    await people.api("POST", `${repository.api}/variables/AREA`, { value: "north" });
    await repository.push({
      "ci.yml": `name: CI
on: push
env: { OUTER: "1" }
jobs:
  first: ${job("call", ', outputs: { made: "${{ steps.x.outputs.y }}" }')}
  build:
    needs: first
    uses: ./.gitea/workflows/build.yml
    with:
      text: \${{ needs.first.outputs.made }}
      number: \${{ 2.5e1 }}
      flag: \${{ github.event_name == 'push' }}
    secrets: { token: "\${{ secrets.key }}" }
  last: { needs: build, runs-on: call, name: "\${{ needs.build.outputs.result }}", steps: [{ run: x }] }
`,
      "build.yml": `name: Build
on:
  workflow_call:
    inputs:
      text: { type: string, required: true }
      number: { type: number }
      flag: { type: boolean }
      area: { type: string, default: "\${{ vars.AREA }}" }
      empty: { type: string }
    secrets: { TOKEN: { required: true } }
    outputs: { result: { value: "\${{ inputs.area }}-\${{ jobs.two.outputs.made }}" } }
env: { INNER: "1" }
jobs:
  one: ${job("call")}
  two: { needs: one, if: inputs.flag, runs-on: call, steps: [{ run: "echo \${{ inputs.text }}" }] }
`,
    });
    const { id } = await repository.waitForRuns(1);
    expect(await repository.statesOf(id)).toEqual({
      first: "queued",
      build: "waiting",
      last: "waiting",
    });
    await (await take(repository)).end("SUCCESS", { made: "cake" });
    expect(await repository.statesOf(id)).toEqual({
      first: "success",
      build: "queued",
      "build / one": "queued",
      "build / two": "waiting",
      last: "waiting",
    });
    const one = await take(repository);
    expect((await repository.get(`/runs/${id}`)).status).toBe("in_progress");
    const inputs = { text: "cake", number: 25, flag: true, area: "north", empty: "" };
    expect(one.context).toMatchObject({
      job: "one",
      event_name: "workflow_call",
      event: { ref: "refs/heads/main", inputs },
    });
    expect(one.task.secrets).toEqual({
      TOKEN: "key-of-the-gate",
      GITHUB_TOKEN: one.context.token,
      GITEA_TOKEN: one.context.token,
    });
    expect(one.payload).toMatchObject({
      name: "Build",
      on: { workflow_call: { inputs: { text: {}, number: {}, flag: {}, area: {}, empty: {} } } },
      env: { INNER: "1" },
    });
    await one.end("SUCCESS");
    const two = await take(repository);
    expect(two.task.needs).toMatchObject({ one: { result: 1 } });
    await two.end("SUCCESS", { made: "pie" });
    const last = await take(repository);
    expect(last.context.job).toBe("last");
    expect(last.task.needs).toMatchObject({
      build: { result: 1, outputs: { result: "north-pie" } },
    });
    expect(Object.keys(last.task.secrets)).toContain("OTHER");
    await last.end("SUCCESS");
    expect(await repository.statesOf(id)).toEqual({
      first: "success",
      build: "success",
      "build / one": "success",
      "build / two": "success",
      "north-pie": "success",
    });
    expect(await repository.get(`/runs/${id}`)).toMatchObject({ conclusion: "success" });
  });

  test("a calling job fails with the called jobs, and reruns those that failed", async () => {
    const repository = await newRepository("again");
    await repository.push({
      "ci.yml": `on: push
jobs:
  call: { uses: ./.gitea/workflows/inner.yml, secrets: inherit }
  after: ${job("again", ", needs: call")}
`,
      "inner.yml": `on: workflow_call
jobs:
  good: ${job("again")}
  bad: ${job("again", ", needs: good")}
  deep: { needs: bad, uses: ./.gitea/workflows/deep.yml }
`,
      "deep.yml": `on: [workflow_call]\njobs: { well: ${job("again")} }\n`,
    });
    await secret(repository, "KEY", "inherited");
    const { id } = await repository.waitForRuns(1);
    const good = await take(repository);
    expect(good.task.secrets).toMatchObject({ KEY: "inherited" });
    await good.end("SUCCESS", { kept: "yes" });
    await (await take(repository)).end("FAILURE");
    const failed = {
      call: "failure",
      "call / good": "success",
      "call / bad": "failure",
      "call / deep": "skipped",
      after: "skipped",
    };
    expect(await repository.statesOf(id)).toEqual(failed);
    const rerun = await people.api("POST", `${repository.api}/runs/${id}/rerun-failed-jobs`);
    expect(rerun.status).toBe(201);
    expect(await repository.statesOf(id)).toEqual({
      call: "in_progress",
      "call / good": "success",
      "call / bad": "queued",
      "call / deep": "waiting",
      after: "waiting",
    });
    const bad = await take(repository);
    expect(bad.task.needs).toMatchObject({ good: { outputs: { kept: "yes" } } });
    await bad.end("SUCCESS");
    const well = await take(repository);
    // A call without `secrets` gets the token alone.
    expect(Object.keys(well.task.secrets).toSorted()).toEqual(["GITEA_TOKEN", "GITHUB_TOKEN"]);
    await well.end("SUCCESS");
    await (await take(repository)).end("SUCCESS");
    expect(await repository.statesOf(id)).toEqual({
      call: "success",
      "call / good": "success",
      "call / bad": "success",
      "call / deep": "success",
      "call / deep / well": "success",
      after: "success",
    });
    expect(await repository.statesOf(id, 1)).toEqual(failed);
    const calling = (await repository.jobs(id)).find(({ name }) => name === "call");
    const whole = `${repository.api}/runs/${id}/jobs/${calling?.id}/rerun`;
    expect((await people.api("POST", whole)).status).toBe(201);
    expect(await repository.statesOf(id)).toEqual({
      call: "queued",
      "call / good": "queued",
      "call / bad": "waiting",
      "call / deep": "waiting",
      after: "waiting",
    });
  });

  test("a calling job is cancelled with the called jobs", async () => {
    const repository = await newRepository("stop");
    await repository.push({
      "ci.yml": "on: push\njobs: { call: { uses: ./.gitea/workflows/inner.yml } }\n",
      "inner.yml": `on: workflow_call\njobs: { a: ${job("stop")}, b: ${job("stop", ", needs: a")} }\n`,
    });
    const { id } = await repository.waitForRuns(1);
    await take(repository);
    expect((await people.api("POST", `${repository.api}/runs/${id}/cancel`)).status).toBe(204);
    expect(await repository.statesOf(id)).toEqual({
      call: "cancelled",
      "call / a": "cancelled",
      "call / b": "cancelled",
    });
    expect(await repository.get(`/runs/${id}`)).toMatchObject({ conclusion: "cancelled" });
  });

  test("a calling job calls the workflow once for each combination of its matrix", async () => {
    const repository = await newRepository("many");
    await repository.push({
      "ci.yml": `on: push
jobs:
  call:
    strategy: { max-parallel: 1, matrix: { os: [x, y] } }
    uses: ./.gitea/workflows/inner.yml
    with: { os: "\${{ matrix.os }}" }
`,
      "inner.yml": `on: { workflow_call: { inputs: { os: { type: string } } } }
jobs: { a: { name: "on \${{ inputs.os }}", runs-on: many, steps: [{ run: x }] } }
`,
    });
    const { id } = await repository.waitForRuns(1);
    expect(await repository.statesOf(id)).toEqual({
      "call (x)": "queued",
      "call (x) / on x": "queued",
      "call (y)": "waiting",
    });
    expect(await repository.work("SUCCESS")).toBe("a");
    expect(await repository.statesOf(id)).toMatchObject({
      "call (x)": "success",
      "call (y) / on y": "queued",
    });
    expect(await repository.work("FAILURE")).toBe("a");
    expect(await repository.get(`/runs/${id}`)).toMatchObject({ conclusion: "failure" });
  });

  test("called jobs have a token with at most the permissions of the calling job", async () => {
    const repository = await newRepository("limit");
    await repository.push({
      "ci.yml": `on: push
permissions: { contents: read }
jobs: { call: { uses: ./.gitea/workflows/inner.yml } }
`,
      "inner.yml": `on: workflow_call\npermissions: write-all\njobs: { a: ${job("limit")} }\n`,
    });
    await repository.waitForRuns(1);
    const { context } = await take(repository);
    const contents = "/repos/mira/limit/contents/new.txt";
    const body = { content: "eA==", message: "new" };
    expect((await people.api("POST", contents, body, context.token)).status).toBe(403);
    expect((await people.api("GET", "/repos/mira/limit", undefined, context.token)).status).toBe(
      200,
    );
  });
});

describe("a workflow that cannot be called makes a failed run with the reason", () => {
  const inner = `on: { workflow_call: { inputs: { n: { type: number, required: true } } } }
jobs: { a: { runs-on: x, steps: [{ run: x }] } }
`;
  test.each([
    ["a missing file", "./.gitea/workflows/none.yml", "", "the file does not exist"],
    ["another place", "./ci/inner.yml", "", "it must be ./.gitea/workflows/FILE.yml"],
    ["a way out", "./.gitea/workflows/../ci.yml", "", "it must be ./.gitea/workflows/FILE.yml"],
    ["a missing input", "./.gitea/workflows/inner.yml", "", "the input n is required"],
    [
      "an unknown input",
      "./.gitea/workflows/inner.yml",
      ", with: { n: 1, m: 2 }",
      "the called workflow has no input m",
    ],
    [
      "an unknown secret",
      "./.gitea/workflows/inner.yml",
      ', with: { n: 1 }, secrets: { s: "${{ secrets.S }}" }',
      "the called workflow has no secret S",
    ],
    ["itself", "./.gitea/workflows/ci.yml", "", "must not form a cycle"],
    ["a file without the event", "./.gitea/workflows/plain.yml", "", "event workflow_call"],
    [
      "a broken file",
      "./.gitea/workflows/broken.yml",
      "",
      "workflows/broken.yml:1: `on` is missing",
    ],
    ["a missing repository", "mira/nowhere/.gitea/workflows/a.yml@main", "", "may not read it"],
  ])(
    "a workflow that cannot be called makes a failed run: %s",
    async (title, uses, rest, message) => {
      const name = `wrong-${title.replaceAll(" ", "-")}`;
      const repository = await newRepository(name);
      await repository.push({
        "ci.yml": `on: [push, workflow_call]\njobs:\n  a:\n    { uses: ${uses}${rest} }\n`,
        "inner.yml": inner,
        "plain.yml": "on: create\njobs: { a: { runs-on: x, steps: [{ run: x }] } }\n",
        "broken.yml": "jobs: { a: { runs-on: x, steps: [{ run: x }] } }\n",
      });
      // The broken file makes a run of its own.
      const run = await repository.waitForRuns(2);
      const all = await repository.runs();
      const called = all.find(({ path }) => String(path).startsWith("ci.yml"));
      expect(called).toMatchObject({
        conclusion: "failure",
        error: expect.stringContaining(message),
      });
      if (title !== "a broken file")
        expect(called?.["error"]).toMatch(/^ci\.yml:4: jobs\.a\.uses: /);
      expect(await repository.jobs(called?.id ?? run.id)).toEqual([]);
    },
  );

  test("a value of the wrong type fails the job that calls", async () => {
    const repository = await newRepository("types");
    await repository.push({
      "ci.yml": `on: push
jobs: { a: { uses: ./.gitea/workflows/inner.yml, with: { n: "\${{ github.ref }}" } } }
`,
      "inner.yml": inner,
    });
    const run = await repository.waitForRuns(1);
    expect(run).toMatchObject({
      conclusion: "failure",
      error: "ci.yml: the input n must be a number",
    });
  });

  test("workflow calls are at most ten deep", async () => {
    const repository = await newRepository("deep");
    const files = Array.from({ length: 11 }, (_, index) => [
      `w${index}.yml`,
      `on: ${index === 0 ? "push" : "workflow_call"}\njobs: { a: { uses: ./.gitea/workflows/w${index + 1}.yml } }\n`,
    ]);
    await repository.push({
      ...Object.fromEntries(files),
      "w11.yml": `on: workflow_call\njobs: { a: ${job("deep")} }\n`,
    });
    const run = await repository.waitForRuns(1);
    expect(run).toMatchObject({
      conclusion: "failure",
      error: expect.stringContaining("at most 10 deep"),
    });
    await repository.push({ "w10.yml": `on: workflow_call\njobs: { a: ${job("deep")} }\n` });
    const { id } = await repository.waitForRuns(2);
    expect(await repository.work("SUCCESS")).toBe("a");
    expect(await repository.get(`/runs/${id}`)).toMatchObject({ conclusion: "success" });
    expect(await repository.jobs(id)).toHaveLength(11);
  });

  test("workflow calls that double at each level end at the maximum number of jobs", async () => {
    const repository = await newRepository("wide");
    const files = Array.from({ length: 10 }, (_, index) => [
      `w${index}.yml`,
      `on: ${index === 0 ? "push" : "workflow_call"}\njobs:\n${[..."abcd"].map((key) => `  ${key}: { uses: ./.gitea/workflows/w${index + 1}.yml }\n`).join("")}`,
    ]);
    await repository.push({
      ...Object.fromEntries(files),
      "w10.yml": `on: workflow_call\njobs: { a: ${job("wide")} }\n`,
    });
    const { id } = await repository.waitForRuns(1);
    expect(await repository.get(`/runs/${id}`)).toMatchObject({
      error: expect.stringContaining("a run has at most 256 jobs"),
    });
  });
});

describe("a workflow of another repository", () => {
  const call = (label: string, of: string) =>
    `on: push\njobs: { call: { uses: ${of}/.gitea/workflows/shared.yml@v1, with: { n: ${label} } } }\n`;
  const shared = (label: string) => `on: { workflow_call: { inputs: { n: { type: string } } } }
jobs:
  here: { uses: ./.gitea/workflows/near.yml }
  a: { runs-on: ${label}, name: "\${{ inputs.n }}", steps: [{ run: x }] }
`;
  const near = (label: string) => `on: workflow_call\njobs: { b: ${job(label)} }\n`;

  async function newLibrary(name: string, owner: string, label: string) {
    const library = await newRepository(name, owner);
    await library.push({ "shared.yml": shared(label), "near.yml": near(label) });
    await git.in(name, "tag", "v1");
    await git.in(name, "push", "-q", "origin", "v1");
    await library.push({ "shared.yml": "on: workflow_call\njobs: {}\n", "near.yml": "x" });
    return library;
  }
  const setPrivate = (owner: string, name: string) =>
    people.by(owner, "PATCH", `/repos/${owner}/${name}`, { private: true });

  test("a workflow of another repository is called in the version of its tag, with calls of files of that commit", async () => {
    await newLibrary("lib", "noah", "user");
    const repository = await newRepository("user");
    await repository.push({ "ci.yml": call("user", "noah/lib") });
    const { id } = await repository.waitForRuns(1);
    expect(await repository.work("SUCCESS")).toBe("a");
    expect(await repository.work("SUCCESS")).toBe("b");
    expect(await repository.statesOf(id)).toEqual({
      call: "success",
      "call / user": "success",
      "call / here": "success",
      "call / here / b": "success",
    });
  });

  test("a private workflow of another owner counts as missing", async () => {
    await newLibrary("closed", "noah", "open");
    await setPrivate("noah", "closed");
    const repository = await newRepository("open");
    await repository.push({ "ci.yml": call("open", "noah/closed") });
    const { error } = await repository.waitForRuns(1);
    expect(error).toBe(
      "ci.yml:2: jobs.call.uses: noah/closed/.gitea/workflows/shared.yml@v1 does not exist, or this run may not read it",
    );
  });

  test("a private workflow is called from a private repository of the same owner, and not from a public one", async () => {
    await newLibrary("mine", "mira", "inside");
    await setPrivate("mira", "mine");
    const inside = await newRepository("inside");
    await inside.push({ "ci.yml": call("inside", "mira/mine") });
    expect((await inside.waitForRuns(1))["error"]).toContain("may not read it");
    await setPrivate("mira", "inside");
    await inside.push({}, "again");
    const { id } = await inside.waitForRuns(2);
    expect(await inside.work("SUCCESS")).toBe("a");
    expect(await inside.statesOf(id)).toMatchObject({ "call / inside": "success" });
  });
});
