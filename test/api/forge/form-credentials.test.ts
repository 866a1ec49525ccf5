import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";

let daemon: TestDaemon;
let admin: string;
let mira: string;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  admin = daemon.first?.forge.token ?? "";
  for (const username of ["mira", "nora"])
    await daemon.request("/api/v1/admin/users", {
      token: admin,
      json: {
        username,
        email: `${username}@example.org`,
        password: "user-password",
        must_change_password: false,
      },
    });
  const made = await daemon.request("/api/v1/users/mira/tokens", {
    basic: "mira:user-password",
    json: { name: "all", scopes: ["all"] },
  });
  mira = made.json.sha1;
  await daemon.request("/api/v1/admin/users/mira/repos", { token: admin, json: { name: "plans" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const toForm = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

/** Creates an issue by a form: its author shows the authenticated caller. */
const post = (fields: Record<string, string>, query = "", token?: string) =>
  daemon.request(`/api/v1/repos/mira/plans/issues${query}`, {
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: toForm({ title: "by a form", ...fields }),
    ...(token === undefined ? {} : { token }),
  });

describe("a form authenticates its request", () => {
  test.each(["token", "access_token"])(
    "a form authenticates its request with %s, and its other fields are still read",
    async (name) => {
      const answer = await post({ [name]: mira });
      expect(answer.status).toBe(201);
      expect(answer.json).toMatchObject({ title: "by a form", user: { login: "mira" } });
    },
  );

  test("credentials in a form are deprecated, and the response has a warning", async () => {
    const of = async (answer: ReturnType<typeof post>) =>
      (await answer).headers.get("x-gitea-warning");
    expect(await of(post({ access_token: mira }))).toContain("deprecated");
    expect(await of(post({ token: "0".repeat(40) }))).toContain("deprecated");
    expect(await of(post({}, "", mira))).toBeNull();
  });

  test("credentials in a form take precedence over the query", async () => {
    const answer = await post({ token: mira }, `?token=${admin}`);
    expect(answer.json.user.login).toBe("mira");
  });

  test("a form authenticates its request with sudo, for administrators", async () => {
    expect((await post({ sudo: "NORA" }, "", admin)).json.user.login).toBe("nora");
    expect((await post({ sudo: "nora" }, "", mira)).status).toBe(403);
    expect((await post({ sudo: "nora" })).status).toBe(403);
    expect((await post({ sudo: "nobody" }, "", admin)).status).toBe(404);
  });

  test("a multipart form authenticates its request", async () => {
    const body = new FormData();
    body.set("title", "in parts");
    body.set("token", mira);
    const answer = await daemon.request("/api/v1/repos/mira/plans/issues", { body });
    expect(answer.json).toMatchObject({ title: "in parts", user: { login: "mira" } });
  });

  test("a form on a route with a query may carry credentials too", async () => {
    const answer = await daemon.request("/api/v1/notifications", {
      method: "PUT",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: toForm({ token: mira, "to-status": "read" }),
    });
    expect(answer.status).toBe(205);
  });

  test("wrong credentials in a form are refused", async () => {
    expect((await post({ token: "0".repeat(40) })).status).toBe(401);
    expect((await post({ sudo: "a\0b" }, "", admin)).status).not.toBe(500);
  });
});

describe("bodies other than forms carry no credentials", () => {
  test("a JSON body carries no credentials", async () => {
    const answer = await daemon.request("/api/v1/repos/mira/plans/issues", {
      json: { title: "x", token: mira },
    });
    expect(answer.status).toBe(401);
  });

  test("an upload sent as a form does not authenticate its request, and its bytes are unchanged", async () => {
    const path = "/api/packages/mira/generic/tool/1.0/fields";
    const body = toForm({ token: admin, sudo: "nora" });
    const sent = await daemon.request(path, {
      method: "PUT",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      token: mira,
      body,
    });
    expect(sent.status).toBe(201);
    expect((await daemon.request(path)).text).toBe(body);
  });
});
