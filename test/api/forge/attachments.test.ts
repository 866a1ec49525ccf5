import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by, newUser, newToken } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** A private repository of a new user with an issue and a comment. */
async function newIssue(fields: object = { private: true }) {
  const mira = await newUser();
  const repo = (await by(mira, "POST", "/user/repos", { name: "notes", ...fields })).json.full_name;
  const { number } = (await by(mira, "POST", `/repos/${repo}/issues`, { title: "Torn" })).json;
  const issue = `/repos/${repo}/issues/${number}`;
  const comment = (await by(mira, "POST", `${issue}/comments`, { body: "See the file" })).json.id;
  return { mira, repo, issue, comment: `/repos/${repo}/issues/comments/${comment}` };
}

const upload = (
  user: string,
  path: string,
  {
    bytes = "hello",
    name = "notes.txt",
    field = "attachment",
    query = "",
    token = people.tokenOf(user),
  }: {
    bytes?: string | Uint8Array<ArrayBuffer>;
    name?: string;
    field?: string;
    query?: string;
    token?: string;
  } = {},
): Promise<TestAnswer> => {
  const form = new FormData();
  form.append(field, new File([bytes], name));
  return daemon.request(`/api/v1${path}/assets${query}`, { method: "POST", body: form, token });
};

const open = (address: string, init = {}) => daemon.request(new URL(address).pathname, init);

describe("files of issues and comments", () => {
  test.each(["issue", "comment"] as const)(
    "a file of an %s is uploaded, listed, shown with it, renamed, downloaded and deleted",
    async (kind) => {
      const made = await newIssue();
      const { mira } = made;
      const path = made[kind];
      const created = await upload(mira, path, { query: "?name=better.txt" });
      expect(created).toMatchObject({
        status: 201,
        json: { name: "better.txt", size: 5, download_count: 0 },
      });
      const { id, uuid, browser_download_url: address } = created.json;
      expect(address).toMatch(new RegExp(`/attachments/${uuid}$`));
      expect((await by(mira, "GET", `${path}/assets`)).json).toEqual([created.json]);
      expect((await by(mira, "GET", path)).json.assets).toEqual([created.json]);
      expect((await by(mira, "GET", `${path}/assets/${id}`)).json).toEqual(created.json);
      if (kind === "comment")
        expect((await by(mira, "GET", `${made.issue}/comments`)).json[0].assets).toHaveLength(1);
      const downloaded = await open(address, { token: people.tokenOf(mira) });
      expect(downloaded).toMatchObject({ status: 200, text: "hello" });
      expect(downloaded.headers.get("content-disposition")).toContain(
        'inline; filename="better.txt"',
      );
      const change = { name: "../../other.txt" };
      const renamed = await by(mira, "PATCH", `${path}/assets/${id}`, change);
      expect(renamed).toMatchObject({
        status: 201,
        json: { name: "other.txt", download_count: 1 },
      });
      expect((await by(mira, "DELETE", `${path}/assets/${id}`)).status).toBe(204);
      expect((await by(mira, "GET", `${path}/assets/${id}`)).status).toBe(404);
      expect((await open(address, { token: people.tokenOf(mira) })).status).toBe(404);
      expect((await by(mira, "GET", path)).json.assets).toEqual([]);
    },
  );

  test("the address of a file is open to readers of its repository", async () => {
    const { mira, repo, issue } = await newIssue();
    const nora = await newUser();
    const { browser_download_url: address } = (await upload(mira, issue)).json;
    expect((await open(address)).status).toBe(404);
    expect((await open(address, { token: people.tokenOf(nora) })).status).toBe(404);
    const wrong = await newToken(mira, ["write:repository"]);
    expect((await open(address, { token: wrong })).status).toBe(403);
    await by(mira, "PUT", `/repos/${repo}/collaborators/${nora}`, { permission: "read" });
    expect((await open(address, { token: people.tokenOf(nora) })).status).toBe(200);
    const publicOnly = await newToken(mira, ["public-only", "read:issue"]);
    expect((await open(address, { token: publicOnly })).status).toBe(404);
    await by(mira, "PATCH", `/repos/${repo}`, { private: false });
    expect((await open(address)).text).toBe("hello");
    await by(mira, "PATCH", `/repos/${repo}`, { has_issues: false });
    expect((await open(address)).status).toBe(404);
  });

  test("a session of the pages opens a file of a private repository", async () => {
    const { mira, issue } = await newIssue();
    const { browser_download_url: address } = (await upload(mira, issue)).json;
    const signedIn = await fetch(new URL("/user/login", daemon.url), {
      method: "POST",
      redirect: "manual",
      headers: {
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/x-www-form-urlencoded",
      },
      body: new URLSearchParams({ user_name: mira, password: "user-password", code: "" }),
    });
    const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
    expect((await open(address, { headers: { Cookie: cookie } })).text).toBe("hello");
    expect((await open(address, { headers: { Cookie: "croft_session=x" } })).status).toBe(404);
    const page = await daemon.request(issue.replace("/repos", ""), {
      headers: { Cookie: cookie, Accept: "text/html" },
    });
    expect(page.text).toContain(`href="${new URL(address).pathname}"`);
    // Nothing but files opens with the cookie.
    const me = await daemon.request("/api/v1/user", { headers: { Cookie: cookie } });
    expect(me.status).toBe(401);
  });

  test("readers list files, only the author and writers change them", async () => {
    const { mira, repo, issue, comment } = await newIssue({ private: false });
    const [nora, wim] = [await newUser(), await newUser()];
    await by(mira, "PUT", `/repos/${repo}/collaborators/${wim}`, { permission: "write" });
    const { id } = (await upload(mira, issue)).json;
    expect((await by(nora, "GET", `${issue}/assets`)).json).toHaveLength(1);
    for (const parent of [issue, comment])
      expect((await upload(nora, parent)).status, parent).toBe(403);
    expect((await by(nora, "PATCH", `${issue}/assets/${id}`, { name: "x" })).status).toBe(403);
    expect((await by(nora, "DELETE", `${issue}/assets/${id}`)).status).toBe(403);
    expect((await upload(wim, issue)).status).toBe(201);
    expect((await by(wim, "DELETE", `${issue}/assets/${id}`)).status).toBe(204);
    const reading = await newToken(mira, ["read:issue"]);
    expect((await upload(mira, issue, { token: reading })).status).toBe(403);
    expect((await upload(mira, issue, { token: "" })).status).toBe(401);
  });

  test("a file of one issue is not found in another issue, comment or repository", async () => {
    const [one, two] = [await newIssue(), await newIssue()];
    const { id } = (await upload(one.mira, one.issue)).json;
    for (const path of [one.comment, two.issue]) {
      const user = path === one.comment ? one.mira : two.mira;
      expect((await by(user, "GET", `${path}/assets/${id}`)).status).toBe(404);
      expect((await by(user, "DELETE", `${path}/assets/${id}`)).status).toBe(404);
    }
  });

  test("an archived repository refuses files", async () => {
    const { mira, repo, issue } = await newIssue();
    await by(mira, "PATCH", `/repos/${repo}`, { archived: true });
    expect((await upload(mira, issue)).status).toBe(423);
  });

  test("an issue accepts at most twenty files of its own", async () => {
    const { mira, issue } = await newIssue();
    for (let count = 0; count < 20; count += 1)
      expect((await upload(mira, issue)).status).toBe(201);
    expect((await upload(mira, issue)).status).toBe(422);
  });
});

describe("hostile files", () => {
  test.each([
    ["page.html", "<script>alert(1)</script>", "text/plain; charset=utf-8", "inline"],
    [
      "image.svg",
      '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
      "text/plain; charset=utf-8",
      "inline",
    ],
    ["paper.pdf", "%PDF-1.7\n%", "application/pdf", "inline"],
    ["picture.png", "<html>", "text/plain; charset=utf-8", "inline"],
    ["program.exe", "MZ\0\0", "application/octet-stream", "attachment"],
  ])("%s runs nothing in a browser", async (name, bytes, type, kind) => {
    const { mira, issue } = await newIssue();
    const { browser_download_url: address } = (await upload(mira, issue, { name, bytes })).json;
    const { headers } = await open(address, { token: people.tokenOf(mira) });
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    );
    expect(headers.get("content-disposition")).toMatch(new RegExp(`^${kind}; `));
  });

  test.each([
    ["..", 422],
    ["x".repeat(256), 422],
    ["..\\..\\evil.txt", 201],
  ])("the name %s is refused or cut to a file name", async (name, status) => {
    const { mira, issue } = await newIssue();
    const made = await upload(mira, issue, { query: `?name=${encodeURIComponent(name)}` });
    expect(made.status).toBe(status);
    if (status === 201) expect(made.json.name).toBe("evil.txt");
  });

  test("a form without the file, or with another body, is refused", async () => {
    const { mira, issue } = await newIssue();
    expect((await upload(mira, issue, { field: "file" })).status).toBe(422);
    expect((await by(mira, "POST", `${issue}/assets`, { attachment: "x" })).status).toBe(422);
  });

  test("refuses a file over the limit and leaves no file behind", async () => {
    await using small = await startTestDaemon({ env: { CROFT_MAX_UPLOAD_BYTES: "1000" } });
    const token = small.first?.forge.token ?? "";
    const send = (path: string, json: unknown) =>
      small.request(`/api/v1${path}`, { method: "POST", token, json });
    await send("/user/repos", { name: "notes" });
    await send("/repos/keeper/notes/issues", { title: "Torn" });
    const form = new FormData();
    form.append("attachment", new File(["x".repeat(1001)], "large.txt"));
    const path = "/api/v1/repos/keeper/notes/issues/1/assets";
    expect((await small.request(path, { method: "POST", body: form, token })).status).toBe(413);
    expect(await small.listObjects()).toEqual([]);
  });

  test("ranges of a file are served, and only complete downloads are counted", async () => {
    const { mira, issue } = await newIssue();
    const { id, browser_download_url: address } = (await upload(mira, issue)).json;
    const token = people.tokenOf(mira);
    const part = await open(address, { token, headers: { Range: "bytes=1-3" } });
    expect(part).toMatchObject({ status: 206, text: "ell" });
    await open(address, { token });
    expect((await by(mira, "GET", `${issue}/assets/${id}`)).json.download_count).toBe(1);
  });

  test("the sweep of objects spares files in use", async () => {
    const { mira, issue } = await newIssue();
    const { browser_download_url: address } = (await upload(mira, issue)).json;
    expect((await api("POST", "/admin/cron/cleanup_packages")).status).toBe(204);
    expect((await open(address, { token: people.tokenOf(mira) })).text).toBe("hello");
  });
});
