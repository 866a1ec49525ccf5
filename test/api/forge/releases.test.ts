import { readdir } from "node:fs/promises";
import { request as plainRequest } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";
import { startSmtpServer } from "../../support/smtp-server.ts";

const UPLOAD_BYTES_MAX = 1024 * 1024;
const FORM_HEAD =
  '--B\r\nContent-Disposition: form-data; name="attachment"; filename="a.txt"\r\n\r\nhalf';

let daemon: TestDaemon;
let git: GitClient;
let receiver: Receiver;
let smtp: Awaited<ReturnType<typeof startSmtpServer>>;
const people = createForgePeople(() => daemon);
const { api, by, newUser, newToken } = people;

beforeAll(async () => {
  receiver = await startReceiver();
  smtp = await startSmtpServer();
  daemon = await startTestDaemon({
    env: {
      CROFT_RATE_LIMITS: "off",
      CROFT_SMTP_URL: smtp.url,
      CROFT_MAX_UPLOAD_BYTES: String(UPLOAD_BYTES_MAX),
    },
  });
  git = await createGitClient();
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await smtp.close();
});

/** A repository of a new user with a first commit. */
async function newProject(fields: object = {}) {
  const mira = await newUser();
  const made = await by(mira, "POST", "/user/repos", {
    name: "kiln",
    auto_init: true,
    default_branch: "main",
    ...fields,
  });
  const repo = made.json.full_name;
  return { mira, repo, path: `/repos/${repo}` };
}

describe("releases", () => {
  test("a release is created with its tag, listed, found by id and tag, edited and deleted; the tag stays", async () => {
    const { mira, repo, path } = await newProject();
    const created = await by(mira, "POST", `${path}/releases`, {
      tag_name: "v1/α",
      name: "First",
      body: "Notes",
      tag_message: "the first",
    });
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({
      tag_name: "v1/α",
      target_commitish: "main",
      name: "First",
      body: "Notes",
      draft: false,
      prerelease: false,
      assets: [],
      author: { login: mira },
      html_url: `${daemon.url}/${repo}/releases/tag/v1/%CE%B1`,
      tarball_url: `${daemon.url}/${repo}/archive/v1/%CE%B1.tar.gz`,
      zipball_url: `${daemon.url}/${repo}/archive/v1/%CE%B1.zip`,
      upload_url: `${daemon.url}/api/v1${path}/releases/${created.json.id}/assets`,
    });
    const { id } = created.json;
    expect((await by(mira, "GET", `${path}/tags/v1%2F%CE%B1`)).json.message).toBe("the first");
    expect((await by(mira, "GET", `${path}/releases/tags/v1%2F%CE%B1`)).json).toEqual(created.json);
    expect((await by(mira, "GET", `${path}/releases/tags/v1/%CE%B1`)).json.id).toBe(id);
    expect((await by(mira, "GET", `${path}/releases/${id}`)).json).toEqual(created.json);
    const archive = await daemon.request(new URL(created.json.tarball_url).pathname);
    expect(archive.status).toBe(200);
    expect(archive.headers.get("content-type")).toContain("gzip");

    const edited = await by(mira, "PATCH", `${path}/releases/${id}`, { name: "", body: "More" });
    expect(edited).toMatchObject({ status: 200, json: { name: "First", body: "More" } });
    const moved = await by(mira, "PATCH", `${path}/releases/${id}`, { tag_name: "v1.1" });
    expect(moved.json).toMatchObject({ tag_name: "v1.1", id });
    const tags = (await by(mira, "GET", `${path}/tags`)).json.map(
      ({ name }: { name: string }) => name,
    );
    expect(tags.toSorted()).toEqual(["v1.1", "v1/α"]);

    expect((await by(mira, "GET", path)).json.release_counter).toBe(1);
    const refused = await by(mira, "DELETE", `${path}/tags/v1.1`);
    expect(refused.status).toBe(409);
    expect(refused.json.message).toContain("attached to a release cannot be deleted directly");
    expect((await by(mira, "DELETE", `${path}/releases/tags/v1.1`)).status).toBe(204);
    expect((await by(mira, "DELETE", `${path}/releases/${id}`)).status).toBe(404);
    expect((await by(mira, "GET", `${path}/tags/v1.1`)).status).toBe(200);
    expect((await by(mira, "DELETE", `${path}/tags/v1.1`)).status).toBe(204);
    expect((await by(mira, "GET", path)).json.release_counter).toBe(0);
  });

  test("the latest release is the newest that is neither a draft nor a prerelease, and lists filter by both", async () => {
    const { mira, path } = await newProject();
    expect((await by(mira, "GET", `${path}/releases/latest`)).status).toBe(404);
    for (const [tag_name, fields] of [
      ["v1", {}],
      ["v2", {}],
      ["v3", { prerelease: true }],
      ["v4", { draft: true }],
    ] as const)
      await by(mira, "POST", `${path}/releases`, { tag_name, ...fields });
    const names = async (query: string, token = people.tokenOf(mira)) => {
      const listed = await api("GET", `${path}/releases${query}`, undefined, token);
      const found = listed.json.map((each: { tag_name: string }) => each.tag_name);
      expect(listed.headers.get("x-total-count")).toBe(String(found.length));
      return found;
    };
    expect((await api("GET", `${path}/releases/latest`, undefined, "")).json.tag_name).toBe("v2");
    expect(await names("")).toEqual(["v4", "v3", "v2", "v1"]);
    expect(await names("?draft=true")).toEqual(["v4"]);
    expect(await names("?draft=false&pre-release=true")).toEqual(["v3"]);
    expect(await names("?pre-release=0")).toEqual(["v4", "v2", "v1"]);
    expect(await names("", "")).toEqual(["v3", "v2", "v1"]);
    expect(await names("?draft=true", "")).toEqual([]);
  });

  test("a draft creates no tag, is hidden from readers and tokens that may not write, and is published at its target", async () => {
    const { mira, path } = await newProject();
    const nora = await newUser();
    const made = await by(mira, "POST", `${path}/releases`, { tag_name: "v1", draft: true });
    const draft = `${path}/releases/${made.json.id}`;
    expect((await by(mira, "GET", `${path}/tags/v1`)).status).toBe(404);
    expect((await by(mira, "GET", path)).json.release_counter).toBe(0);
    const reading = await newToken(mira, ["read:repository"]);
    for (const token of ["", people.tokenOf(nora), reading]) {
      expect((await api("GET", draft, undefined, token)).status).toBe(404);
      expect((await api("GET", `${path}/releases/tags/v1`, undefined, token)).status).toBe(404);
      expect((await api("GET", `${draft}/assets`, undefined, token)).status).toBe(404);
      expect((await api("GET", `${path}/releases`, undefined, token)).json).toEqual([]);
    }
    const writing = await newToken(mira, ["write:repository"]);
    expect((await api("GET", draft, undefined, writing)).status).toBe(200);
    const published = await by(mira, "PATCH", draft, { draft: false, name: "Now" });
    expect(published).toMatchObject({ status: 200, json: { draft: false, name: "Now" } });
    expect((await by(mira, "GET", `${path}/tags/v1`)).status).toBe(200);
    expect((await by(mira, "GET", path)).json.release_counter).toBe(1);
    expect((await by(mira, "PATCH", draft, { draft: true })).json.draft).toBe(true);
    expect((await by(mira, "GET", path)).json.release_counter).toBe(0);
  });

  test("wrong requests are refused with their reasons, and leave neither tag nor release", async () => {
    const { mira, repo, path } = await newProject();
    const post = (body: object, user = mira) => by(user, "POST", `${path}/releases`, body);
    const taken = await post({ tag_name: "v1" });
    const other = await post({ tag_name: "v2" });
    for (const [body, status, message] of [
      [{}, 422, "[TagName]: Required"],
      [{ tag_name: "a..b" }, 422, "[TagName]: GitRefName"],
      [{ tag_name: "refs/tags/v3" }, 422, "[TagName]: GitRefName"],
      [{ tag_name: "v1" }, 409, "release tag already exist [tag_name: v1]"],
      [{ tag_name: "v3", target_commitish: "nowhere" }, 404, "target not found"],
      [{ tag_name: "v1/below" }, 409, "already exists"],
    ] as const) {
      const refused = await post(body);
      expect(refused).toMatchObject({ status });
      expect(refused.json.message).toContain(message);
    }
    const clash = await by(mira, "PATCH", `${path}/releases/${other.json.id}`, { tag_name: "v1" });
    expect(clash.status).toBe(409);
    const nora = await newUser();
    expect((await post({ tag_name: "v3" }, nora)).status).toBe(403);
    expect((await api("POST", `${path}/releases`, { tag_name: "v3" }, "")).status).toBe(401);
    const issues = await newToken(mira, ["write:issue"]);
    expect((await api("GET", `${path}/releases`, undefined, issues)).status).toBe(403);
    const tags = (await by(mira, "GET", `${path}/tags`)).json.map(
      ({ name }: { name: string }) => name,
    );
    expect(tags.toSorted()).toEqual(["v1", "v2"]);
    await by(mira, "PATCH", path, { archived: true });
    expect((await post({ tag_name: "v3" })).status).toBe(423);
    expect((await by(mira, "DELETE", `${path}/releases/${taken.json.id}`)).status).toBe(423);
    expect((await by(mira, "GET", `${path}/releases`)).status).toBe(200);
    await by(mira, "PATCH", path, { archived: false, has_releases: false });
    expect((await by(mira, "GET", `${path}/releases`)).status).toBe(404);
    expect((await by(mira, "GET", `/repos/${repo}`)).json.has_releases).toBe(false);
    const empty = await newProject({ auto_init: false });
    const refused = await by(empty.mira, "POST", `${empty.path}/releases`, { tag_name: "v1" });
    expect(refused).toMatchObject({ status: 422, json: { message: "repo is empty" } });
  });

  test("an existing tag keeps its commit, and a tag deleted by git turns its release into a draft", async () => {
    const { mira, repo, path } = await newProject();
    const first = (await by(mira, "GET", `${path}/branches/main`)).json.commit.id;
    await by(mira, "POST", `${path}/tags`, { tag_name: "v1" });
    await by(mira, "POST", `${path}/contents/more.txt`, { content: "bW9yZQ==" });
    await by(mira, "POST", `${path}/releases`, { tag_name: "v1", target_commitish: "main" });
    expect((await by(mira, "GET", `${path}/tags/v1`)).json.commit.sha).toBe(first);
    const address = `${daemon.url.replace("//", `//${mira}:user-password@`)}/${repo}.git`;
    await git.run("clone", "-q", address, "kiln");
    expect(await git.in("kiln", "push", "-q", "origin", ":v1")).toMatchObject({ exitCode: 0 });
    expect((await by(mira, "GET", `${path}/releases/tags/v1`)).json.draft).toBe(true);
    expect((await by(mira, "GET", path)).json.release_counter).toBe(0);
    expect((await api("GET", `${path}/releases`, undefined, "")).json).toEqual([]);
  });

  test("of releases of one tag that are created at once, one succeeds and the others are refused with 409", async () => {
    const { mira, path } = await newProject();
    const all = await Promise.all(
      Array.from({ length: 4 }, () => by(mira, "POST", `${path}/releases`, { tag_name: "v1" })),
    );
    expect(all.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409]);
    expect((await by(mira, "GET", path)).json.release_counter).toBe(1);
  });
});

describe("events of releases", () => {
  test("hooks, chat messages, activities, mails and workflows learn of a release, but not of its drafts", async () => {
    const { mira, path } = await newProject();
    const nora = await newUser();
    await by(nora, "PUT", `${path}/subscription`);
    const hook = (type: string) =>
      by(mira, "POST", `${path}/hooks`, {
        type,
        config: { url: `${receiver.url}/${type}`, content_type: "json", channel: "#news" },
        events: ["release", "create"],
        active: true,
      });
    expect([(await hook("gitea")).status, (await hook("slack")).status]).toEqual([201, 201]);
    const made = await by(mira, "POST", `${path}/releases`, { tag_name: "v1", draft: true });
    const release = `${path}/releases/${made.json.id}`;
    await by(mira, "PATCH", release, { body: "Draft notes" });
    await by(mira, "PATCH", release, { draft: false, name: "First" });
    await by(mira, "PATCH", release, { body: "Notes" });
    await by(mira, "DELETE", release);
    const sent = await receiver.waitFor(8, ({ path: at }) => at === "/gitea" || at === "/slack");
    const received = sent
      .filter(({ path: at }) => at === "/gitea")
      .map(({ headers, body }) => ({ event: headers["x-gitea-event"], json: JSON.parse(body) }));
    const releases = received.filter(({ event }) => event === "release").map(({ json }) => json);
    expect(releases.map(({ action }) => action)).toEqual(["published", "updated", "deleted"]);
    expect(releases[0]).toMatchObject({
      release: { tag_name: "v1", name: "First", body: "Draft notes", author: { login: mira } },
      repository: { full_name: path.slice("/repos/".length), release_counter: 1 },
      sender: { login: mira },
    });
    const created = received.find(({ event }) => event === "create");
    expect(created?.json).toMatchObject({ ref: "v1", ref_type: "tag" });
    const texts = sent.filter(({ path: at }) => at === "/slack").map(({ body }) => body);
    expect(texts.some((text) => text.includes("Release published: First by"))).toBe(true);

    const feed = (await by(mira, "GET", `${path}/activities/feeds`)).json;
    expect(
      feed.find((each: { op_type: string }) => each.op_type === "publish_release"),
    ).toMatchObject({
      ref_name: "v1",
      content: "First",
      act_user: { login: mira },
    });
    const toNora = () => smtp.received.filter(({ to }) => to.includes(`${nora}@example.org`));
    await vi.waitUntil(() => toNora().length > 0, { timeout: 60_000, interval: 20 });
    expect(toNora()).toHaveLength(1);
    expect(toNora()[0]?.source).toContain("Release First");
    expect(smtp.received.filter(({ to }) => to.includes(`${mira}@example.org`))).toEqual([]);
  });

  test("a release starts the workflows of its tag once, by any of the types that GitHub has", async () => {
    const mira = await newUser();
    const repository = createWorkflowRepository({ daemon, people, git }, mira, "works");
    await repository.create();
    const on = (name: string, events: string) =>
      `name: ${name}\non: ${events}\njobs: { a: { runs-on: works, steps: [{ run: "true" }] } }\n`;
    await repository.push({
      "ready.yml": on("ready", "push"),
      "any.yml": on("any", "release"),
      "released.yml": on("released", "{ release: { types: [released, published] } }"),
      "pre.yml": on("pre", "{ release: { types: [prereleased] } }"),
      "edited.yml": on("edited", "{ release: { types: [edited, deleted] } }"),
    });
    await repository.waitForRuns(1);
    await repository.work("SUCCESS");
    const path = `/repos/${mira}/works/releases`;
    const made = await by(mira, "POST", path, { tag_name: "v1" });
    const runs = async () =>
      (await repository.runs())
        .filter(({ event }) => event === "release")
        .map(({ path: file }) => String(file));
    await vi.waitUntil(async () => (await runs()).length === 2, { timeout: 60_000, interval: 50 });
    expect((await runs()).toSorted()).toEqual([
      "any.yml@refs/tags/v1",
      "released.yml@refs/tags/v1",
    ]);
    await by(mira, "PATCH", `${path}/${made.json.id}`, { body: "Notes" });
    await vi.waitUntil(async () => (await runs()).length === 4, { timeout: 60_000, interval: 50 });
    expect((await runs()).filter((file) => file.startsWith("edited.yml"))).toHaveLength(1);
  });
});

describe("pages of releases", () => {
  test("the list, a release and its feed show notes and files, drafts to people with write access only", async () => {
    const { mira, repo, path } = await newProject();
    const body = "Now **hot** <script>x</script>";
    await by(mira, "POST", `${path}/releases`, { tag_name: "v1/a", name: "A & <B>", body });
    await by(mira, "POST", `${path}/releases`, { tag_name: "v2", draft: true });
    const list = await daemon.request(`/${repo}/releases`);
    expect(list.status).toBe(200);
    expect(list.text).toContain("A &amp; &lt;B&gt;");
    expect(list.text).toContain("<strong>hot</strong>");
    expect(list.text).not.toContain("<script>");
    expect(list.text).toContain(`/${repo}/archive/v1/a.zip`);
    expect(list.text).not.toContain("v2");
    const one = await daemon.request(`/${repo}/releases/tag/v1/a`);
    expect(one).toMatchObject({ status: 200 });
    expect((await daemon.request(`/${repo}/releases/tag/v2`)).status).toBe(404);
    const latest = await fetch(`${daemon.url}/${repo}/releases/latest`, { redirect: "manual" });
    expect(latest.headers.get("location")).toBe(`/${repo}/releases/tag/v1/a`);
    const feed = await daemon.request(`/${repo}/releases.atom`);
    expect(feed.headers.get("content-type")).toContain("application/atom+xml");
    expect(feed.text).toContain("<title>A &amp; &lt;B&gt;</title>");
    expect(feed.text).toContain("&lt;strong&gt;hot&lt;/strong&gt;");
    expect(feed.text).not.toContain("v2");
  });
});

describe("files of releases", () => {
  const send = (
    user: string,
    release: string,
    init: { body: string | FormData; query?: string; type?: string; token?: string },
  ) =>
    daemon.request(`/api/v1${release}/assets${init.query ?? ""}`, {
      method: "POST",
      body: init.body,
      token: init.token ?? people.tokenOf(user),
      ...(init.type === undefined ? {} : { headers: { "Content-Type": init.type } }),
    });
  const toForm = (bytes: string, name: string, field = "attachment") => {
    const form = new FormData();
    form.append(field, new File([bytes], name));
    return form;
  };
  async function newRelease(fields: object = {}, repository: object = {}) {
    const project = await newProject(repository);
    const { mira, path } = project;
    const made = await by(mira, "POST", `${path}/releases`, { tag_name: "v1", ...fields });
    return { ...project, release: `${path}/releases/${made.json.id}` };
  }
  const open = (address: string, init = {}) => daemon.request(new URL(address).pathname, init);

  test("a file comes by a form or as the body, and is listed, downloaded, counted, renamed and deleted", async () => {
    const { mira, repo, release } = await newRelease();
    const byForm = await send(mira, release, { body: toForm("<html>", "page.html") });
    expect(byForm).toMatchObject({ status: 201, json: { name: "page.html", size: 6 } });
    const asBody = await send(mira, release, {
      body: "raw bytes",
      type: "application/octet-stream",
      query: "?name=page.html",
    });
    expect(asBody).toMatchObject({ status: 201, json: { name: "page.html", size: 9 } });
    const address = byForm.json.browser_download_url;
    expect(address).toBe(`${daemon.url}/attachments/${byForm.json.uuid}`);
    expect((await by(mira, "GET", release)).json.assets).toEqual([byForm.json, asBody.json]);
    expect((await by(mira, "GET", `${release}/assets`)).json).toEqual([byForm.json, asBody.json]);

    const whole = await open(address);
    expect(whole).toMatchObject({ status: 200, text: "<html>" });
    expect(whole.headers.get("content-type")).toContain("text/plain");
    expect(whole.headers.get("x-content-type-options")).toBe("nosniff");
    expect(whole.headers.get("content-security-policy")).toContain("sandbox");
    const etag = whole.headers.get("etag") ?? "";
    expect((await open(address, { headers: { "If-None-Match": etag } })).status).toBe(304);
    const part = await open(address, { headers: { Range: "bytes=1-3" } });
    expect(part).toMatchObject({ status: 206, text: "htm" });
    // The newest file of a name.
    const named = await daemon.request(`/${repo}/releases/download/v1/page.html`);
    expect(named).toMatchObject({ status: 200, text: "raw bytes" });
    const { id } = byForm.json;
    const shown = (await by(mira, "GET", `${release}/assets/${id}`)).json;
    expect(shown.download_count).toBe(1);
    const renamed = await by(mira, "PATCH", `${release}/assets/${id}`, { name: "first.html" });
    expect(renamed).toMatchObject({ status: 201, json: { name: "first.html" } });
    expect((await by(mira, "DELETE", `${release}/assets/${id}`)).status).toBe(204);
    expect((await open(address)).status).toBe(404);
    await by(mira, "DELETE", release);
    expect((await open(asBody.json.browser_download_url)).status).toBe(404);
  });

  test("a link leads to a file elsewhere and can be changed", async () => {
    const { mira, repo, release } = await newRelease();
    const link = "https://files.example.org/kiln.zip";
    const query = `?name=kiln.zip&external_url=${encodeURIComponent(link)}`;
    const made = await send(mira, release, { body: "", query });
    expect(made).toMatchObject({
      status: 201,
      json: { name: "kiln.zip", size: 0, browser_download_url: link },
    });
    const led = await fetch(`${daemon.url}/${repo}/releases/download/v1/kiln.zip`, {
      redirect: "manual",
    });
    expect(led.status).toBe(302);
    expect(led.headers.get("location")).toBe(link);
    const at = `${release}/assets/${made.json.id}`;
    const changed = await by(mira, "PATCH", at, { browser_download_url: `${link}?v=2` });
    expect(changed.json.browser_download_url).toBe(`${link}?v=2`);
    const script = await send(mira, release, { body: "", query: "?external_url=javascript:x" });
    expect(script.status).toBe(422);
  });

  test("a file without a name, of another field, or of another release is refused", async () => {
    const { mira, path, release } = await newRelease();
    const nameless = await send(mira, release, { body: "x", type: "application/octet-stream" });
    expect(nameless.status).toBe(400);
    expect(nameless.json.message).toBe("Could not determine name of attachment.");
    expect((await send(mira, release, { body: toForm("x", "a", "other") })).status).toBe(422);
    const made = await send(mira, release, { body: toForm("x", "a.txt") });
    const other = await by(mira, "POST", `${path}/releases`, { tag_name: "v2" });
    const foreign = `${path}/releases/${other.json.id}/assets/${made.json.id}`;
    for (const method of ["GET", "PATCH", "DELETE"])
      expect((await by(mira, method, foreign, method === "PATCH" ? {} : undefined)).status).toBe(
        404,
      );
    const nora = await newUser();
    expect((await send(nora, release, { body: toForm("x", "a") })).status).toBe(403);
    expect((await send(nora, release, { body: toForm("x", "a"), token: "" })).status).toBe(401);
    expect((await by(mira, "GET", release)).json.assets).toHaveLength(1);
  });

  test("a file over max_upload_bytes, or whose client leaves, leaves nothing behind", async () => {
    const { mira, release } = await newRelease();
    const token = people.tokenOf(mira);
    const large = "x".repeat(UPLOAD_BYTES_MAX + 1);
    expect((await send(mira, release, { body: toForm(large, "large.bin") })).status).toBe(413);
    const query = "?name=large.bin";
    const type = "application/octet-stream";
    expect((await send(mira, release, { body: large, query, type })).status).toBe(413);
    for (const [contentType, body] of [
      [type, "half"],
      ["multipart/form-data; boundary=B", FORM_HEAD],
    ] as const) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const request = plainRequest(`${daemon.url}/api/v1${release}/assets${query}`, {
        method: "POST",
        headers: {
          Authorization: `token ${token}`,
          "Content-Type": contentType,
          "Content-Length": body.length + 100,
        },
      });
      request.on("error", () => undefined);
      request.on("close", () => resolve());
      request.write(body, () => request.destroy());
      await promise;
    }
    expect((await by(mira, "GET", `${release}/assets`)).json).toEqual([]);
    const folder = join(daemon.home, "tmp");
    await vi.waitUntil(
      async () => (await readdir(folder)).every((name) => !/^(?:object|form)-/.test(name)),
      { timeout: 60_000 },
    );
    expect((await send(mira, release, { body: toForm("x", "a.txt") })).status).toBe(201);
  });

  test("files of drafts and of private repositories are hidden like their releases, also by their addresses", async () => {
    const hidden = [await newRelease({ draft: true }), await newRelease({}, { private: true })];
    const nora = await newUser();
    for (const { mira, repo, release } of hidden) {
      const { json } = await send(mira, release, { body: toForm("secret", "a.txt") });
      const named = `/${repo}/releases/download/v1/a.txt`;
      for (const token of ["", people.tokenOf(nora)]) {
        expect((await open(json.browser_download_url, { token })).status).toBe(404);
        expect((await daemon.request(named, { token })).status).toBe(404);
      }
      const token = people.tokenOf(mira);
      expect((await open(json.browser_download_url, { token })).text).toBe("secret");
      expect((await daemon.request(named, { token })).text).toBe("secret");
      const issues = await newToken(mira, ["write:issue"]);
      expect((await open(json.browser_download_url, { token: issues })).status).toBe(403);
    }
  });
});
