import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { expectWireShape, omittedOfRepository } from "../../support/forge/forge-wire.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { newUser, by, newRepository, api } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const give = (user: string, path: string, newOwner: string) =>
  by(user, "POST", `/repos/${path}/transfer`, { new_owner: newOwner });
const answerOffer = (user: string, path: string, word: "accept" | "reject") =>
  by(user, "POST", `/repos/${path}/transfer/${word}`);

/** Returns the titles of a user's threads of repositories, the latest first; null for a hidden subject. */
const titlesOf = async (user: string): Promise<(string | null)[]> =>
  (await by(user, "GET", "/notifications?subject-type=repository")).json.map(
    ({ subject }: { subject: { title: string } | null }) => subject?.title ?? null,
  );

describe("a repository that is given by whom may decide", () => {
  test("a transferred repository has its new owner and its files, and its former address redirects", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira, { auto_init: true, private: true });
    const transferred = await api("POST", `/repos/${mira}/${name}/transfer`, {
      new_owner: nora,
    });
    expect(transferred.status).toBe(202);
    expect(transferred.json).toMatchObject({
      full_name: `${nora}/${name}`,
      owner: { login: nora },
    });
    expectWireShape("Repository", transferred.json, [...omittedOfRepository, "repo_transfer"]);
    expect(existsSync(join(daemon.home, "repositories", nora, `${name}.git`))).toBe(true);
    const former = await by(nora, "GET", `/repos/${mira}/${name}`);
    expect([former.status, former.headers.get("location")]).toEqual([
      307,
      `/api/v1/repos/${nora}/${name}`,
    ]);
    expect((await by(mira, "GET", `/repos/${nora}/${name}`)).status).toBe(404);
    expect(await titlesOf(nora)).toEqual([`${nora}/${name}`]);
    // The notification of its creation.
    expect(await titlesOf(mira)).toEqual([null]);
    expect((await by(nora, "GET", `/repos/${nora}/${name}/subscription`)).status).toBe(200);
    // The former name is free, and then leads nowhere else.
    await api("POST", `/admin/users/${mira}/repos`, { name });
    expect((await by(mira, "GET", `/repos/${mira}/${name}`)).json.full_name).toBe(
      `${mira}/${name}`,
    );
  });

  test("transfers a repository from a user to their own organization at once", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const org = `org${mira}`;
    await api("POST", `/admin/users/${mira}/orgs`, { username: org });
    const name = await newRepository(mira);
    expect((await give(mira, `${mira}/${name}`, org)).status).toBe(202);
    const back = await give(mira, `${org}/${name}`, mira);
    expect([back.status, back.json.full_name]).toEqual([202, `${mira}/${name}`]);
    expect((await give(nora, `${mira}/${name}`, nora)).status).toBe(403);
  });
});

describe("a repository that is offered", () => {
  test("the recipient can read an offered repository, and owns it after accepting", async () => {
    const [mira, nora, stranger] = [await newUser(), await newUser(), await newUser()];
    const name = await newRepository(mira, { private: true });
    const path = `${mira}/${name}`;
    const offered = await give(mira, path, nora);
    expect(offered.status).toBe(201);
    expect(offered.json).toMatchObject({
      full_name: path,
      repo_transfer: { doer: { login: mira }, recipient: { login: nora }, teams: [] },
    });
    expectWireShape("Repository", offered.json, omittedOfRepository);
    expect(await titlesOf(nora)).toEqual([path]);
    const viewedByRecipient = await by(nora, "GET", `/repos/${path}`);
    expect(viewedByRecipient.json).toMatchObject({
      repo_transfer: { recipient: { login: nora } },
      permissions: { admin: false, push: false, pull: true },
    });
    expect((await by(stranger, "GET", `/repos/${path}`)).status).toBe(404);
    expect((await answerOffer(stranger, path, "accept")).status).toBe(404);
    expect((await answerOffer(mira, path, "accept")).status).toBe(403);
    const accepted = await answerOffer(nora, path, "accept");
    expect(accepted.status).toBe(202);
    expect(accepted.json).toMatchObject({
      full_name: `${nora}/${name}`,
      permissions: { admin: true },
    });
    expect(accepted.json).not.toHaveProperty("repo_transfer");
    expect((await by(mira, "GET", `/repos/${nora}/${name}`)).status).toBe(404);
    expect(await titlesOf(nora)).toEqual([`${nora}/${name}`]);
    expect((await answerOffer(nora, `${nora}/${name}`, "accept")).status).toBe(404);
  });

  test.each(["recipient", "owner"])(
    "an offered repository keeps its owner when the %s ends the offer",
    async (who) => {
      const [mira, nora] = [await newUser(), await newUser()];
      const name = await newRepository(mira, { private: true });
      const path = `${mira}/${name}`;
      await give(mira, path, nora);
      const ended = await answerOffer(who === "owner" ? mira : nora, path, "reject");
      expect([ended.status, ended.json.full_name]).toEqual([200, path]);
      expect(ended.json).not.toHaveProperty("repo_transfer");
      expect((await by(nora, "GET", `/repos/${path}`)).status).toBe(404);
      expect(await titlesOf(nora)).toEqual([null]);
      expect((await answerOffer(nora, path, "accept")).status).toBe(404);
      expect((await give(mira, path, nora)).status).toBe(201);
    },
  );

  test("a transfer to an organization notifies members who may create repositories there, and one of them accepts it", async () => {
    const [mira, nora, stranger] = [await newUser(), await newUser(), await newUser()];
    const org = `org${nora}`;
    await api("POST", `/admin/users/${nora}/orgs`, { username: org });
    const name = await newRepository(mira, { private: true });
    const path = `${mira}/${name}`;
    expect((await give(mira, path, org)).status).toBe(201);
    expect(await titlesOf(nora)).toEqual([path]);
    expect(await titlesOf(stranger)).toEqual([]);
    expect((await answerOffer(nora, path, "accept")).json.full_name).toBe(`${org}/${name}`);
  });

  test("an offer to an organization names the teams that get the repository", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const org = `org${nora}`;
    await api("POST", `/admin/users/${nora}/orgs`, { username: org });
    const path = `${mira}/${await newRepository(mira)}`;
    const offer = (id: number) =>
      by(mira, "POST", `/repos/${path}/transfer`, { new_owner: org, team_ids: [id] });
    const unknown = await offer(9999);
    expect([unknown.status, unknown.json.message]).toEqual([422, "team 9999 not found"]);
    // Teams have no list here: the newest one is this organization's.
    let id = 1;
    let answer = await offer(id);
    for (; answer.status === 403; answer = await offer(id)) {
      expect(answer.json.message).toContain(`team ${id} belongs not to org `);
      id += 1;
    }
    expect(answer.status).toBe(201);
    const { teams } = answer.json.repo_transfer;
    expectWireShape("Team", teams);
    expect(teams).toMatchObject([
      { id, name: "Owners", permission: "owner", organization: { name: org } },
    ]);
    expect((await answerOffer(nora, path, "accept")).status).toBe(202);
  });

  test("of ten concurrent acceptances of an offer one succeeds", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira, { auto_init: true });
    const path = `${mira}/${name}`;
    await give(mira, path, nora);
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, () => answerOffer(nora, path, "accept")),
      answerOffer(mira, path, "reject"),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 202 || status === 200)).toHaveLength(1);
    expect(statuses.every((status) => [200, 202, 307, 404].includes(status))).toBe(true);
    const owner = statuses.includes(202) ? nora : mira;
    expect((await by(owner, "GET", `/repos/${owner}/${name}`)).json.owner.login).toBe(owner);
    const folder = join(daemon.home, "repositories", owner, `${name}.git`);
    expect(existsSync(folder)).toBe(true);
  });
});

describe("a repository is not given", () => {
  test("a transfer is refused a second time, to unknown or hidden users, and to an owner of a repository of the same name", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const hidden = `hidden${nora}`;
    const fields = { username: hidden, visibility: "private" };
    await api("POST", `/admin/users/${nora}/orgs`, fields);
    const name = await newRepository(mira);
    const path = `${mira}/${name}`;
    const refused = async (newOwner: string, json: object = {}) => {
      const request = { new_owner: newOwner, ...json };
      const { status, json: body } = await by(mira, "POST", `/repos/${path}/transfer`, request);
      return [status, body.message];
    };
    const unknown = [404, "The new owner does not exist or cannot be found"];
    expect(await refused("nobody-at-all")).toEqual(unknown);
    expect(await refused(hidden)).toEqual(unknown);
    expect(await refused(mira)).toEqual([
      422,
      `repository already exists [uname: ${mira}, name: ${name}]`,
    ]);
    expect(await refused(nora, { team_ids: [1] })).toEqual([
      422,
      "Teams can only be added to organization-owned repositories",
    ]);
    expect((await refused(""))[0]).toBe(422);
    await api("POST", `/admin/users/${nora}/repos`, { name: name.toUpperCase() });
    expect((await refused(nora))[0]).toBe(422);
    const other = await newUser();
    expect((await refused(other))[0]).toBe(201);
    expect(await refused(other)).toEqual([
      409,
      `repository is already being transferred [uname: ${mira}, name: ${name}]`,
    ]);
    expect((await by(nora, "POST", `/repos/${path}/transfer`, { new_owner: nora })).status).toBe(
      403,
    );
    expect((await answerOffer(nora, path, "reject")).status).toBe(403);
  });

  test("refuses a transfer to a user at the repository limit", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    await api("PATCH", `/admin/users/${nora}`, {
      source_id: 0,
      login_name: nora,
      max_repo_creation: 0,
    });
    const name = await newRepository(mira);
    await give(mira, `${mira}/${name}`, nora);
    const answer = await answerOffer(nora, `${mira}/${name}`, "accept");
    expect([answer.status, answer.json.message]).toEqual([
      403,
      "user has reached maximum limit of repositories [limit: 0]",
    ]);
  });
});

test("a transferred repository is cloned from its new address", async () => {
  const [mira, nora] = [await newUser(), await newUser()];
  const name = await newRepository(mira, { auto_init: true });
  await api("POST", `/repos/${mira}/${name}/transfer`, { new_owner: nora });
  const cloned = await git.run("clone", "-q", `${daemon.url}/${nora}/${name}.git`, "moved");
  expect(cloned).toMatchObject({ exitCode: 0 });
  expect(existsSync(join(git.folder, "moved", "README.md"))).toBe(true);
});
