import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";

const git = promisify(execFile);
const issue = { id: 70, number: 7, state: "open", title: "Broken", labels: [], assignees: null };

type Remotes = (daemon: string) => Readonly<Record<string, string>>;

/** Runs a line in a local repository with these remotes. */
async function runInClone(
  words: readonly string[],
  remotes: Remotes,
  answers: Parameters<typeof fakeDaemon>[0] = {},
  files: Readonly<Record<string, string>> = {},
) {
  await using folder = await temporaryHome();
  await using daemon = await fakeDaemon(answers);
  await signIn(folder.path, { url: daemon.url, forgeToken: "t" });
  const clone = join(folder.path, "clone");
  await git("git", ["init", "--quiet", clone]);
  for (const [name, url] of Object.entries(remotes(daemon.url)))
    await git("git", ["-C", clone, "remote", "add", name, url]);
  for (const [name, text] of Object.entries(files)) await writeFile(join(clone, name), text);
  const ran = await runCli(words, { home: folder.path, workingDirectory: clone });
  return { ran, requests: daemon.requests };
}

const list = { "GET /api/v1/repos/mira/notes/issues": { body: [issue] } };

test.each<[string, Remotes]>([
  ["over http", (url) => ({ origin: `${url}/mira/notes.git` })],
  ["over http without .git", (url) => ({ origin: `${url}/mira/notes` })],
  [
    "with a name in the address",
    (url) => ({ origin: url.replace("//", "//mira@") + "/mira/notes" }),
  ],
  ["over SSH", () => ({ origin: "ssh://git@127.0.0.1:7422/mira/notes.git" })],
  ["in the short form of SSH", () => ({ origin: "git@localhost:mira/notes.git" })],
  [
    "beside one of another host",
    (url) => ({ origin: "https://else.example/a/b", croft: `${url}/mira/notes` }),
  ],
  ["as origin beside others", (url) => ({ aaa: `${url}/nora/notes`, origin: `${url}/mira/notes` })],
])("a list without a repository takes that of the remote %s", async (_, remotes) => {
  const { ran } = await runInClone(["issue", "list", "--json=number"], remotes, list);
  expect(ran).toMatchObject({ code: 0, err: "" });
  expect(ran.json()).toEqual([{ number: 7 }]);
});

test.each<[string, Remotes]>([
  ["no remote", () => ({})],
  ["a remote elsewhere only", () => ({ origin: "https://else.example/mira/notes.git" })],
  ["another port of the host", () => ({ origin: "http://127.0.0.1:9/mira/notes.git" })],
  ["a local path", () => ({ origin: "/srv/mira/notes" })],
  ["two repositories", (url) => ({ a: `${url}/mira/notes`, b: `${url}/nora/notes` })],
])("a folder with %s names no repository", async (_, remotes) => {
  const { ran, requests } = await runInClone(["issue", "list", "--json"], remotes);
  expect(ran.error()).toMatchObject({ code: "missing_input", exit_code: 2 });
  expect(ran.error()["hint"]).toContain("--repo OWNER/NAME");
  expect(requests).toEqual([]);
});

test("a number names an issue of the folder's repository, and --repo one elsewhere", async () => {
  const remotes: Remotes = (url) => ({ origin: `${url}/mira/notes` });
  const answers = {
    "GET /api/v1/repos/mira/notes/issues/7": { body: issue },
    "GET /api/v1/repos/nora/diary/issues/7": { body: issue },
  };
  for (const words of [["7"], ["#7"], ["-R", "nora/diary", "7"], ["7", "--repo=nora/diary"]]) {
    const line = ["issue", "view", ...words, "--json=number"];
    const { ran, requests } = await runInClone(line, remotes, answers);
    expect(ran.json()).toEqual({ number: 7 });
    const owner = words.length > 1 ? "nora/diary" : "mira/notes";
    expect(requests[0]?.path).toBe(`/api/v1/repos/${owner}/issues/7`);
  }
});

test("a full name beats the folder's repository, and an organization stays a place", async () => {
  const remotes: Remotes = (url) => ({ origin: `${url}/mira/notes` });
  const { requests } = await runInClone(["issue", "list", "nora/diary"], remotes, {
    "GET /api/v1/repos/nora/diary/issues": { body: [] },
  });
  expect(requests).toHaveLength(1);
  const { requests: labels } = await runInClone(["label", "list", "club"], remotes, {
    "GET /api/v1/orgs/club/labels": { body: [] },
  });
  expect(labels).toHaveLength(1);
});

test("further arguments follow a repository that is left out, with flags between them", async () => {
  const label = { id: 1, name: "bug", color: "ff0000", description: "" };
  const { ran, requests } = await runInClone(
    ["label", "create", "-c", "ff0000", "bug", "--json=name"],
    (url) => ({ origin: `${url}/mira/notes` }),
    { "POST /api/v1/repos/mira/notes/labels": { status: 201, body: label } },
  );
  expect(ran.json()).toEqual({ name: "bug" });
  expect(requests[0]?.json()).toMatchObject({ name: "bug", color: "ff0000" });
});

test("options that may be repeated count once", async () => {
  const { requests } = await runInClone(
    ["issue", "list", "-l", "bug", "-l", "big", "-A", "@me", "-L", "5"],
    (url) => ({ origin: `${url}/mira/notes` }),
    { ...list, "GET /api/v1/user": { body: { login: "mira" } } },
  );
  const query = new URL(requests.at(-1)?.path ?? "", "http://h").searchParams;
  expect(Object.fromEntries(query)).toMatchObject({
    labels: "bug,big",
    created_by: "mira",
    limit: "5",
  });
});

test("a text comes from a file, and people are added by their names and @me", async () => {
  const { requests } = await runInClone(
    ["issue", "create", "-t", "Broken", "-F", "text.md", "-a", "@me,nora"],
    (url) => ({ origin: `${url}/mira/notes` }),
    {
      "GET /api/v1/user": { body: { login: "mira" } },
      "POST /api/v1/repos/mira/notes/issues": { status: 201, body: issue },
    },
    { "text.md": "Look\n" },
  );
  expect(requests.at(-1)?.json()).toEqual({
    title: "Broken",
    body: "Look\n",
    assignees: ["mira", "nora"],
  });
});

test("people are added to and removed from those who are assigned", async () => {
  const { ran, requests } = await runInClone(
    ["issue", "edit", "7", "--add-assignee", "olaf", "--remove-assignee", "Nora", "--json=number"],
    (url) => ({ origin: `${url}/mira/notes` }),
    {
      "GET /api/v1/repos/mira/notes/issues/7": {
        body: { ...issue, assignees: [{ login: "mira" }, { login: "nora" }] },
      },
      "PATCH /api/v1/repos/mira/notes/issues/7": { status: 201, body: issue },
    },
  );
  expect(ran.code).toBe(0);
  expect(requests.at(-1)?.json()).toEqual({ assignees: ["mira", "olaf"] });
});

test("a command of administration and a clone take no repository of the folder", async () => {
  const remotes: Remotes = (url) => ({ origin: `${url}/mira/notes` });
  for (const line of [
    ["repo", "clone"],
    ["repo", "transfer", "nora"],
    ["admin", "repo", "create"],
  ]) {
    const { ran, requests } = await runInClone([...line, "--json"], remotes, {
      "POST /api/v1/repos/nora/transfer": { status: 404, body: {} },
    });
    expect(ran.code, line.join(" ")).toBe(2);
    expect(requests).toEqual([]);
  }
});

test("a repository is created by OWNER/NAME, for oneself or an organization", async () => {
  const repository = { id: 1, full_name: "x/y", topics: [], size: 0 };
  const answers = {
    "GET /api/v1/user": { body: { login: "mira" } },
    "POST /api/v1/user/repos": { status: 201, body: repository },
    "POST /api/v1/orgs/club/repos": { status: 201, body: repository },
  };
  for (const [name, path] of [
    ["Mira/seeds", "/api/v1/user/repos"],
    ["club/seeds", "/api/v1/orgs/club/repos"],
  ]) {
    const line = ["repo", "create", name ?? "", "--public", "--add-readme", "--json=id"];
    const { requests } = await runInClone(line, () => ({}), answers);
    expect(requests.at(-1)).toMatchObject({ method: "POST", path });
    expect(requests.at(-1)?.json()).toEqual({ name: "seeds", auto_init: true });
  }
});

test("a repository is edited by gh's words", async () => {
  const repository = { id: 1, full_name: "mira/notes", topics: ["go"], size: 0 };
  const { requests } = await runInClone(
    [
      "repo",
      "edit",
      "--visibility",
      "private",
      "--homepage",
      "https://h.example",
      "--add-topic",
      "go",
    ],
    (url) => ({ origin: `${url}/mira/notes` }),
    {
      "PUT /api/v1/repos/mira/notes/topics/go": { status: 204 },
      "PATCH /api/v1/repos/mira/notes": { body: repository },
    },
  );
  expect(requests.map(({ method }) => method)).toEqual(["PUT", "PATCH"]);
  expect(requests.at(-1)?.json()).toEqual({ private: true, website: "https://h.example" });
});

test("a list of runs takes the repository of the folder unless a flag names another scope", async () => {
  const remotes: Remotes = (url) => ({ origin: `${url}/mira/notes` });
  const answers = {
    "GET /api/v1/repos/mira/notes/actions/runs": { body: { workflow_runs: [], total_count: 0 } },
    "GET /api/v1/repos/nora/diary/actions/runs": { body: { workflow_runs: [], total_count: 0 } },
    "GET /api/v1/user/actions/runs": { body: { workflow_runs: [], total_count: 0 } },
  };
  const lines: readonly (readonly [string, ...string[]])[] = [
    ["/repos/mira/notes"],
    ["/repos/nora/diary", "--repo", "nora/diary"],
    ["/repos/nora/diary", "nora/diary"],
    ["/user", "--user"],
  ];
  for (const [path, ...words] of lines) {
    const line = ["run", "list", ...words, "--json"];
    const { ran, requests } = await runInClone(line, remotes, answers);
    expect(ran, line.join(" ")).toMatchObject({ code: 0, err: "" });
    expect(requests[0]?.path.split("?")[0]).toBe(`/api/v1${path}/actions/runs`);
  }
});

test("the address of a page names its repository, issue, run or job", async () => {
  const pages: readonly (readonly [string, string, string])[] = [
    ["repo view", "mira/notes", "/repos/mira/notes"],
    ["issue view", "mira/notes/issues/7", "/repos/mira/notes/issues/7"],
    ["issue view", "mira/notes/issues/7#issuecomment-9", "/repos/mira/notes/issues/7"],
    ["run view", "mira/notes/actions/runs/3", "/repos/mira/notes/actions/runs/3"],
    ["run log", "mira/notes/actions/runs/3/jobs/4", "/repos/mira/notes/actions/jobs/4"],
  ];
  for (const [line, page, path] of pages) {
    await using folder = await temporaryHome();
    const missing = { status: 404, body: { message: "", url: "" } };
    await using daemon = await fakeDaemon({
      [`GET /api/v1${path}`]: missing,
      [`GET /api/v1${path}/logs`]: missing,
    });
    await signIn(folder.path, { url: daemon.url, forgeToken: "t" });
    await runCli([...line.split(" "), `${daemon.url}/${page}`], { home: folder.path });
    expect(daemon.requests[0]?.path, page).toBe(`/api/v1${path}`);
  }
});

test.each(["https://else.example/mira/notes/issues/7", "http://127.0.0.1:9/mira/notes/issues/7"])(
  "the address %s at another host names no issue",
  async (address) => {
    const { ran, requests } = await runInClone(["issue", "view", address, "--json"], () => ({}));
    expect(ran.error()).toMatchObject({ code: "usage" });
    expect(requests).toEqual([]);
  },
);
