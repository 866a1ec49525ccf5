import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

let daemon: TestDaemon;
let receiver: Receiver;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { api } = people;
let mira: string;
let nora: string;

beforeAll(async () => {
  receiver = await startReceiver();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  mira = people.tokenOf(await people.newUser("mira"));
  nora = people.tokenOf(await people.newUser("nora"));
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

let count = 0;
let name = "";
beforeEach(async () => {
  count += 1;
  name = `r${count}`;
  await createRepository(name);
});

const createRepository = (called: string, fields: object = {}) =>
  api("POST", "/admin/users/mira/repos", { name: called, auto_init: true, ...fields });
const config = { url: "http://127.0.0.1:9/", content_type: "json" };
const hooks = (rest = "", of = name) => `/repos/mira/${of}/hooks${rest}`;
const create = (fields: object = {}, token = mira) =>
  api("POST", hooks(), { type: "gitea", config, ...fields }, token);

describe("looking after hooks", () => {
  test("a created hook can be listed, read, changed and deleted", async () => {
    const made = await create({ config: { ...config, secret: "canary" }, name: " mine " });
    expect(made.status).toBe(201);
    expectWireShape("Hook", made.json);
    expect(made.json).toMatchObject({ name: "mine", events: ["push"], active: false, config });
    const path = hooks(`/${made.json.id}`);
    const listed = await api("GET", hooks(), undefined, mira);
    expect(listed.json).toEqual([made.json]);
    expect(listed.headers.get("x-total-count")).toBe("1");
    expect((await api("GET", path, undefined, mira)).json).toEqual(made.json);
    const changes = { active: true, events: ["create"], config: { url: "http://127.0.0.1:9/b" } };
    const changed = await api("PATCH", path, changes, mira);
    expect(changed.json).toMatchObject({ active: true, events: ["create"], name: "mine" });
    expect(changed.json.config.url).toBe("http://127.0.0.1:9/b");
    expect((await api("DELETE", path, undefined, mira)).status).toBe(204);
    expect((await api("GET", path, undefined, mira)).status).toBe(404);
  });

  test("is_system_webhook does not make a repository's hook a system hook", async () => {
    const made = await create({ config: { ...config, is_system_webhook: "true" } });
    expect(made.status).toBe(201);
    expect((await api("GET", "/admin/hooks?type=all")).text).not.toContain(`"id":${made.json.id},`);
    expect((await api("GET", `/admin/hooks/${made.json.id}`)).status).toBe(404);
  });

  test.each<[string, object, number, string]>([
    ["an unknown type", { type: "x" }, 422, "Invalid hook type: x"],
    ["no address", { config: {} }, 422, "Missing config option: url"],
    ["an invalid pattern", { branch_filter: "[" }, 422, "[BranchFilter]: GlobPattern"],
    ["slack without a channel", { type: "slack" }, 422, "Missing config option: channel"],
  ])("a hook of a repository with %s is refused", async (_what, fields, status, message) => {
    const answer = await create(fields);
    expect([answer.status, answer.json.message]).toEqual([status, message]);
    expect((await api("GET", hooks())).json).toEqual([]);
  });

  test("refuses a hook beyond the maximum of a repository", async () => {
    for (let index = 0; index < 50; index += 1) expect((await create()).status).toBe(201);
    const answer = await create();
    expect([answer.status, answer.json.message]).toEqual([
      422,
      "a repository has at most 50 hooks",
    ]);
  });

  test("a former name of the repository redirects its hooks", async () => {
    await api("PATCH", `/repos/mira/${name}`, { name: `${name}-new` });
    const answer = await api("GET", hooks("/7/deliveries"), undefined, mira);
    expect([answer.status, answer.headers.get("location")]).toEqual([
      307,
      `/api/v1/repos/mira/${name}-new/hooks/7/deliveries`,
    ]);
  });
});

describe("whom it is for", () => {
  test("only administrators of the repository have access to its hooks", async () => {
    const { id } = (await create()).json;
    for (const [method, rest, body] of [
      ["GET", "", undefined],
      ["POST", "", { type: "gitea", config }],
      ["GET", `/${id}`, undefined],
      ["PATCH", `/${id}`, {}],
      ["DELETE", `/${id}`, undefined],
      ["POST", `/${id}/tests`, undefined],
      ["GET", `/${id}/deliveries`, undefined],
    ] as const) {
      expect((await api(method, hooks(rest), body, nora)).status, method + rest).toBe(403);
      const stranger = await daemon.request(`/api/v1${hooks(rest)}`, {
        method,
        ...(body === undefined ? {} : { json: body }),
      });
      expect(stranger.status, method + rest).toBe(401);
    }
    expect((await api("GET", hooks(`/${id}`))).status).toBe(200);
    await api("PATCH", `/repos/mira/${name}`, { private: true });
    expect((await api("GET", hooks(), undefined, nora)).status).toBe(404);
    const reader = await people.newToken("mira", ["read:repository"]);
    expect((await api("GET", hooks(), undefined, reader)).status).toBe(200);
    expect((await api("DELETE", hooks(`/${id}`), undefined, reader)).status).toBe(403);
    const limited = await people.newToken("mira", ["write:repository", "public-only"]);
    expect((await api("GET", hooks(), undefined, limited)).status).toBe(404);
  });

  test("a hook of another repository, or of the instance, is not found in a repository", async () => {
    const mine = (await create()).json.id;
    const target = { ...config, is_system_webhook: "true" };
    const system = (await api("POST", "/admin/hooks", { type: "gitea", config: target })).json.id;
    await createRepository(`${name}-other`);
    for (const [of, id] of [
      [`${name}-other`, mine],
      [name, system],
      [name, 0],
      [name, "abc"],
    ]) {
      const path = hooks(`/${id}`, String(of));
      for (const method of ["GET", "PATCH", "DELETE"])
        expect(
          (await api(method, path, method === "PATCH" ? {} : undefined, mira)).status,
          `${method} ${path}`,
        ).toBe(404);
      expect((await api("POST", `${path}/tests`, undefined, mira)).status).toBe(404);
      expect((await api("GET", `${path}/deliveries`, undefined, mira)).status).toBe(404);
    }
    expect((await api("GET", `/admin/hooks/${system}`)).status).toBe(200);
  });
});

describe("copies of default hooks", () => {
  test("copies of default hooks can be changed by the repository, and their header is sent to no other address", async () => {
    const defaultHook = (
      await api("POST", "/admin/hooks", {
        type: "gitea",
        active: true,
        events: ["repository"],
        authorization_header: "Bearer canary",
        config,
      })
    ).json;
    await createRepository(`${name}-copied`);
    await api("DELETE", `/admin/hooks/${defaultHook.id}`);
    const [copy] = (await api("GET", hooks("", `${name}-copied`), undefined, mira)).json;
    expect(copy).toMatchObject({ events: ["repository"], active: true, config });
    const path = `${hooks(`/${copy.id}`, `${name}-copied`)}?keep_authorization_header=true`;
    const elsewhere = { events: ["push"], config: { url: receiver.url } };
    const refused = await api("PATCH", path, elsewhere, mira);
    expect([refused.status, refused.json.message]).toEqual([
      422,
      "the authorization header is not kept for another address",
    ]);
    expect((await api("PATCH", path, { active: false }, mira)).json.active).toBe(false);
    const cleared = await api("PATCH", path.replace(/\?.*/, ""), elsewhere, mira);
    expect(cleared.json.config.url).toBe(receiver.url);
    await api("POST", `${path.replace(/\?.*/, "")}/tests`, undefined, mira);
    const [received] = await receiver.waitFor(1, ({ body }) => body.includes(`${name}-copied`));
    expect(received?.headers.authorization).toBeUndefined();
  });
});

describe("deliveries", () => {
  test("a push is delivered to the repository's hook, signed", async () => {
    const made = await create({
      active: true,
      config: { ...config, url: receiver.url, secret: "shared" },
    });
    const url = `${daemon.url.replace("://", `://x:${mira}@`)}/mira/${name}.git`;
    await git.run("clone", "-q", url, name);
    await git.in(name, "commit", "-q", "--allow-empty", "-m", "told to the hook");
    await git.in(name, "push", "-q");
    const [received] = await receiver.waitFor(1, ({ body }) => body.includes(`mira/${name}"`));
    expect(received?.headers["x-gitea-hook-installation-target-type"]).toBe("repository");
    expect(received?.headers["x-gitea-signature"]).toBe(
      createHmac("sha256", "shared")
        .update(received?.body ?? "")
        .digest("hex"),
    );
    const path = hooks(`/${made.json.id}/deliveries`);
    await expect
      .poll(async () => (await api("GET", path, undefined, mira)).json[0]?.state, { interval: 10 })
      .toBe("delivered");
    const [entry] = (await api("GET", path, undefined, mira)).json;
    const details = await api("GET", `${path}/${entry.id}`, undefined, mira);
    expect(details.json.request.body).toContain("told to the hook");
    const again = await api("POST", `${path}/${entry.id}/redeliver`, undefined, mira);
    expect([again.status, again.json.redelivery]).toEqual([201, true]);
    expect((await api("GET", `${path}/999999`, undefined, mira)).status).toBe(404);
  });

  test("a test delivery has the newest commit, and is sent to an inactive hook as well", async () => {
    const made = await create({ config: { ...config, url: receiver.url }, events: ["repository"] });
    const path = hooks(`/${made.json.id}/tests`);
    expect((await api("POST", path, undefined, mira)).status).toBe(204);
    const [received] = await receiver.waitFor(1, ({ body }) => body.includes(`mira/${name}"`));
    const told = JSON.parse(received?.body ?? "");
    expect(received?.headers["x-gitea-event"]).toBe("push");
    expect(told).toMatchObject({ ref: "refs/heads/main", total_commits: 1 });
    expect(told.before).toBe(told.after);
    expect(told.commits).toEqual([told.head_commit]);
    expect((await api("POST", `${path}?ref=main`, undefined, mira)).status).toBe(204);
    for (const ref of ["nowhere", "--all", "main~1", "main^{tree}", "refs/heads/"])
      expect(
        (await api("POST", `${path}?ref=${encodeURIComponent(ref)}`, undefined, mira)).status,
        ref,
      ).toBe(404);
  });

  test("a test of a repository without commits delivers nothing", async () => {
    await createRepository(`${name}-empty`, { auto_init: false });
    const path = hooks("", `${name}-empty`);
    const made = await api("POST", path, { type: "gitea", config, active: true }, mira);
    expect((await api("POST", `${path}/${made.json.id}/tests`, undefined, mira)).status).toBe(204);
    expect((await api("GET", `${path}/${made.json.id}/deliveries`, undefined, mira)).json).toEqual(
      [],
    );
  });
});
