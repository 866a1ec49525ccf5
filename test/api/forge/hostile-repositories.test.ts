import { execFile } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import {
  clientEnvironment,
  createGitClient,
  type GitClient,
} from "../../support/forge/git-client.ts";
import { importRepository, type ImportedCommit } from "../../support/forge/import-stream.ts";

// Repositories that a hostile user pushes: sizes, names, attributes, commits and refs that no sane tool makes.

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const run = promisify(execFile);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const addressOf = (name: string) =>
  `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}/mira/${name}.git`;
const folderOf = (name: string) => join(daemon.home, "repositories", "mira", `${name}.git`);
const get = (path: string) => by("mira", "GET", path);
const open = async (path: string) => {
  const response = await fetch(`${daemon.url}${path}`, {
    redirect: "manual",
    headers: { Accept: "text/html" },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
};

/** Makes a public repository of these commits by a push. Returns its name. */
async function push(commits: readonly ImportedCommit[]): Promise<string> {
  const name = await people.newRepository("mira");
  await importRepository(git.folder, name, commits);
  const pushed = await git.in(name, "push", "-q", addressOf(name), "main");
  expect(pushed).toMatchObject({ exitCode: 0, errors: "" });
  return name;
}

/** Runs git on a repository of the server, as its administrator could. */
const onServer = (name: string, args: readonly string[], input = "") =>
  gitIn(folderOf(name), args, input);

async function gitIn(directory: string, args: readonly string[], input = ""): Promise<string> {
  const child = run("git", ["-C", directory, ...args], { env: clientEnvironment(git.folder) });
  if (input === "") child.child.stdin?.destroy();
  else child.child.stdin?.end(Buffer.from(input, "latin1"));
  return (await child).stdout.trim();
}

describe("sizes", () => {
  test("a line of 100 MB is listed, downloaded and compared, and no page or response contains it", async () => {
    const size = 100_000_000;
    const line = (fill: string) => Buffer.alloc(size, fill);
    const name = await push([
      { message: "long", files: [{ path: "long.txt", content: line("a") }] },
      { message: "longer", files: [{ path: "long.txt", content: line("b") }] },
    ]);
    const path = `/repos/mira/${name}`;
    const contents = await get(`${path}/contents/long.txt`);
    expect(contents.json).toMatchObject({ size, content: null, encoding: null });
    expect((await get(`${path}/git/blobs/${contents.json.sha}`)).json.content).toBeNull();
    const page = await open(`/mira/${name}/src/branch/main/long.txt`);
    expect(page.status).toBe(200);
    expect(page.text).toContain("100,000,000 bytes are too many for a page");
    const raw = await fetch(`${daemon.url}/api/v1${path}/raw/long.txt`, {
      headers: { Range: `bytes=${size - 3}-` },
    });
    expect([raw.status, await raw.text()]).toEqual([206, "bbb"]);
    const { sha } = (await get(`${path}/commits?limit=1`)).json[0];
    const commit = await open(`/mira/${name}/commit/${sha}`);
    expect(commit.status).toBe(200);
    expect(commit.text).toContain("The diff is longer");
    expect(commit.text.length).toBeLessThan(1_000_000);
    const diff = await fetch(`${daemon.url}/api/v1${path}/git/commits/${sha}.diff`);
    let bytes = 0;
    for await (const chunk of diff.body ?? []) bytes += chunk.byteLength;
    expect(bytes).toBeGreaterThan(2 * size);
  }, 120_000);

  test("a folder of 100,000 files is listed in part, and each file of it is found", async () => {
    const name = await people.newRepository("mira");
    await importRepository(git.folder, name, [{ message: "x", files: [] }]);
    const local = join(git.folder, name);
    const blob = await gitIn(local, ["hash-object", "-w", "--stdin"], "same");
    const lines = Array.from(
      { length: 100_000 },
      (_, index) => `100644 blob ${blob}\tfile-${String(index).padStart(6, "0")}.txt\n`,
    );
    const many = await gitIn(local, ["mktree"], lines.join(""));
    const top = await gitIn(local, ["mktree"], `040000 tree ${many}\tmany\n`);
    const commit = await gitIn(local, ["commit-tree", "-m", "many", top]);
    await gitIn(local, ["push", "-q", addressOf(name), `${commit}:refs/heads/main`]);
    const path = `/repos/mira/${name}`;
    const listed = await get(`${path}/contents/many`);
    expect(listed.json).toHaveLength(1_000);
    expect(listed.headers.get("x-total-count")).toBe("100000");
    const page = await open(`/mira/${name}/src/branch/main/many`);
    expect(page.text).toContain("The page lists 1000 entries");
    const last = await open(`/mira/${name}/src/branch/main/many/file-099999.txt`);
    expect(last.status).toBe(200);
    expect(last.text).toContain("same");
    const tree = await get(`${path}/git/trees/main?recursive=true&per_page=1000&page=101`);
    expect(tree.json).toMatchObject({ total_count: 100_001, truncated: false });
    expect(tree.json.tree).toHaveLength(1);
  }, 120_000);

  test("a file 1,000 folders deep is found with few git processes, by API and by page", async () => {
    const folders = Array<string>(1_000).fill("d").join("/");
    const name = await push([{ message: "deep", files: [{ path: `${folders}/f`, content: "x" }] }]);
    const path = `/repos/mira/${name}`;
    expect((await get(`${path}/contents/${folders}/f`)).json).toMatchObject({
      path: `${folders}/f`,
      content: Buffer.from("x").toString("base64"),
    });
    expect((await get(`${path}/contents-ext/${folders}`)).json.dir_contents).toHaveLength(1);
    const page = await open(`/mira/${name}/src/branch/main/${folders}/f`);
    expect(page.status).toBe(200);
    expect((await open(`/mira/${name}/src/branch/main/${folders}/none`)).status).toBe(404);
    const archive = await fetch(`${daemon.url}/api/v1${path}/archive/main.tar.gz`);
    expect((await archive.arrayBuffer()).byteLength).toBeGreaterThan(100);
  });

  test("a push of 30,000 files with long names reaches hooks and workflows, with a part of the names", async () => {
    const name = await people.newRepository("mira");
    await by("mira", "POST", `/repos/mira/${name}/hooks`, {
      type: "gitea",
      active: true,
      events: ["push"],
      config: { url: "http://127.0.0.1:9/", content_type: "json" },
    });
    const files = Array.from({ length: 30_000 }, (_, index) => ({
      path: `${index % 300}/${"long-name-".repeat(24)}${index}.txt`,
      content: "x",
    }));
    await importRepository(git.folder, name, [{ message: "import", files }]);
    const pushed = await git.in(name, "push", "-q", addressOf(name), "main");
    expect(pushed).toMatchObject({ exitCode: 0 });
    const [hook] = (await get(`/repos/mira/${name}/hooks`)).json;
    await expect
      .poll(
        async () => (await get(`/repos/mira/${name}/hooks/${hook.id}/deliveries`)).json.length,
        {
          timeout: 60_000,
        },
      )
      .toBe(1);
    const [delivery] = (await get(`/repos/mira/${name}/hooks/${hook.id}/deliveries`)).json;
    const { json } = await get(`/repos/mira/${name}/hooks/${hook.id}/deliveries/${delivery.id}`);
    const { added } = JSON.parse(json.request.body).commits[0] as { readonly added: string[] };
    // As many as have 64 Ki characters together.
    expect(added.join("").length).toBeLessThanOrEqual(64 * 1024);
    expect(added.join("").length).toBeGreaterThan(63 * 1024);
  });
});

describe("names", () => {
  const NAMES = [
    "<script>alert(1)</script>.txt",
    "a\nb.txt",
    "esc\u001b[31mred.txt",
    "tab\there",
    "quote\"'`$(id).txt",
    "per%2fcent%00.txt",
    "back\\slash",
    " blank ",
    "-rf",
    "--output=x",
    ":(exclude)x",
    "*?[x]",
    "con",
    "caf\u00c3\u00a9 \u00e2\u0080\u00aetxt.exe",
    "not-utf8-\u00ff\u00fe.txt",
    "not-utf8-\u00c3/inner-\u00e9.txt",
  ];

  test("file names of every kind are listed, linked and read back byte by byte", async () => {
    const files = NAMES.map((path) => ({ path, content: `content of ${path}` }));
    const name = await push([{ message: "names", files }]);
    const path = `/repos/mira/${name}`;
    const page = await open(`/mira/${name}`);
    expect(page.text).not.toContain("<script>");
    const links = [
      ...(page.text.split("recent-activity", 1)[0] ?? "").matchAll(
        /<div class="entry">.*?<a href="([^"]+)"/g,
      ),
    ].map(([, href]) => href ?? "");
    expect(links).toHaveLength(NAMES.length);
    for (const link of links) {
      const shown = await open(link.replaceAll("&#x27;", "'"));
      expect([link, shown.status]).toEqual([link, 200]);
      expect(shown.text).not.toContain("<script>");
    }
    for (const entry of (await get(`${path}/contents`)).json) {
      const found = await get(`${path}/contents/${encodeURIComponent(entry.name)}`);
      expect(found.status, entry.name).toBe(200);
      if (entry.type !== "file") continue;
      const raw = await fetch(
        `${daemon.url}/api/v1${path}/raw/${encodeURIComponent(entry.name as string)}`,
      );
      expect(raw.status, entry.name).toBe(200);
      expect(raw.headers.get("content-disposition")).toMatch(/^[ -~]+$/);
      expect((await raw.bytes()).byteLength).toBe(entry.size);
    }
    const inner = await get(`${path}/contents/${encodeURIComponent("not-utf8-\ufffd")}/`);
    expect(inner.json).toHaveLength(1);
    const commits = await get(`${path}/commits?path=${encodeURIComponent("a\nb.txt")}`);
    expect(commits.json).toHaveLength(1);
  });

  test.each(["../x", "/etc/passwd/../..", "a\0b", ".git/config", "x".repeat(5_000)])(
    "a path of a list of commits that no file has is refused: %j",
    async (path) => {
      const name = await push([{ message: "x", files: [{ path: "x", content: "x" }] }]);
      const answer = await get(`/repos/mira/${name}/commits?path=${encodeURIComponent(path)}`);
      expect([400, 422]).toContain(answer.status);
    },
  );

  test.each(["..", ".", ".git", ".GIT", "a/b"])(
    "a push with a folder called %j is refused, and an archive never leads out of its folder",
    async (entry) => {
      const name = await people.newRepository("mira", { auto_init: true });
      const blob = await onServer(name, ["hash-object", "-w", "--stdin"], "x");
      const raw = (mode: string, file: string, id: string) =>
        `${mode} ${file}\0${Buffer.from(id, "hex").toString("latin1")}`;
      const write = (text: string, repository: string) =>
        repository === ""
          ? Promise.resolve("")
          : onServer(
              repository,
              ["hash-object", "-w", "-t", "tree", "--literally", "--stdin"],
              text,
            );
      const below = await write(raw("100644", "passwd", blob), name);
      const tree = await write(raw("40000", entry, below), name);
      const commit = await onServer(name, ["commit-tree", "-m", "bad", tree]);
      await onServer(name, ["update-ref", "refs/heads/bad", commit]);
      const target = await people.newRepository("mira");
      const pushed = await run(
        "git",
        ["-C", folderOf(name), "push", addressOf(target), "bad:refs/heads/main"],
        { env: clientEnvironment(git.folder) },
      ).then(
        () => "",
        (error: { stderr: string }) => error.stderr,
      );
      expect(pushed).toMatch(/fsck error|rejected/);
      for (const ending of ["zip", "tar.gz"]) {
        // Git stops at the name: the client gets a part and a broken connection.
        const answer = await fetch(`${daemon.url}/api/v1/repos/mira/${name}/archive/bad.${ending}`);
        const chunks: Uint8Array[] = [];
        const reading = (async () => {
          for await (const chunk of answer.body ?? []) chunks.push(chunk);
        })();
        await reading.catch((error: Error) => expect(error.message).toBe("terminated"));
        const file = join(git.folder, `archive.${ending}`);
        await writeFile(file, Buffer.concat(chunks));
        const list =
          ending === "zip" ? run("unzip", ["-Z1", file]) : run("tar", ["-tzf", file, "-P"]);
        const names = await list.then(
          ({ stdout }) => stdout,
          () => "",
        );
        expect(names).not.toMatch(/(?:^|\/)\.\.(?:\/|$)/m);
      }
      for (const page of [`/mira/${name}/src/branch/bad`, `/mira/${name}/commits/branch/bad`])
        expect((await open(page)).status).toBe(200);
    },
    30_000,
  );
});

describe("attributes and submodules", () => {
  test("attributes and submodules run no program, and change only the texts that git archive substitutes", async () => {
    const attributes =
      "* filter=evil diff=evil merge=evil\nversion.txt export-subst\nhidden.txt export-ignore\nwide.txt export-subst\n";
    const modules =
      '[submodule "../../evil"]\n\tpath = sub\n\turl = --upload-pack=touch /tmp/croft-evil\n\tupdate = !touch /tmp/croft-evil\n[include]\n\tpath = /etc/passwd\n';
    const name = await people.newRepository("mira");
    await importRepository(git.folder, name, [
      {
        message: "tricks",
        files: [
          { path: ".gitattributes", content: attributes },
          { path: "version.txt", content: "$Format:%H$" },
          { path: "wide.txt", content: "$Format:%>(2000000000)%s%<|(2000000000)%s$" },
          { path: "hidden.txt", content: "hidden" },
          { path: "link", mode: "120000", content: "../../../../etc/passwd" },
          { path: "loop", mode: "120000", content: "loop" },
          { path: "sub", mode: "160000", content: { id: "1".repeat(40) } },
        ],
      },
    ]);
    const pushed = await git.in(name, "push", "-q", addressOf(name), "main");
    expect(pushed.exitCode).toBe(0);
    await importRepository(git.folder, `${name}-modules`, [
      { message: "modules", files: [{ path: ".gitmodules", content: modules }] },
    ]);
    const refused = await git.in(`${name}-modules`, "push", addressOf(name), "main:modules");
    expect(refused.errors).toContain("gitmodules");
    const path = `/repos/mira/${name}`;
    expect((await get(`${path}/contents/link`)).json).toMatchObject({
      type: "symlink",
      target: "../../../../etc/passwd",
      content: null,
    });
    // The text of the link, as git stores it; it is never followed.
    expect(await get(`${path}/raw/link`)).toMatchObject({
      status: 200,
      text: "../../../../etc/passwd",
    });
    expect((await get(`${path}/contents/link/x`)).status).toBe(404);
    expect((await get(`${path}/contents/sub`)).json).toMatchObject({
      type: "submodule",
      submodule_git_url: null,
    });
    expect((await get(`${path}/contents/sub/x`)).status).toBe(404);
    for (const file of ["link", "loop", "sub", ".gitattributes"])
      expect((await open(`/mira/${name}/src/branch/main/${file}`)).status).toBe(200);
    const { sha } = (await get(`${path}/commits?limit=1`)).json[0];
    expect((await get(`${path}/git/commits/${sha}.diff`)).text).toContain("+$Format:%H$");
    expect((await get(`${path}/raw/version.txt`)).text).toBe("$Format:%H$");
    const file = join(git.folder, "tricks.tar.gz");
    const archive = await fetch(`${daemon.url}/api/v1${path}/archive/main.tar.gz`);
    await writeFile(file, Buffer.from(await archive.arrayBuffer()));
    const { stdout } = await run("tar", ["-tvzf", file]);
    expect(stdout).toContain("link -> ../../../../etc/passwd");
    expect(stdout).not.toContain("hidden.txt");
    const version = await run("tar", ["-xzOf", file, `${name}/version.txt`]);
    expect(version.stdout).toBe(sha);
  });
});

describe("commits", () => {
  test("commits with odd dates, encodings and huge messages are listed with the others", async () => {
    const files = (content: string) => [{ path: "x", content }];
    const person = (seconds: string, zone: string) => `M\u00ef\u00bf <a@b> ${seconds} ${zone}`;
    const name = await push([
      { message: "one", files: files("1") },
      { message: "ancient", author: person("0", "+0000"), files: files("2") },
      { message: "far", author: person("99999999999999", "+9959"), files: files("3") },
      { message: "huge year", author: person("9223372036854775807", "-9959"), files: files("4") },
      { message: "caf\u00e9", encoding: "ISO-8859-1", files: files("5") },
      { message: "\u00ff\u00fe bogus", encoding: "no-such-encoding", files: files("6") },
      { message: Buffer.alloc(40_000_000, "line of text\n"), files: files("7") },
      { message: "", files: files("8") },
      { message: "\u001b]0;title\u0007<img src=x onerror=alert(1)>", files: files("9") },
    ]);
    const path = `/repos/mira/${name}`;
    const listed = await get(`${path}/commits`);
    expect(listed.status).toBe(200);
    expect(listed.json).toHaveLength(9);
    const messages = listed.json.map(
      ({ commit }: { commit: { message: string } }) => commit.message,
    );
    expect(messages[4]).toBe("caf\u00e9");
    expect(messages[2].length).toBeLessThan(300_000);
    for (const { sha } of listed.json) {
      expect((await get(`${path}/git/commits/${sha}`)).status).toBe(200);
      const page = await open(`/mira/${name}/commit/${sha}`);
      expect(page.status).toBe(200);
      expect(page.text).not.toContain("<img src=x");
      expect(page.text).not.toContain("\u001b");
      expect((await get(`${path}/contents/x?ref=${sha}`)).status).toBe(200);
      expect((await get(`${path}/raw/x?ref=${sha}`)).headers.get("last-modified")).not.toContain(
        "Invalid",
      );
    }
    for (const page of ["branches", "commits/branch/main", "src/branch/main/x"])
      expect((await open(`/mira/${name}/${page}`)).status).toBe(200);
    expect((await get(`${path}/branches`)).json).toHaveLength(1);
  }, 120_000);

  test("commits with a missing parent never get a response that looks complete", async () => {
    const name = await people.newRepository("mira", { auto_init: true });
    const tree = await onServer(name, ["rev-parse", "main^{tree}"]);
    const text = `tree ${tree}\nparent ${"1".repeat(40)}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nlost\n`;
    const commit = await onServer(name, ["hash-object", "-w", "-t", "commit", "--stdin"], text);
    await onServer(name, ["update-ref", "refs/heads/lost", commit]);
    const path = `/repos/mira/${name}`;
    expect((await get(`${path}/git/commits/${commit}?stat=false&files=false`)).status).toBe(200);
    expect((await get(`${path}/contents/README.md?ref=lost`)).status).toBe(503);
    expect((await get(`${path}/commits?sha=lost`)).status).toBe(503);
    expect((await open(`/mira/${name}/commits/branch/lost`)).status).toBe(503);
    expect((await get(`${path}/commits?sha=main`)).status).toBe(200);
    expect((await open(`/mira/${name}/src/branch/lost`)).status).toBe(200);
  });
});

describe("refs", () => {
  test("refs with odd names are listed and opened, and a full id names its commit even if a branch has this name", async () => {
    const name = await push([
      { message: "one", files: [{ path: "x", content: "1" }] },
      { message: "two", files: [{ path: "x", content: "2" }] },
    ]);
    const path = `/repos/mira/${name}`;
    const [second, first] = (await get(`${path}/commits`)).json.map(
      ({ sha }: { sha: string }) => sha,
    );
    const odd = [
      "-x",
      "--upload-pack=x",
      "HEAD",
      "refs/heads/main",
      "%2e%2e",
      "<script>",
      "caf\u00e9/\u202etxt",
      "a/b/c/d/e/f/g",
      "x".repeat(200),
      second,
    ];
    for (const branch of odd) {
      const made = await git.in(
        name,
        "push",
        "-q",
        addressOf(name),
        `${first}:refs/heads/${branch}`,
      );
      expect([branch, made.exitCode]).toEqual([branch, 0]);
    }
    for (const bad of ["a..b", "@{x", "a b", "x.lock", "a\\b", "~1"])
      expect(
        (await git.in(name, "push", "-q", addressOf(name), `${first}:refs/heads/${bad}`)).exitCode,
      ).not.toBe(0);
    const branches = (await get(`${path}/branches?limit=50`)).json;
    expect(branches).toHaveLength(odd.length + 1);
    const page = await open(`/mira/${name}/branches`);
    expect(page.text).not.toContain("<script>");
    const links = [...page.text.matchAll(/<li><a href="([^"]+)"/g)].map(([, href]) => href ?? "");
    for (const link of links) expect([link, (await open(link)).status]).toEqual([link, 200]);
    // The branch `second` is at the first commit.
    expect((await get(`${path}/git/commits/${second}`)).json.commit.message).toBe("two");
    const atCommit = await get(`${path}/raw/x?ref=${second}`);
    expect(atCommit.text).toBe("2");
    const atBranch = await get(`${path}/raw/x?ref=refs/heads/${second}`);
    expect(atBranch.text).toBe("1");
  });
});

describe("packs", () => {
  const ZERO = "0".repeat(40);
  const pkt = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;

  test.each([
    ["no pack", Buffer.alloc(0)],
    ["garbage", Buffer.alloc(5_000, "garbage")],
    [
      "a header that promises four billion objects",
      Buffer.from("PACK\0\0\0\u0002\u00ff\u00ff\u00ff\u00ff", "latin1"),
    ],
    [
      "a wrong checksum",
      Buffer.concat([Buffer.from("PACK\0\0\0\u0002\0\0\0\0", "latin1"), Buffer.alloc(20, 7)]),
    ],
  ])("a push with %s moves no ref and leaves no file", async (_what, pack) => {
    const name = await people.newRepository("mira", { auto_init: true });
    // A job writes the commit-graph below `info` meanwhile.
    const listObjects = async () =>
      (await readdir(join(folderOf(name), "objects"), { recursive: true }))
        .filter((file) => !file.startsWith("info"))
        .toSorted();
    const before = await listObjects();
    const head = pkt(`${ZERO} ${"2".repeat(40)} refs/heads/evil\0report-status side-band-64k`);
    const answer = await daemon.request(`/mira/${name}.git/git-receive-pack`, {
      method: "POST",
      basic: `mira:${people.tokenOf("mira")}`,
      headers: { "Content-Type": "application/x-git-receive-pack-request" },
      body: new Uint8Array(Buffer.concat([Buffer.from(`${head}0000`), pack])),
    });
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain("ok refs/heads/evil");
    expect((await get(`/repos/mira/${name}/branches`)).json).toHaveLength(1);
    expect(await listObjects()).toEqual(before);
  });
});
