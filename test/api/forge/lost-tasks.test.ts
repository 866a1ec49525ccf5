import { expect, test } from "vitest";
import {
  callRunner,
  fetchTask,
  registerRunner,
  type RunnerCredentials,
} from "../../support/forge/runner-client.ts";
import { setUpWorkflows } from "../../support/forge/workflow-pushes.ts";

const scene = setUpWorkflows();
const { people, workflows } = scene;

/** Asks for work as a runner that has these tasks. Returns the id of the task that it is given. */
async function fetchWith(
  { uuid, token }: RunnerCredentials,
  tasks: string,
): Promise<string | undefined> {
  const answer = await scene.daemon.request("/api/actions/runner.v1.RunnerService/FetchTask", {
    method: "POST",
    json: {},
    headers: { "x-runner-uuid": uuid, "x-runner-token": token, "x-croft-tasks": tasks },
  });
  expect(answer.status).toBe(200);
  return answer.json.task?.id;
}

test("a task whose response was lost is sent again, only to its runner, until it has ended", async () => {
  const run = await workflows.push("lost", {
    ".gitea/workflows/ci.yml":
      "on: push\njobs: { a: { runs-on: lost, strategy: { matrix: { v: [1, 2] } }, steps: [{ run: x }] } }\n",
  });
  const { token } = (await people.api("POST", "/admin/actions/runners/registration-token")).json;
  const runner = await registerRunner(scene.daemon, token, { name: "r", labels: ["lost"] });
  const other = await registerRunner(scene.daemon, token, { name: "o", labels: ["other"] });
  const first = await fetchTask(scene.daemon, runner);
  const id = String(first.task?.id);
  expect(first.task?.context?.["strategy"]).toMatchObject({ "job-index": 0, "job-total": 2 });

  expect(await fetchWith(runner, "")).toBe(id);
  expect(await fetchWith(other, "")).toBeUndefined();
  const second = await fetchWith(runner, id);
  expect(second).toBeDefined();
  expect(second).not.toBe(id);
  expect(await fetchWith(runner, `${id},${second}`)).toBeUndefined();
  expect(await fetchWith(runner, `${second}`)).toBe(id);

  const end = { state: { id, result: "RESULT_SUCCESS" } };
  expect((await callRunner(scene.daemon, "UpdateTask", end, runner)).status).toBe(200);
  expect(await fetchWith(runner, `${second}`)).toBeUndefined();
  expect((await workflows.jobsOf("lost", run)).map((job) => job.conclusion ?? job.status)).toEqual([
    "success",
    "in_progress",
  ]);
});
