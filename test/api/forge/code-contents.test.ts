import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by, api } = people;
const encode = (text: string | Buffer) => Buffer.from(text).toString("base64");
const decode = (text: string) => Buffer.from(text, "base64").toString();

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
  await people.newUser("otto");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const addressOf = (name: string) =>
  `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}/mira/${name}.git`;

async function newRepository(fields: object = {}): Promise<string> {
  return `/repos/mira/${await people.newRepository("mira", { auto_init: true, ...fields })}`;
}

describe("writing files", () => {
  test("a zero time, which clients written in Go send for an absent one, is the current time", async () => {
    const path = await newRepository();
    const zero = "0001-01-01T00:00:00Z";
    const made = await by("mira", "POST", `${path}/contents/a.txt`, {
      content: encode("one\n"),
      dates: { author: zero, committer: zero },
    });
    expect(made.status).toBe(201);
    const first = (await by("mira", "GET", `${path}/commits`)).json.at(-1);
    const started = Date.parse(first.commit.author.date);
    const { author, committer } = made.json.commit;
    expect(Date.parse(author.date)).toBeGreaterThanOrEqual(started);
    expect(Date.parse(committer.date)).toBeGreaterThanOrEqual(started);
  });

  test("the API writes nothing that a push may not, and no name that git reads as another ref", async () => {
    const path = await newRepository();
    const content = encode('[submodule "x"]\n\tpath = x\n\turl = -u./evil\n');
    const refused = await by("mira", "POST", `${path}/contents/.gitmodules`, { content });
    expect([refused.status, refused.json.message]).toEqual([
      422,
      expect.stringContaining("gitmodulesUrl") as string,
    ]);
    const plain = await by("mira", "POST", `${path}/contents/evil.txt`, { content });
    expect(plain.status).toBe(201);
    for (const target of ["deep/.GITMODULES", ".gitmodules", "gitmod~1"]) {
      const rename = { operation: "rename", from_path: "evil.txt", path: target };
      const moved = await by("mira", "POST", `${path}/contents`, { files: [rename] });
      expect([target, moved.status]).toEqual([target, 422]);
    }
    const good = encode('[submodule "x"]\n\tpath = x\n\turl = ../x.git\n');
    expect(
      (await by("mira", "POST", `${path}/contents/.gitmodules`, { content: good })).status,
    ).toBe(201);
    for (const name of ["a\\..\\..\\evil", "..\\evil", "two\nlines", "a\rb", "bell\u0007"]) {
      const address = `${path}/contents/${encodeURIComponent(name)}`;
      expect([name, (await by("mira", "POST", address, { content: "" })).status]).toEqual([
        name,
        422,
      ]);
    }
    for (const name of ["HEAD", "refs/heads/main", "a".repeat(40)]) {
      const made = await by("mira", "POST", `${path}/branches`, { new_branch_name: name });
      const tag = await by("mira", "POST", `${path}/tags`, { tag_name: name });
      const file = await by("mira", "POST", `${path}/contents/b`, {
        content: "",
        new_branch: name,
      });
      expect([name, made.status, tag.status, file.status]).toEqual([name, 422, 422, 422]);
    }
    const names = (await by("mira", "GET", `${path}/branches`)).json.map(
      ({ name }: { name: string }) => name,
    );
    expect(names).toEqual(["main"]);
  });

  test("a file is created, changed, moved and deleted, each in a commit of its own", async () => {
    const path = await newRepository();
    const made = await by("mira", "POST", `${path}/contents/docs/a.txt`, {
      content: encode("one\n"),
      message: "A file",
      author: { name: "Ann <x>", email: "ann@example.org" },
      dates: { author: "2020-01-02T03:04:05+01:30" },
      signoff: true,
    });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      content: {
        path: "docs/a.txt",
        name: "a.txt",
        type: "file",
        size: 4,
        encoding: "base64",
        last_commit_sha: made.json.commit.sha,
      },
      commit: {
        message: "A file\n\nSigned-off-by: Ann x <ann@example.org>\n",
        author: { name: "Ann x", email: "ann@example.org", date: "2020-01-02T03:04:05+01:30" },
      },
      verification: { verified: false },
    });
    const { sha } = made.json.content;
    const put = (body: object, file = "docs/a.txt") =>
      by("mira", "PUT", `${path}/contents/${file}`, body);
    const changed = await put({ content: encode("two\n"), sha });
    expect(changed.status).toBe(200);
    expect(changed.json.commit.message).toBe("Update docs/a.txt\n");
    const stale = await put({ content: encode("three\n"), sha });
    expect(stale.status).toBe(422);
    expect(stale.json.message).toContain("sha does not match");
    const moved = await put(
      { content: encode("two\n"), sha: changed.json.content.sha, from_path: "docs/a.txt" },
      "docs/b.txt",
    );
    expect(moved.status).toBe(200);
    expect((await by("mira", "GET", `${path}/contents/docs/a.txt`)).status).toBe(404);
    const remove = (body: object) => by("mira", "DELETE", `${path}/contents/docs/b.txt`, body);
    expect((await remove({ sha })).status).toBe(422);
    const gone = await remove({ sha: moved.json.content.sha });
    expect([gone.status, gone.json.content]).toEqual([200, null]);
    expect((await by("mira", "GET", `${path}/contents/docs`)).status).toBe(404);
    expect((await by("mira", "GET", `${path}/commits`)).headers.get("x-total")).toBe("5");
  });

  test("git clones the written files, and the repository stays intact", async () => {
    const path = await newRepository();
    const name = path.split("/").at(-1) ?? "";
    const odd = 'a "b" c\\d é.txt';
    const made = await by("mira", "POST", `${path}/contents/${encodeURIComponent(odd)}`, {
      content: encode(Buffer.from([0, 255, 10, 13])),
    });
    expect(made.status).toBe(201);
    expect(await git.run("clone", "-q", addressOf(name), name)).toMatchObject({ exitCode: 0 });
    expect((await git.in(name, "ls-files", "-z")).output.split("\0")).toContain(odd);
    expect(await git.in(name, "fsck", "--strict")).toMatchObject({ exitCode: 0 });
    expect((await by("mira", "GET", `${path}/git/refs`)).json).toHaveLength(1);
  });

  test("the first file of an empty repository creates its branch", async () => {
    const path = await newRepository({ auto_init: false });
    const made = await by("mira", "POST", `${path}/contents/README.md`, {
      content: encode("# x\n"),
    });
    expect(made.status).toBe(201);
    expect((await by("mira", "GET", path)).json).toMatchObject({
      empty: false,
      default_branch: "main",
      branch_count: 1,
    });
    expect((await by("mira", "GET", `${path}/contents`)).json).toHaveLength(1);
  });

  test("a commit can create a new branch, and refuses an existing one", async () => {
    const path = await newRepository();
    const body = { content: encode("x"), new_branch: "feature" };
    expect((await by("mira", "POST", `${path}/contents/x`, body)).status).toBe(201);
    expect((await by("mira", "POST", `${path}/contents/y`, body)).json.message).toBe(
      "branch already exists [name: feature]",
    );
    expect((await by("mira", "GET", `${path}/contents/x`)).status).toBe(404);
    expect((await by("mira", "GET", `${path}/contents/x?ref=feature`)).status).toBe(200);
    const unknown = { content: encode("x"), branch: "none" };
    expect((await by("mira", "POST", `${path}/contents/z`, unknown)).status).toBe(404);
  });

  test("several operations become one commit, or all fail", async () => {
    const path = await newRepository();
    const create = (file: string) => ({ operation: "create", path: file, content: encode(file) });
    const post = (files: object[]) => by("mira", "POST", `${path}/contents`, { files });
    const made = await post([create("a"), create("b/c")]);
    expect(made.status).toBe(201);
    expect(made.json.files).toMatchObject([{ path: "a" }, { path: "b/c" }]);
    const [a] = made.json.files;
    const second = await post([
      { operation: "delete", path: "a", sha: a.sha },
      { operation: "rename", path: "d", from_path: "b/c" },
    ]);
    expect(second.json.files).toMatchObject([null, { path: "d" }]);
    for (const files of [
      [create("e"), { operation: "explode", path: "f" }],
      [create("e"), create("e")],
      [create("e"), create("e/f")],
      [create("e"), { operation: "update", path: "d", sha: "0".repeat(40), content: "" }],
      [create("e"), create("d/f")],
    ])
      expect((await post(files)).status).toBe(422);
    expect((await post([create("e"), { operation: "delete", path: "none", sha: "" }])).status).toBe(
      404,
    );
    expect((await by("mira", "GET", `${path}/contents/e`)).status).toBe(404);
    expect((await by("mira", "GET", `${path}/commits`)).headers.get("x-total")).toBe("3");
  });

  test.each([
    "..%2Fx",
    "a/..%2F..%2Fx",
    ".git/config",
    "a/.GIT/hooks/x",
    ".git%20/x",
    ".git./x",
    "git~1/x",
    ".g%E2%80%8Cit/x",
    ".git::$INDEX_ALLOCATION/x",
    "a%5C.git%5Cx",
    `${"x".repeat(256)}`,
  ])("writing the path %s is refused with 422", async (file) => {
    const path = await newRepository();
    const made = await by("mira", "POST", `${path}/contents/${file}`, { content: "" });
    expect(made.status).toBe(422);
    expect((await by("mira", "GET", `${path}/commits`)).headers.get("x-total")).toBe("1");
  });

  test("of two writes to one version of a file exactly one succeeds; other files do not matter", async () => {
    const path = await newRepository();
    const made = await by("mira", "POST", `${path}/contents/a`, { content: encode("0") });
    const { sha } = made.json.content;
    const writes = Array.from({ length: 5 }, (_, index) =>
      by("mira", "PUT", `${path}/contents/a`, { content: encode(`${index + 1}`), sha }),
    );
    const others = ["b", "c", "d"].map((file) =>
      by("mira", "POST", `${path}/contents/${file}`, { content: encode(file) }),
    );
    const statuses = (await Promise.all(writes)).map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, 422, 422, 422, 422]);
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([201, 201, 201]);
    expect((await by("mira", "GET", `${path}/commits`)).headers.get("x-total")).toBe("6");
  });

  test("a write publishes the hook events of a push", async () => {
    const path = await newRepository();
    const hook = await by("mira", "POST", `${path}/hooks`, {
      type: "gitea",
      active: true,
      events: ["push"],
      config: { url: "http://127.0.0.1:9/", content_type: "json" },
    });
    await by("mira", "POST", `${path}/contents/told`, { content: encode("x") });
    const deliveries = async () =>
      (await by("mira", "GET", `${path}/hooks/${hook.json.id}/deliveries`)).json as {
        event: string;
      }[];
    await expect.poll(async () => (await deliveries()).map(({ event }) => event)).toEqual(["push"]);
  });

  test("writes are refused for readers, anonymous callers and archived repositories", async () => {
    const path = await newRepository();
    const body = { content: "" };
    expect((await by("otto", "POST", `${path}/contents/x`, body)).status).toBe(403);
    expect((await api("POST", `${path}/contents/x`, body, "")).status).toBe(401);
    const notBase64 = { content: "%%%" };
    expect((await by("mira", "POST", `${path}/contents/x`, notBase64)).status).toBe(422);
    await by("mira", "PATCH", path, { archived: true });
    expect((await by("mira", "POST", `${path}/contents/x`, body)).status).toBe(423);
    await by("mira", "PATCH", path, { archived: false, private: true });
    for (const rest of ["/contents", "/contents/README.md", "/raw/README.md", "/archive/main.zip"])
      expect((await by("otto", "GET", path + rest)).status).toBe(404);
  });
});

describe("reading files", () => {
  let path: string;

  beforeAll(async () => {
    path = await newRepository({ auto_init: false });
    await git.run("init", "-q", "-b", "main", "odd");
    const folder = join(git.folder, "odd");
    await mkdir(join(folder, "docs"));
    await writeFile(join(folder, "docs", "new\nline.txt"), "text\n");
    await writeFile(join(folder, "page.html"), "<script>alert(1)</script>");
    await writeFile(
      join(folder, "image.svg"),
      '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    );
    await writeFile(join(folder, "bytes.bin"), Buffer.from([1, 0, 2]));
    await symlink("/etc/passwd", join(folder, "link"));
    await writeFile(
      join(folder, ".gitmodules"),
      '[submodule "good"]\n\tpath = good\n\turl = https://example.org/good.git\n' +
        '[submodule "bad"]\n\tpath = bad\n\turl = ext::sh -c touch% /tmp/x\n',
    );
    await git.in("odd", "add", "-A");
    for (const name of ["good", "bad"])
      await git.in(
        "odd",
        "update-index",
        "--add",
        "--cacheinfo",
        `160000,${"1".repeat(40)},${name}`,
      );
    await git.in("odd", "commit", "-q", "-m", "odd things");
    const pushed = await git.in(
      "odd",
      "push",
      "-q",
      addressOf(path.split("/").at(-1) ?? ""),
      "main",
    );
    expect(pushed).toMatchObject({ exitCode: 0 });
  });

  test("a folder lists files, links and submodules, each with its last commit", async () => {
    const listed = await by("mira", "GET", `${path}/contents`);
    const of = (name: string) =>
      listed.json.find((each: { name: string }) => each.name === name) as Record<string, unknown>;
    expect(of("docs")).toMatchObject({ type: "dir", content: null, download_url: null, size: 0 });
    expect(of("link")).toMatchObject({ type: "symlink", target: "/etc/passwd" });
    expect(of("good")).toMatchObject({
      type: "submodule",
      submodule_git_url: "https://example.org/good.git",
      html_url: null,
    });
    expect(of("bad")["submodule_git_url"]).toBeNull();
    for (const { last_commit_sha: last } of listed.json) expect(last).toMatch(/^[0-9a-f]{40}$/);
    const inner = await by("mira", "GET", `${path}/contents/docs`);
    expect(inner.json).toMatchObject([{ name: "new\nline.txt", path: "docs/new\nline.txt" }]);
  });

  test("a file has its content and its addresses", async () => {
    const file = await by(
      "mira",
      "GET",
      `${path}/contents/docs/${encodeURIComponent("new\nline.txt")}`,
    );
    expect(decode(file.json.content)).toBe("text\n");
    expect(file.json.url).toMatch(/\/contents\/docs\/new%0Aline\.txt\?ref=main$/);
    expect(file.json.download_url).toMatch(/\/raw\/branch\/main\/docs\/new%0Aline\.txt$/);
    expect(file.json._links).toMatchObject({ html: file.json.html_url, git: file.json.git_url });
    expect((await by("mira", "GET", `${path}/contents/none`)).status).toBe(404);
    expect((await by("mira", "GET", `${path}/contents/docs?ref=none`)).status).toBe(404);
    expect((await by("mira", "GET", `${path}/contents/a%2F..%2F..`)).status).toBe(422);
  });

  test("HTML and SVG are plain text in a sandbox, unknown bytes are saved", async () => {
    for (const name of ["page.html", "image.svg"]) {
      const raw = await by("mira", "GET", `${path}/raw/${name}`);
      expect(raw.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(raw.headers.get("content-security-policy")).toContain("sandbox");
      expect(raw.headers.get("x-content-type-options")).toBe("nosniff");
    }
    const bytes = await by("mira", "GET", `${path}/media/bytes.bin`);
    expect(bytes.headers.get("content-type")).toBe("application/octet-stream");
    expect(bytes.headers.get("content-disposition")).toMatch(/^attachment; filename="bytes\.bin"/);
    expect((await by("mira", "GET", `${path}/raw/docs`)).status).toBe(404);
    const link = await by("mira", "GET", `${path}/raw/link`);
    expect([link.status, link.text]).toEqual([200, "/etc/passwd"]);
  });

  test("a path without a ref may begin with a branch, tag or commit, as old clients write it", async () => {
    const address = addressOf(path.split("/").at(-1) ?? "");
    await git.in(
      "odd",
      "push",
      "-q",
      address,
      "main:refs/heads/feature/one",
      "main:refs/tags/docs",
    );
    const sha = (await git.in("odd", "rev-parse", "main")).output.trim();
    const raw = async (rest: string) => {
      const { status, text } = await by("mira", "GET", `${path}/raw/${rest}`);
      return status === 200 ? text : status;
    };
    const page = "<script>alert(1)</script>";
    for (const ref of ["main", "feature/one", sha, sha.slice(0, 8)])
      expect([ref, await raw(`${ref}/page.html`)]).toEqual([ref, page]);
    // A file of the default branch comes first, then the tag of this name.
    expect(await raw(`docs/${encodeURIComponent("new\nline.txt")}`)).toBe("text\n");
    expect(await raw("docs/page.html")).toBe(page);
    for (const rest of ["none/page.html", "main/none", "main", "main/page.html?ref=main"])
      expect([rest, await raw(rest)]).toEqual([rest, 404]);
    expect((await by("otto", "GET", `${path}/raw/main/page.html`)).status).toBe(200);
    await by("mira", "PATCH", path, { private: true });
    expect((await by("otto", "GET", `${path}/raw/main/page.html`)).status).toBe(404);
    await by("mira", "PATCH", path, { private: false });
  });

  test("a range of a file is served, and 304 for a client that has the file", async () => {
    const get = (headers: Record<string, string>) =>
      daemon.request(`/api/v1${path}/raw/page.html`, { token: people.tokenOf("mira"), headers });
    const part = await get({ Range: "bytes=1-6" });
    expect([part.status, part.text]).toEqual([206, "script"]);
    const etag = (await get({})).headers.get("etag") ?? "";
    expect((await get({ "If-None-Match": etag })).status).toBe(304);
  });

  test("an archive contains names with line breaks and links, but no submodule", async () => {
    for (const ending of ["zip", "tar.gz"]) {
      const answer = await fetch(`${daemon.url}/api/v1${path}/archive/main.${ending}`, {
        headers: { Authorization: `token ${people.tokenOf("mira")}` },
      });
      expect(answer.status).toBe(200);
      const bytes = Buffer.from(await answer.arrayBuffer());
      expect(bytes.byteLength).toBeGreaterThan(500);
      if (ending === "zip") expect(bytes.includes("docs/new\nline.txt")).toBe(true);
    }
    expect((await by("mira", "GET", `${path}/archive/main.rar`)).status).toBe(400);
    expect((await by("mira", "GET", `${path}/archive/none.zip`)).status).toBe(404);
  });
});
