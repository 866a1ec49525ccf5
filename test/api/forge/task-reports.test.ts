import { expect, test } from "vitest";
import { callRunner, fetchTask, registerRunner } from "../../support/forge/runner-client.ts";
import { setUpWorkflows } from "../../support/forge/workflow-pushes.ts";

// Reports of a runner that does not keep to the limits of the protocol.

const scene = setUpWorkflows();
const { people, workflows } = scene;

/** Pushes a workflow of one job and takes it. Returns the function that reports about it. */
async function takeJob(name: string) {
  const { json } = await people.api("POST", "/admin/actions/runners/registration-token");
  const runner = await registerRunner(scene.daemon, json.token, { name, labels: [name] });
  await workflows.push(name, {
    ".gitea/workflows/ci.yml": `on: push\njobs: { a: { runs-on: ${name}, steps: [{ run: x }, { run: y }] } }\n`,
  });
  const { task } = await fetchTask(scene.daemon, runner);
  const id = String(task?.id);
  return async (state: object, outputs = {}) =>
    (await callRunner(scene.daemon, "UpdateTask", { state: { id, ...state }, outputs }, runner))
      .json;
}

test("a disabled runner that waits for work gets the waiting job when it is enabled", async () => {
  const { json } = await people.api("POST", "/admin/actions/runners/registration-token");
  const runner = await registerRunner(scene.daemon, json.token, {
    name: "paused",
    labels: ["paused"],
  });
  const setDisabled = (disabled: boolean) =>
    people.api("PATCH", `/admin/actions/runners/${runner.id}`, { disabled });
  await setDisabled(true);
  await workflows.push("paused", {
    ".gitea/workflows/ci.yml": "on: push\njobs: { a: { runs-on: paused, steps: [{ run: x }] } }\n",
  });
  const { task: none, tasksVersion } = await fetchTask(scene.daemon, runner);
  expect(none).toBeUndefined();
  const held = fetchTask(scene.daemon, runner, Number(tasksVersion));
  // The daemon has the request when it answers one that was sent later.
  await callRunner(scene.daemon, "Ping", { data: "x" });
  await setDisabled(false);
  expect((await held).task?.id).toBeGreaterThan(0n);
});

const numbered = (count: number, value: string, prefix = "o") =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, value]));

test("attack: a runner reports endless outputs, of which a job keeps so many", async () => {
  const report = await takeJob("outputs");
  const first = await report(
    {},
    { kept: "1", ["n".repeat(256)]: "x", long: "x".repeat(1_048_577) },
  );
  expect(first.sentOutputs).toEqual(["kept"]);
  const large = numbered(5, "y".repeat(1_000_000), "large");
  expect((await report({}, large)).sentOutputs).toHaveLength(5);
  expect((await report({}, numbered(5_000, "1"))).sentOutputs).toHaveLength(1_000);
  // The first value of a name stays.
  expect((await report({}, { kept: "2" })).sentOutputs).toHaveLength(1_000);
});

test("attack: a runner reports steps that its job does not have, and impossible times and results", async () => {
  const report = await takeJob("steps");
  const odd = { startedAt: "0001-01-01T00:00:00Z", stoppedAt: "9999-12-31T23:59:59Z", result: 77 };
  const steps = [
    { id: "-5", ...odd },
    { id: "0", ...odd, logIndex: "-1", logLength: "99999999999" },
    { id: "9223372036854775807" },
    ...Array.from({ length: 20_000 }, (_, at) => ({ id: String(at + 2) })),
  ];
  expect((await report({ ...odd, steps })).state.result).toBeUndefined();
  expect((await report({ result: "RESULT_SUCCESS" })).state.result).toBe("RESULT_SUCCESS");
  const { json } = await people.api("GET", "/repos/mira/steps/actions/jobs");
  expect(json.jobs).toMatchObject([
    { conclusion: "success", steps: [{ number: 0 }, { number: 1 }] },
  ]);
});
