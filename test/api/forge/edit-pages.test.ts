import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;
const home = "/mira/tea";
let mira: Browser;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "nora"]) await people.newUser(name);
  await people.api("POST", "/admin/users/mira/repos", { name: "tea", auto_init: true });
  await people.api("POST", "/admin/users/mira/repos", { name: "none" });
  const windows = Buffer.from("one\r\ntwo\r\n").toString("base64");
  await by("mira", "POST", "/repos/mira/tea/contents/windows.txt", { content: windows });
  mira = await signIn("mira");
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** A signed-in browser without a script. */
type Browser = Awaited<ReturnType<typeof signIn>>;

async function signIn(user: string) {
  const { body, headers: sent } = toForm({ user_name: user, password: "user-password" });
  const made = await daemon.request("/user/login", {
    method: "POST",
    headers: { ...sent, Origin: daemon.url, "Sec-Fetch-Site": "same-origin" },
    body,
  });
  const cookie = made.headers.get("set-cookie")?.split(";")[0] ?? "";
  const headers = { Cookie: cookie, Accept: "text/html" };
  const open = (path: string) => daemon.request(path, { headers });
  /** Sends the form of a page with some fields replaced. */
  const submit = async (path: string, fields: Record<string, string>, file?: File) => {
    const { text } = await open(path);
    const read = (name: string) =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? "";
    const all = { form_token: read("form_token"), sha: read("sha"), ...fields };
    if (file === undefined) {
      const form = toForm(all);
      return daemon.request(path, {
        method: "POST",
        headers: { ...headers, ...form.headers },
        body: form.body,
      });
    }
    const body = new FormData();
    for (const [name, value] of Object.entries(all)) body.append(name, value);
    body.append("files", file);
    return daemon.request(path, { method: "POST", headers, body });
  };
  return { open, submit };
}

const toForm = (fields: Record<string, string>) => ({
  headers: { "Content-Type": "application/x-www-form-urlencoded" },
  body: new URLSearchParams(fields).toString(),
});

const contentOf = async (path: string, ref = "main") => {
  const { json } = await by("mira", "GET", `/repos/mira/tea/contents/${path}?ref=${ref}`);
  return Buffer.from(json.content ?? "", "base64").toString("utf8");
};

describe("the forms that change files", () => {
  test("an edit commits to the branch, keeps the line ends, and may move the file", async () => {
    const path = `${home}/_edit/main/windows.txt`;
    const saved = await mira.submit(path, {
      path: "windows.txt",
      text: "one\r\nthree\r\n",
      message: "Say three",
      description: "A reason",
      target: "direct",
    });
    expect(saved.status).toBe(303);
    expect(saved.headers.get("location")).toBe(`${home}/src/branch/main/windows.txt`);
    expect(await contentOf("windows.txt")).toBe("one\r\nthree\r\n");
    const { json } = await by("mira", "GET", "/repos/mira/tea/commits?limit=1");
    expect(json[0].commit.message).toBe("Say three\n\nA reason\n");
    await mira.submit(path, { path: "deep/moved.txt", text: "one\r\n", target: "direct" });
    expect(await contentOf("deep/moved.txt")).toBe("one\r\n");
    expect((await mira.open(`${home}/src/branch/main/windows.txt`)).status).toBe(404);
  });

  test("an edit of a file that changed meanwhile is refused, with the text of the person", async () => {
    const path = `${home}/_edit/main/README.md`;
    const stale = await mira.open(path);
    const sha = /name="sha" value="([^"]*)"/.exec(stale.text)?.[1] ?? "";
    await mira.submit(path, { path: "README.md", text: "theirs", target: "direct" });
    const fields = { sha, path: "README.md", text: "mine <b>", target: "direct" };
    const refused = await mira.submit(path, fields);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain("Somebody changed the file after you opened it");
    expect(refused.text).toContain("mine &lt;b&gt;");
    expect(await contentOf("README.md")).toBe("theirs");
    // The refused form has the current version, so that it replaces what the person has now been told of.
    const current = /name="sha" value="([^"]*)"/.exec(refused.text)?.[1] ?? "";
    await mira.submit(path, { ...fields, sha: current });
    expect(await contentOf("README.md")).toBe("mine <b>");
  });

  test("a preview renders the text and commits nothing", async () => {
    const path = `${home}/_new/main/docs`;
    const shown = await mira.submit(path, {
      path: "docs/new.md",
      text: "# A *title*",
      preview: "yes",
    });
    expect(shown.status).toBe(200);
    expect(shown.text).toMatch(/<h1[^>]*>A <em>title<\/em><\/h1>/);
    expect((await mira.open(`${home}/src/branch/main/docs/new.md`)).status).toBe(404);
  });

  test("a new file goes to a new branch with a pull request", async () => {
    const saved = await mira.submit(`${home}/_new/main`, {
      path: "new.txt",
      text: "new",
      message: "Add it",
      target: "new",
      new_branch: "mine",
    });
    expect(saved.headers.get("location")).toMatch(/^\/mira\/tea\/pulls\/\d+$/);
    expect(await contentOf("new.txt", "mine")).toBe("new");
    const again = await mira.submit(`${home}/_new/mine`, { path: "new.txt", text: "again" });
    expect(again.status).toBe(422);
    expect(again.text).toContain("repository file already exists");
  });

  test("several files are uploaded, without the folders of the person's computer, and deleted", async () => {
    const file = new File([Buffer.from([0, 1, 2])], "C:\\secret\\picture.bin");
    const sent = await mira.submit(
      `${home}/_upload/main/docs`,
      { folder: "docs", target: "direct" },
      file,
    );
    expect(sent.headers.get("location")).toBe(`${home}/src/branch/main/docs`);
    const path = `${home}/_delete/main/docs/picture.bin`;
    expect((await mira.submit(path, { target: "direct" })).status).toBe(303);
    expect((await mira.open(`${home}/src/branch/main/docs/picture.bin`)).status).toBe(404);
    expect((await mira.open(path)).status).toBe(404);
  });

  test("the first file of an empty repository is written by a form", async () => {
    const saved = await mira.submit("/mira/none/_new/main", {
      path: "README.md",
      text: "# None",
      target: "direct",
    });
    expect(saved.headers.get("location")).toBe("/mira/none/src/branch/main/README.md");
    expect((await mira.open("/mira/none")).text).toContain("README.md");
  });

  test("a person without the right to write proposes a change from a fork", async () => {
    const nora = await signIn("nora");
    const path = `${home}/_edit/main/README.md`;
    expect((await nora.open(path)).text).toContain("You may not write to mira/tea");
    const saved = await nora.submit(path, {
      path: "README.md",
      text: "proposed",
      new_branch: "better",
    });
    expect(saved.headers.get("location")).toMatch(/^\/mira\/tea\/pulls\/\d+$/);
    const { json } = await by("mira", "GET", "/repos/mira/tea/pulls?state=open");
    expect(json[0]).toMatchObject({ head: { label: "better", repo: { full_name: "nora/tea" } } });
    expect(await contentOf("README.md")).not.toBe("proposed");
  });

  test("a protected branch takes no commit of who may not push, in words", async () => {
    await by("mira", "POST", "/repos/mira/tea/branch_protections", {
      rule_name: "main",
      enable_push: false,
    });
    const path = `${home}/_new/main`;
    expect((await mira.open(path)).text).toContain("which is protected");
    const refused = await mira.submit(path, { path: "x.txt", text: "x", target: "direct" });
    expect([403, 422]).toContain(refused.status);
    expect((await mira.open(`${home}/src/branch/main/x.txt`)).status).toBe(404);
  });

  test("forms refuse hostile paths, a missing token, strangers and private repositories", async () => {
    for (const path of ["../x", ".git/config", "a/../../x", "", "/"]) {
      const fields = { path, text: "x", target: "new", new_branch: "hostile" };
      expect((await mira.submit(`${home}/_new/main`, fields)).status).toBe(422);
    }
    const fields = { form_token: "wrong", path: "x.txt", text: "x" };
    expect((await mira.submit(`${home}/_new/main`, fields)).status).toBe(403);
    const stranger = await daemon.request(`${home}/_new/main`, {
      headers: { Accept: "text/html" },
    });
    expect(stranger.headers.get("location")).toContain("/user/login?redirect_to=");
    await by("mira", "PATCH", "/repos/mira/none", { private: true });
    const nora = await signIn("nora");
    expect((await nora.open("/mira/none/_new/main")).status).toBe(404);
  });
});

test("a commit whose pull request is refused leaves no branch in the fork of the person", async () => {
  const nora = await signIn("nora");
  await people.api("POST", "/admin/users/mira/repos", { name: "cup", auto_init: true });
  const edit = `/mira/cup/_edit/main/README.md`;
  const first = await nora.submit(edit, { path: "README.md", text: "first\n" });
  expect(first.headers.get("location")).toBe("/mira/cup/pulls/1");
  const branches = async () =>
    ((await by("nora", "GET", "/repos/nora/cup/branches")).json as { name: string }[])
      .map(({ name }) => name)
      .toSorted();
  const before = await branches();
  expect((await by("mira", "PUT", "/user/blocks/nora")).status).toBe(204);
  const fields = { path: "README.md", text: "second\n", new_branch: "again" };
  expect((await nora.submit(edit, fields)).status).toBe(422);
  expect(await branches()).toEqual(before);
});

test("a branch is deleted at the commit that the page showed, and not at a newer one", async () => {
  const body = { new_branch_name: "old", old_ref_name: "main" };
  await by("mira", "POST", "/repos/mira/tea/branches", body);
  const { json } = await by("mira", "GET", "/repos/mira/tea/branches/old");
  const shown = { delete: "old", commit: json.commit.id };
  await by("mira", "POST", "/repos/mira/tea/contents/new.txt", { content: "", branch: "old" });
  const refused = await mira.submit(`${home}/branches`, shown);
  expect([refused.status, refused.text.includes("has new commits")]).toEqual([422, true]);
  const { json: newer } = await by("mira", "GET", "/repos/mira/tea/branches/old");
  const deleted = await mira.submit(`${home}/branches`, { ...shown, commit: newer.commit.id });
  expect(deleted.status).toBe(303);
  expect((await by("mira", "GET", "/repos/mira/tea/branches/old")).status).toBe(404);
});
