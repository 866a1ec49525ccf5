import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const user of ["mira", "noah"]) await people.newUser(user);
  await people.api("POST", "/admin/users/mira/repos", { name: "box" });
  await people.api("POST", "/admin/users/mira/orgs", { username: "guild" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const levels = [
  ["a repository", "/repos/mira/box/actions", "mira"],
  ["an organization", "/orgs/guild/actions", "mira"],
  ["a user", "/user/actions", "mira"],
  ["the instance", "/admin/actions", ""],
] as const;

const call = (user: string, method: string, path: string, json?: unknown) =>
  user === "" ? people.api(method, path, json) : people.by(user, method, path, json);

describe.each(levels)("the secrets of %s", (_what, base, user) => {
  test("secrets are created, replaced, listed without their value and deleted", async () => {
    const put = (data: string, name = "deploy_key") =>
      call(user, "PUT", `${base}/secrets/${name}`, { data, description: "to deploy" });
    expect((await put("canary-1")).status).toBe(201);
    expect((await put("canary-2", "DEPLOY_KEY")).status).toBe(204);
    const listed = await call(user, "GET", `${base}/secrets`);
    expect(listed.json).toEqual([
      { name: "DEPLOY_KEY", description: "to deploy", created_at: expect.any(String) },
    ]);
    expect(listed.headers.get("x-total-count")).toBe("1");
    expect(listed.text).not.toContain("canary");
    expect((await call(user, "DELETE", `${base}/secrets/Deploy_Key`)).status).toBe(204);
    expect((await call(user, "DELETE", `${base}/secrets/Deploy_Key`)).status).toBe(404);
  });

  test.each(["1st", "a-b", "GITHUB_TOKEN", "gitea_x", "ci", "a.b"])(
    "a secret cannot have the name %s",
    async (name) => {
      const answer = await call(user, "PUT", `${base}/secrets/${name}`, { data: "x" });
      expect([answer.status, answer.json.message]).toEqual([
        400,
        "invalid variable or secret name",
      ]);
    },
  );

  test("a secret has a value of at most 64 KiB", async () => {
    const data = "x".repeat(65_537);
    expect((await call(user, "PUT", `${base}/secrets/BIG`, { data })).status).toBe(400);
    expect((await call(user, "PUT", `${base}/secrets/NONE`, {})).status).toBe(422);
  });
});

describe.each(levels)("the variables of %s", (_what, base, user) => {
  test("variables are created, changed, renamed and deleted", async () => {
    const path = `${base}/variables/region`;
    expect((await call(user, "POST", path, { value: "north\r\nwest" })).status).toBe(201);
    expect((await call(user, "POST", path, { value: "x" })).status).toBe(409);
    expect((await call(user, "GET", path)).json).toMatchObject({
      name: "REGION",
      data: "north\nwest",
    });
    expect((await call(user, "PUT", path, { value: "south", name: "area" })).status).toBe(204);
    expect((await call(user, "GET", path)).status).toBe(404);
    expect((await call(user, "POST", path, { value: "x" })).status).toBe(201);
    expect((await call(user, "PUT", path, { value: "y", name: "AREA" })).status).toBe(409);
    const listed = await call(user, "GET", `${base}/variables?limit=1`);
    expect(listed.json).toHaveLength(1);
    expect(listed.headers.get("x-total-count")).toBe("2");
    for (const name of ["AREA", "region"])
      expect((await call(user, "DELETE", `${base}/variables/${name}`)).status).toBe(204);
    expect((await call(user, "PUT", path, { value: "y" })).status).toBe(404);
    expect((await call(user, "POST", `${base}/variables/a-b`, { value: "y" })).status).toBe(400);
  });
});

describe("secrets and variables", () => {
  test("attack: the values of one place have at most 1 MiB together", async () => {
    await people.newUser("packer");
    const data = "x".repeat(65_536);
    const send = async (method: string, path: string, body: object) =>
      (await people.by("packer", method, `/user/actions/${path}`, body)).status;
    for (let each = 0; each < 16; each += 1)
      expect(await send("POST", `variables/V${each}`, { value: data })).toBe(201);
    expect(await send("POST", "variables/MORE", { value: "x" })).toBe(422);
    expect(await send("PUT", "variables/V0", { value: data })).toBe(204);
    expect(await send("PUT", "variables/V0", { value: "small" })).toBe(204);
    expect(await send("POST", "variables/MORE", { value: "x" })).toBe(201);
    expect(await send("PUT", "variables/MORE", { value: data })).toBe(422);
    for (let each = 0; each < 15; each += 1)
      expect(await send("PUT", `secrets/S${each}`, { data })).toBe(201);
    expect(await send("PUT", "secrets/MORE", { data })).toBe(422);
    expect(await send("PUT", "secrets/S0", { data: "small" })).toBe(204);
    expect(await send("PUT", "secrets/MORE", { data })).toBe(201);
    expect(await send("PUT", "secrets/S0", { data })).toBe(422);
  });

  test("secrets and variables are refused to other users and to readers of a public repository", async () => {
    for (const kind of ["secrets", "variables"])
      for (const base of ["/repos/mira/box/actions", "/orgs/guild/actions", "/admin/actions"])
        expect((await people.by("noah", "GET", `${base}/${kind}`)).status).toBe(403);
    expect((await people.by("noah", "GET", "/user/actions/variables")).json).toEqual([]);
  });

  test("secrets and variables are refused to a collaborator who does not own the repository", async () => {
    await people.by("mira", "PUT", "/repos/mira/box/collaborators/noah", { permission: "write" });
    expect((await people.by("noah", "GET", "/repos/mira/box/actions/secrets")).status).toBe(403);
    await people.by("mira", "DELETE", "/repos/mira/box/collaborators/noah");
  });
});
