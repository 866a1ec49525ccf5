import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../../daemon/contract/all.ts";
import type { Endpoint } from "../../../daemon/contract/endpoint.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";

let daemon: TestDaemon;
let token: string;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  token = daemon.first?.forge.token ?? "";
  const email = "mira@example.org";
  await api("POST", "/admin/users", { username: "mira", email, password: "user-password" });
  await api("POST", "/admin/users/mira/repos", { name: "former" });
  await api("PATCH", "/repos/mira/former", { name: "today" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const api = (method: string, path: string, json?: unknown) =>
  daemon.request(`/api/v1${path}`, { method, token, ...(json === undefined ? {} : { json }) });

describe("the address that a repository has by now", () => {
  test.each([
    ["GET", "", "?a=%C3%BC&b=1+2"],
    ["GET", "/issues", "?state=closed&page=2"],
    ["GET", "/hooks", "?page=2"],
    ["GET", "/notifications", "?all=true"],
    ["PUT", "/notifications", "?to-status=read"],
  ])(
    "the redirect of %s %s to a renamed repository keeps the query",
    async (method, rest, query) => {
      const answer = await api(method, `/repos/mira/former${rest}${query}`);
      expect([answer.status, answer.headers.get("location")]).toEqual([
        307,
        `/api/v1/repos/mira/today${rest}${query}`,
      ]);
    },
  );

  const routes = (allEndpoints as readonly Endpoint[]).filter(
    ({ path, gate, name }) =>
      // Its query is checked first.
      name !== "forge.repos.files.get" &&
      (/^\/api\/v1\/(?:repos|user\/starred)\/:owner\/:repo(?:\/|$)/.test(path) ||
        (path.startsWith("/:owner/:repo") && gate.admits.startsWith("forge"))),
  );

  test.each(routes.map((declared) => [declared.name, declared] as const))(
    "the redirect of %s to a renamed repository keeps path and query",
    async (_name, { path, method, body }) => {
      const fill = (repo: string) =>
        path.replace(/\*{0,2}:(\w+)/g, (_, name: string) =>
          name === "owner" ? "mira" : name === "repo" ? repo : name === "archive" ? "1.zip" : "1",
        );
      const options = {
        method,
        token,
        ...(method === "GET" || body === undefined ? {} : { json: {} }),
      };
      const answer = await daemon.request(`${fill("former")}?limit=7`, options);
      expect([answer.status, answer.headers.get("location")]).toEqual([
        307,
        `${fill("today")}?limit=7`,
      ]);
    },
  );

  test("a redirect to a renamed repository does not contain the token", async () => {
    const path = `/api/v1/repos/mira/former/issues?token=${token}&state=all`;
    const answer = await daemon.request(path);
    expect(answer.headers.get("location")).toBe("/api/v1/repos/mira/today/issues?state=all");
  });
});

describe("the address that a renamed person has by now", () => {
  test("a redirect to a renamed user replaces the name, not an equal word of the route", async () => {
    for (const [username, now] of [
      ["admin", "boss"],
      ["users", "people"],
    ]) {
      const email = `${username}@example.org`;
      await api("POST", "/admin/users", { username, email, password: "user-password" });
      await api("POST", `/admin/users/${username}/rename`, { new_username: now });
      const badges = await api("GET", `/admin/users/${username}/badges?a=${username}`);
      expect(badges.headers.get("location")).toBe(
        `/api/v1/admin/users/${now}/badges?a=${username}`,
      );
      const profile = await api("GET", `/users/${username}`);
      expect(profile.headers.get("location")).toBe(`/api/v1/users/${now}`);
    }
  });

  test("a percent-encoded former name redirects", async () => {
    const answer = await api("GET", "/users/%61dmi%6E");
    expect([answer.status, answer.headers.get("location")]).toEqual([307, "/api/v1/users/boss"]);
  });
});

describe("the address that a renamed organization has by now", () => {
  const routes = (allEndpoints as readonly Endpoint[]).filter(({ path }) =>
    // A user in the path is looked up first.
    /^\/api\/v1\/orgs?\/:org(?!.*:username)(?:\/|$)/.test(path),
  );

  beforeAll(async () => {
    await api("POST", "/orgs", { username: "guild" });
    await api("POST", "/orgs/guild/rename", { new_name: "union" });
  });

  test.each(routes.map((declared) => [declared.name, declared] as const))(
    "the redirect of %s to a renamed organization keeps path and query",
    async (_name, { path, method, body }) => {
      const fill = (org: string) =>
        path.replace(/:(\w+)/g, (_, name: string) => (name === "org" ? org : "1"));
      const hasBody = method !== "GET" && body !== undefined;
      const options = { method, token, ...(hasBody ? { json: {} } : {}) };
      const answer = await daemon.request(`${fill("guild")}?limit=7`, options);
      expect([answer.status, answer.headers.get("location")]).toEqual([
        307,
        `${fill("union")}?limit=7`,
      ]);
    },
  );
});

// Many clients put a path that begins with a slash behind a configured address that ends in one.
describe("more slashes than needed are one", () => {
  test.each([
    ["//api/v1/version", 200],
    ["//api//v1//repos/mira//today/", 200],
    ["//api/packages/mira/npm/-/ping", 200],
    ["//mira/today.git/info/refs?service=git-upload-pack", 200],
    ["//nobody/nothing", 404],
  ])("repeated slashes count as one: %s", async (path, status) => {
    expect((await daemon.request(path, { token })).status).toBe(status);
  });
});
