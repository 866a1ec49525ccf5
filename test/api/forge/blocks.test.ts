import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const names = (users: readonly { login: string }[]) => users.map(({ login }) => login);

test("a user blocks and unblocks another, once, but neither an organization nor themselves", async () => {
  const [mira, otto] = [await people.newUser(), await people.newUser()];
  const blocks = (method: string, name: string, who = mira) =>
    by(who, method, `/user/blocks/${name}`);
  expect((await by(mira, "GET", "/user/blocks")).json).toEqual([]);
  expect((await blocks("GET", otto)).status).toBe(404);
  expect((await blocks("PUT", `${otto}?note=rude`)).status).toBe(204);
  expect((await blocks("GET", otto)).status).toBe(204);
  expect((await blocks("PUT", otto)).json.message).toBe("cannot block the user");
  const list = await by(mira, "GET", "/user/blocks");
  expect([names(list.json), list.headers.get("x-total-count")]).toEqual([[otto], "1"]);
  expect((await by(otto, "GET", "/user/blocks")).json).toEqual([]);
  expect((await blocks("PUT", mira)).status).toBe(400);
  expect((await blocks("PUT", "nobody")).status).toBe(404);
  await by(mira, "POST", "/orgs", { username: `club-${mira}` });
  expect((await blocks("PUT", `club-${mira}`)).status).toBe(400);
  expect((await blocks("DELETE", otto)).status).toBe(204);
  expect((await blocks("DELETE", otto)).json.message).toBe("cannot unblock the user");
});

test("a user unblocks one who has hidden since", async () => {
  const [mira, otto] = [await people.newUser(), await people.newUser()];
  const block = (method: string) => by(mira, method, `/user/blocks/${otto}`);
  expect((await block("PUT")).status).toBe(204);
  const hidden = { source_id: 0, login_name: otto, visibility: "private" };
  expect((await people.api("PATCH", `/admin/users/${otto}`, hidden)).status).toBe(200);
  expect((await block("GET")).status).toBe(204);
  expect((await block("DELETE")).status).toBe(204);
  expect((await block("GET")).status).toBe(404);
  expect((await block("DELETE")).status).toBe(404);
});

test("a blocked user loses follows, stars, watches and collaborations, and takes no part in the repositories of the blocker", async () => {
  const [mira, otto, nora] = [
    await people.newUser(),
    await people.newUser(),
    await people.newUser(),
  ];
  const repo = await people.newRepository(mira, { auto_init: true, default_branch: "main" });
  const path = `/repos/${mira}/${repo}`;
  const issue = await by(otto, "POST", `${path}/issues`, { title: "Before" });
  expect(issue.status).toBe(201);
  const starred = `/user/starred/${mira}/${repo}`;
  await by(otto, "PUT", starred);
  await by(otto, "PUT", `${path}/subscription`);
  await by(otto, "PUT", `/user/following/${mira}`);
  await by(mira, "PUT", `/user/following/${otto}`);
  await by(mira, "PUT", `${path}/collaborators/${otto}`, { permission: "write" });
  const other = await people.newRepository(mira, { auto_init: true });
  const fork = await by(otto, "POST", `${path}/forks`, {});
  const toChange = `/repos/${fork.json.full_name}/contents/o.txt`;
  await by(otto, "POST", toChange, { content: "", new_branch: "others" });
  expect((await by(mira, "PUT", `/user/blocks/${otto}`)).status).toBe(204);

  expect((await by(otto, "GET", starred)).status).toBe(404);
  expect((await by(mira, "GET", path)).json.stars_count).toBe(0);
  expect((await by(otto, "GET", `${path}/subscription`)).status).toBe(404);
  expect((await by(mira, "GET", `${path}/collaborators`)).json).toEqual([]);
  for (const who of [mira, otto])
    expect((await by(who, "GET", "/user")).json).toMatchObject({
      followers_count: 0,
      following_count: 0,
    });

  const at = `${path}/issues/${issue.json.number}`;
  const refused = [
    await by(otto, "POST", `${path}/issues`, { title: "After" }),
    await by(otto, "POST", `${at}/comments`, { body: "Still here" }),
    await by(otto, "POST", `/repos/${mira}/${other}/forks`, {}),
    await by(otto, "PUT", starred),
    await by(otto, "PUT", `${path}/subscription`),
    await by(otto, "PUT", `/user/following/${mira}`),
    await by(mira, "PUT", `/user/following/${otto}`),
    await by(mira, "PUT", `${path}/collaborators/${otto}`, { permission: "read" }),
    await by(otto, "POST", `${path}/pulls`, {
      title: "Pull",
      head: `${otto}:others`,
      base: "main",
    }),
  ];
  expect(refused.map(({ status, json }) => [status, json.message])).toEqual(
    refused.map(() => [403, "user is blocked"]),
  );
  // Reading is no part of it, and others are not blocked.
  expect((await by(otto, "GET", at)).status).toBe(200);
  expect((await by(nora, "POST", `${at}/comments`, { body: "Hello" })).status).toBe(201);

  // The author of an issue is not answered by a blocked user, in anybody's repository.
  const theirs = await people.newRepository(nora);
  const asked = await by(mira, "POST", `/repos/${nora}/${theirs}/issues`, { title: "Mine" });
  const answer = `/repos/${nora}/${theirs}/issues/${asked.json.number}/comments`;
  expect((await by(otto, "POST", answer, { body: "No" })).status).toBe(403);
  const own = await people.newRepository(otto);
  const assigned = { title: "Do it", assignees: [mira] };
  expect((await by(otto, "POST", `/repos/${otto}/${own}/issues`, assigned)).status).toBe(403);

  await by(mira, "DELETE", `/user/blocks/${otto}`);
  expect((await by(otto, "POST", `${at}/comments`, { body: "Back" })).status).toBe(201);
});

test("owners of an organization block users who are not its members", async () => {
  const [mira, otto, nora] = [
    await people.newUser(),
    await people.newUser(),
    await people.newUser(),
  ];
  const org = `guild-${mira}`;
  await by(mira, "POST", "/orgs", { username: org });
  await by(mira, "POST", `/orgs/${org}/repos`, { name: "hall" });
  const team = await by(mira, "POST", `/orgs/${org}/teams`, {
    name: "all",
    permission: "write",
    units: ["repo.code"],
  });
  await by(mira, "PUT", `/teams/${team.json.id}/members/${nora}`);
  const blocks = (who: string, method: string, name: string) =>
    by(who, method, `/orgs/${org}/blocks/${name}`);
  expect((await blocks(nora, "PUT", otto)).status).toBe(403);
  expect((await blocks(mira, "PUT", nora)).status).toBe(400);
  expect((await blocks(mira, "PUT", otto)).status).toBe(204);
  expect((await blocks(mira, "GET", otto)).status).toBe(204);
  expect(names((await by(mira, "GET", `/orgs/${org}/blocks`)).json)).toEqual([otto]);
  const issue = { title: "Hello" };
  expect((await by(otto, "POST", `/repos/${org}/hall/issues`, issue)).status).toBe(403);
  expect((await blocks(mira, "DELETE", otto)).status).toBe(204);
  expect((await by(otto, "POST", `/repos/${org}/hall/issues`, issue)).status).toBe(201);
});
