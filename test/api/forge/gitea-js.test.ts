import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ContentType, giteaApi } from "gitea-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allEndpoints } from "../../../daemon/contract/all.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { readClientDeclarations, watchClient } from "../../support/forge/gitea-js.ts";

// Each method that the client `gitea-js` shares with this forge is called once. The last test compares the list.

const declarations = readClientDeclarations();
const called = new Set<string>();
const differences = new Set<string>();
const observe = (name: string, data: unknown) => {
  called.add(name);
  const type = declarations.methods.find((method) => method.name === name)?.result ?? "any";
  for (const difference of declarations.findDifferences(type, data))
    differences.add(`${name}: ${difference}`);
};
/** Fields that Gitea leaves out too when they have no value. `Size` is `size` on the wire of every version. */
const absent = [
  "Repository.external_tracker",
  "Repository.external_wiki",
  "Repository.internal_tracker",
  "Repository.parent",
  "Repository.permissions",
  "Repository.repo_transfer",
  "DeployKey.repository",
  "PackageFile.Size",
  "PullRequest.additions",
  "PullRequest.changed_files",
  "PullRequest.deletions",
  "ChangedFile.previous_filename",
];
/** Operations whose responses in Gitea, too, differ from the client's declarations. */
const misdeclared = [
  "users.userGetHeatmapData: UserHeatmapData is not an object",
  "topics.topicSearch: TopicResponse[] is not a list",
];

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);

/** The client of a token; answers that are not 2xx are thrown, as the client does. */
const clientOf = (token: string) => watchClient(giteaApi(daemon.url, { token }), observe);
let api: ReturnType<typeof clientOf>;
let nora: ReturnType<typeof clientOf>;

const base64 = (text: string) => Buffer.from(text).toString("base64");
const asText = { format: "text" } as const;
/** The client names no type for the bodies of these requests; Gitea refuses them then, too. */
const asJson = { type: ContentType.Json } as const;
const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
const OTHER_KEY =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

/** A picture of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const username of ["mira", "nora"]) await people.newUser(username);
  await people.api("PATCH", "/admin/users/mira", { admin: true, source_id: 0, login_name: "mira" });
  api = clientOf(people.tokenOf("mira"));
  nora = clientOf(people.tokenOf("nora"));
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** A repository of mira's with a first commit. */
async function newRepository(name: string) {
  await api.user.createCurrentUserRepo({ name, auto_init: true, default_branch: "main" });
  return ["mira", name] as const;
}

/** Checks a method that this server refuses to everyone, as a Gitea without the feature does. */
async function expectRefused(status: number, name: string, call: Promise<unknown>) {
  await expect(call).rejects.toMatchObject({ cause: expect.objectContaining({ status }) });
  called.add(name);
}

describe("gitea-js", () => {
  test("gitea-js reads and creates users, keys, e-mails, tokens and badges", async () => {
    await api.version.getVersion();
    await api.settings.getGeneralApiSettings();
    await api.settings.getGeneralRepositorySettings();
    expect((await api.settings.getGeneralUiSettings()).data.allowed_reactions).toContain("heart");
    expect((await api.user.userGetCurrent()).data).toMatchObject({ login: "mira" });
    await api.settings.getGeneralAttachmentSettings();
    expect((await api.users.userSearch({ q: "nora" })).data.data).toHaveLength(1);
    await expectRefused(
      404,
      "signingKeyGpg.getSigningKey",
      api.signingKeyGpg.getSigningKey(asText),
    );
    await api.users.userGet("nora");
    await api.users.userGetHeatmapData("nora");
    await api.admin.adminCreateUser({
      username: "olga",
      email: "olga@example.org",
      password: "Correct-Horse-7-Battery",
    });
    await api.admin.adminEditUser("olga", {
      source_id: 0,
      login_name: "olga",
      full_name: "Olga O.",
    });
    await api.admin.adminRenameUser("olga", { new_username: "otto" });
    await api.admin.adminSearchUsers({ limit: 50 });
    await api.admin.adminGetAllEmails();
    await api.admin.adminSearchEmails({ q: "nora" });
    const key = await api.admin.adminCreatePublicKey("otto", { title: "laptop", key: OTHER_KEY });
    await api.admin.adminDeleteUserPublicKey("otto", key.data.id ?? 0);
    await people.api("POST", "/admin/badges", { slug: "helper", description: "Helps" });
    await api.admin.adminAddUserBadges("otto", { badge_slugs: ["helper"] });
    expect((await api.admin.adminListUserBadges("otto")).data).toHaveLength(1);
    await api.admin.adminDeleteUserBadges("otto", { badge_slugs: ["helper"] });
    await api.admin.adminDeleteUser("otto");

    const own = await api.user.userCurrentPostKey({ title: "desk", key: KEY, read_only: true });
    await api.user.userCurrentGetKey(own.data.id ?? 0);
    expect((await api.user.userCurrentListKeys()).data).toHaveLength(1);
    expect((await api.users.userListKeys("mira")).data).toHaveLength(1);
    await api.user.userCurrentDeleteKey(own.data.id ?? 0);
    expect((await api.user.userCurrentListGpgKeys()).data).toEqual([]);
    expect((await api.users.userListGpgKeys("nora")).data).toEqual([]);
    const application = { name: "tool", redirect_uris: ["http://127.0.0.1"] };
    const { data: made } = await api.user.userCreateOAuth2Application(application, asJson);
    expect((await api.user.userGetOauth2Application()).data).toHaveLength(1);
    const id = made.id ?? 0;
    expect((await api.user.userGetOAuth2Application(id)).data.client_id).toBe(made.client_id);
    await api.user.userUpdateOAuth2Application(id, { ...application, name: "renamed" }, asJson);
    await api.user.userDeleteOAuth2Application(id);
    await api.user.userAddEmail({ emails: ["mira2@example.org"] });
    expect((await api.user.userListEmails()).data).toHaveLength(2);
    await api.user.userDeleteEmail({ emails: ["mira2@example.org"] });
    await api.user.userUpdateAvatar({ image: PIXEL }, asJson);
    await api.user.userDeleteAvatar();
    await api.user.updateUserSettings({ full_name: "Mira M." });
    expect((await api.user.getUserSettings()).data).toMatchObject({ full_name: "Mira M." });
    await api.user.userCurrentPutFollow("nora");
    await api.user.userCurrentCheckFollowing("nora");
    await api.users.userCheckFollowing("mira", "nora");
    for (const list of [
      api.user.userCurrentListFollowing(),
      api.users.userListFollowing("mira"),
      nora.user.userCurrentListFollowers(),
      api.users.userListFollowers("nora"),
    ])
      expect((await list).data).toHaveLength(1);
    await api.user.userCurrentDeleteFollow("nora");
    const basic = { headers: { Authorization: `Basic ${base64("mira:user-password")}` } };
    const withPassword = watchClient(
      giteaApi(daemon.url, {
        customFetch: (input, init) =>
          fetch(input, { ...init, headers: { ...init?.headers, ...basic.headers } }),
      }),
      observe,
    );
    await withPassword.users.userCreateToken("mira", { name: "third", scopes: ["read:user"] });
    expect((await withPassword.users.userGetTokens("mira")).data.length).toBeGreaterThan(1);
    await withPassword.users.userDeleteAccessToken("mira", "third");
  });

  test("gitea-js administers cron tasks, hooks and unadopted repositories", async () => {
    await api.admin.adminCronList();
    await api.admin.adminCronRun("cleanup_hook_task_table");
    const config = { url: "http://127.0.0.1:9/", content_type: "json", is_system_webhook: "true" };
    const hook = await api.admin.adminCreateHook({ type: "gitea", config, events: ["push"] });
    const id = hook.data.id ?? 0;
    await api.admin.adminGetHook(id);
    await api.admin.adminEditHook(id, { active: false });
    expect((await api.admin.adminListHooks()).data).toHaveLength(1);
    await api.admin.adminDeleteHook(id);

    await git.run("init", "-q", "-b", "main", "seed");
    await git.in("seed", "commit", "-q", "--allow-empty", "-m", "one");
    await mkdir(join(daemon.home, "repositories", "mira"), { recursive: true });
    for (const name of ["found", "lost"])
      await git.run(
        "clone",
        "-q",
        "--bare",
        "seed",
        join(daemon.home, "repositories", "mira", `${name}.git`),
      );
    expect((await api.admin.adminUnadoptedList()).data).toEqual(["mira/found", "mira/lost"]);
    await api.admin.adminAdoptRepository("mira", "found");
    await api.admin.adminDeleteUnadoptedRepository("mira", "lost");
    expect((await api.admin.adminUnadoptedList()).data).toEqual([]);
  });

  test("gitea-js reads templates and renders texts", async () => {
    const [ignore = ""] = (await api.gitignore.listGitignoresTemplates()).data;
    await api.gitignore.getGitignoreTemplateInfo(ignore);
    const [labels = ""] = (await api.label.listLabelTemplates()).data;
    expect((await api.label.getLabelTemplateInfo(labels)).data.length).toBeGreaterThan(0);
    const [license] = (await api.licenses.listLicenseTemplates()).data;
    await api.licenses.getLicenseTemplateInfo(license?.key ?? "");
    const html = await api.markdown.renderMarkdown({ Text: "*a*", Mode: "gfm" }, asText);
    expect(html.data).toContain("<em>a</em>");
    expect((await api.markdown.renderMarkdownRaw("*a*", asText)).data).toContain("<em>a</em>");
    const markup = { Text: "*a*", Mode: "file", FilePath: "a.md" };
    expect((await api.markup.renderMarkup(markup, asText)).data).toContain("<em>a</em>");
  });

  test("gitea-js runs organizations, teams, members and their labels", async () => {
    await api.orgs.orgCreate({ username: "crew", full_name: "The crew" });
    await api.admin.adminCreateOrg("nora", { username: "noras" });
    await api.orgs.orgGet("crew");
    await api.orgs.orgEdit("crew", { description: "Sails", location: "Sea" });
    for (const list of [
      api.orgs.orgGetAll(),
      api.admin.adminGetAllOrgs(),
      api.user.orgListCurrentUserOrgs(),
      api.users.orgListUserOrgs("mira"),
    ])
      expect((await list).data.map(({ name }) => name)).toContain("crew");
    await api.users.orgGetUserPermissions("mira", "crew");
    await api.orgs.orgUpdateAvatar("crew", { image: PIXEL }, asJson);
    await api.orgs.orgDeleteAvatar("crew");
    const team = await api.orgs.orgCreateTeam("crew", {
      name: "deck",
      permission: "write",
      units: ["repo.code", "repo.issues"],
    });
    const id = team.data.id ?? 0;
    await api.teams.orgGetTeam(id);
    await api.teams.orgEditTeam(id, { name: "deck", description: "On deck" });
    expect((await api.orgs.orgListTeams("crew")).data).toHaveLength(2);
    await api.user.userListTeams();
    await api.teams.orgAddTeamMember(id, "nora");
    await api.teams.orgListTeamMember(id, "nora");
    expect((await api.teams.orgListTeamMembers(id)).data).toHaveLength(1);
    await api.orgs.createOrgRepo("crew", { name: "ship" });
    await api.org.createOrgRepoDeprecated("crew", { name: "boat" });
    await api.repos.repoDelete("crew", "boat");
    await api.teams.orgAddTeamRepository(id, "crew", "ship");
    await api.teams.orgListTeamRepo(id, "crew", "ship");
    expect((await api.teams.orgListTeamRepos(id)).data).toHaveLength(1);
    expect((await api.teams.orgListTeamActivityFeeds(id)).data).not.toHaveLength(0);
    await api.teams.orgRemoveTeamRepository(id, "crew", "ship");
    await api.repos.repoAddTeam("crew", "ship", "deck");
    await api.repos.repoCheckTeam("crew", "ship", "deck");
    expect((await api.repos.repoListTeams("crew", "ship")).data).toHaveLength(2);
    await api.repos.repoDeleteTeam("crew", "ship", "deck");
    expect((await api.orgs.orgListRepos("crew")).data).toHaveLength(1);
    expect((await api.orgs.orgListActivityFeeds("crew")).data).not.toHaveLength(0);

    expect((await api.orgs.orgListMembers("crew")).data).toHaveLength(2);
    await api.orgs.orgIsMember("crew", "nora");
    await nora.orgs.orgPublicizeMember("crew", "nora");
    await api.orgs.orgIsPublicMember("crew", "nora");
    expect((await api.orgs.orgListPublicMembers("crew")).data).toHaveLength(1);
    await nora.orgs.orgConcealMember("crew", "nora");
    await api.teams.orgRemoveTeamMember(id, "nora");
    await api.teams.orgAddTeamMember(id, "nora");
    await api.orgs.orgDeleteMember("crew", "nora");
    await api.teams.orgDeleteTeam(id);

    const label = await api.orgs.orgCreateLabel("crew", { name: "bug", color: "#ff0000" });
    await api.orgs.orgGetLabel("crew", label.data.id ?? 0);
    await api.orgs.orgEditLabel("crew", label.data.id ?? 0, { description: "Wrong" });
    expect((await api.orgs.orgListLabels("crew")).data).toHaveLength(1);
    await api.orgs.orgDeleteLabel("crew", label.data.id ?? 0);
    await api.orgs.orgDelete("noras");
  });

  test("gitea-js stores secrets and variables of users, organizations and repositories", async () => {
    const repo = await newRepository("actions");
    await api.orgs.orgCreate({ username: "secretive" });
    const secret = { data: "hidden" };
    await api.user.updateUserSecret("TOKEN", secret);
    await api.user.deleteUserSecret("TOKEN");
    await api.orgs.updateOrgSecret("secretive", "TOKEN", secret);
    expect((await api.orgs.orgListActionsSecrets("secretive")).data).toHaveLength(1);
    await api.orgs.deleteOrgSecret("secretive", "TOKEN");
    await api.repos.updateRepoSecret(...repo, "TOKEN", secret);
    expect((await api.repos.repoListActionsSecrets(...repo)).data).toHaveLength(1);
    expect((await api.repos.listActionTasks(...repo)).data).toMatchObject({ total_count: 0 });
    await api.repos.deleteRepoSecret(...repo, "TOKEN");

    const value = { value: "one" };
    await api.user.createUserVariable("PLACE", value);
    await api.user.updateUserVariable("PLACE", { value: "two" });
    expect((await api.user.getUserVariablesList()).data).toHaveLength(1);
    expect((await api.user.getUserVariable("PLACE")).data).toMatchObject({ data: "two" });
    await api.user.deleteUserVariable("PLACE");
    await api.orgs.createOrgVariable("secretive", "PLACE", value);
    await api.orgs.updateOrgVariable("secretive", "PLACE", { value: "two" });
    expect((await api.orgs.getOrgVariablesList("secretive")).data).toHaveLength(1);
    await api.orgs.getOrgVariable("secretive", "PLACE");
    await api.orgs.deleteOrgVariable("secretive", "PLACE");
    await api.repos.createRepoVariable(...repo, "PLACE", value);
    await api.repos.updateRepoVariable(...repo, "PLACE", { value: "two" });
    expect((await api.repos.getRepoVariablesList(...repo)).data).toHaveLength(1);
    await api.repos.getRepoVariable(...repo, "PLACE");
    await api.repos.deleteRepoVariable(...repo, "PLACE");
  });

  test("gitea-js reads and deletes packages", async () => {
    const put = await daemon.request("/api/packages/mira/generic/tool/1.0/tool.txt", {
      method: "PUT",
      token: people.tokenOf("mira"),
      body: "a tool",
    });
    expect(put.status).toBe(201);
    const tool = ["mira", "generic", "tool", "1.0"] as const;
    expect((await api.packages.listPackages("mira")).data.length).toBeGreaterThan(0);
    expect((await api.packages.getPackage(...tool)).data).toMatchObject({ name: "tool" });
    expect((await api.packages.listPackageFiles(...tool)).data).toHaveLength(1);
    await api.packages.deletePackage(...tool);
  });

  test("gitea-js creates, changes, shares, transfers and deletes repositories", async () => {
    const repo = await newRepository("plain");
    await api.admin.adminCreateRepo("nora", { name: "given" });
    const { id: repositoryId = 0 } = (await api.repos.repoGet(...repo)).data;
    expect((await api.repositories.repoGetById(repositoryId)).data.full_name).toBe("mira/plain");
    await api.repos.repoEdit(...repo, { private: true });
    await expect(nora.repositories.repoGetById(repositoryId)).rejects.toThrow("404");
    await api.repos.repoEdit(...repo, { private: false });
    await api.repos.repoEdit(...repo, { description: "Plain", has_wiki: false });
    await api.repos.repoUpdateTopics(...repo, { topics: ["forge"] });
    await api.repos.repoAddTopic(...repo, "git");
    expect((await api.repos.repoListTopics(...repo)).data.topics).toHaveLength(2);
    expect((await api.topics.topicSearch({ q: "forge" })).data).toBeDefined();
    await api.repos.repoDeleteTopic(...repo, "git");
    await api.repos.repoEdit(...repo, { template: true });
    await api.repos.generateRepo(...repo, { owner: "mira", name: "generated", git_content: true });
    await api.repos.repoDelete("mira", "generated");
    await api.repos.createFork(...repo, { name: "forked" });
    const synced = await api.repos.repoMergeUpstream("mira", "forked", { branch: "main" });
    expect(synced.data.merge_type).toBe("up-to-date");
    expect((await api.repos.listForks(...repo)).data).toMatchObject([{ full_name: "mira/forked" }]);
    await api.repos.repoDelete("mira", "forked");
    expect((await api.repos.repoSearch({ q: "plain" })).data.data).toHaveLength(1);
    await api.user.userCurrentListRepos();
    await api.users.userListRepos("mira");
    const performed = { "only-performed-by": true };
    const feed = await api.users.userListActivityFeeds("mira", performed);
    expect(feed.data.map(({ op_type: kind }) => kind)).toContain("create_repo");
    await api.repos.repoAddCollaborator(...repo, "nora", { permission: "write" });
    await api.repos.repoCheckCollaborator(...repo, "nora");
    expect((await api.repos.repoListCollaborators(...repo)).data).toHaveLength(1);
    await api.repos.repoGetRepoPermissions(...repo, "nora");
    expect((await api.repos.repoGetAssignees(...repo)).data).toHaveLength(2);
    await api.repos.repoDeleteCollaborator(...repo, "nora");
    await api.repos.userCurrentPutSubscription(...repo);
    await api.repos.userCurrentCheckSubscription(...repo);
    await api.user.userCurrentPutStar(...repo);
    await api.user.userCurrentCheckStarring(...repo);
    for (const list of [
      api.repos.repoListStargazers(...repo),
      api.repos.repoListSubscribers(...repo),
      api.user.userCurrentListStarred(),
      api.users.userListStarred("mira"),
    ])
      expect((await list).data).toHaveLength(1);
    expect((await api.user.userCurrentListSubscriptions()).data.length).toBeGreaterThan(0);
    expect((await api.users.userListSubscriptions("mira")).data.length).toBeGreaterThan(0);
    await api.user.userCurrentDeleteStar(...repo);
    await api.repos.userCurrentDeleteSubscription(...repo);

    await api.repos.repoGetLanguages(...repo);
    expect((await api.repos.repoListActivityFeeds(...repo)).data).not.toHaveLength(0);
    const key = await api.repos.repoCreateKey(...repo, { title: "deploy", key: KEY });
    await api.repos.repoGetKey(...repo, key.data.id ?? 0);
    expect((await api.repos.repoListKeys(...repo)).data).toHaveLength(1);
    await api.repos.repoDeleteKey(...repo, key.data.id ?? 0);

    const config = { url: "http://127.0.0.1:9/", content_type: "json" };
    const hook = await api.repos.repoCreateHook(...repo, { type: "gitea", config });
    const id = hook.data.id ?? 0;
    await api.repos.repoGetHook(...repo, id);
    await api.repos.repoEditHook(...repo, id, { active: false });
    expect((await api.repos.repoListHooks(...repo)).data).toHaveLength(1);
    await api.repos.repoTestHook(...repo, id);
    await api.repos.repoDeleteHook(...repo, id);

    await api.orgs.orgCreate({ username: "bellfounders" });
    const ofOrg = await api.orgs.orgCreateHook("bellfounders", { type: "gitea", config });
    const orgHook = ofOrg.data.id ?? 0;
    await api.orgs.orgGetHook("bellfounders", orgHook);
    await api.orgs.orgEditHook("bellfounders", orgHook, { active: false });
    expect((await api.orgs.orgListHooks("bellfounders")).data).toHaveLength(1);
    await api.orgs.orgDeleteHook("bellfounders", orgHook);
    await api.orgs.orgDelete("bellfounders");
    const ofUser = await api.user.userCreateHook({ type: "gitea", config });
    const ownHook = ofUser.data.id ?? 0;
    await api.user.userGetHook(ownHook);
    await api.user.userEditHook(ownHook, { active: false });
    expect((await api.user.userListHooks()).data).toHaveLength(1);
    await api.user.userDeleteHook(ownHook);

    await nora.repos.repoTransfer("nora", "given", { new_owner: "mira" });
    await api.repos.rejectRepoTransfer("nora", "given");
    await nora.repos.repoTransfer("nora", "given", { new_owner: "mira" });
    await api.repos.acceptRepoTransfer("nora", "given");
    await api.repos.repoDelete("mira", "given");
  });

  test("gitea-js reads and writes branches, tags, commits, files and statuses", async () => {
    const repo = await newRepository("code");
    await api.repos.repoCreateFile(...repo, "docs/a.txt", {
      content: base64("one\n"),
      message: "add a",
    });
    const file = await api.repos.repoGetContents(...repo, "docs/a.txt");
    await api.repos.repoUpdateFile(...repo, "docs/a.txt", {
      content: base64("two\n"),
      sha: file.data.sha ?? "",
    });
    await api.repos.repoChangeFiles(...repo, {
      message: "two at once",
      files: [
        { operation: "create", path: "b.txt", content: base64("b") },
        { operation: "create", path: "c.txt", content: base64("c") },
      ],
    });
    const list = await api.repos.repoGetContentsList(...repo);
    const b = list.data.find(({ name }) => name === "b.txt");
    await api.repos.repoDeleteFile(...repo, "b.txt", { sha: b?.sha ?? "" });
    expect((await api.repos.repoGetRawFile(...repo, "docs/a.txt", {}, asText)).data).toBe("two\n");
    expect((await api.repos.repoGetRawFileOrLfs(...repo, "docs/a.txt", {}, asText)).data).toBe(
      "two\n",
    );
    await api.repos.repoGetArchive(...repo, "main.zip", { format: "blob" });

    await api.repos.repoCreateBranch(...repo, { new_branch_name: "side" });
    await api.repos.repoGetBranch(...repo, "side");
    await api.repos.repoUpdateBranch(...repo, "side", { name: "aside" });
    expect((await api.repos.repoListBranches(...repo)).data).toHaveLength(2);
    await api.repos.repoCreateBranchProtection(...repo, { rule_name: "main", enable_push: true });
    const { data: main } = await api.repos.repoGetBranchProtection(...repo, "main");
    const ids = [(main as { readonly id: number }).id];
    await api.repos.repoUpdateBranchProtectionPriories(...repo, { ids }, asJson);
    await api.repos.repoEditBranchProtection(...repo, "main", { enable_push: false });
    expect((await api.repos.repoListBranchProtection(...repo)).data).toHaveLength(1);
    await api.repos.repoDeleteBranchProtection(...repo, "main");
    const rule = { name_pattern: "kept-*", whitelist_usernames: ["mira"] };
    const { id = 0 } = (await api.repos.repoCreateTagProtection(...repo, rule)).data;
    await api.repos.repoEditTagProtection(...repo, id, { name_pattern: "kept" });
    expect((await api.repos.repoGetTagProtection(...repo, id)).data.name_pattern).toBe("kept");
    expect((await api.repos.repoListTagProtection(...repo)).data).toHaveLength(1);
    await api.repos.repoDeleteTagProtection(...repo, id);

    const commits = await api.repos.repoGetAllCommits(...repo);
    expect(commits.data).toHaveLength(5);
    const [sha = "", base = ""] = commits.data.map((commit) => commit.sha ?? "");
    await api.repos.repoGetSingleCommit(...repo, sha);
    await api.repos.repoCompareDiff(...repo, `${base}...main`);
    const tree = await api.repos.getTree(...repo, sha, { recursive: true });
    const blob = tree.data.tree?.find(({ path }) => path === "docs/a.txt");
    await api.repos.getBlob(...repo, blob?.sha ?? "");
    await api.repos.repoCreateTag(...repo, { tag_name: "v1", message: "First", target: "main" });
    const tag = await api.repos.repoGetTag(...repo, "v1");
    await api.repos.getAnnotatedTag(...repo, tag.data.id ?? "");
    expect((await api.repos.repoListTags(...repo)).data).toHaveLength(1);
    expect((await api.repos.repoListAllGitRefs(...repo)).data).toHaveLength(3);
    await api.repos.repoListGitRefs(...repo, "heads");
    await api.repos.repoDeleteTag(...repo, "v1");
    await api.repos.repoDeleteBranch(...repo, "aside");

    await api.repos.repoCreateStatus(...repo, sha, { state: "success", context: "ci" });
    expect((await api.repos.repoListStatuses(...repo, sha)).data).toHaveLength(1);
    await api.repos.repoListStatusesByRef(...repo, "main");
    await api.repos.repoGetCombinedStatusByRef(...repo, "main");
  });

  test("gitea-js reads issue templates, editor settings and notes", async () => {
    const repo = await newRepository("forms");
    await api.repos.repoCreateFile(...repo, ".editorconfig", {
      content: base64("[*]\ncharset = utf-8\n"),
    });
    await api.repos.repoGetEditorConfig(...repo, "README.md", {}, { format: "json" });
    await api.repos.repoCreateFile(...repo, ".gitea/ISSUE_TEMPLATE/bug.yaml", {
      content: base64(
        "name: Bug\nabout: Wrong\nlabels: [bug]\nassignees: [mira]\nbody: [{ type: input, attributes: { label: What }, validations: { required: true } }]\n",
      ),
    });
    expect((await api.repos.repoGetIssueTemplates(...repo)).data).toHaveLength(1);
    await api.repos.repoGetIssueConfig(...repo);
    expect((await api.repos.repoValidateIssueConfig(...repo)).data.valid).toBe(true);
    expect((await api.repos.repoGetReviewers(...repo)).data).toHaveLength(1);
    const noNote = api.repos.repoGetNote(...repo, "main");
    await expectRefused(404, "repos.repoGetNote", noNote);
    const noKey = api.repos.repoSigningKey(...repo, asText);
    await expectRefused(404, "repos.repoSigningKey", noKey);
    // The daemon does not import from itself; mirrors.test.ts has two of them.
    const migration = { clone_addr: `${daemon.url}/mira/a.git`, repo_name: "imported" };
    await expectRefused(422, "repos.repoMigrate", api.repos.repoMigrate(migration));
    await expectRefused(400, "repos.repoMirrorSync", api.repos.repoMirrorSync(...repo));
    const target = { remote_address: `${daemon.url}/mira/a.git`, interval: "0" };
    const mirror = (await api.repos.repoAddPushMirror(...repo, target)).data.remote_name ?? "";
    expect((await api.repos.repoListPushMirrors(...repo)).data).toHaveLength(1);
    await api.repos.repoGetPushMirrorByRemoteName(...repo, mirror);
    await api.repos.repoPushMirrorSync(...repo, asText);
    await api.repos.repoDeletePushMirror(...repo, mirror);
  });

  test("gitea-js tracks issues with labels, milestones, comments, reactions and pins", async () => {
    const repo = await newRepository("tracker");
    const bug = await api.repos.issueCreateLabel(...repo, { name: "bug", color: "#ff0000" });
    const bugId = bug.data.id ?? 0;
    await api.repos.issueGetLabel(...repo, bugId);
    await api.repos.issueEditLabel(...repo, bugId, { description: "Wrong" });
    expect((await api.repos.issueListLabels(...repo)).data).toHaveLength(1);
    const milestone = await api.repos.issueCreateMilestone(...repo, {
      title: "1.0",
      due_on: "2030-01-01T00:00:00Z",
    });
    const milestoneId = String(milestone.data.id);
    await api.repos.issueGetMilestone(...repo, milestoneId);
    await api.repos.issueEditMilestone(...repo, milestoneId, { description: "First" });
    expect((await api.repos.issueGetMilestonesList(...repo)).data).toHaveLength(1);

    const made = await api.repos.issueCreateIssue(...repo, {
      title: "It leaks",
      body: "@nora: see",
      labels: [bugId],
      milestone: milestone.data.id ?? 0,
      assignees: ["mira"],
      due_date: "2030-01-01T00:00:00Z",
    });
    // The command line client tea sends an empty name for an issue without assignees.
    const unassigned = await api.repos.issueCreateIssue(...repo, { title: "x", assignees: [""] });
    expect(unassigned.data.assignees).toBeNull();
    await api.repos.issueDelete(...repo, unassigned.data.number ?? 0);
    const index = made.data.number ?? 0;
    const issue = [...repo, index] as const;
    await api.repos.issueGetIssue(...issue);
    await api.repos.issueEditIssue(...issue, { title: "It leaks oil" });
    expect((await api.repos.issueListIssues(...repo)).data).toHaveLength(1);
    expect((await api.repos.issueSearchIssues({ q: "oil" })).data).toHaveLength(1);
    await api.repos.issueEditIssueDeadline(...issue, { due_date: "2031-01-01T00:00:00Z" });
    expect((await api.repos.issueGetLabels(...issue)).data).toHaveLength(1);
    await api.repos.issueRemoveLabel(...issue, bugId);
    await api.repos.issueAddLabel(...issue, { labels: [bugId] });
    await api.repos.issueReplaceLabels(...issue, { labels: ["bug"] });
    await api.repos.issueClearLabels(...issue);

    const comment = await api.repos.issueCreateComment(...issue, { body: "Still" });
    const file = () => ({ attachment: new File(["a note"], "note.txt", { type: "text/plain" }) });
    const ofIssue = (await api.repos.issueCreateIssueAttachment(...issue, file())).data.id ?? 0;
    await api.repos.issueGetIssueAttachment(...issue, ofIssue);
    await api.repos.issueEditIssueAttachment(...issue, ofIssue, { name: "other.txt" });
    expect((await api.repos.issueListIssueAttachments(...issue)).data).toMatchObject([
      { name: "other.txt", size: 6 },
    ]);
    await api.repos.issueDeleteIssueAttachment(...issue, ofIssue);
    const onComment = [...repo, comment.data.id ?? 0] as const;
    const ofComment = await api.repos.issueCreateIssueCommentAttachment(...onComment, file());
    const commentFile = ofComment.data.id ?? 0;
    await api.repos.issueGetIssueCommentAttachment(...onComment, commentFile);
    await api.repos.issueEditIssueCommentAttachment(...onComment, commentFile, { name: "b.txt" });
    expect((await api.repos.issueListIssueCommentAttachments(...onComment)).data).toHaveLength(1);
    await api.repos.issueDeleteIssueCommentAttachment(...onComment, commentFile);
    const blocker = await api.repos.issueCreateIssue(...repo, { title: "First fix this" });
    const other = { owner: repo[0], repo: repo[1], index: blocker.data.number ?? 0 };
    const named = [...repo, String(index)] as const;
    await api.repos.issueCreateIssueDependencies(...named, other, asJson);
    expect((await api.repos.issueListIssueDependencies(...named)).data).toHaveLength(1);
    await api.repos.issueRemoveIssueDependencies(...named, other, asJson);
    await api.repos.issueCreateIssueBlocking(...named, other, asJson);
    expect((await api.repos.issueListBlocks(...named)).data).toHaveLength(1);
    await api.repos.issueRemoveIssueBlocking(...named, other, asJson);
    await api.repos.issueStartStopWatch(...issue);
    expect((await api.user.userGetStopWatches()).data).toHaveLength(1);
    await api.repos.issueStopStopWatch(...issue);
    await api.repos.issueStartStopWatch(...issue);
    await api.repos.issueDeleteStopWatch(...issue);
    const time = await api.repos.issueAddTime(...issue, { time: 60 });
    expect((await api.repos.issueTrackedTimes(...issue)).data).toHaveLength(2);
    await api.repos.repoTrackedTimes(...repo);
    await api.repos.userTrackedTimes(...repo, "mira");
    await api.user.userCurrentTrackedTimes();
    await api.repos.issueDeleteTime(...issue, time.data.id ?? 0);
    await api.repos.issueAddTime(...issue, { time: 60 });
    await api.repos.issueResetTime(...issue);
    await api.repos.issueDelete(...repo, other.index);
    const commentId = comment.data.id ?? 0;
    await api.repos.issueEditCommentDeprecated(...issue, commentId, { body: "Still so" });
    const brief = await api.repos.issueCreateComment(...issue, { body: "Oh" });
    await api.repos.issueDeleteCommentDeprecated(...issue, brief.data.id ?? 0);
    await api.repos.issueGetComment(...repo, commentId);
    await api.repos.issueEditComment(...repo, commentId, { body: "Still, @nora" });
    expect((await api.repos.issueGetComments(...issue)).data).toHaveLength(1);
    expect((await api.repos.issueGetRepoComments(...repo)).data).toHaveLength(1);
    await api.repos.issuePostCommentReaction(...repo, commentId, { content: "eyes" });
    expect((await api.repos.issueGetCommentReactions(...repo, commentId)).data).toHaveLength(1);
    await api.repos.issueDeleteCommentReaction(...repo, commentId, { content: "eyes" });
    await api.repos.issuePostIssueReaction(...issue, { content: "heart" });
    expect((await api.repos.issueGetIssueReactions(...issue)).data).toHaveLength(1);
    await api.repos.issueDeleteIssueReaction(...issue, { content: "heart" });
    await api.repos.issueAddSubscription(...issue, "nora");
    await nora.repos.issueCheckSubscription(...issue);
    expect((await api.repos.issueSubscriptions(...issue)).data.length).toBeGreaterThan(0);
    await api.repos.issueDeleteSubscription(...issue, "nora");
    expect((await api.repos.issueGetCommentsAndTimeline(...issue)).data.length).toBeGreaterThan(3);

    await api.repos.pinIssue(...issue);
    await api.repos.moveIssuePin(...issue, 1);
    expect((await api.repos.repoListPinnedIssues(...repo)).data).toHaveLength(1);
    await api.repos.repoNewPinAllowed(...repo);
    await api.repos.unpinIssue(...issue);
    await api.repos.issueDeleteComment(...repo, commentId);
    await api.repos.issueDeleteMilestone(...repo, milestoneId);
    await api.repos.issueDeleteLabel(...repo, bugId);
    await api.repos.issueDelete(...issue);
  });

  test("gitea-js opens, finds and edits pull requests", async () => {
    const repo = await newRepository("pulled");
    await api.repos.repoCreateFile(...repo, "a.txt", { content: base64("a"), new_branch: "side" });
    const made = await api.repos.repoCreatePullRequest(...repo, {
      title: "Add a",
      head: "side",
      base: "main",
    });
    const pull = [...repo, made.data.number ?? 0] as const;
    expect((await api.repos.repoGetPullRequest(...pull)).data.title).toBe("Add a");
    await api.repos.repoEditPullRequest(...pull, { title: "Add b" });
    expect((await api.repos.repoListPullRequests(...repo)).data).toHaveLength(1);
    await api.repos.repoGetPullRequestByBaseHead(...repo, "main", "side");
    await api.repos.pinIssue(...pull);
    expect((await api.repos.repoListPinnedPullRequests(...repo)).data).toHaveLength(1);
    await api.repos.repoUpdatePullRequest(...pull);
    await api.repos.repoAddCollaborator(...repo, "nora", { permission: "write" });
    await api.repos.repoCreatePullReviewRequests(...pull, { reviewers: ["nora"] }, asJson);
    await api.repos.repoDeletePullReviewRequests(...pull, { reviewers: ["nora"] }, asJson);
    const review = await nora.repos.repoCreatePullReview(
      ...pull,
      {
        body: "See",
        comments: [{ path: "a.txt", body: "Here", new_position: 1 }],
      },
      asJson,
    );
    const reviewed = [...pull, review.data.id ?? 0] as const;
    await nora.repos.repoSubmitPullReview(...reviewed, { event: "APPROVED", body: "Good" }, asJson);
    expect((await api.repos.repoListPullReviews(...pull)).data).toHaveLength(1);
    await api.repos.repoGetPullReview(...reviewed);
    expect((await api.repos.repoGetPullReviewComments(...reviewed)).data).toHaveLength(1);
    await api.repos.repoDismissPullReview(...reviewed, { message: "Old" }, asJson);
    await api.repos.repoUnDismissPullReview(...reviewed);
    await nora.repos.repoDeletePullReview(...reviewed);
    expect((await api.repos.repoGetPullRequestCommits(...pull)).data).toHaveLength(1);
    expect((await api.repos.repoGetPullRequestFiles(...pull)).data).toHaveLength(1);
    const sha = made.data.head?.sha ?? "";
    await expectRefused(
      404,
      "repos.repoGetCommitPullRequest",
      api.repos.repoGetCommitPullRequest(...repo, sha),
    );
    const isMerged = () => api.repos.repoPullRequestIsMerged(...pull);
    await expectRefused(404, "repos.repoPullRequestIsMerged", isMerged());
    await expect
      .poll(async () => (await api.repos.repoGetPullRequest(...pull)).data.mergeable)
      .toBe(true);
    const cancel = api.repos.repoCancelScheduledAutoMerge(...pull);
    await expectRefused(404, "repos.repoCancelScheduledAutoMerge", cancel);
    await api.repos.repoMergePullRequest(...pull, { Do: "squash", MergeTitleField: "Add c" });
    await isMerged();
  });

  test("gitea-js reads and writes releases with files", async () => {
    const repo = await newRepository("released");
    const made = await api.repos.repoCreateRelease(...repo, { tag_name: "v1", name: "First" });
    const release = [...repo, made.data.id ?? 0] as const;
    expect((await api.repos.repoListReleases(...repo)).data).toHaveLength(1);
    expect((await api.repos.repoGetLatestRelease(...repo)).data).toMatchObject({ name: "First" });
    await api.repos.repoGetRelease(...release);
    await api.repos.repoGetReleaseByTag(...repo, "v1");
    await api.repos.repoEditRelease(...release, { body: "Notes" });
    const attachment = new File(["text"], "a.txt");
    const file = await api.repos.repoCreateReleaseAttachment(...release, { attachment });
    const asset = [...release, file.data.id ?? 0] as const;
    expect((await api.repos.repoListReleaseAttachments(...release)).data).toHaveLength(1);
    await api.repos.repoGetReleaseAttachment(...asset);
    await api.repos.repoEditReleaseAttachment(...asset, { name: "b.txt" });
    await api.repos.repoDeleteReleaseAttachment(...asset);
    await api.repos.repoDeleteRelease(...release);
    await api.repos.repoCreateRelease(...repo, { tag_name: "v2" });
    await api.repos.repoDeleteReleaseByTag(...repo, "v2");
  });

  test("gitea-js blocks users, by a user and by an organization", async () => {
    await people.newUser("rude");
    await api.user.userBlockUser("rude");
    await api.user.userCheckUserBlock("rude");
    expect((await api.user.userListBlocks()).data).toHaveLength(1);
    await api.user.userUnblockUser("rude");
    await api.orgs.orgCreate({ username: "fort" });
    await api.orgs.organizationBlockUser("fort", "rude");
    await api.orgs.organizationCheckUserBlock("fort", "rude");
    expect((await api.orgs.organizationListBlocks("fort")).data).toHaveLength(1);
    await api.orgs.organizationUnblockUser("fort", "rude");
  });

  test("gitea-js applies a patch and reads the licenses of a repository", async () => {
    const repo = await newRepository("patched");
    const patch = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n";
    const applied = await api.repos.repoApplyDiffPatch(...repo, { content: patch } as never);
    expect(applied.data.commit?.message).toBe("apply-patch\n");
    expect((await api.repos.repoGetRawFile(...repo, "new.txt")).status).toBe(200);
    expect((await api.repos.repoGetLicenses(...repo)).data).toEqual([]);
    await api.repos.repoUpdateAvatar(...repo, { image: PIXEL }, asJson);
    expect((await api.repos.repoGet(...repo)).data.avatar_url).toContain("/avatars/");
    await api.repos.repoDeleteAvatar(...repo);
  });

  test("gitea-js reads and writes pages of a wiki", async () => {
    const repo = await newRepository("told");
    const page = { title: "First page", content_base64: base64("# First"), message: "Begin" };
    const made = await api.repos.repoCreateWikiPage(...repo, page);
    const name = made.data.sub_url ?? "";
    expect((await api.repos.repoGetWikiPages(...repo)).data).toHaveLength(1);
    expect((await api.repos.repoGetWikiPage(...repo, name)).data.content_base64).toBe(
      page.content_base64,
    );
    await api.repos.repoEditWikiPage(...repo, name, { content_base64: base64("# Second") });
    expect((await api.repos.repoGetWikiPageRevisions(...repo, name)).data.count).toBe(2);
    await api.repos.repoDeleteWikiPage(...repo, name);
  });

  test("gitea-js lists and reads notifications", async () => {
    const repo = await newRepository("noisy");
    await people.by("nora", "PUT", "/notifications");
    await api.repos.issueCreateIssue(...repo, { title: "Hear this", body: "@nora" });
    await expect.poll(async () => (await nora.notifications.notifyNewAvailable()).data.new).toBe(1);
    const [thread] = (await nora.notifications.notifyGetList()).data;
    await nora.notifications.notifyGetThread(String(thread?.id));
    expect((await nora.repos.notifyGetRepoList(...repo)).data).toHaveLength(1);
    await nora.notifications.notifyReadThread(String(thread?.id), { "to-status": "unread" });
    await nora.repos.notifyReadRepoList(...repo);
    await nora.notifications.notifyReadThread(String(thread?.id), { "to-status": "unread" });
    await nora.notifications.notifyReadList({ all: "true" });
    expect((await nora.notifications.notifyNewAvailable()).data.new).toBe(0);
  });

  test("each method of gitea-js that the forge lacks answers 404 or 405, and docs/gitea-api.md lists it", async () => {
    await api.orgs.orgCreate({ username: "lacking" });
    await newRepository("lacking");
    const samples = { owner: "mira", repo: "lacking", org: "lacking" };
    const lacking = [...declarations.methods.map(({ request }) => request), REPOSITORIES_OF_ORG]
      .filter((request) => !isServed(request.replace("{diffType}", "diff")))
      .map((request) =>
        request.replace(/\{([^}]+)\}/g, (_, name) => samples[name as keyof typeof samples] ?? "1"),
      );
    const listed = await readLackingOperations();
    for (const request of lacking) {
      expect(listed.filter((pattern) => pattern.test(request)).length, request).toBe(1);
      const [method = "", path = ""] = request.split(" ");
      const { status } = await people.by("mira", method, path.replace("/api/v1", ""));
      expect([404, 405], request).toContain(status);
    }
    for (const pattern of listed)
      expect(
        lacking.some((request) => pattern.test(request)),
        String(pattern),
      ).toBe(true);
  });

  test("every method that gitea-js shares with the forge is called, and its answers have the declared fields", () => {
    const shared = declarations.methods.filter(({ request }) => isServed(request));
    expect(shared.length).toBeGreaterThan(220);
    const left = shared.filter(({ name }) => !called.has(name));
    expect(left.map(({ name, request }) => `${name}: ${request}`)).toEqual([]);
    const missing = [...differences].filter(
      (difference) =>
        !misdeclared.includes(difference) &&
        !absent.some((field) => difference.endsWith(`: ${field} is missing`)),
    );
    expect(missing).toEqual([]);
  });
});

/** An operation of Gitea that this version of the client lacks. */
const REPOSITORIES_OF_ORG = "DELETE /api/v1/orgs/{org}/repos";

const toKey = (request: string) => request.replace(/\*\*:\w+|:\w+|\{[^}]+\}/g, "*");

function isServed(request: string): boolean {
  return allEndpoints.some(({ method, path }) => toKey(`${method} ${path}`) === toKey(request));
}

/** The operations of the table "Not served" in docs/gitea-api.md, as patterns of `METHOD /api/v1/path`. */
async function readLackingOperations(): Promise<RegExp[]> {
  const page = await readFile(join(import.meta.dirname, "../../../docs/gitea-api.md"), "utf8");
  const [, table = ""] = /^## Not served$([^]*?)^## /m.exec(page) ?? [];
  return [...table.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(?:([A-Z]+) )?([^`]+)`/g)].map(([, method = "[A-Z]+", path = ""]) => {
      const pattern = path.replaceAll("…", ".*").replace(/\{\w+\}/g, "[^/]+");
      return new RegExp(`^${method} /api/v1${pattern}$`);
    }),
  );
}
