import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
let admin: string;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  admin = daemon.first?.forge.token ?? "";
  for (const username of ["mira", "nora"]) {
    const email = `${username}@example.org`;
    const password = "user-password";
    await api("POST", "/admin/users", { username, email, password, must_change_password: false });
    const made = await daemon.request(`/api/v1/users/${username}/tokens`, {
      basic: `${username}:${password}`,
      json: { name: "all", scopes: ["all"] },
    });
    tokens[username] = made.json.sha1;
  }
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const api = (method: string, path: string, json?: unknown) =>
  daemon.request(`/api/v1${path}`, {
    method,
    token: admin,
    ...(json === undefined ? {} : { json }),
  });
const urlOf = (name: string, user = "mira") =>
  `${daemon.url.replace("://", `://${user}:${tokens[user]}@`)}/mira/${name}.git`;

async function cloneNew(name: string, fields: object = {}): Promise<void> {
  const made = await api("POST", "/admin/users/mira/repos", { name, auto_init: true, ...fields });
  expect(made.status).toBe(201);
  expect((await git.run("clone", "-q", urlOf(name), name)).exitCode).toBe(0);
  await git.in(name, "commit", "-q", "--allow-empty", "-m", "more");
}

describe("options of a push", () => {
  test("push options of other servers are ignored, and the push succeeds", async () => {
    await cloneNew("options");
    const push = await git.in("options", "push", "-o", "ci.skip", "-o", "ä=1", "origin", "main");
    expect([push.exitCode, push.errors]).toEqual([0, expect.stringContaining("main -> main")]);
    expect((await api("GET", "/repos/mira/options")).json.private).toBe(false);
  });

  test("push options make a repository private or a template for its administrators", async () => {
    await cloneNew("wished");
    const wish = ["-o", "repo.private=true", "-o", "repo.template=true"];
    expect((await git.in("wished", "push", ...wish, "origin", "main")).exitCode).toBe(0);
    const { json } = await api("GET", "/repos/mira/wished");
    expect(json).toMatchObject({ private: true, template: true });
    const stranger = await daemon.request("/api/v1/repos/mira/wished", {
      token: tokens["nora"] ?? "",
    });
    expect(stranger.status).toBe(404);
  });
});

test("a push says which effects only its first branches and tags have", async () => {
  await cloneNew("tags");
  for (let index = 0; index < 50; index += 1) await git.in("tags", "tag", `t${index}`);
  const push = await git.in("tags", "push", "--tags", "origin", "main");
  expect(push.exitCode).toBe(0);
  expect(push.errors).toMatch(
    /^remote: This push changes 51 branches and tags\. *\nremote: Activities show the first 50\. *\n/m,
  );
  expect(push.errors).not.toContain("Workflows");
  await git.in("tags", "commit", "-q", "--allow-empty", "-m", "again");
  expect((await git.in("tags", "push", "origin", "main")).errors).not.toContain("remote:");
});

describe("protocols 0 to 2", () => {
  test.each(["0", "1", "2"])(
    "a commit that is not the tip of a branch can be fetched with %s",
    async (version) => {
      const name = `by-id-${version}`;
      await cloneNew(name);
      expect((await git.in(name, "push", "-q", "origin", "main")).exitCode).toBe(0);
      const protocol = ["-c", `protocol.version=${version}`];
      const partial = [
        ...protocol,
        "clone",
        "-q",
        "--filter=blob:none",
        urlOf(name),
        `${name}-partial`,
      ];
      expect(await git.run(...partial)).toMatchObject({ exitCode: 0, errors: "" });
      const first = (await git.in(name, "rev-parse", "HEAD~1")).output.trim();
      await git.run("init", "-q", `${name}-one`);
      const fetch = [...protocol, "fetch", "-q", "--depth=1", urlOf(name), first];
      expect(await git.in(`${name}-one`, ...fetch)).toMatchObject({ exitCode: 0 });
    },
  );
});

describe("a repository without code", () => {
  test("a repository without code refuses pushes, and serves fetches only when it is public", async () => {
    await cloneNew("codeless");
    await api("PATCH", "/repos/mira/codeless", { has_code: false });
    const push = await git.in("codeless", "push", "origin", "main");
    expect([push.exitCode, push.errors]).toEqual([128, expect.stringContaining("not found")]);
    expect((await git.in("codeless", "fetch", "origin")).exitCode).toBe(0);
    await api("PATCH", "/repos/mira/codeless", { private: true });
    expect((await git.in("codeless", "fetch", "origin")).exitCode).toBe(128);
    await api("PATCH", "/repos/mira/codeless", { has_code: true });
    expect((await git.in("codeless", "push", "origin", "main")).exitCode).toBe(0);
  });
});
