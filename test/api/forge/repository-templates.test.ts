import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { api, by } = people;
const plan = "/repos/olga/plan";
const generate = (user: string, body: object, path = plan) =>
  by(user, "POST", `${path}/generate`, { owner: user, git_content: true, ...body });
const rawOf = async (repository: string, path: string) =>
  (await by("olga", "GET", `/repos/${repository}/raw/${encodeURIComponent(path)}`)).text;
const put = async (files: Readonly<Record<string, string>>, path = plan) => {
  const made = await by("olga", "POST", `${path}/contents`, {
    message: "Files",
    files: Object.entries(files).map(([name, content]) => ({
      operation: "create",
      path: name,
      content: Buffer.from(content, "latin1").toString("base64"),
    })),
  });
  expect(made.status, made.text).toBe(201);
};
const listFiles = async (repository: string) => {
  const tree = await by("olga", "GET", `/repos/${repository}/git/trees/HEAD?recursive=1`);
  return tree.json.tree
    .filter(({ type }: { type: string }) => type !== "tree")
    .map(({ path }: { path: string }) => path);
};

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["olga", "nora", "outsider"]) await people.newUser(name);
  const made = { name: "plan", auto_init: true, template: true, description: "The plan" };
  await by("olga", "POST", "/user/repos", made);
  await put({
    ".gitea/template": "# globs\n*.md\n**/*.txt\nsrc/$REPO_NAME.js\n[\n",
    "a.md":
      "${REPO_NAME} $REPO_OWNER ${REPO_NAME_KEBAB} ${REPO_NAME_PASCAL} ${TEMPLATE_NAME} ${NOPE} $$YEAR ${",
    "bytes.md": "\xff\xfe${REPO_NAME}\x00",
    "docs/deep/b.txt": "${REPO_NAME}",
    "top.txt": "${REPO_NAME}",
    "plain.js": "${REPO_NAME}",
    "src/$REPO_NAME.js": "// ${REPO_NAME_SNAKE}",
    "${REPO_DESCRIPTION}.md": "escape",
  });
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

describe("a repository from a template", () => {
  test("a generated repository has the template's files in one commit, with variables expanded in the files that match its rules", async () => {
    const made = await generate("nora", {
      name: "My-new_Repo",
      description: "../../.git/config",
      default_branch: "trunk",
    });
    expect(made.status, made.text).toBe(201);
    expect(made.json).toMatchObject({
      full_name: "nora/My-new_Repo",
      default_branch: "trunk",
      empty: false,
      template: false,
      branch_count: 1,
      topics: [],
    });
    const name = "nora/My-new_Repo";
    expect(await listFiles(name)).toEqual([
      "README.md",
      "__/__/_git/config.md",
      "a.md",
      "bytes.md",
      "docs/deep/b.txt",
      "plain.js",
      "src/My-new_Repo.js",
      "top.txt",
    ]);
    expect(await rawOf(name, "a.md")).toBe(
      "My-new_Repo nora my-new-repo MyNewRepo plan NOPE $YEAR ",
    );
    expect(await rawOf(name, "docs/deep/b.txt")).toBe("My-new_Repo");
    expect(await rawOf(name, "src/My-new_Repo.js")).toBe("// my_new_repo");
    for (const path of ["plain.js", "top.txt"])
      expect(await rawOf(name, path)).toBe("${REPO_NAME}");
    const bytes = await by("olga", "GET", `/repos/${name}/contents/bytes.md`);
    expect(Buffer.from(bytes.json.content, "base64").toString("latin1")).toBe(
      "\xff\xfeMy-new_Repo\x00",
    );
    const commits = await by("nora", "GET", `/repos/${name}/commits`);
    expect(commits.json).toMatchObject([
      { commit: { message: "Initial commit\n", author: { name: "nora" } }, parents: [] },
    ]);
    expect((await git.run("clone", "-q", `${daemon.url}/${name}.git`, "copy")).exitCode).toBe(0);
    expect((await git.run("-C", "copy", "fsck", "--strict")).exitCode).toBe(0);
  });

  test.each([
    ["two expanded files", "${REPO_NAME}.txt", "$TEMPLATE_OWNER.txt", "olga", "olga.txt"],
    ["an expanded file and one that matches", "${REPO_NAME}.txt", "x.txt", "x", "x.txt"],
    ["an expanded file and one that stays", "$REPO_NAME", "kept.md", "kept.md", "kept.md"],
    ["an expanded file and a folder", "$REPO_NAME", "kept/b.md", "kept", "kept"],
    ["an expanded folder and a file", "$REPO_NAME/a", "kept", "kept", "kept"],
  ])("%s with one path are refused", async (_case, one, other, name, path) => {
    const template = await people.newRepository("olga", { auto_init: true, template: true });
    const from = `/repos/olga/${template}`;
    await put({ ".gitea/template": "*.txt\n$*\n$*/a\n", [one]: "1", [other]: "2" }, from);
    const refused = await generate("nora", { name }, from);
    expect(refused.status, refused.text).toBe(422);
    expect(refused.json.message).toContain(`are both \`${path}\` in the new repository`);
    for (const file of [one, other]) expect(refused.json.message).toContain(`\`${file}\``);
    expect((await by("nora", "GET", `/repos/nora/${name}`)).status).toBe(404);
    expect((await generate("nora", { name: `${template}-2` }, from)).status).toBe(201);
    expect((await listFiles(`nora/${template}-2`)).length).toBe(3);
  });

  test("an expanded file of more than 256 KiB keeps all of its bytes", async () => {
    await by("olga", "POST", "/user/repos", { name: "long", auto_init: true, template: true });
    const text = `${"0123456789abcdef\n".repeat(20_000)}\${REPO_NAME}\n`;
    await put({ ".gitea/template": "*.txt\n", "long.txt": text }, "/repos/olga/long");
    const made = await generate("olga", { name: "longer" }, "/repos/olga/long");
    expect(made.status, made.text).toBe(201);
    expect(await rawOf("olga/longer", "long.txt")).toBe(text.replace("${REPO_NAME}", "longer"));
  });

  test("a generated repository keeps links, executables and submodules, and the rules are not read through a link", async () => {
    await by("olga", "POST", "/user/repos", { name: "odd", template: true });
    const url = daemon.url.replace("//", `//olga:${people.tokenOf("olga")}@`);
    await git.run("init", "-q", "-b", "main", "odd");
    await writeFile(join(git.folder, "odd", "seed"), "target");
    const blob = (await git.run("-C", "odd", "hash-object", "-w", "seed")).output.trim();
    const commit = "1".repeat(40);
    for (const [mode, id, path] of [
      ["120000", blob, ".gitea/template"],
      ["100755", blob, "run.sh"],
      ["120000", blob, "link.md"],
      ["160000", commit, "module"],
      ["100644", blob, "line\nbreak"],
    ])
      await git.run("-C", "odd", "update-index", "--add", "--cacheinfo", `${mode},${id},${path}`);
    await git.run("-C", "odd", "commit", "-q", "-m", "Odd");
    const pushed = await git.run("-C", "odd", "push", "-q", `${url}/olga/odd.git`, "HEAD:main");
    expect(pushed.exitCode, pushed.errors).toBe(0);
    const made = await generate("olga", { name: "odd2" }, "/repos/olga/odd");
    expect(made.status, made.text).toBe(201);
    const tree = await by("olga", "GET", "/repos/olga/odd2/git/trees/HEAD?recursive=1");
    expect(
      tree.json.tree.map(({ mode, path }: { mode: string; path: string }) => [mode, path]),
    ).toEqual(
      expect.arrayContaining([
        ["120000", ".gitea/template"],
        ["100755", "run.sh"],
        ["120000", "link.md"],
        ["160000", "module"],
        ["100644", "line\nbreak"],
      ]),
    );
  });

  test("a generated repository has the large files that its content names", async () => {
    await by("olga", "POST", "/user/repos", { name: "large", auto_init: true, template: true });
    const bytes = "of a large file";
    const oid = createHash("sha256").update(bytes).digest("hex");
    const type = "application/vnd.git-lfs+json";
    const uploaded = await daemon.request(
      `/olga/large.git/info/lfs/objects/${oid}/${bytes.length}`,
      {
        method: "PUT",
        basic: `olga:${people.tokenOf("olga")}`,
        headers: { accept: type, "Content-Type": "application/octet-stream" },
        body: bytes,
      },
    );
    expect(uploaded.status, uploaded.text).toBe(200);
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${bytes.length}\n`;
    await put({ "a.bin": pointer }, "/repos/olga/large");
    const made = await generate("nora", { name: "large" }, "/repos/olga/large");
    expect(made.status, made.text).toBe(201);
    expect((await by("nora", "GET", "/repos/nora/large/media/a.bin")).text).toBe(bytes);
    const takes = { git_content: false, labels: true };
    await generate("nora", { name: "without", ...takes }, "/repos/olga/large");
    const { json } = await daemon.request("/nora/without.git/info/lfs/objects/batch", {
      basic: `nora:${people.tokenOf("nora")}`,
      headers: { accept: type, "Content-Type": type },
      method: "POST",
      body: JSON.stringify({ operation: "download", objects: [{ oid, size: bytes.length }] }),
    });
    expect(json.objects[0].error.code).toBe(404);
  });

  test("a generated repository has the requested topics, labels, hooks and protections", async () => {
    await by("olga", "PUT", `${plan}/topics`, { topics: ["alpha", "beta"] });
    await by("olga", "POST", `${plan}/labels`, { name: "bug", color: "ff0000" });
    const hook = {
      type: "gitea",
      active: true,
      config: { url: "http://127.0.0.1:9/x", content_type: "json", secret: "s" },
    };
    await by("olga", "POST", `${plan}/hooks`, hook);
    await by("olga", "POST", `${plan}/branch_protections`, { rule_name: "main" });
    const takes = { topics: true, labels: true, webhooks: true, protected_branch: true };
    const made = await generate("olga", { name: "full", git_content: false, ...takes });
    expect(made.json).toMatchObject({ empty: true, topics: ["alpha", "beta"] });
    const get = async (path: string) => (await by("olga", "GET", `/repos/olga/full${path}`)).json;
    expect(await get("/labels")).toMatchObject([{ name: "bug", color: "ff0000" }]);
    expect(await get("/hooks")).toMatchObject([{ config: { url: "http://127.0.0.1:9/x" } }]);
    expect(await get("/branch_protections")).toMatchObject([{ rule_name: "main" }]);
    const bare = await generate("nora", { name: "bare" });
    expect(bare.json).toMatchObject({ topics: [] });
    for (const item of ["webhooks", "protected_branch"])
      expect((await generate("nora", { name: "no", [item]: true })).status).toBe(403);
    expect((await by("nora", "GET", "/repos/nora/no")).status).toBe(404);
  });

  test("generating a repository is refused without a template, an item, an owner or the right", async () => {
    await by("olga", "POST", "/user/repos", { name: "plain" });
    await by("olga", "POST", "/user/repos", { name: "hidden", private: true, template: true });
    await api("POST", "/admin/users/olga/orgs", { username: "guild" });
    const message = async (answer: ReturnType<typeof generate>) => {
      const { status, json } = await answer;
      return [status, json.message];
    };
    const body = { name: "never" };
    expect(await message(generate("olga", body, "/repos/olga/plain"))).toEqual([
      422,
      "this is not a template repo",
    ]);
    expect(await message(generate("olga", { ...body, git_content: false }))).toEqual([
      422,
      "must select at least one template item",
    ]);
    expect(await message(generate("olga", { ...body, owner: "nobody" }))).toEqual([
      404,
      "request owner `nobody` does not exist",
    ]);
    expect(await message(generate("nora", { ...body, owner: "olga" }))).toEqual([
      403,
      "Only admin can generate repository for other user.",
    ]);
    expect((await generate("nora", { ...body, owner: "guild" })).status).toBe(403);
    expect((await generate("olga", { ...body, owner: "guild" })).status).toBe(201);
    expect((await generate("outsider", body, "/repos/olga/hidden")).status).toBe(404);
    const taken = await generate("olga", { name: "plain" });
    expect(taken.json.message).toBe("The repository with the same name already exists.");
    const reading = await people.newToken("nora", ["read:repository"]);
    const publicOnly = await people.newToken("nora", ["public-only", "all"]);
    const own = { owner: "nora", name: "own", git_content: true };
    expect((await api("POST", `${plan}/generate`, own, "")).status).toBe(401);
    expect((await api("POST", `${plan}/generate`, own, reading)).status).toBe(403);
    const secret = { ...own, private: true };
    expect((await api("POST", `${plan}/generate`, secret, publicOnly)).status).toBe(403);
    expect((await api("POST", `${plan}/generate`, own, publicOnly)).status).toBe(201);
  });

  test("a template whose variables stand for too much is refused, and its paths stay as they are", async () => {
    await by("olga", "POST", "/user/repos", { name: "swelling", auto_init: true, template: true });
    const repository = "/repos/olga/swelling";
    const text = "$REPO_DESCRIPTION ".repeat(10_000);
    const long = "$REPO_DESCRIPTION".repeat(10);
    await put(
      { ".gitea/template": "**\n", "a.txt": text, [`${long}.md`]: "$REPO_NAME" },
      repository,
    );
    const description = "x".repeat(2_000);
    const kept = await generate("olga", { name: "swollen", description }, repository);
    expect(kept.status, kept.text).toBe(201);
    expect(await rawOf("olga/swollen", `${long}.md`)).toBe("swollen");
    await put({ "b.txt": text }, repository);
    const refused = await generate("olga", { name: "burst", description }, repository);
    expect(refused.status).toBe(422);
    expect((await by("olga", "GET", "/repos/olga/burst")).status).toBe(404);
  });

  test("generating a repository with hostile rules refuses or ignores them, and leaves no files", async () => {
    const rules = async (text: string) => {
      const name = `hostile${Math.trunc(text.length)}`;
      await by("olga", "POST", "/user/repos", { name, template: true });
      await put(
        { ".gitea/template": text, "a.md": "$".repeat(100_000) + "${".repeat(50_000) },
        `/repos/olga/${name}`,
      );
      return generate("olga", { name: `${name}-made` }, `/repos/olga/${name}`);
    };
    const tooMany = await rules("*.md\n".repeat(51));
    expect(tooMany.status).toBe(422);
    expect((await by("olga", "GET", "/repos/olga/hostile255-made")).status).toBe(404);
    expect((await rules(`${"*a".repeat(100)}\n${"**a".repeat(80)}\n{{{\n**`)).status).toBe(201);
    expect((await rules("**")).status).toBe(201);
  });
});
