import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";

let daemon: TestDaemon;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const ask = (method: string, path: string, json?: unknown): Promise<TestAnswer> =>
  daemon.request(`/api/v1/admin/actions${path}`, {
    method,
    token: daemon.first?.forge.token ?? "",
    ...(json === undefined ? {} : { json }),
  });

describe("without workflows", () => {
  test.each([
    ["/runners", "ActionRunnersResponse", "runners", null],
    ["/runners?disabled=foo&page=2", "ActionRunnersResponse", "runners", null],
    ["/jobs", "ActionWorkflowJobsResponse", "jobs", "0"],
    [
      "/jobs?status=queued&status=skipped&sort=id&order=desc",
      "ActionWorkflowJobsResponse",
      "jobs",
      "0",
    ],
    ["/jobs?order=odd", "ActionWorkflowJobsResponse", "jobs", "0"],
    ["/runs", "ActionWorkflowRunsResponse", "workflow_runs", "0"],
    ["/runs?event=push&branch=x&head_sha=y", "ActionWorkflowRunsResponse", "workflow_runs", "0"],
  ])("without workflows, %s is empty", async (path, shape, list, total) => {
    const answer = await ask("GET", path);
    expect(answer.status).toBe(200);
    expectWireShape(shape, answer.json);
    expect(answer.json).toEqual({ [list]: [], total_count: 0 });
    expect(answer.headers.get("x-total-count")).toBe(total);
    expect(answer.headers.get("link")).toBeNull();
  });

  test.each([
    ["/jobs?status=odd", 400, "invalid status odd"],
    ["/jobs?status=queued&status=", 400, "invalid status "],
    ["/runs?status=Queued", 400, "invalid status Queued"],
    ["/jobs?sort=name", 422, 'Invalid sort mode: "name"'],
    ["/jobs?sort=name&order=up", 422, 'Invalid sort order: "up"'],
    ["/runs?actor=Nobody", 404, "user redirect does not exist [name: nobody]"],
  ])("without workflows, %s is refused", async (path, status, message) => {
    const answer = await ask("GET", path);
    expect([answer.status, answer.json.message]).toEqual([status, message]);
  });

  test("an unknown id finds no runner", async () => {
    const unknown = (id: number) => [404, `runner with id ${id}: resource does not exist`];
    for (const [method, json] of [
      ["GET", undefined],
      ["PATCH", { disabled: true }],
      ["PATCH", {}],
      ["DELETE", undefined],
    ] as const) {
      const answer = await ask(method, "/runners/7", json);
      expect([answer.status, answer.json.message]).toEqual(unknown(7));
      const text = await ask(method, "/runners/first", json);
      expect([text.status, text.json.message]).toEqual(unknown(0));
    }
    expect((await ask("PATCH", "/runners/7", { disabled: "yes" })).status).toBe(422);
  });

  test("returns the same registration token each time, also to two concurrent first requests", async () => {
    const [one, other] = await Promise.all(
      ["", "/"].map((end) => ask("POST", `/runners/registration-token${end}`)),
    );
    expect(one?.status).toBe(200);
    expect(one?.json).toEqual({ token: expect.stringMatching(/^[0-9A-Za-z]{40}$/) });
    expect(other?.json).toEqual(one?.json);
    expect((await ask("POST", "/runners/registration-token")).json).toEqual(one?.json);
  });

  test("anonymous callers are refused runners, jobs and runs", async () => {
    for (const path of ["/runners", "/jobs", "/runs", "/runners/1"])
      expect((await daemon.request(`/api/v1/admin/actions${path}`)).status).toBe(401);
  });
});
