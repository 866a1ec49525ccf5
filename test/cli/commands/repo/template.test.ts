import { expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

test("the flags of a creation from a template become options, and contradictions are refused", async () => {
  const line = ["copy", "--from-template", "mira/base", "--with", "content,labels", "--private"];
  expect(await optionsOf("repo create", line)).toEqual({
    name: "copy",
    fromTemplate: "mira/base",
    with: "content,labels",
    private: true,
  });
  const refused = (...words: string[]) => refusalOf("repo create", ["copy", ...words]);
  expect(await refused("--with", "content")).toContain("--with takes --from-template");
  expect(await refused("--from-template", "base")).toContain("OWNER/NAME");
  for (const flag of ["--init", "--as-template"])
    expect(await refused("--from-template", "mira/base", flag)).toContain(
      `--from-template excludes ${flag}`,
    );
});

test("a creation from a template asks for the named parts, for the caller or an organization", async () => {
  await using home = await temporaryHome();
  const made = { id: 8, full_name: "mira/copy", name: "copy", private: true };
  await using daemon = await fakeDaemon({
    "GET /api/v1/user": { body: { id: 1, username: "mira", login: "mira" } },
    "POST /api/v1/repos/mira/base/generate": { status: 201, body: made },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const create = (...words: string[]) =>
    runCli(["repo", "create", "copy", "--from-template", "mira/base", ...words, "--json"], {
      home: home.path,
    });
  const own = await create("--private", "--with", "content, labels,webhooks");
  expect(own).toMatchObject({ code: 0, err: "" });
  expect(own.json()).toEqual(made);
  expect(daemon.requests.at(-1)?.json()).toEqual({
    owner: "mira",
    name: "copy",
    private: true,
    git_content: true,
    labels: true,
    webhooks: true,
  });
  const requests = daemon.requests.length;
  await create("--org", "club", "--default-branch", "trunk");
  expect(daemon.requests).toHaveLength(requests + 1);
  expect(daemon.requests.at(-1)?.json()).toEqual({
    owner: "club",
    name: "copy",
    default_branch: "trunk",
    git_content: true,
  });
  const unknown = await create("--with", "content,wiki");
  expect(unknown.code).toBe(2);
  expect(unknown.error()).toMatchObject({ message: expect.stringContaining('not "wiki"') });
  expect(daemon.requests).toHaveLength(requests + 1);
});

test("a repository begins with the content and labels of a template, and its languages are shown", async () => {
  expect(await optionsOf("repo languages", ["mira/base"])).toEqual({
    repository: { owner: "mira", repo: "base" },
  });
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const people = createForgePeople(() => daemon);
  await people.newUser("mira");
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
  const croft = (...words: readonly string[]) =>
    runCli(["repo", ...words], { home: home.path, env });
  await croft("create", "base", "--as-template", "--init");
  const content = Buffer.from("const a = 1;\n").toString("base64");
  await people.by("mira", "POST", "/repos/mira/base/contents/a.ts", { content });
  await people.by("mira", "POST", "/repos/mira/base/labels", { name: "bug", color: "ff0000" });
  const made = await croft(
    "create",
    "copy",
    "--from-template",
    "mira/base",
    "--with",
    "content,labels",
    "--json",
  );
  expect(made).toMatchObject({ code: 0 });
  expect(made.json()).toMatchObject({ full_name: "mira/copy", empty: false, template: false });
  expect((await people.by("mira", "GET", "/repos/mira/copy/raw/a.ts")).text).toBe("const a = 1;\n");
  expect((await people.by("mira", "GET", "/repos/mira/copy/labels")).json).toMatchObject([
    { name: "bug" },
  ]);
  // A job counts the languages.
  await expect
    .poll(async () => (await croft("languages", "mira/copy")).out, { timeout: 60_000 })
    .toBe("TypeScript\t13\n");
  expect((await croft("languages", "mira/copy", "--json")).json()).toEqual({ TypeScript: 13 });
  const none = await croft("create", "more", "--from-template", "mira/copy", "--json");
  expect(none.error()).toMatchObject({ code: "invalid", message: "this is not a template repo" });
  expect((await croft("languages", "mira/none", "--json")).code).toBe(6);
});
