import { expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const repository = {
  id: 7,
  full_name: "mira/notes",
  private: true,
  default_branch: "main",
  size: 12,
  updated_at: "2026-11-20T12:00:00Z",
  created_at: "2026-11-20T12:00:00Z",
  description: "",
  empty: false,
  branch_count: 1,
  object_format_name: "sha1",
  clone_url: "http://h/mira/notes.git",
};

test("a repository is named by owner and name", async () => {
  for (const line of ["repo view", "repo delete"])
    expect(await optionsOf(line, ["mira/notes"])).toEqual({
      repository: { owner: "mira", repo: "notes" },
    });
  for (const wrong of ["notes", "a/b/c", "/b", "a/"])
    expect(await refusalOf("repo view", [wrong])).toContain("OWNER/NAME");
});

test.each(["../../elsewhere", "/tmp/elsewhere", "..", "-c", "a b"])(
  "clone makes no folder of the name %s that a daemon sent",
  async (name) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/repos/mira/notes": { status: 200, body: { ...repository, name } },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const ran = await runCli(["repo", "clone", "mira/notes", "--dry-run"], { home: home.path });
    expect(ran.code).not.toBe(0);
    expect(ran.err).toContain("invalid repository name");
    const named = ["repo", "clone", "mira/notes", "here", "--dry-run"];
    expect(await runCli(named, { home: home.path })).toMatchObject({ code: 0 });
  },
);

test("the flags of a creation become its body", async () => {
  const line = ["mira/notes", "--init", "--gitignore", "Node", "Go", "--default-branch", "trunk"];
  expect(await optionsOf("admin repo create", line)).toEqual({
    repository: { owner: "mira", repo: "notes" },
    init: true,
    gitignore: ["Node", "Go"],
    defaultBranch: "trunk",
  });
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/v1/admin/users/mira/repos": { status: 201, body: repository },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const words = ["admin", "repo", "create", ...line, "--private", "--json"];
  const ran = await runCli(words, { home: home.path });
  expect(ran).toMatchObject({ code: 0, err: "" });
  expect(ran.json()).toEqual(repository);
  expect(daemon.requests[0]?.json()).toEqual({
    name: "notes",
    private: true,
    auto_init: true,
    gitignores: "Node,Go",
    default_branch: "trunk",
  });
});

test("repositories are listed and shown", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/v1/user/repos": { body: [repository], headers: { "X-Total-Count": "1" } },
    "GET /api/v1/repos/mira/notes": { body: repository },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const listed = await runCli(["repo", "list"], { home: home.path });
  expect(listed.out).toBe("7\tmira/notes\ttrue\tmain\t12288\t2026-11-20T12:00:00Z\n");
  const viewed = await runCli(["repo", "view", "mira/notes", "--json=full_name,size"], {
    home: home.path,
  });
  expect(viewed.json()).toEqual({ full_name: "mira/notes", size: 12 });
});

test("an edit sends the fields of its flags, a rename the name", async () => {
  const flags = ["mira/notes", "--private", "true", "--default-branch", "trunk", "--website", ""];
  flags.push("--archived", "false");
  expect(await optionsOf("repo edit", flags)).toEqual({
    repository: { owner: "mira", repo: "notes" },
    private: "true",
    defaultBranch: "trunk",
    website: "",
    archived: "false",
  });
  expect(await refusalOf("repo edit", ["mira/notes"])).toContain("nothing to change");
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "PATCH /api/v1/repos/mira/notes": { body: repository },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const edited = await runCli(["repo", "edit", ...flags, "--json"], { home: home.path });
  expect(edited.json()).toEqual(repository);
  expect(daemon.requests[0]?.json()).toEqual({
    private: true,
    default_branch: "trunk",
    website: "",
    archived: false,
  });
  const wrong = await runCli(["repo", "edit", "mira/notes", "--private", "yes"], {
    home: home.path,
  });
  expect(wrong.code).toBe(2);
  const renamed = await runCli(["repo", "rename", "mira/notes", "diary", "--json"], {
    home: home.path,
  });
  expect(renamed.json()).toEqual(repository);
  expect(daemon.requests[1]?.json()).toEqual({ name: "diary" });
});

test("a deletion requires the name", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "DELETE /api/v1/repos/mira/notes": { status: 204 },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const line = ["repo", "delete", "mira/notes"];
  const refused = await runCli([...line, "--yes", "--json"], { home: home.path });
  expect(refused.error()).toMatchObject({ code: "missing_input", exit_code: 2 });
  expect(daemon.requests).toEqual([]);
  const ran = await runCli([...line, "--confirm", "mira/notes", "--json"], { home: home.path });
  expect(ran.json()).toEqual({ deleted: true, full_name: "mira/notes" });
});

test("a repository is given, accepted and rejected", async () => {
  const at = "POST /api/v1/repos/mira/notes/transfer";
  const runTransfer = async (words: readonly string[], status: number) => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      [at]: { status, body: repository },
      [`${at}/accept`]: { status: 202, body: repository },
      [`${at}/reject`]: { body: repository },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const line = ["repo", "transfer", "mira/notes", ...words];
    return { ran: await runCli(line, { home: home.path }), requests: daemon.requests };
  };
  const transferred = await runTransfer(["nora", "--json"], 202);
  expect(transferred.ran).toMatchObject({ code: 0, err: "" });
  expect(transferred.requests[0]?.json()).toEqual({ new_owner: "nora" });
  expect((await runTransfer(["nora"], 201)).ran.err).toContain("nora must accept it");
  const accepted = await runTransfer(["--accept"], 202);
  expect(accepted.requests[0]?.path).toBe("/api/v1/repos/mira/notes/transfer/accept");
  const rejected = await runTransfer(["--reject"], 202);
  expect(rejected.requests[0]?.path).toBe("/api/v1/repos/mira/notes/transfer/reject");
  for (const wrong of [[], ["nora", "--accept"], ["--accept", "--reject"]])
    expect((await runTransfer(wrong, 202)).ran.code).toBe(2);
});

test("a fork goes to the caller or an organization, and a clone of it has the repository as upstream", async () => {
  await using home = await temporaryHome();
  const named = { name: "minutes", full_name: "acme/minutes", topics: [] };
  const fork = { ...repository, ...named, parent: repository };
  await using daemon = await fakeDaemon({
    "POST /api/v1/repos/mira/notes/forks": { status: 202, body: fork },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const line = ["repo", "fork", "mira/notes"];
  const own = await runCli([...line, "--json"], { home: home.path });
  expect(own.json()).toMatchObject({ full_name: "acme/minutes" });
  expect(daemon.requests[0]?.json()).toEqual({});
  const words = ["--org", "acme", "--fork-name", "minutes"];
  const shown = await runCli([...line, ...words], { home: home.path });
  expect(daemon.requests[1]?.json()).toEqual({ organization: "acme", name: "minutes" });
  expect(shown.out).toContain("mira/notes");
  for (const wrong of [["--ssh"], ["--name", "a", "--fork-name", "b"]])
    expect((await runCli([...line, ...wrong], { home: home.path })).code).toBe(2);
});
