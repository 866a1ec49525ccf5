import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { callRunner, fetchTask, registerRunner } from "../../support/forge/runner-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** Creates a repository, and a runner of its label that ends a cancelled job itself. */
async function setUp(name: string) {
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", name);
  await repository.create();
  const { json } = await people.api("POST", "/admin/actions/runners/registration-token");
  const runner = await registerRunner(daemon, json.token, { name, labels: [name] }, ["cancelling"]);
  return {
    repository,
    take: async () => (await fetchTask(daemon, runner)).task,
    end: (id: bigint | undefined, result: string, outputs: Record<string, string> = {}) =>
      callRunner(
        daemon,
        "UpdateTask",
        { state: { id: String(id), result: `RESULT_${result}` }, outputs },
        runner,
      ),
  };
}

const job = (label: string, rest = "") => `{ runs-on: ${label}, steps: [{ run: x }]${rest} }`;

test("cancelling a run leaves the jobs whose condition holds in a cancelled run, and ends them when it is repeated", async () => {
  const { repository, take, end } = await setUp("cleaning");
  await repository.push({
    "ci.yml": `on: push
jobs:
  work: ${job("cleaning")}
  next: ${job("cleaning", ", needs: work")}
  always: ${job("cleaning", ", needs: work, if: always()")}
  cancelled: ${job("cleaning", ", needs: work, if: '${{ cancelled() }}'")}
  failed: ${job("cleaning", ", needs: work, if: failure()")}
  plain: ${job("cleaning", ", needs: work, if: github.ref != ''")}
`,
  });
  const { id } = await repository.waitForRuns(1);
  const task = await take();
  const cancel = () => people.by("mira", "POST", `${repository.api}/runs/${id}/cancel`);
  await cancel();
  const ended = { next: "cancelled", failed: "cancelled", plain: "cancelled" };
  expect(await repository.statesOf(id)).toMatchObject({ ...ended, work: "in_progress" });
  await end(task?.id, "CANCELLED");
  const both = { always: "queued", cancelled: "queued" };
  expect(await repository.statesOf(id)).toEqual({ ...ended, ...both, work: "cancelled" });
  const cleaning = await take();
  expect(cleaning?.context).toMatchObject({ job: "always" });
  await cancel();
  expect((await repository.get(`/runs/${id}`)).status).toBe("in_progress");
  await end(cleaning?.id, "CANCELLED");
  expect(await repository.get(`/runs/${id}`)).toMatchObject({
    status: "completed",
    conclusion: "cancelled",
  });
});

test("two runs of a group with cancel-in-progress never run at once, not even while the older one cleans up", async () => {
  const { repository, take, end } = await setUp("deploy");
  await repository.push({
    "ci.yml": `on: push
concurrency: { group: only, cancel-in-progress: true }
jobs:
  work: ${job("deploy")}
  clean: ${job("deploy", ", needs: work, if: always()")}
`,
  });
  await repository.waitForRuns(1);
  const first = await take();
  await repository.push({ "other.txt": "1" });
  await repository.waitForRuns(2);
  const states = async () => (await repository.runs()).map((run) => run.conclusion ?? run.status);
  expect(await states()).toEqual(["waiting", "in_progress"]);
  expect(await take()).toBeUndefined();
  await end(first?.id, "CANCELLED");
  const cleaning = await take();
  expect(cleaning?.context).toMatchObject({ job: "clean" });
  expect(await states()).toEqual(["waiting", "in_progress"]);
  expect(await take()).toBeUndefined();
  await end(cleaning?.id, "SUCCESS");
  expect(await states()).toEqual(["queued", "cancelled"]);
  expect((await take())?.context).toMatchObject({ job: "work" });
});

test("outputs of a megabyte are evaluated beside other requests, and the run goes on", async () => {
  const { repository, take, end } = await setUp("outputs");
  const needing = Array.from(
    { length: 20 },
    (_, at) =>
      `  n${at}: ${job("outputs", `, needs: a, if: "\${{ fromJSON(needs.a.outputs.big)[${at % 2}] == 1 }}"`)}\n`,
  );
  await repository.push({
    "ci.yml": `on: push
jobs:
  a: ${job("outputs")}
${needing.join("")}  endless:
    needs: a
    if: always()
    runs-on: outputs
    strategy: { matrix: { x: [1, 2], y: ["\${{ needs.a.outputs.big }}"] } }
    steps: [{ run: x }]
`,
  });
  const { id } = await repository.waitForRuns(1);
  const task = await take();
  const big = JSON.stringify([1, ...Array.from({ length: 250_000 }, () => ({}))]);
  await end(task?.id, "SUCCESS", { big });
  const isDecided = (states: Record<string, string>) =>
    Object.values(states).every((state) => state !== "waiting" && state !== "blocked");
  const states = await vi.waitUntil(
    async () => {
      const found = await repository.statesOf(id);
      return isDecided(found) ? found : undefined;
    },
    { timeout: 60_000 },
  );
  for (let at = 0; at < 20; at += 1)
    expect(states[`n${at}`]).toBe(at % 2 === 0 ? "queued" : "skipped");
  expect(states["endless"]).toBe("failure");
  expect((await repository.get(`/runs/${id}`)).error).toContain(
    "the combinations of a matrix have at most 1048576 characters",
  );
});

test("outputs that are too long are dropped, and the run says which", async () => {
  const { repository, take, end } = await setUp("long");
  await repository.push({ "ci.yml": `on: push\njobs: { a: ${job("long")} }\n` });
  const { id } = await repository.waitForRuns(1);
  const task = await take();
  await end(task?.id, "SUCCESS", { small: "1", large: "x".repeat(1024 * 1024 + 1) });
  expect((await repository.get(`/runs/${id}`)).error).toBe(
    "ci.yml: jobs.a has outputs that are dropped, because they are too long or too many: large",
  );
});
