import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { callRunner, fetchTask, registerRunner } from "../../support/forge/runner-client.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const tokenOf = async (query = "") =>
  (await people.api("POST", `/admin/actions/runners/registration-token${query}`)).json
    .token as string;
const unregistered = {
  code: "unknown",
  message: "rpc error: code = Unauthenticated desc = unregistered runner",
};

test("the runner protocol answers a ping without credentials", async () => {
  const answer = await callRunner(daemon, "Ping", { data: "x" });
  expect({ status: answer.status, body: answer.json }).toEqual({
    status: 200,
    body: { data: "Hello, x!" },
  });
});

test("the runner protocol answers a call with a deadline of hours, which runners send with every report", async () => {
  const answer = await daemon.request("/api/actions/ping.v1.PingService/Ping", {
    method: "POST",
    headers: { "Connect-Protocol-Version": "1", "Connect-Timeout-Ms": "10799978" },
    json: { data: "x" },
  });
  expect(answer.status, answer.text).toBe(200);
});

test("attack: a client without a runner's credentials sends a large or packed message", async () => {
  const ping = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
    daemon.request("/api/actions/ping.v1.PingService/Ping", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body,
    });
  const large = JSON.stringify({ data: "x".repeat(1_000_000) });
  expect((await ping(large, {})).status).toBe(413);
  const packed = new Uint8Array(gzipSync(large));
  expect((await ping(packed, { "Content-Encoding": "gzip" })).status).toBe(400);
  const { uuid, token } = await registerRunner(daemon, await tokenOf(), {
    name: "loud",
    labels: ["loud"],
  });
  const known = { "X-Runner-Uuid": uuid, "X-Runner-Token": token };
  expect((await ping(large, known)).status).toBe(200);
  expect((await ping(packed, { ...known, "Content-Encoding": "gzip" })).status).toBe(200);
  expect((await ping(large, { ...known, "X-Runner-Token": "wrong" })).status).toBe(413);
});

test("attack: a runner sends a message of many fields in few bytes, which is not decoded", async () => {
  const { uuid, token } = await registerRunner(daemon, await tokenOf(), {
    name: "dense",
    labels: [],
  });
  const send = (method: string, body: Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
    daemon.request(`/api/actions/runner.v1.RunnerService/${method}`, {
      method: "POST",
      headers: { "X-Runner-Uuid": uuid, "X-Runner-Token": token, ...headers },
      body,
    });
  const packed = { "Content-Type": "application/proto", "Content-Encoding": "gzip" };
  const labels = new Uint8Array(gzipSync(Buffer.alloc(2_000_000).fill(Buffer.from([0x12, 0]))));
  const refused = await send("Declare", labels, packed);
  expect(refused.status).toBe(400);
  expect(refused.json).toEqual({
    code: "invalid_argument",
    message: "the message has too many parts",
  });
  const odd = new Uint8Array(Buffer.from([0x18, 0]));
  expect((await send("UpdateLog", odd, { "Content-Type": "application/proto" })).status).toBe(400);
  const json = new Uint8Array(Buffer.from(`{"rows":[${"{},".repeat(50_000)}{}]}`));
  expect((await send("UpdateLog", json, { "Content-Type": "application/json" })).status).toBe(400);
  const enveloped = { "Content-Type": "application/grpc-web+proto" };
  expect((await send("UpdateLog", new Uint8Array(100_000), enveloped)).status).toBe(413);
  expect((await send("UpdateLog", new Uint8Array(gzipSync("")), packed)).json.message).toBe(
    "update task: invalid runner for task",
  );
  expect((await send("UpdateLog", new Uint8Array([1]), packed)).status).toBe(400);
});

test.each([
  ["an unknown method", "/runner.v1.RunnerService/Missing", "POST", "application/json", "{}", 404],
  [
    "an unknown service",
    "/runner.v2.RunnerService/Register",
    "POST",
    "application/json",
    "{}",
    404,
  ],
  ["a broken body", "/runner.v1.RunnerService/Register", "POST", "application/json", "{", 400],
  [
    "a broken message",
    "/runner.v1.RunnerService/FetchTask",
    "POST",
    "application/proto",
    "\u000c",
    400,
  ],
  ["a GET", "/runner.v1.RunnerService/Register", "GET", "", undefined, 405],
  ["another type of body", "/ping.v1.PingService/Ping", "POST", "text/plain", "x", 415],
])("the runner protocol refuses %s", async (_what, path, method, type, body, status) => {
  const answer = await daemon.request(`/api/actions${path}`, {
    method,
    headers: type === "" ? {} : { "Content-Type": type },
    ...(body === undefined ? {} : { body }),
  });
  expect(answer.status).toBe(status);
});

describe("registration", () => {
  test("a registration token is valid until it is renewed, and using it does not consume it", async () => {
    const token = await tokenOf();
    expect(token).toMatch(/^[0-9a-f]{40}$/);
    expect(await tokenOf()).toBe(token);
    const [one, other] = [
      await registerRunner(daemon, token, { name: "one", labels: [] }),
      await registerRunner(daemon, token, { name: "other", labels: [] }),
    ];
    expect(one.uuid).not.toBe(other.uuid);
    const renewed = await tokenOf("?renew=true");
    expect(renewed).not.toBe(token);
    const refused = await callRunner(daemon, "Register", { name: "late", token });
    expect(refused.status).toBe(500);
    expect(refused.json).toEqual({
      code: "unknown",
      message: "runner registration token has been invalidated, please use the latest one",
    });
  });

  test("a repository has at most 100 runners of its own, and a deleted one gives its place", async () => {
    const { full_name } = (await people.api("POST", "/user/repos", { name: "crowded" })).json;
    const runners = `/repos/${full_name}/actions/runners`;
    const { token } = (await people.api("POST", `${runners}/registration-token`)).json;
    const register = (at: number) => callRunner(daemon, "Register", { token, name: `r${at}` });
    const answers = await Promise.all(Array.from({ length: 103 }, (_, at) => register(at)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ json }) => json.message)).toEqual(
      Array(3).fill("there are 100 runners already; delete those out of use"),
    );
    const [made] = answers.filter(({ status }) => status === 200);
    const id = made?.json.runner.id;
    expect((await people.api("DELETE", `${runners}/${id}`)).status).toBe(204);
    expect((await register(200)).status).toBe(200);
    expect((await register(201)).status).toBe(500);
    // Other places have room of their own.
    await registerRunner(daemon, await tokenOf(), { name: "elsewhere", labels: [] });
  });

  test.each([
    [{ name: "n", token: "wrong" }, "runner registration token not found"],
    [{ name: "n" }, "missing runner token, name"],
    [{ token: "x" }, "missing runner token, name"],
  ])("a registration with %j is refused", async (body, message) => {
    expect((await callRunner(daemon, "Register", body)).json).toEqual({ code: "unknown", message });
  });

  test("the runner protocol refuses calls with missing or foreign credentials", async () => {
    const token = await tokenOf();
    const one = await registerRunner(daemon, token, { name: "one", labels: [] });
    const other = await registerRunner(daemon, token, { name: "other", labels: [] });
    for (const method of ["Declare", "FetchTask", "UpdateTask", "UpdateLog"])
      for (const credentials of [
        undefined,
        { uuid: one.uuid, token: other.token },
        { uuid: one.uuid, token: "" },
        { uuid: "", token: one.token },
      ]) {
        const answer = await callRunner(daemon, method, {}, credentials);
        expect({ status: answer.status, body: answer.json }).toEqual({
          status: 500,
          body: unregistered,
        });
      }
  });
});

test("a runner declares labels without the part after a colon, and gets the capabilities", async () => {
  const runner = await registerRunner(daemon, await tokenOf(), { name: "d", labels: ["a"] });
  const answer = await callRunner(
    daemon,
    "Declare",
    { version: "2", labels: ["host:host", "linux:docker://x", "host"] },
    runner,
  );
  expect(answer.headers.get("x-gitea-actions-capabilities")).toBe("job-summary");
  expect(answer.json.runner).toMatchObject({ labels: ["host", "linux"], version: "2" });
  expect(answer.json.runner.token).toBeUndefined();
  const shown = (await people.api("GET", `/admin/actions/runners/${runner.id}`)).json;
  expect(shown).toEqual({
    id: runner.id,
    name: "d",
    status: "online",
    busy: false,
    disabled: false,
    ephemeral: false,
    labels: [
      { id: 0, name: "host", type: "custom" },
      { id: 1, name: "linux", type: "custom" },
    ],
  });
});

test("a request for work without waiting jobs returns the version of the queue", async () => {
  const runner = await registerRunner(daemon, await tokenOf(), { name: "idle", labels: [] });
  const first = await fetchTask(daemon, runner);
  expect(first.task).toBeUndefined();
  expect(first.tasksVersion).toBeGreaterThan(0n);
  const held = await fetchTask(daemon, runner, Number(first.tasksVersion));
  expect(held).toMatchObject({ tasksVersion: first.tasksVersion });
});

test("a runner is disabled, enabled and deleted, and then unregistered", async () => {
  const runner = await registerRunner(daemon, await tokenOf(), { name: "gone", labels: [] });
  const path = `/admin/actions/runners/${runner.id}`;
  const before = await fetchTask(daemon, runner);
  expect((await people.api("PATCH", path, {})).json.message).toBe("[Disabled]: Required");
  expect((await people.api("PATCH", path, { disabled: true })).json.disabled).toBe(true);
  expect((await people.api("GET", "/admin/actions/runners?disabled=true")).json).toMatchObject({
    total_count: 1,
    runners: [{ id: runner.id }],
  });
  const after = await fetchTask(daemon, runner);
  expect(after.tasksVersion).toBeGreaterThan(before.tasksVersion);
  expect((await people.api("DELETE", path)).status).toBe(204);
  expect((await people.api("DELETE", path)).status).toBe(404);
  expect((await callRunner(daemon, "FetchTask", {}, runner)).json).toEqual(unregistered);
});

test("the runner protocol refuses reports of tasks that do not exist", async () => {
  const runner = await registerRunner(daemon, await tokenOf(), { name: "x", labels: [] });
  for (const [method, body] of [
    ["UpdateTask", { state: { id: "77" } }],
    ["UpdateLog", { taskId: "77", rows: [{ content: "x" }] }],
    ["UpdateTask", { state: { id: "9223372036854775807" } }],
    ["UpdateTask", { state: { id: "-1" } }],
    ["UpdateLog", { taskId: "9223372036854775807", rows: [{ content: "x" }] }],
  ] as const)
    expect((await callRunner(daemon, method, body, runner)).json).toEqual({
      code: "unknown",
      message: "update task: invalid runner for task",
    });
});

test("attack: a runner describes itself with control characters and endless texts", async () => {
  const long = "x".repeat(10_000);
  const described = {
    name: "n\u0000a\nme",
    version: `v\u0000${long}`,
    labels: ["a\u0000b:host", "\u0000"],
  };
  const { uuid, token, id } = await registerRunner(daemon, await tokenOf(), described);
  const shown = (await people.api("GET", `/admin/actions/runners/${id}`)).json;
  expect(shown).toMatchObject({ name: "name", labels: [{ name: "ab" }] });
  const declared = await callRunner(
    daemon,
    "Declare",
    { version: long, labels: [long, "b\u0007"], capabilities: ["\u0000", long] },
    { uuid, token },
  );
  expect(declared.json.runner).toMatchObject({
    version: "x".repeat(255),
    labels: ["x".repeat(255), "b"],
  });
  const nameless = await callRunner(daemon, "Register", { name: "\u0000", token: await tokenOf() });
  expect(nameless.json.message).toBe("missing runner token, name");
});
