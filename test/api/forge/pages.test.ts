import { mkdir, symlink, writeFile } from "node:fs/promises";
import { hash } from "node:crypto";
import { get } from "node:http";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { generateSync } from "otplib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient } from "../../support/forge/git-client.ts";

// The pages that html_url names: authorization, sessions, forms, headers.

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by, newUser } = people;

/** A picture of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function open(path: string, cookie = ""): Promise<Page> {
  const response = await fetch(`${daemon.url}${path}`, {
    redirect: "manual",
    headers: { Accept: "text/html", ...(cookie === "" ? {} : { Cookie: cookie }) },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

async function submit(
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Page> {
  const response = await fetch(`${daemon.url}${path}`, {
    method: "POST",
    redirect: "manual",
    headers: { Accept: "text/html", Origin: daemon.url, ...headers },
    body: new URLSearchParams(fields),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** The bytes of a page as they are sent: `fetch` decompresses them. */
function sendRaw(path: string, accepted: string) {
  return new Promise<{ readonly encoding: string | undefined; readonly bytes: Buffer }>(
    (resolve, reject) => {
      const headers = { Accept: "text/html", "Accept-Encoding": accepted };
      get(`${daemon.url}${path}`, { headers }, (response) => {
        response
          .toArray()
          .then((chunks) =>
            resolve({
              encoding: response.headers["content-encoding"],
              bytes: Buffer.concat(chunks),
            }),
          )
          .catch(reject);
      }).on("error", reject);
    },
  );
}

const cookieOf = ({ headers }: Page) => (headers.get("set-cookie") ?? "").split(";", 1).join();
const tokenIn = ({ text }: Page) => /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? "";

async function signIn(name: string, password = "user-password"): Promise<string> {
  const page = await submit("/user/login", { user_name: name, password });
  expect(page.status).toBe(303);
  return cookieOf(page);
}

describe("a sign-in", () => {
  test("a code of a second factor signs in once among 20 forms and 20 calls at the same time", async () => {
    const mira = await newUser();
    const basic = `${mira}:user-password`;
    const setup = await daemon.request("/api/v1/user/2fa/setup", { basic, method: "POST" });
    const { secret } = setup.json;
    const codeIn = (seconds: number) =>
      generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + seconds });
    const enable = { basic, json: { code: codeIn(0) } };
    expect((await daemon.request("/api/v1/user/2fa/enable", enable)).status).toBe(204);
    const code = codeIn(30);
    const fields = { user_name: mira, password: "user-password", code };
    const form = async () => (await submit("/user/login", fields)).status === 303;
    const call = async () => {
      const headers = { "X-Gitea-OTP": code };
      return (await daemon.request("/api/v1/user", { basic, headers })).status === 200;
    };
    const results = await Promise.all(Array.from({ length: 20 }, () => [form(), call()]).flat());
    expect(results.filter((isSignedIn) => isSignedIn)).toHaveLength(1);
    expect([await form(), await call()]).toEqual([false, false]);
  });

  test("a session's cookie is hidden from scripts and other sites, and is invalid after sign-out", async () => {
    const mira = await newUser();
    const page = await submit("/user/login", {
      user_name: mira,
      password: "user-password",
      redirect_to: `/${mira}`,
    });
    expect(page.status).toBe(303);
    expect(page.headers.get("location")).toBe(`/${mira}`);
    expect(page.headers.get("set-cookie")).toMatch(
      /^croft_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/,
    );
    const cookie = cookieOf(page);
    const home = await open(`/${mira}`, cookie);
    expect(home.text).toContain("Sign out");
    const out = { form_token: tokenIn(home) };
    expect((await submit("/user/logout", out, { Cookie: cookie })).status).toBe(303);
    expect((await open(`/${mira}`, cookie)).text).toContain("Sign in");
  });

  test("a sign-in refuses a wrong password, a token as password, and a form of another site", async () => {
    const mira = await newUser();
    const wrong = await submit("/user/login", { user_name: mira, password: "wrong" });
    expect(wrong.status).toBe(401);
    expect(wrong.text).toContain("The name, the password or the code is wrong.");
    const token = await submit("/user/login", { user_name: mira, password: people.tokenOf(mira) });
    expect(token.status).toBe(401);
    const fields = { user_name: mira, password: "user-password" };
    const foreign = await submit("/user/login", fields, { Origin: "https://evil.example" });
    expect(foreign.status).toBe(403);
    const site = await submit("/user/login", fields, { "Sec-Fetch-Site": "cross-site" });
    expect(site.status).toBe(403);
  });

  test("a sign-in redirects to this server only", async () => {
    const mira = await newUser();
    for (const to of [
      "//evil.example",
      "https://evil.example",
      "/\\evil.example",
      "javascript:x",
    ]) {
      const fields = { user_name: mira, password: "user-password", redirect_to: to };
      expect((await submit("/user/login", fields)).headers.get("location")).toBe("/");
    }
  });

  test("a sign-in requires a due password change first, and the change ends other sessions", async () => {
    const mira = await newUser(undefined, { must_change_password: false });
    await api("PATCH", `/admin/users/${mira}`, {
      source_id: 0,
      login_name: mira,
      must_change_password: true,
    });
    const cookie = await signIn(mira);
    const other = await signIn(mira);
    const path = "/user/settings/change_password";
    expect((await open("/notifications", cookie)).headers.get("location")).toBe(path);
    const form = await open(path, cookie);
    const fields = {
      form_token: tokenIn(form),
      current: "user-password",
      password: "new-password-1",
    };
    const differing = await submit(path, { ...fields, retype: "another" }, { Cookie: cookie });
    expect(differing.status).toBe(422);
    const wrong = { ...fields, current: "wrong", retype: "new-password-1" };
    expect((await submit(path, wrong, { Cookie: cookie })).text).toContain("wrong");
    const done = await submit(path, { ...fields, retype: "new-password-1" }, { Cookie: cookie });
    expect(done.status).toBe(303);
    const renewed = cookieOf(done);
    expect((await open("/notifications", renewed)).status).toBe(200);
    for (const old of [cookie, other])
      expect((await open("/notifications", old)).headers.get("location")).toContain("/user/login");
    await signIn(mira, "new-password-1");
  });

  test("a session ends when the account may no longer sign in", async () => {
    const mira = await newUser();
    const cookie = await signIn(mira);
    const change = { source_id: 0, login_name: mira, prohibit_login: true };
    await api("PATCH", `/admin/users/${mira}`, change);
    expect((await open("/notifications", cookie)).headers.get("location")).toContain("/user/login");
  });
});

describe("a page", () => {
  test("an account called admin has its page, otherwise the address leads to the administration", async () => {
    expect((await open("/admin")).headers.get("location")).toBe("/-/admin");
    await newUser("admin");
    const shown = await open("/admin");
    expect([shown.status, shown.text.includes("admin")]).toEqual([200, true]);
  });

  test("the page of a private repository is hidden from others, and shown to its owner", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await people.newRepository(mira, { private: true, description: "secret words" });
    await by(mira, "POST", `/repos/${mira}/${name}/issues`, { title: "hidden title" });
    const paths = [
      "",
      "/issues",
      "/issues/1",
      "/branches",
      "/src/branch/main",
      "/commits/branch/main",
    ];
    const noras = await signIn(nora);
    for (const path of paths)
      for (const cookie of ["", noras]) {
        const page = await open(`/${mira}/${name}${path}`, cookie);
        expect(page.status).toBe(404);
        expect(page.text).not.toMatch(/secret words|hidden title/);
      }
    const own = await signIn(mira);
    expect((await open(`/${mira}/${name}`, own)).text).toContain("secret words");
    expect((await open(`/${mira}/${name}/issues/1`, own)).text).toContain("hidden title");
    expect((await open("/", noras)).text).not.toContain("secret words");
  });

  test("the page of a repository redirects members who may read only its issues, without tabs of its files", async () => {
    for (const name of ["olga", "ines"]) await newUser(name);
    await by("olga", "POST", "/orgs", { username: "office", visibility: "private" });
    await by("olga", "POST", "/orgs/office/repos", {
      name: "plan",
      private: true,
      auto_init: true,
    });
    const team = { name: "desk", units_map: { "repo.issues": "read" } };
    const { json } = await by("olga", "POST", "/orgs/office/teams", team);
    await by("olga", "PUT", `/teams/${(json as { id: number }).id}/members/ines`);
    await by("olga", "PUT", `/teams/${(json as { id: number }).id}/repos/office/plan`);
    const cookie = await signIn("ines");
    const start = await open("/office/plan", cookie);
    expect(start.status).toBe(303);
    expect(start.headers.get("location")).toBe("/office/plan/issues");
    const issues = await open("/office/plan/issues", cookie);
    expect(issues.status).toBe(200);
    expect(issues.text).not.toContain("/office/plan/branches");
    expect((await open("/office/plan/src/branch/main/README.md", cookie)).status).toBe(404);
    expect((await open("/office/plan")).status).toBe(404);
  });

  test("a repository is starred and watched by buttons in its header, also an archived one; visitors see counts", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await people.newRepository(mira, { auto_init: true });
    const home = `/${mira}/${name}`;
    const anonymous = (await open(home)).text;
    expect(anonymous).toContain("0 stars");
    expect(anonymous).not.toContain(`${home}/action/`);

    const cookie = await signIn(nora);
    const list = `${home}/issues?state=closed`;
    const page = await open(list, cookie);
    for (const text of [`action="${home}/action/star"`, `name="redirect_to" value="${list}"`])
      expect(page.text).toContain(text);
    const form_token = tokenIn(page);
    const send = (action: string, fields: object = {}) =>
      submit(`${home}/action/${action}`, { form_token, ...fields }, { Cookie: cookie });
    const starred = async () => (await by(nora, "GET", `/user/starred${home}`)).status;
    const watched = async () => (await by(nora, "GET", `/repos${home}/subscription`)).status;
    const back = { redirect_to: list };
    for (const action of ["star", "star", "watch"]) {
      const sent = await send(action, back);
      expect([sent.status, sent.headers.get("location")]).toEqual([303, list]);
    }
    expect([await starred(), await watched()]).toEqual([204, 200]);
    const marked = (await open(home, cookie)).text;
    for (const text of ["1 star<", "action/unstar", "action/unwatch"])
      expect(marked).toContain(text);

    await by(mira, "PATCH", `/repos${home}`, { archived: true });
    expect((await open(home, cookie)).text).toContain("action/unstar");
    for (const action of ["unstar", "unwatch", "star", "unstar", "watch", "unwatch"])
      expect((await send(action)).headers.get("location")).toBe(home);
    expect([await starred(), await watched()]).toEqual([404, 404]);
    const elsewhere = await send("star", { redirect_to: "//evil.example" });
    expect(elsewhere.headers.get("location")).toBe("/");
    for (const action of ["toString", "delete"]) expect((await send(action)).status).toBe(404);
    expect((await send("unstar", { form_token: "" })).status).toBe(403);
    expect(await starred()).toBe(204);
    await by(mira, "PATCH", `/repos${home}`, { archived: false, private: true });
    for (const action of ["star", "watch"]) expect((await send(action)).status).toBe(404);
  });

  test("a page has a strict content security policy that names the one script", async () => {
    const mira = await newUser();
    const { headers, text } = await open(`/${mira}`);
    const [, script = "", integrity = ""] =
      /<script type="module" src="([^"]+)" integrity="([^"]+)"><\/script>/.exec(text) ?? [];
    expect(headers.get("content-security-policy")).toBe(
      `default-src 'none'; style-src 'self'; img-src 'self' data:; media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src '${integrity}'; connect-src 'self'; require-trusted-types-for 'script'`,
    );
    const { text: source } = await open(script);
    expect(`sha256-${hash("sha256", source, "base64")}`).toBe(integrity);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(text.match(/<script|style="/g)).toEqual(["<script"]);
    const sheet = /href="(\/assets\/croft-[0-9a-f]+\.css)"/.exec(text)?.[1] ?? "";
    const style = await open(sheet);
    expect(style.headers.get("content-type")).toBe("text/css; charset=utf-8");
  });

  test("a browser keeps a page until it changes or the session ends, but not a page with a secret", async () => {
    const mira = await newUser();
    const cookie = await signIn(mira);
    const ask = (headers: Readonly<Record<string, string>>) =>
      fetch(`${daemon.url}/${mira}`, { headers: { Accept: "text/html", ...headers } });
    const first = await ask({ Cookie: cookie });
    const tag = first.headers.get("etag") ?? "";
    expect(first.headers.get("cache-control")).toBe("private, no-cache");
    expect(first.headers.get("vary")).toContain("Cookie");
    const kept = await ask({ Cookie: cookie, "If-None-Match": tag });
    expect([kept.status, await kept.text()]).toEqual([304, ""]);
    const other = await ask({ "If-None-Match": tag });
    expect(other.status).toBe(200);
    const out = { form_token: tokenIn(await open(`/${mira}`, cookie)) };
    const end = await submit("/user/logout", out, { Cookie: cookie });
    expect(end.headers.get("clear-site-data")).toBe('"cache"');
    const secret = await open("/user/recover_account?code=x");
    expect(secret.headers.get("cache-control")).toBe("no-store");
  });

  test("a page is compressed as the browser accepts it, with the same text", async () => {
    const mira = await newUser();
    const path = `/${mira}/${await people.newRepository(mira, { auto_init: true })}`;
    const plain = await sendRaw(path, "identity");
    expect(plain.encoding).toBeUndefined();
    for (const [accepted, decode] of [
      ["br, gzip", brotliDecompressSync],
      ["gzip", gunzipSync],
    ] as const) {
      const found = await sendRaw(path, accepted);
      expect(accepted).toContain(found.encoding ?? "none");
      expect(found.bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(decode(found.bytes).toString()).toBe(plain.bytes.toString());
    }
  });

  test("a page shows a file in the encoding that its bytes suggest, and a table in UTF-16", async () => {
    const mira = await newUser();
    const name = await people.newRepository(mira, { auto_init: true, default_branch: "main" });
    const files = [
      ["note.txt", Buffer.from("d1eee1f0e0ede8e520e6e8ebfcf6eee2", "hex"), "Собрание жильцов"],
      ["western.txt", Buffer.from("Gr\xf6\xdfe", "latin1"), "Größe"],
      ["people.csv", Buffer.from("\ufeffName;Ort\nJörg;Köln\n", "utf16le"), "<td>Jörg</td>"],
    ] as const;
    for (const [path, content, shown] of files) {
      const added = await by(mira, "POST", `/repos/${mira}/${name}/contents/${path}`, {
        content: content.toString("base64"),
        message: "add",
      });
      expect(added.status).toBe(201);
      expect((await open(`/${mira}/${name}/src/branch/main/${path}`)).text).toContain(shown);
    }
  });

  test("the attributes of a file decide how its code is highlighted, those of the nearest folder first", async () => {
    const mira = await newUser();
    const name = await people.newRepository(mira, { auto_init: true, default_branch: "main" });
    const code = 'class A { private string $x = "text"; }\n';
    const files = {
      "page.inc": code,
      "plain.php": code,
      "deep/page.inc": "SELECT 1 FROM a;\n",
      "deep/.gitattributes": "*.inc linguist-language=SQL\n",
      ".gitattributes": "*.inc linguist-language=PHP\nplain.php linguist-language=Text\n",
    };
    const operations = Object.entries(files).map(([path, content]) => ({
      operation: "create",
      path,
      content: Buffer.from(content).toString("base64"),
    }));
    const change = { files: operations, message: "add" };
    expect((await by(mira, "POST", `/repos/${mira}/${name}/contents`, change)).status).toBe(201);
    const show = async (path: string) =>
      (await open(`/${mira}/${name}/src/branch/main/${path}`)).text;
    expect(await show("page.inc")).toContain('<span class="k">private</span>');
    expect(await show("plain.php")).not.toContain('<span class="k">');
    expect(await show("deep/page.inc")).toContain('<span class="k">SELECT</span>');
  });

  test("a page colours the code of a file of any size that it shows, and says why another has no colours", async () => {
    const mira = await newUser();
    const name = await people.newRepository(mira, { auto_init: true, default_branch: "main" });
    const line = "export const total = 1; // the count of all pots that the kiln holds\n";
    const files = {
      "usual.ts": line.repeat(310),
      "large.ts": line.repeat(7_500),
      "wide.ts": `const a = "${"x".repeat(2_000)}";\n`,
      "plain.txt": "A text.\n",
    };
    const operations = Object.entries(files).map(([path, content]) => ({
      operation: "create",
      path,
      content: Buffer.from(content).toString("base64"),
    }));
    const change = { files: operations, message: "add" };
    expect((await by(mira, "POST", `/repos/${mira}/${name}/contents`, change)).status).toBe(201);
    const show = async (path: string) =>
      (await open(`/${mira}/${name}/src/branch/main/${path}`)).text;
    const reason = "The text has no colours";
    for (const path of ["usual.ts", "large.ts"]) {
      const text = await show(path);
      expect(text.split('<span class="kd">const</span>')).toHaveLength(
        (files[path as keyof typeof files].length + line.length) / line.length,
      );
      expect(text).not.toContain(reason);
    }
    const wide = await show("wide.ts");
    expect(wide).toContain(`${reason}: a line is longer than 2,000 characters.`);
    expect(wide).not.toContain('<span class="kd">');
    expect(await show("plain.txt")).not.toContain(reason);
  });

  test("pages show files, branches, commits and a commit with its diff", async () => {
    const mira = await newUser();
    const name = await people.newRepository(mira, { auto_init: true, default_branch: "main" });
    const home = `/${mira}/${name}`;
    const front = await open(home);
    expect(front.text).toContain("README.md");
    const file = await open(`${home}/src/branch/main/README.md`);
    expect(file.status).toBe(200);
    expect((await open(`${home}/src/branch/main/none`)).status).toBe(404);
    expect((await open(`${home}/src/branch/none`)).status).toBe(404);
    expect((await open(`${home}/branches`)).text).toContain(">main<");
    const commits = await open(`${home}/commits/branch/main`);
    const commit = /href="([^"]+\/commit\/[0-9a-f]{40})"/.exec(commits.text)?.[1] ?? "";
    const shown = await open(commit);
    expect(shown.status).toBe(200);
    expect(shown.text).toContain(">README.md<");
    expect((await open(`${home}/commit/${"0".repeat(40)}`)).status).toBe(404);
  });

  test("the page of a commit shows the diff, name and kind of change of each file", async () => {
    const mira = await newUser();
    const name = await people.newRepository(mira);
    await using git = await createGitClient();
    await git.run("init", "-q", "-b", "main", "work");
    const folder = join(git.folder, "work");
    await writeFile(join(folder, "old name.txt"), "one\n--- two\ndiff --git a/x b/x\n");
    await writeFile(join(folder, "script"), "exit\n");
    await git.in("work", "add", "-A");
    await git.in("work", "commit", "-q", "-m", "Begin");
    await git.in("work", "mv", "old name.txt", "new name.txt");
    await writeFile(join(folder, "ä.bin"), "\0\u0001");
    await writeFile(join(folder, "empty"), "");
    await writeFile(join(folder, "added <b>"), "+++ b/other\ndiff --git a/y b/y\n");
    await git.in("work", "update-index", "--chmod=+x", "script");
    await git.in("work", "add", "new name.txt", "ä.bin", "empty", "added <b>");
    await git.in("work", "commit", "-q", "-m", "Change\n\nThe reason.");
    const path = `/${mira}/${name}`;
    const address = `${daemon.url.replace("://", `://${mira}:${people.tokenOf(mira)}@`)}${path}.git`;
    expect(await git.in("work", "push", "-q", address, "main")).toMatchObject({ exitCode: 0 });
    const { output: commit } = await git.in("work", "rev-parse", "HEAD");
    const page = await open(`${path}/commit/${commit.trim()}`);
    const heads = [...page.text.matchAll(/<summary class="head">(.*?)<\/summary>/g)].map(
      ([, head = ""]) => head.replace(/<[^>]+>/g, ""),
    );
    expect(heads.sort()).toEqual([
      "added &lt;b&gt; +2 −0 (2 added, 0 removed lines) new file",
      "empty +0 −0 (0 added, 0 removed lines) new file",
      "new name.txt +0 −0 (0 added, 0 removed lines) renamed from old name.txt",
      "script +0 −0 (0 added, 0 removed lines) mode 100644 → 100755",
      "ä.bin +0 −0 (0 added, 0 removed lines) new file binary",
    ]);
    expect(page.text).toContain('<pre class="plain">The reason.</pre>');
  });

  test("pages show the pictures of a README, and files are served without active content", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await people.newRepository(mira, { private: true });
    const home = `/${mira}/${name}`;
    const files = {
      "README.md": "![a](docs/dot.png)",
      "docs/dot.png": Buffer.from(PIXEL, "base64"),
      "docs/dot.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
      "docs/page.html": "<script>alert(1)</script>",
    };
    for (const [path, content] of Object.entries(files))
      await by(mira, "POST", `/repos${home}/contents/${path}`, {
        content: Buffer.from(content).toString("base64"),
        branch: "main",
      });
    const cookie = await signIn(mira);
    const picture = /<img src="([^"]+)"/.exec((await open(home, cookie)).text)?.[1] ?? "";
    expect(picture).toBe(`${daemon.url}${home}/media/branch/main/docs/dot.png`);
    const types = {
      "docs/dot.png": ["image/png", "inline"],
      "docs/dot.svg": ["image/svg+xml", "attachment"],
      "docs/page.html": ["text/plain; charset=utf-8", "inline"],
    };
    for (const [path, [type, disposition = ""]] of Object.entries(types))
      for (const form of ["raw", "media"]) {
        const { status, headers } = await open(`${home}/${form}/branch/main/${path}`, cookie);
        expect(status).toBe(200);
        expect(headers.get("content-type")).toBe(type);
        expect(headers.get("content-disposition")).toMatch(new RegExp(`^${disposition};`));
        expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'.*sandbox$/);
        expect(headers.get("x-content-type-options")).toBe("nosniff");
        expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
        expect(headers.get("cache-control")).toBe("private, no-cache");
      }
    const zip = await open(`${home}/archive/main.zip`, cookie);
    expect([zip.status, zip.headers.get("content-type")]).toEqual([200, "application/zip"]);
    const { download_url } = (await by(mira, "GET", `/repos${home}/contents/docs/page.html`)).json;
    const { pathname } = new URL(download_url);
    expect((await open(pathname, cookie)).text).toBe(files["docs/page.html"]);
    expect((await open(`${home}/src/branch/main/docs/dot.png`, cookie)).text).toContain("<img");
    for (const stranger of ["", await signIn(nora)])
      for (const path of [new URL(picture).pathname, `${home}/archive/main.zip`, pathname])
        expect((await open(path, stranger)).status).toBe(404);
    for (const path of [
      "raw/branch/main",
      "raw/branch/main/docs",
      "raw/branch/none/a",
      "raw/x/main/a",
    ])
      expect((await open(`${home}/${path}`, cookie)).status).toBe(404);
  });

  test("pages show symbolic links, submodules, long lines, odd names and escape codes literally", async () => {
    const mira = await newUser();
    const name = await people.newRepository(mira);
    const home = `/${mira}/${name}`;
    await using git = await createGitClient();
    await git.run("init", "-q", "-b", "main", "work");
    const folder = join(git.folder, "work");
    await symlink("/etc/passwd", join(folder, "passwords"));
    await writeFile(join(folder, "long.txt"), "x".repeat(4 * 1024 * 1024));
    await writeFile(join(folder, "line\nbreak <b>.txt"), "odd\n");
    await writeFile(join(folder, "turned.txt"), "if (\u202eadmin\u2066) {\n");
    await git.in("work", "add", "-A");
    const commit = "1".repeat(40);
    await git.in("work", "update-index", "--add", "--cacheinfo", `160000,${commit},module`);
    await git.in("work", "commit", "-q", "-m", "\u001b[31mred\u001b[0m \u0007<script>x</script>");
    const address = `${daemon.url.replace("://", `://${mira}:${people.tokenOf(mira)}@`)}${home}.git`;
    expect(await git.in("work", "push", "-q", address, "main")).toMatchObject({ exitCode: 0 });
    const source = `${home}/src/branch/main`;
    const outside = (await open(`${source}/passwords`)).text;
    expect(outside).toContain("A symbolic link to <bdi>/etc/passwd</bdi>, which is not in this");
    const linkText = await open(`${home}/raw/branch/main/passwords`);
    expect([linkText.status, linkText.text]).toEqual([200, "/etc/passwd"]);
    const raw = await open(`${home}/raw/branch/main/turned.txt`);
    expect([raw.status, raw.headers.get("x-frame-options")]).toEqual([200, "DENY"]);
    expect((await open(`${source}/passwords/x`)).status).toBe(404);
    expect((await open(`${source}/module`)).text).toContain(
      `A submodule at commit <code>${commit}</code>.`,
    );
    expect((await open(`${home}/raw/branch/main/module`)).status).toBe(404);
    const long = await open(`${source}/long.txt`);
    expect(long.text).toContain("4,194,304 bytes are too many for a page.");
    expect(long.text.length).toBeLessThan(20_000);
    expect((await open(`${home}/raw/branch/main/long.txt`)).text.length).toBe(4 * 1024 * 1024);
    const odd = encodeURIComponent("line\nbreak <b>.txt");
    expect((await open(`${source}/${odd}`)).text).toContain("odd");
    expect((await open(home)).text).not.toContain("<b>.txt");
    expect((await open(`${source}/turned.txt`)).text).toContain("if (\ufffdadmin\ufffd) {");
    const commits = await open(`${home}/commits/branch/main`);
    expect(commits.text).toContain("␛[31mred␛[0m ␇&lt;script&gt;");
    // oxlint-disable-next-line no-control-regex -- the page must not contain them
    expect(commits.text).not.toMatch(/[\u0007\u001b]/);
    const page = /href="([^"]+\/commit\/[0-9a-f]{40})"/.exec(commits.text)?.[1] ?? "";
    const shown = await open(page);
    expect(shown.status).toBe(200);
    // oxlint-disable-next-line no-control-regex -- the page must not contain them
    expect(shown.text).not.toMatch(/[\u0007\u001b]/);
    expect(shown.text.length).toBeLessThan(1_000_000);
  });

  test("pages follow symbolic links of the commit, also that of a README, and link to submodules", async () => {
    const mira = await newUser();
    const name = await people.newRepository(mira);
    const home = `/${mira}/${name}`;
    const source = `${home}/src/branch/main`;
    await using git = await createGitClient();
    await git.run("init", "-q", "-b", "main", "work");
    const folder = join(git.folder, "work");
    await mkdir(join(folder, "docs"));
    await writeFile(join(folder, "docs/start"), "# Linked readme\n\n[next](second.md)\n");
    const modules = {
      "docs/near": "../lang.git",
      far: "https://mira:secret@forge.example.org/x/y.git",
      ssh: "ssh://git@forge.example.org/x/y.git",
    };
    const sections = Object.entries(modules).map(
      ([path, url]) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${url}\n`,
    );
    await writeFile(join(folder, ".gitmodules"), sections.join(""));
    await symlink("guide/start", join(folder, "README.md"));
    await symlink("docs", join(folder, "guide"));
    await symlink("../../x", join(folder, "docs/out"));
    await symlink("loop", join(folder, "loop"));
    await git.in("work", "add", "-A");
    const commit = "1".repeat(40);
    for (const path of Object.keys(modules))
      await git.in("work", "update-index", "--add", "--cacheinfo", `160000,${commit},${path}`);
    await git.in("work", "commit", "-q", "-m", "links");
    const address = `${daemon.url.replace("://", `://${mira}:${people.tokenOf(mira)}@`)}${home}.git`;
    expect(await git.in("work", "push", "-q", address, "main")).toMatchObject({ exitCode: 0 });
    const top = (await open(home)).text;
    expect(top).toMatch(/<h1[^>]*>.*Linked readme/);
    expect(top).toContain(`href="${daemon.url}${source}/docs/second.md"`);
    expect(top).toContain('href="https://forge.example.org/x/y.git"');
    expect(top).not.toContain("secret");
    expect(top).toContain("<bdi>ssh://git@forge.example.org/x/y.git</bdi>");
    expect(top).not.toContain('href="ssh:');
    const near = `<a href="/${mira}/lang" rel="nofollow noopener"><bdi>../lang.git</bdi></a>`;
    for (const path of ["docs", "docs/near"])
      expect((await open(`${source}/${path}`)).text).toContain(near);
    expect((await open(`${source}/README.md`)).text).toContain(
      `A symbolic link to <a href="${source}/docs/start"><bdi>guide/start</bdi></a>.`,
    );
    expect((await open(`${source}/guide`)).text).toContain(`<a href="${source}/docs"><bdi>docs`);
    for (const path of ["loop", "docs/out"])
      expect((await open(`${source}/${path}`)).text).toContain("which is not in this commit.");
  });

  test("the page of an issue accepts a comment only from a form of this session", async () => {
    const mira = await newUser();
    const name = await people.newRepository(mira);
    await by(mira, "POST", `/repos/${mira}/${name}/issues`, { title: "x", body: "**bold**" });
    const path = `/${mira}/${name}/issues/1`;
    const cookie = await signIn(mira);
    const page = await open(path, cookie);
    expect(page.text).toContain("<strong>bold</strong>");
    const fields = { body: "A <b>comment</b>\r\nof two lines" };
    const refused = await submit(`${path}/comments`, fields, { Cookie: cookie });
    expect(refused.status).toBe(403);
    const sent = { ...fields, form_token: tokenIn(page) };
    const done = await submit(`${path}/comments`, sent, { Cookie: cookie });
    expect(done.status).toBe(303);
    const { json } = await by(mira, "GET", `/repos/${mira}/${name}/issues/1/comments`);
    expect(json).toMatchObject([{ body: "A <b>comment</b>\nof two lines" }]);
    const anonymous = await submit(`${path}/comments`, fields);
    expect(anonymous.status).toBe(422);
    expect(anonymous.text).toContain("Your session has ended.");
    expect(anonymous.text).toContain("A &lt;b&gt;comment&lt;/b&gt;\nof two lines</textarea>");
    const pin = await submit(`${path}/pin`, { pinned: "yes" });
    expect(pin.headers.get("location")).toContain("/user/login");
    await by(mira, "PUT", `/repos/${mira}/${name}/issues/1/lock`, {});
    const nora = await newUser();
    const noras = await signIn(nora);
    const form = { body: "kept text", form_token: tokenIn(await open(path, noras)) };
    const locked = await submit(`${path}/comments`, form, { Cookie: noras });
    expect(locked.status).toBe(422);
    expect(locked.text).toContain("kept text");
  });

  test("pages of users, organizations and repositories show recent activity to callers who may see it", async () => {
    const mira = await newUser();
    const org = `lodge-${mira}`;
    await by(mira, "POST", "/orgs", { username: org });
    await by(mira, "POST", `/orgs/${org}/repos`, { name: "hall", auto_init: true });
    await by(mira, "POST", `/repos/${org}/hall/issues`, { title: "<b>Torn</b>" });
    const issue = `<a href="/${org}/hall/issues/1"><bdi>#1 &lt;b&gt;Torn&lt;/b&gt;</bdi></a>`;
    for (const path of [`/${mira}`, `/${org}`, `/${org}/hall`]) {
      const { status, text } = await open(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).toContain('<h2 id="recent-activity">Recent activity</h2>');
      expect(text).toContain(`opened the issue ${issue}`);
    }
    await by(mira, "PATCH", `/repos/${org}/hall`, { private: true });
    for (const path of [`/${mira}`, `/${org}`])
      expect((await open(path)).text).not.toContain("Recent activity");
    expect((await open(`/${org}/hall`)).status).toBe(404);
    const cookie = await signIn(mira);
    for (const path of [`/${mira}`, `/${org}`, `/${org}/hall`])
      expect((await open(path, cookie)).text).toContain(issue);
  });

  test("the page of the inbox marks threads as read", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await people.newRepository(mira);
    for (const title of ["for the inbox", "for later"])
      await by(nora, "POST", `/repos/${mira}/${name}/issues`, { title, body: `@${mira}` });
    const unread = async () => (await by(mira, "GET", "/notifications/new")).json.new;
    // The repository itself is the third.
    await expect.poll(unread).toBe(3);
    const cookie = await signIn(mira);
    const inbox = await open("/notifications", cookie);
    expect(inbox.text).toContain("for the inbox");
    const id = /name="id" value="(\d+)"/.exec(inbox.text)?.[1] ?? "";
    const form_token = tokenIn(inbox);
    await submit("/notifications", { id, form_token }, { Cookie: cookie });
    expect(await unread()).toBe(2);
    const at = /name="last_read_at" value="([^"]+)"/.exec(inbox.text)?.[1] ?? "";
    await submit("/notifications", { last_read_at: at, form_token }, { Cookie: cookie });
    expect(await unread()).toBe(0);
  });

  test("the page of a package lists its files, and a former user name redirects", async () => {
    const mira = await newUser();
    await daemon.request(`/api/packages/${mira}/generic/box/1/lid`, {
      method: "PUT",
      token: people.tokenOf(mira),
      body: "bytes",
    });
    const page = await open(`/${mira}/-/packages/generic/box/1`);
    expect(page.status).toBe(200);
    expect(page.text).toContain("lid");
    const listed = await open(`/${mira}/-/packages`);
    expect(listed.text).toContain(`href="/${mira}/-/packages/generic/box/1"`);
    const name = await people.newRepository(mira);
    await api("POST", `/admin/users/${mira}/rename`, { new_username: `${mira}-new` });
    const moved = await open(`/${mira}/${name}`);
    expect(moved.status).toBe(307);
    expect(moved.headers.get("location")).toBe(`/${mira}-new/${name}`);
    for (const [from, to] of [
      [`/${mira}`, `/${mira}-new`],
      [`/${mira}.keys`, `/${mira}-new.keys`],
      [
        `/${mira}/${name}/raw/branch/main/a%20b?x=1`,
        `/${mira}-new/${name}/raw/branch/main/a%20b?x=1`,
      ],
      [`/${mira}/${name}/issues?state=closed`, `/${mira}-new/${name}/issues?state=closed`],
    ])
      expect([from, (await open(from ?? "")).headers.get("location")]).toEqual([from, to]);
  });

  test("pages answer a plain 404 to clients that do not accept HTML, and refuse hostile addresses", async () => {
    const plain = await daemon.request("/nobody-here/nothing");
    expect(plain.status).toBe(404);
    expect(plain.text).toBe("404 page not found\n");
    for (const path of ["/a/%zz", "/a/b/src/branch/%00", "/%2e%2e/etc", "/a/b/issues/x"])
      expect([400, 404]).toContain((await open(path)).status);
  });
});
