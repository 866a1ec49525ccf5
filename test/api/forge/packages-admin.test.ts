import { createHash } from "node:crypto";
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFileObjects } from "../../../storage/objects/file-objects.ts";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { withOneDaemon } from "../../support/skip.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await people.newUser("mira");
  for (const [name, version] of [
    ["alpha", "1"],
    ["alpha", "2"],
    ["Beta_x", "1"],
    ["betaax", "1"],
  ])
    await put(`/api/packages/mira/generic/${name}/${version}/f`, `${name} ${version}`);
  await publish("@croft/alpha", "1.0.0");
  await publish("@croft/alpha", "1.1.0");
});
afterAll(() => daemon[Symbol.asyncDispose]());

const put = (path: string, body: string) =>
  daemon.request(path, { method: "PUT", token: people.admin, body });
const list = (query = "") =>
  daemon.request(`/api/v1/admin/packages${query}`, { token: people.admin });
const namesOf = ({ json }: TestAnswer) =>
  json.map((each: { name: string; version: string }) => `${each.name} ${each.version}`);

async function publish(name: string, version: string, owner = "mira"): Promise<TestAnswer> {
  return daemon.request(`/api/packages/${owner}/npm/${name}`, {
    method: "PUT",
    token: people.admin,
    json: {
      name,
      versions: { [version]: { name, version } },
      "dist-tags": { latest: version },
      _attachments: { "a.tgz": { data: Buffer.from(`tarball ${version}`).toString("base64") } },
    },
  });
}

describe("the list of packages", () => {
  test("the list of packages has every version, newest first, in the wire's shape", async () => {
    const all = await list();
    expect(all.status).toBe(200);
    expect(namesOf(all)).toEqual([
      "@croft/alpha 1.1.0",
      "@croft/alpha 1.0.0",
      "betaax 1",
      "Beta_x 1",
      "alpha 2",
      "alpha 1",
    ]);
    expect(all.headers.get("x-total-count")).toBe("6");
    for (const { repository, ...each } of all.json) {
      expect(repository).toBeNull();
      expectWireShape("Package", each, ["repository"]);
    }
    expect(all.json[0]).toMatchObject({
      owner: { login: "mira", email: "mira@example.org" },
      creator: { login: "keeper", is_admin: true },
      type: "npm",
      html_url: `${daemon.url}/mira/-/packages/npm/%40croft%2Falpha/1.1.0`,
    });
  });

  test("the list of packages is filtered by type and by a part of the name, which has no wildcards", async () => {
    expect(namesOf(await list("?type=npm"))).toHaveLength(2);
    expect(namesOf(await list("?type=%20npm%20&q=ALPHA"))).toHaveLength(2);
    expect(namesOf(await list("?type=all&q=%20alph%20"))).toHaveLength(4);
    expect(namesOf(await list("?q=a_x"))).toEqual(["Beta_x 1"]);
    expect(namesOf(await list("?q=%25"))).toEqual([]);
    expect(namesOf(await list(`?q=${"a".repeat(5000)}`))).toEqual([]);
    expect(await list("?type=unknown")).toMatchObject({ status: 200, json: [] });
    expect(namesOf(await list("?type=cargo"))).toEqual([]);
  });

  test("the list of packages is paged", async () => {
    const page = await list("?page=2&limit=2&type=");
    expect(namesOf(page)).toEqual(["betaax 1", "Beta_x 1"]);
    expect(page.headers.get("link")).toBe(
      [
        [3, "next"],
        [3, "last"],
        [1, "first"],
        [1, "prev"],
      ]
        .map(
          ([number, relation]) =>
            `<${daemon.url}/api/v1/admin/packages?limit=2&page=${number}&type=>; rel="${relation}"`,
        )
        .join(","),
    );
    expect(await list("?page=9223372036854775807&limit=-1")).toMatchObject({ status: 200 });
    expect(await list("?page=99999999")).toMatchObject({ status: 200, json: [] });
  });
});

describe("a version", () => {
  const at = (name: string, version: string) => `/api/v1/packages/mira/npm/${name}/${version}`;

  test("a version of a package is shown with its files", async () => {
    const version = await daemon.request(at("@croft%2Falpha", "1.0.0"));
    expect(version.json).toMatchObject({ name: "@croft/alpha", owner: { login: "mira" } });
    const files = await daemon.request(`${at("@croft%2falpha", "1.0.0")}/files`);
    expectWireShape("PackageFile", files.json);
    const sha256 = createHash("sha256").update("tarball 1.0.0").digest("hex");
    expect(files.json).toMatchObject([{ name: "alpha-1.0.0.tgz", size: 13, sha256 }]);
    expect((await daemon.request(at("@croft%2falpha", "9.0.0"))).status).toBe(404);
    expect((await daemon.request(at("..%2F..", "1"))).status).toBe(404);
  });

  test("after a version is deleted, `latest` is the newest remaining one", async () => {
    await publish("short", "1.0.0");
    await publish("short", "2.0.0");
    const remove = (version: string) =>
      daemon.request(at("short", version), { method: "DELETE", token: people.admin });
    expect((await remove("2.0.0")).status).toBe(204);
    expect((await daemon.request("/api/packages/mira/npm/short")).json["dist-tags"]).toEqual({
      latest: "1.0.0",
    });
    expect((await remove("2.0.0")).status).toBe(404);
    expect((await remove("1.0.0")).status).toBe(204);
    expect((await daemon.request("/api/packages/mira/npm/short")).status).toBe(404);
  });
});

describe("people and their packages", () => {
  test("an owner of packages is deleted only with purge, and remaining versions belong to a ghost", async () => {
    await people.newUser("owner");
    await people.newUser("other");
    const token = await daemon.request("/api/v1/users/owner/tokens", {
      basic: "owner:user-password",
      json: { name: "all", scopes: ["all"] },
    });
    await daemon.request("/api/v1/admin/users/owner/orgs", {
      token: people.admin,
      json: { username: "lasting" },
    });
    await daemon.request("/api/v1/admin/users/mira/orgs", {
      token: people.admin,
      json: { username: "kept" },
    });
    const own = { method: "PUT", token: token.json.sha1, body: "x" };
    expect((await daemon.request("/api/packages/owner/generic/p/1/f", own)).status).toBe(201);
    expect((await daemon.request("/api/packages/lasting/generic/p/1/f", own)).status).toBe(201);
    const remove = (query: string) =>
      daemon.request(`/api/v1/admin/users/owner${query}`, {
        method: "DELETE",
        token: people.admin,
      });
    const refused = await remove("");
    expect(refused.status).toBe(422);
    expect((await remove("?purge=true")).status).toBe(204);
    expect(namesOf(await list("?q=p&type=generic"))).not.toContain("p 1");

    const stranger = await daemon.request("/api/v1/users/other/tokens", {
      basic: "other:user-password",
      json: { name: "all", scopes: ["all"] },
    });
    await daemon.request("/api/v1/admin/users/other", {
      method: "PATCH",
      token: people.admin,
      json: { login_name: "other", source_id: 0, admin: true },
    });
    await daemon.request("/api/packages/kept/generic/by-other/1/f", {
      method: "PUT",
      token: stranger.json.sha1,
      body: "y",
    });
    await daemon.request("/api/v1/admin/users/other", { method: "DELETE", token: people.admin });
    expect((await list("?q=by-other")).json).toMatchObject([
      { owner: { login: "kept" }, creator: { id: -1, login: "Ghost" } },
    ]);
  });

  test("the refusal to delete an owner of packages only names the packages", async () => {
    const packer = await people.newUser("packer");
    const { json: account } = await people.by(packer, "GET", "/user");
    await put("/api/packages/packer/generic/p/1/f", "x");
    const refused = await daemon.request("/api/v1/admin/users/packer", {
      method: "DELETE",
      token: people.admin,
    });
    expect(refused).toMatchObject({
      status: 422,
      json: { message: `user still has ownership of packages [uid: ${account.id}]` },
    });
  });
});

withOneDaemon("the sweep deletes only old and unused objects", async () => {
  const folder = join(daemon.home, "packages");
  const store = createFileObjects({
    folder,
    tmp: join(daemon.home, "tmp"),
    newId: () => "sweep-test",
    clock: () => Date.now(),
    onDamaged: ({ sha256 }) => expect.unreachable(`${sha256} is damaged`),
  });
  const keep = async (text: string) => {
    const writer = await store.create();
    await writer.write(Buffer.from(text));
    const { sha256 } = await writer.seal();
    await writer.publish();
    await writer.discard();
    return sha256;
  };
  const [used, old, young] = [await keep("used"), await keep("old"), await keep("young")];
  const pathOf = (key: string) => join(folder, key.slice(0, 2), key.slice(2, 4), key);
  const yesterday = new Date(Date.now() - 90_000_000);
  for (const key of [used, old]) await utimes(pathOf(key), yesterday, yesterday);
  const swept = await store.sweep({
    before: Date.now() - 86_400_000,
    isInUse: async (key) => key === used,
  });
  expect(swept).toEqual({ objects: 1, bytes: 3 });
  const left = await readdir(folder, { recursive: true });
  const has = (key: string) => left.some((path) => path.endsWith(key));
  expect([has(used), has(old), has(young)]).toEqual([true, false, true]);
});

test("webhooks receive events for created and deleted versions, not for further files", async () => {
  const hook = await daemon.request("/api/v1/admin/hooks", {
    token: people.admin,
    json: {
      type: "gitea",
      active: true,
      events: ["package"],
      config: {
        url: "http://127.0.0.1:9/",
        content_type: "json",
        is_system_webhook: "true",
      },
    },
  });
  expect(hook.status).toBe(201);
  await put("/api/packages/mira/generic/told/1/a", "a");
  await put("/api/packages/mira/generic/told/1/b", "b");
  await daemon.request("/api/packages/mira/generic/told/1", {
    method: "DELETE",
    token: people.admin,
  });
  const log = await daemon.request(`/api/v1/admin/hooks/${hook.json.id}/deliveries`, {
    token: people.admin,
  });
  expect(log.json).toHaveLength(2);
  const payloads = [];
  for (const { id } of log.json) {
    const path = `/api/v1/admin/hooks/${hook.json.id}/deliveries/${id}`;
    const { json } = await daemon.request(path, { token: people.admin });
    payloads.push(JSON.parse(json.request.body));
  }
  expect(payloads).toMatchObject([
    { action: "deleted", package: { name: "told", version: "1" }, sender: { login: "keeper" } },
    {
      action: "created",
      package: {
        type: "generic",
        owner: { login: "mira", active: true },
        creator: { login: "keeper", active: true },
      },
      repository: null,
    },
  ]);
});
