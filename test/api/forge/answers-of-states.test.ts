import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateSync } from "otplib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// Declared answers that need a state of their own, which no other test makes.

let daemon: TestDaemon;
let repo: string;
const people = createForgePeople(() => daemon);
const { by, api } = people;
const encode = (text: string) => Buffer.from(text).toString("base64");

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await people.newUser("mira");
  await by("mira", "POST", "/orgs", { username: "works" });
  repo = `/repos/works/${await people.newRepository("works", { auto_init: true })}`;
});
afterAll(() => daemon[Symbol.asyncDispose]());

test("an inactive user is not added to a team", async () => {
  const user = await people.newUser();
  await api("PATCH", `/admin/users/${user}`, { source_id: 0, login_name: user, active: false });
  const [team] = (await by("mira", "GET", "/orgs/works/teams")).json;
  const refused = await by("mira", "PUT", `/teams/${team.id}/members/${user}`);
  expect([refused.status, refused.json.message]).toEqual([422, "the user's account is inactive"]);
});

test("a team that does not have a repository is not taken from it", async () => {
  const units = { "repo.code": "read" };
  await by("mira", "POST", "/orgs/works/teams", { name: "readers", units_map: units });
  const refused = await by("mira", "DELETE", `${repo}/teams/readers`);
  expect([refused.status, refused.json.message]).toEqual([
    422,
    "team 'readers' was not added to repo",
  ]);
});

test("tokens are listed by password, and a page is written in decimal digits", async () => {
  const basic = "mira:user-password";
  const list = (page: string) =>
    daemon.request(`/api/v1/users/mira/tokens?page=${page}`, { basic });
  expect((await list("1")).status).toBe(200);
  expect((await list("1e3")).status).toBe(422);
});

test("a file is created by the change of a file without its id", async () => {
  const created = await by("mira", "PUT", `${repo}/contents/new.txt`, { content: encode("text") });
  expect([created.status, created.json.content.path]).toEqual([201, "new.txt"]);
});

test("a workflow without the event workflow_dispatch has no inputs", async () => {
  const text = "on: push\njobs:\n  one:\n    runs-on: x\n    steps:\n      - run: echo\n";
  await by("mira", "POST", `${repo}/contents/.gitea/workflows/w.yml`, { content: encode(text) });
  const refused = await by("mira", "GET", `${repo}/actions/workflows/w.yml/inputs`);
  expect([refused.status, refused.json.message]).toEqual([
    422,
    "w.yml has no event workflow_dispatch",
  ]);
});

test("unsubscribing from an issue a second time is 200 and changes nothing", async () => {
  await by("mira", "POST", `${repo}/issues`, { title: "text" });
  const unsubscribe = () => by("mira", "DELETE", `${repo}/issues/1/subscriptions/mira`);
  expect((await unsubscribe()).status).toBe(201);
  expect((await unsubscribe()).status).toBe(200);
});

test("a wiki page is not changed over a change that its editor has not seen", async () => {
  await by("mira", "POST", `${repo}/wiki/new`, { title: "Home", content_base64: encode("one") });
  for (const method of ["PATCH", "DELETE"]) {
    const refused = await daemon.request(`/api/v1${repo}/wiki/page/Home`, {
      method,
      token: people.tokenOf("mira"),
      headers: { "If-Match": `"${"0".repeat(40)}"` },
      ...(method === "PATCH" ? { json: { content_base64: encode("two") } } : {}),
    });
    expect([refused.status, refused.json.message]).toEqual([412, "the page has changed"]);
  }
});

test("a second factor that is on is not enabled again", async () => {
  const user = await people.newUser();
  const basic = `${user}:user-password`;
  const at = "/api/v1/user/2fa";
  const { secret } = (await daemon.request(`${at}/setup`, { basic, method: "POST" })).json;
  const codeIn = (steps: number) =>
    generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + steps * 30 });
  const enable = (headers = {}) =>
    daemon.request(`${at}/enable`, { basic, headers, json: { code: codeIn(0) } });
  expect((await enable()).status).toBe(204);
  // The code of the next step, because each counts once.
  expect((await enable({ "X-Gitea-OTP": codeIn(1) })).status).toBe(409);
});

test("an offered repository is not accepted by an owner who has one of its name", async () => {
  const nora = await people.newUser();
  const name = await people.newRepository("mira");
  await by("mira", "POST", `/repos/mira/${name}/transfer`, { new_owner: nora });
  await by(nora, "POST", "/user/repos", { name });
  const refused = await by(nora, "POST", `/repos/mira/${name}/transfer/accept`);
  expect([refused.status, refused.json.message]).toEqual([
    422,
    `repository already exists [uname: ${nora}, name: ${name}]`,
  ]);
});

test("notifications of a repository are not sent to a client that has the latest", async () => {
  const nora = await people.newUser();
  const quiet = `/repos/mira/${await people.newRepository("mira")}`;
  await by(nora, "POST", `${quiet}/issues`, { title: "news", body: "@mira" });
  const list = (headers = {}) =>
    daemon.request(`/api/v1${quiet}/notifications`, { token: people.tokenOf("mira"), headers });
  // The administrator has made the repository, so mira is notified of it as well, in either order.
  const types = async () =>
    (await list()).json.map(({ subject }: { subject: { type: string } }) => subject.type).sort();
  await expect.poll(types).toEqual(["Issue", "Repository"]);
  const tag = (await list()).headers.get("etag") ?? "";
  expect((await list({ "If-None-Match": tag })).status).toBe(304);
});

test("a comment is not changed over a change that its editor has not seen", async () => {
  const { number } = (await by("mira", "POST", `${repo}/issues`, { title: "talk" })).json;
  const made = await by("mira", "POST", `${repo}/issues/${number}/comments`, { body: "one" });
  const refused = await daemon.request(`/api/v1${repo}/issues/comments/${made.json.id}`, {
    method: "PATCH",
    token: people.tokenOf("mira"),
    headers: { "If-Match": `"${"0".repeat(64)}"` },
    json: { body: "two" },
  });
  expect([refused.status, refused.json.message]).toEqual([
    412,
    "the text of the comment has changed",
  ]);
});

test("the address of a file of a release that is kept elsewhere leads there", async () => {
  const release = (await by("mira", "POST", `${repo}/releases`, { tag_name: "v1" })).json;
  const link = "https://files.example.org/kiln.zip";
  const query = `name=kiln.zip&external_url=${encodeURIComponent(link)}`;
  const { json } = await by("mira", "POST", `${repo}/releases/${release.id}/assets?${query}`);
  const led = await daemon.request(`/attachments/${json.uuid}`);
  expect([led.status, led.headers.get("location")]).toEqual([302, link]);
});

/** Runs `work` while git cannot lock a ref of a repository, as when another change holds it. */
async function whileLocked<T>(folder: string, ref: string, work: () => Promise<T>): Promise<T> {
  const lock = `${join(folder, ref)}.lock`;
  await mkdir(join(lock, ".."), { recursive: true });
  await writeFile(lock, "");
  try {
    return await work();
  } finally {
    await rm(lock);
  }
}

const folderOf = (path: string) =>
  join(daemon.home, "repositories", `${path.replace("/repos/", "")}.git`);

test("a branch that another change holds is not changed", async () => {
  const path = `/repos/mira/${await people.newRepository("mira", { auto_init: true })}`;
  const names = ["moved", "renamed", "deleted", "written", "removed", "several", "patched"];
  for (const name of names)
    await by("mira", "POST", `${path}/contents/${name}.txt`, {
      content: encode("one\n"),
      new_branch: name,
    });
  const commitOf = async (name: string) =>
    (await by("mira", "GET", `${path}/branches/${name}`)).json.commit.id as string;
  const fileOf = async (name: string) =>
    (await by("mira", "GET", `${path}/contents/${name}.txt?ref=${name}`)).json.sha as string;
  const content = encode("two\n");
  const requests: Readonly<Record<string, readonly [string, string, object?]>> = {
    moved: ["PUT", "/branches/moved", { new_commit_id: await commitOf("written"), force: true }],
    renamed: ["PATCH", "/branches/renamed", { name: "other" }],
    deleted: ["DELETE", "/branches/deleted"],
    written: [
      "PUT",
      "/contents/written.txt",
      { branch: "written", content, sha: await fileOf("written") },
    ],
    removed: [
      "DELETE",
      "/contents/removed.txt",
      { branch: "removed", sha: await fileOf("removed") },
    ],
    several: [
      "POST",
      "/contents",
      { branch: "several", files: [{ operation: "create", path: "new.txt", content }] },
    ],
    patched: [
      "POST",
      "/diffpatch",
      {
        branch: "patched",
        content: "--- a/patched.txt\n+++ b/patched.txt\n@@ -1 +1 @@\n-one\n+two\n",
      },
    ],
  };
  const statuses = await Promise.all(
    Object.entries(requests).map(([name, [method, to, body]]) =>
      whileLocked(folderOf(path), `refs/heads/${name}`, async () => {
        const { status, text } = await by("mira", method, path + to, body);
        return [name, status, status === 409 ? "" : text];
      }),
    ),
  );
  expect(statuses).toEqual(names.map((name) => [name, 409, ""]));
});

test("a wiki that another change holds is not changed", async () => {
  const statuses = await Promise.all(
    (["POST", "PATCH", "DELETE"] as const).map(async (method) => {
      const path = `/repos/mira/${await people.newRepository("mira", { auto_init: true })}`;
      const page = { title: "Home", content_base64: encode("one") };
      expect((await by("mira", "POST", `${path}/wiki/new`, page)).status).toBe(201);
      return whileLocked(join(folderOf(path), ".wiki"), "refs/heads/main", async () => {
        const [to, body] =
          method === "POST"
            ? ["/wiki/new", { ...page, title: "Other" }]
            : [
                "/wiki/page/Home",
                method === "PATCH" ? { content_base64: encode("two") } : undefined,
              ];
        return (await by("mira", method, path + to, body)).status;
      });
    }),
  );
  expect(statuses).toEqual([409, 409, 409]);
});

test("the registries refuse what is too large, and what is no longer as a client has seen it", async () => {
  const token = people.tokenOf("mira");
  const root = "/api/packages/mira/npm";
  const send = (path: string, json: unknown, method = "PUT") =>
    daemon.request(`${root}/${path}`, { method, token, json });
  const toDocument = (name: string, more: object = {}) => ({
    name,
    "dist-tags": { latest: "1.0.0" },
    versions: { "1.0.0": { name, version: "1.0.0", dist: {}, ...more } },
    _attachments: { "a.tgz": { data: encode("tarball"), length: 7 } },
  });
  // The name of a package with a scope as one segment, and as two.
  const at = "@mira/kiln";
  expect((await send("kiln", toDocument("kiln"))).status).toBe(201);
  expect((await send(at, toDocument(at))).status).toBe(201);
  expect((await send(at, toDocument(at))).status).toBe(409);
  const large = { description: "x".repeat(1_100_000) };
  expect((await send(at, toDocument(at, large))).status).toBe(413);
  for (const name of ["kiln", at]) {
    const { _attachments: _, ...document } = toDocument(name, large);
    expect((await send(`${name}/-rev/1-1`, document)).status).toBe(413);
  }
  const { _attachments: _, ...seen } = toDocument(at);
  expect((await send(`${at}/-rev/9-9`, seen)).status).toBe(409);
  expect((await send(`${at}/-rev/9-9`, undefined, "DELETE")).status).toBe(409);
  const tag = `-/package/${at}/dist-tags/beta`;
  expect((await send(tag, "1".repeat(2_000))).status).toBe(413);
});
