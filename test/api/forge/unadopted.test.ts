import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { flipBit } from "../../conformance/object-store.suite.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import {
  clientEnvironment,
  createGitClient,
  type GitClient,
} from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { api } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const username of ["mira", "Nora"]) await people.newUser(username);
  await api("POST", "/admin/users/mira/orgs", { username: "team" });
  await git.run("init", "-q", "-b", "trunk", "seed");
  await git.in("seed", "commit", "-q", "--allow-empty", "-m", "one");
  await git.in("seed", "branch", "side");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const folderOf = (path: string) => join(daemon.home, "repositories", path);
const list = async (query = "") => api("GET", `/admin/unadopted${query}`);
const adopt = (name: string) => api("POST", `/admin/unadopted/${name}`);

/** A bare repository with two branches. */
async function put(path: string): Promise<string> {
  const folder = folderOf(path);
  await git.run("clone", "-q", "--bare", "seed", folder);
  return folder;
}

/** Commits one file with any name to the branch `evil` of a bare repository. */
async function commitEntry(folder: string, mode: string, name: string, content = "x") {
  const gitIn = (args: readonly string[], input = "") =>
    execFileSync("git", ["-C", folder, ...args], {
      input,
      encoding: "utf8",
      env: clientEnvironment(git.folder),
    }).trim();
  const blob = gitIn(["hash-object", "-w", "--stdin"], content);
  const tree = gitIn(["mktree"], `${mode} blob ${blob}\t${name}\n`);
  gitIn(["update-ref", "refs/heads/evil", gitIn(["commit-tree", tree, "-m", "evil"])]);
}

beforeEach(async () => {
  for (const owner of ["mira", "nora", "team", "nobody"])
    await rm(folderOf(owner), { recursive: true, force: true });
});

describe("the list of hooks", () => {
  beforeEach(async () => {
    for (const path of ["mira/alpha.git", "mira/bar.git", "nora/bar-2.git", "team/zeta.git"])
      await put(path);
  });

  test.each([
    ["", ["mira/alpha", "mira/bar", "nora/bar-2", "team/zeta"]],
    ["?query=mira", ["mira/alpha", "mira/bar"]],
    ["?query=m*", ["mira/alpha", "mira/bar"]],
    ["?query=*/bar*", ["mira/bar", "nora/bar-2"]],
    ["?query=Nora", []],
    ["?query=mira/", []],
    ["?query=/bar", []],
    ["?query=%7Bmira,team%7D/*a", ["mira/alpha", "team/zeta"]],
  ])("the query %j finds the folders %j", async (query, names) => {
    const answer = await list(query);
    expect(answer).toMatchObject({ status: 200, json: names });
    expect(answer.headers.get("x-total-count")).toBe(String(names.length));
    expect(answer.headers.get("link")).toBeNull();
  });

  test.each(["?query=[", "?query=a/%7B", `?query=${"*".repeat(256)}`])(
    "the query %s is not a glob",
    async (query) => expect((await list(query)).status).toBe(422),
  );

  test.each([
    ["?limit=2", ["mira/alpha", "mira/bar"]],
    ["?limit=2&page=2", ["nora/bar-2", "team/zeta"]],
    ["?limit=2&page=3", []],
    ["?limit=0&page=-1", ["mira/alpha", "mira/bar", "nora/bar-2", "team/zeta"]],
    ["?limit=1000000000", ["mira/alpha", "mira/bar", "nora/bar-2", "team/zeta"]],
    ["?page=9223372036854775808", ["mira/alpha", "mira/bar", "nora/bar-2", "team/zeta"]],
  ])("the list of unadopted repositories returns the page %s", async (query, names) => {
    const answer = await list(query);
    expect(answer.json).toEqual(names);
    expect(answer.headers.get("x-total-count")).toBe("4");
  });

  test("the list of unadopted repositories omits unknown owners, odd names, links, files and recorded repositories", async () => {
    await put("nobody/lost.git");
    await put("mira/Upper.git");
    await put("mira/no-suffix");
    await put("mira/x.wiki.git");
    await mkdir(folderOf("mira/sub/deep.git"), { recursive: true });
    await writeFile(folderOf("mira/file.git"), "");
    await symlink(folderOf("mira/alpha.git"), folderOf("mira/link.git"));
    await symlink(daemon.home, folderOf("keeper"));
    await api("POST", "/admin/users/mira/repos", { name: "recorded" });
    expect((await list("?query=mira")).json).toEqual(["mira/alpha", "mira/bar"]);
    expect((await list("?query=keeper")).json).toEqual([]);
    await rm(folderOf("keeper"));
    await api("DELETE", "/repos/mira/recorded");
  });
});

describe("adopting", () => {
  /** Removes or damages the object of the commit that both branches name. */
  async function removeCommit(folder: string, how: "remove" | "damage" = "remove") {
    const { output } = await git.run("-C", folder, "rev-parse", "trunk");
    const path = join(folder, "objects", output.slice(0, 2), output.trim().slice(2));
    const bytes = await readFile(path);
    await rm(path);
    if (how === "damage") await writeFile(path, flipBit(bytes));
  }

  const forget = (name: string) => api("DELETE", `/repos/${name}`);

  test("adoption makes a private repository of the files, and keeps the case of the name", async () => {
    await put("nora/bar.git");
    expect((await adopt("NORA/Bar")).status).toBe(204);
    const { json } = await api("GET", "/repos/nora/bar");
    expect(json).toMatchObject({
      full_name: "Nora/Bar",
      private: true,
      empty: false,
      branch_count: 2,
      default_branch: "trunk",
      watchers_count: 1,
    });
    expect(json.size).toBeGreaterThan(0);
    expect((await list()).json).toEqual([]);
    expect((await adopt("nora/bar")).status).toBe(404);
    const url = daemon.url.replace("://", "://Nora:user-password@");
    expect((await git.run("clone", "-q", `${url}/Nora/Bar.git`, "adopted")).exitCode).toBe(0);
    await forget("nora/bar");
  });

  test("adoption replaces a commit-graph that is damaged or has no changed paths: at once in a large folder, by a job in a small one", async () => {
    const large = await put("mira/large.git");
    await writeFile(join(git.folder, "random"), randomBytes(5 * 1024 * 1024));
    await git.run("-C", large, "hash-object", "-w", join(git.folder, "random"));
    const small = await put("mira/small.git");
    const chainOf = (folder: string) =>
      readFile(join(folder, "objects/info/commit-graphs/commit-graph-chain"), "utf8");
    await git.run("-C", large, "commit-graph", "write", "--reachable");
    await writeFile(join(small, "objects/info/commit-graph"), "damaged");
    expect((await adopt("mira/large")).status).toBe(204);
    await chainOf(large);
    expect((await adopt("mira/small")).status).toBe(204);
    expect(existsSync(join(small, "objects/info/commit-graph"))).toBe(false);
    await vi.waitFor(() => chainOf(small), { timeout: 20_000 });
    for (const folder of [large, small]) {
      const graph = `objects/info/commit-graphs/graph-${(await chainOf(folder)).trim()}.graph`;
      expect((await readFile(join(folder, graph), "latin1")).slice(0, 200)).toContain("BIDX");
      expect(existsSync(join(folder, "objects/info/commit-graph"))).toBe(false);
    }
    await forget("mira/large");
    await forget("mira/small");
  }, 60_000);

  test("adoption accepts an empty repository, SHA-256, a HEAD without a branch, and an organization's", async () => {
    await git.run(
      "init",
      "-q",
      "--bare",
      "--object-format=sha256",
      "-b",
      "dev",
      folderOf("team/empty.git"),
    );
    expect((await adopt("team/empty")).status).toBe(204);
    expect((await api("GET", "/repos/team/empty")).json).toMatchObject({
      empty: true,
      default_branch: "dev",
      object_format_name: "sha256",
    });
    const headless = await put("team/headless.git");
    await writeFile(join(headless, "HEAD"), "ref: refs/heads/gone\n");
    expect((await adopt("team/headless")).status).toBe(204);
    expect((await api("GET", "/repos/team/headless")).json.default_branch).toBe("side");
    await forget("team/empty");
    await forget("team/headless");
  });

  test.each(["mira/none", "nobody/lost", "mira/x.wiki", "mira/..%2fnora", "..%2f../x"])(
    "adopting %s is 404",
    async (name) => {
      await put("nobody/lost.git");
      expect((await adopt(name)).status).toBe(404);
      expect((await api("DELETE", `/admin/unadopted/${name}`)).status).toBe(404);
      expect(existsSync(folderOf("nobody/lost.git/HEAD"))).toBe(true);
    },
  );

  test("a repository whose refs do not resolve is refused with the name of the ref", async () => {
    const folder = await put("mira/lost.git");
    await removeCommit(folder);
    expect(await adopt("mira/lost")).toMatchObject({
      status: 422,
      json: {
        message:
          "the repository cannot be adopted: its refs/heads/side does not resolve to an object",
      },
    });
  });

  test("an alias of a branch is adopted and cannot be moved or deleted; one without a target is refused", async () => {
    const folder = await put("mira/aliased.git");
    const point = (ref: string, target: string) =>
      git.run("-C", folder, "symbolic-ref", ref, target);
    await point("refs/heads/alias", "refs/heads/trunk");
    await point("refs/remotes/origin/HEAD", "refs/heads/side");
    await point("refs/tags/lost", "refs/heads/none");
    const refused =
      "the repository cannot be adopted: its refs/tags/lost does not resolve to an object";
    expect((await adopt("mira/aliased")).json.message).toBe(refused);
    await point("refs/tags/lost", "refs/tags/lost");
    expect((await adopt("mira/aliased")).json.message).toBe(refused);
    await git.run("-C", folder, "symbolic-ref", "--delete", "refs/tags/lost");
    expect((await adopt("mira/aliased")).status).toBe(204);
    const branches = async () =>
      (await api("GET", "/repos/mira/aliased/branches")).json.map(
        ({ name }: { name: string }) => name,
      );
    expect(await branches()).toEqual(["alias", "side", "trunk"]);
    const removed = await api("DELETE", "/repos/mira/aliased/branches/alias");
    expect([removed.status, removed.json.message]).toEqual([
      403,
      "refs/heads/alias is a symbolic ref",
    ]);
    expect(await branches()).toEqual(["alias", "side", "trunk"]);
  });

  test("a lock left by a crash and a detached HEAD do not prevent adoption", async () => {
    const folder = await put("mira/detached.git");
    const { output } = await git.run("-C", folder, "rev-parse", "trunk");
    await writeFile(join(folder, "HEAD"), output);
    await writeFile(join(folder, "refs/heads/side.lock"), "");
    expect((await adopt("mira/detached")).status).toBe(204);
    await forget("mira/detached");
  });

  test.each([
    ["a link", (folder: string) => symlink("/etc", join(folder, "refs", "evil"))],
    [
      "objects elsewhere",
      (folder: string) => writeFile(join(folder, "objects/info/alternates"), "/etc\n"),
    ],
    ["a common directory", (folder: string) => writeFile(join(folder, "commondir"), "/etc\n")],
    ["a git file", (folder: string) => writeFile(join(folder, ".git"), "gitdir: /etc\n")],
    ["no HEAD", (folder: string) => rm(join(folder, "HEAD"))],
    ["a work tree", (folder: string) => git.run("-C", folder, "config", "core.bare", "false")],
    [
      "an unknown extension",
      (folder: string) => git.run("-C", folder, "config", "extensions.evil", "1"),
    ],
    ["a broken configuration", (folder: string) => writeFile(join(folder, "config"), "[core\n")],
    ["no repository", (folder: string) => rm(join(folder, "objects"), { recursive: true })],
    ["a branch whose commit is missing", (folder: string) => removeCommit(folder)],
    ["a branch whose commit is damaged", (folder: string) => removeCommit(folder, "damage")],
    [
      "a tag whose object is missing",
      (folder: string) => writeFile(join(folder, "refs/tags/lost"), `${"a".repeat(40)}\n`),
    ],
    [
      "a packed ref whose object is missing",
      (folder: string) =>
        appendFile(join(folder, "packed-refs"), `${"b".repeat(40)} refs/zzz/lost\n`),
    ],
    [
      "a ref that is not an object id",
      (folder: string) => writeFile(join(folder, "refs/heads/odd"), "zzz\n"),
    ],
    [
      "a ref to a missing ref",
      (folder: string) => writeFile(join(folder, "refs/heads/odd"), "ref: refs/heads/none\n"),
    ],
    [
      "a ref with a name that git refuses",
      (folder: string) => writeFile(join(folder, "refs/heads/x..y"), `${"a".repeat(40)}\n`),
    ],
    [
      "a branch that is not a commit",
      async (folder: string) => {
        const { output } = await git.run("-C", folder, "rev-parse", "trunk^{tree}");
        await writeFile(join(folder, "refs/heads/tree"), output);
      },
    ],
    [
      "a HEAD at a missing commit",
      (folder: string) => writeFile(join(folder, "HEAD"), `${"a".repeat(40)}\n`),
    ],
    [
      "a branch whose name is not UTF-8",
      async (folder: string) => {
        const { output } = await git.run("-C", folder, "rev-parse", "trunk");
        const name = Buffer.from("refs/heads/caf\u00e9", "latin1");
        const line = Buffer.concat([Buffer.from(`${output.trim()} `), name, Buffer.from("\n")]);
        await appendFile(join(folder, "packed-refs"), line);
      },
    ],
    ["a file .git in a commit", (folder: string) => commitEntry(folder, "100644", ".git")],
    ["a file that leads out", (folder: string) => commitEntry(folder, "100644", "..")],
    [
      "submodules that run a program",
      (folder: string) =>
        commitEntry(
          folder,
          "100644",
          ".gitmodules",
          '[submodule "x"]\n\tpath = x\n\turl = -uhttp://x.example\n',
        ),
    ],
  ])("adopting files with %s is 422 and does not change them", async (_what, spoil) => {
    const folder = await put("mira/odd.git");
    await spoil(folder);
    expect((await adopt("mira/odd")).status).toBe(422);
    expect(existsSync(folder)).toBe(true);
    expect((await api("GET", "/repos/mira/odd")).status).toBe(404);
    expect((await list()).json).toEqual(["mira/odd"]);
  });

  test("adoption removes settings that would run programs, and git hooks never run", async () => {
    const folder = await put("mira/armed.git");
    const mark = join(daemon.home, "ran");
    await appendFile(
      join(folder, "config"),
      `[core]\n\talternateRefsCommand = touch ${mark}\n\tfsmonitor = touch ${mark}\n[uploadpack]\n\tpackObjectsHook = touch ${mark}\n[include]\n\tpath = /etc/passwd\n`,
    );
    await mkdir(join(folder, "hooks"), { recursive: true });
    for (const hook of [
      "pre-receive",
      "update",
      "post-receive",
      "post-update",
      "reference-transaction",
    ])
      await writeFile(join(folder, "hooks", hook), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
    expect((await adopt("mira/armed")).status).toBe(204);
    expect(await readFile(join(folder, "config"), "utf8")).not.toContain("touch");
    const url = `${daemon.url.replace("://", "://mira:user-password@")}/mira/armed.git`;
    expect((await git.run("clone", "-q", url, "armed")).exitCode).toBe(0);
    await git.in("armed", "commit", "-q", "--allow-empty", "-m", "two");
    expect((await git.in("armed", "push", "-q", "origin", "HEAD")).exitCode).toBe(0);
    expect(existsSync(mark)).toBe(false);
    await forget("mira/armed");
  });

  test("exactly one of many concurrent adoptions of a repository succeeds", async () => {
    await put("mira/wanted.git");
    const answers = await Promise.all(Array.from({ length: 6 }, () => adopt("mira/wanted")));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([204, 404, 404, 404, 404, 404]);
    await forget("mira/wanted");
  });
});

describe("deleting", () => {
  const remove = (name: string) => api("DELETE", `/admin/unadopted/${name}`);

  test("deleting an unadopted repository removes its files, and does not follow links", async () => {
    const folder = await put("mira/old.git");
    const precious = join(daemon.home, "precious");
    await mkdir(precious, { recursive: true });
    await writeFile(join(precious, "file"), "kept");
    await symlink(precious, join(folder, "link"));
    expect((await remove("mira/old")).status).toBe(204);
    expect(existsSync(folder)).toBe(false);
    await expect.poll(async () => (await list()).json.length, { interval: 10 }).toBe(0);
    expect(await readFile(join(precious, "file"), "utf8")).toBe("kept");
    expect((await remove("mira/old")).status).toBe(404);
  });

  test("a link in place of an unadopted repository or its owner is not followed", async () => {
    const precious = join(daemon.home, "precious.git");
    await mkdir(precious, { recursive: true });
    await mkdir(folderOf("mira"), { recursive: true });
    await symlink(precious, folderOf("mira/link.git"));
    expect((await remove("mira/link")).status).toBe(404);
    await symlink(daemon.home, folderOf("team"));
    expect((await remove("team/precious")).status).toBe(404);
    expect((await adopt("team/precious")).status).toBe(404);
    expect(existsSync(precious)).toBe(true);
  });

  test("deleting a repository with a row as unadopted is 404", async () => {
    await put("mira/mine.git");
    await adopt("mira/mine");
    expect((await remove("mira/mine")).status).toBe(404);
    expect(existsSync(folderOf("mira/mine.git"))).toBe(true);
    await api("DELETE", "/repos/mira/mine");
  });
});
