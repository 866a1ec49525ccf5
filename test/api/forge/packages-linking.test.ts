import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

let daemon: TestDaemon;
let receiver: Receiver;
const people = createForgePeople(() => daemon);
const { api } = people;
let mira: string;
let nora: string;
let count = 0;
let name = "";

beforeAll(async () => {
  receiver = await startReceiver();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  mira = people.tokenOf(await people.newUser("mira"));
  nora = people.tokenOf(await people.newUser("nora"));
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const upload = (version: string, called = name, token = mira) =>
  daemon.request(`/api/packages/mira/generic/${called}/${version}/file`, {
    method: "PUT",
    token,
    body: version,
  });
const repository = (called: string, fields: object = {}, owner = "mira") =>
  api("POST", `/admin/users/${owner}/repos`, { name: called, ...fields });
const link = (repo: string, token = mira) =>
  api("POST", `/packages/mira/generic/${name}/-/link/${repo}`, undefined, token);
const view = (token = mira, type = "generic", version = "1") =>
  api("GET", `/packages/mira/${type}/${encodeURIComponent(name)}/${version}`, undefined, token);

beforeEach(async () => {
  count += 1;
  name = `tool-${count}`;
  await upload("1");
});

describe("a package and a repository", () => {
  test("links and unlinks a package and a repository, and shows the link to callers who may read the repository", async () => {
    await repository(`${name}-home`, { private: true });
    expect((await view()).json.repository).toBeNull();
    expect((await link(`${name}-HOME`)).status).toBe(201);
    expect((await view()).json.repository).toMatchObject({ full_name: `mira/${name}-home` });
    expect((await view(nora)).json.repository).toBeNull();
    const [listed] = (await api("GET", `/admin/packages?q=${name}`)).json;
    expect(listed.repository.full_name).toBe(`mira/${name}-home`);
    const parted = await api("POST", `/packages/mira/generic/${name}/-/unlink`, undefined, mira);
    expect(parted.status).toBe(201);
    expect((await view()).json.repository).toBeNull();
  });

  test("deleting a repository removes the link and keeps the package", async () => {
    await repository(`${name}-home`);
    await link(`${name}-home`);
    await api("DELETE", `/repos/mira/${name}-home`);
    expect((await view()).json).toMatchObject({ name, repository: null });
  });

  test("the link ends when the repository gets another owner", async () => {
    await repository(`${name}-home`);
    await link(`${name}-home`);
    const transfer = await api("POST", `/repos/mira/${name}-home/transfer`, { new_owner: "nora" });
    expect(transfer.status).toBe(202);
    expect((await view(people.admin)).json.repository).toBeNull();
  });

  test("hooks of the linked repository receive events of versions", async () => {
    await repository(`${name}-home`);
    await link(`${name}-home`);
    const config = { url: receiver.url, content_type: "json" };
    const hook = { type: "gitea", active: true, events: ["package"], config };
    await api("POST", `/repos/mira/${name}-home/hooks`, hook, mira);
    await upload("2");
    const [told] = await receiver.waitFor(1, ({ body }) => body.includes(`"${name}"`));
    expect(JSON.parse(told?.body ?? "")).toMatchObject({
      action: "created",
      repository: { full_name: `mira/${name}-home` },
      package: { version: "2", repository: { full_name: `mira/${name}-home` } },
    });
  });

  test.each<[string, () => Promise<TestAnswer>, number]>([
    ["an unknown repository", () => link("nowhere"), 404],
    ["another owner's", () => link("others"), 404],
    ["an unknown package", () => api("POST", "/packages/mira/generic/none/-/link/x"), 404],
    ["without the right", () => link(`${name}-home`, nora), 403],
  ])("%s is refused", async (_what, attempt, status) => {
    await repository("others", {}, "nora");
    await repository(`${name}-home`);
    expect((await attempt()).status).toBe(status);
    expect((await view()).json.repository).toBeNull();
  });
});

describe("npm", () => {
  const publish = (repositoryField: unknown) => {
    const version = "1.0.0";
    const manifest = { name, version, dist: {}, repository: repositoryField };
    return daemon.request(`/api/packages/mira/npm/${name}`, {
      method: "PUT",
      token: mira,
      json: {
        _id: name,
        name,
        "dist-tags": { latest: version },
        versions: { [version]: manifest },
        _attachments: {
          [`${name}-${version}.tgz`]: { data: Buffer.from("bytes").toString("base64") },
        },
      },
    });
  };

  test.each<[string, (home: string) => unknown, boolean]>([
    ["an address", (home) => home, true],
    ["an object, as npm writes it", (home) => ({ type: "git", url: `git+${home}.git` }), true],
    ["another server", () => "https://elsewhere.example/mira/x", false],
    ["another owner", (home) => home.replace("/mira/", "/nora/"), false],
    ["a path below", (home) => `${home}/src`, false],
    ["a number", () => 7, false],
    ["a missing repository", (home) => `${home}-missing`, false],
  ])("a manifest that names %s", async (_what, toField, isLinked) => {
    await repository(`${name}-home`);
    const published = await publish(toField(`${daemon.url}/mira/${name}-home`));
    expect(published.status).toBe(201);
    const { json } = await view(mira, "npm", "1.0.0");
    expect(json.repository?.name).toBe(isLinked ? `${name}-home` : undefined);
  });
});

test("the registry of a renamed owner still works under the old name", async () => {
  const vera = people.tokenOf(await people.newUser("vera"));
  await daemon.request("/api/packages/vera/generic/kept/1/file", {
    method: "PUT",
    token: vera,
    body: "bytes",
  });
  await api("POST", "/admin/users/vera/rename", { new_username: "verena" });
  expect((await daemon.request("/api/packages/vera/generic/kept/1/file")).text).toBe("bytes");
  const again = await daemon.request("/api/packages/vera/generic/kept/2/file", {
    method: "PUT",
    token: vera,
    body: "more",
  });
  expect(again.status).toBe(201);
  expect((await daemon.request("/api/packages/verena/generic/kept/2/file")).text).toBe("more");
  expect((await daemon.request("/api/packages/nobody/generic/kept/2/file")).status).toBe(404);
});
