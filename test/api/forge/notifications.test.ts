import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { findShapeErrors } from "../../support/forge/forge-wire.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { newUser, newRepository, tokenOf } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Not by fetch, which drops the body of a 205. */
async function api(
  method: string,
  path: string,
  token = people.admin,
  json?: unknown,
): Promise<TestAnswer> {
  const answer = await request(`${daemon.url}/api/v1${path}`, {
    method: method as "GET",
    headers: { authorization: `token ${token}`, "content-type": "application/json" },
    body: json === undefined ? null : JSON.stringify(json),
  });
  const text = await answer.body.text();
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) headers.set(name, String(value));
  return {
    status: answer.statusCode,
    headers,
    text,
    json: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : undefined,
  };
}

const as = (username: string) => ({
  get: (path: string) => api("GET", path, tokenOf(username)),
  put: (path: string) => api("PUT", path, tokenOf(username)),
  patch: (path: string, json?: unknown) => api("PATCH", path, tokenOf(username), json),
  post: (path: string, json?: unknown) => api("POST", path, tokenOf(username), json),
  delete: (path: string) => api("DELETE", path, tokenOf(username)),
});

const idsOf = ({ json }: TestAnswer): number[] => json.map(({ id }: { id: number }) => id);

describe("a list of threads", () => {
  test("the first notification is about a repository that another user created for you", async () => {
    const mira = await newUser();
    expect((await as(mira).get("/notifications")).json).toEqual([]);
    const repo = await newRepository(mira);
    const answer = await as(mira).get("/notifications");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-total-count")).toBe("1");
    const [thread] = answer.json;
    // The document fixes an empty state for repositories, its schema only knows those of issues.
    expect(findShapeErrors("NotificationThread", thread)).toEqual([
      "/subject/state must be equal to one of the allowed values",
    ]);
    expect(thread).toMatchObject({
      unread: true,
      pinned: false,
      url: expect.stringMatching(new RegExp(`/api/v1/notifications/threads/${thread.id}$`)),
      repository: { full_name: `${mira}/${repo}` },
      subject: {
        type: "Repository",
        title: `${mira}/${repo}`,
        url: `/${mira}/${repo}`,
        html_url: expect.stringMatching(new RegExp(`^http.*/${mira}/${repo}$`)),
        latest_comment_url: "",
        state: "",
      },
    });
    expect(thread.repository).not.toHaveProperty("permissions");
    expect((await as(mira).get("/notifications/new")).json).toEqual({ new: 1 });
    expect((await as("user1").get("/notifications/new")).status).toBe(200);
  });

  test("a list of threads is filtered by status, kind and time, all at once", async () => {
    const mira = await newUser();
    for (let count = 0; count < 3; count += 1) await newRepository(mira);
    const [unread, read, pinned] = idsOf(await as(mira).get("/notifications"));
    await as(mira).patch(`/notifications/threads/${read}`);
    await as(mira).patch(`/notifications/threads/${pinned}?to-status=pinned`);
    const ids = async (query: string) => idsOf(await as(mira).get(`/notifications?${query}`));
    expect((await ids("")).toSorted()).toEqual([unread, pinned].toSorted());
    expect(await ids("status-types=read")).toEqual([read]);
    expect(await ids("status-types=%20UNREAD%20")).toEqual([unread]);
    expect((await ids("status-types=read&status-types=pinned")).length).toBe(2);
    expect((await ids("status-types=nonsense")).length).toBe(3);
    expect((await ids("all=true&status-types=read")).length).toBe(3);
    expect(await ids("subject-type=issue")).toEqual([]);
    expect((await ids("subject-type=repository&subject-type=nonsense")).length).toBe(2);
    expect((await ids("subject-type=nonsense")).length).toBe(2);
    expect(await ids("status-types=read&subject-type=commit")).toEqual([]);
    expect((await ids("since=2001-01-01T00:00:00Z&before=0001-01-01T00:00:00Z")).length).toBe(2);
    expect(await ids("before=2001-01-01T00:00:00%2B02:00")).toEqual([]);
    expect(await ids("all=1&limit=1&page=4")).toEqual([]);
    const page = await as(mira).get("/notifications?all=true&limit=2");
    expect(page.json.length).toBe(2);
    expect(page.headers.get("x-total-count")).toBe("3");
    expect(page.headers.get("link")).toContain('rel="next"');
  });

  test.each([
    ["since", "x", 'cannot parse "x" as "2006"'],
    ["before", "2026-13-01T00:00:00Z", "month out of range"],
    ["since", "2026-02-30T00:00:00Z", "day out of range"],
    ["before", "2026-01-01 00:00:00Z", 'cannot parse " 00:00:00Z" as "T"'],
    ["since", "2026-01-01T00:00:00Zx", 'extra text: "x"'],
    ["since", "2026-01-01T00:00:00+25:00", "time zone offset hour out of range"],
    ["before", "2026-01-01T00:00:00-01:61", "time zone offset minute out of range"],
  ])("a list of threads refuses a bad time: %s=%s", async (name, value, why) => {
    const answer = await api("GET", `/notifications?${name}=${encodeURIComponent(value)}`);
    expect(answer.status).toBe(422);
    expect(answer.json.message).toContain(why);
    const marked = await api("PUT", `/notifications?last_read_at=${encodeURIComponent(value)}`);
    expect(marked.status).toBe(400);
  });

  test.each(["0", "-1", "9223372036854775807", "x"])(
    "a list of threads accepts %s for page and limit",
    async (odd) => {
      const answer = await api("GET", `/notifications?all=true&page=${odd}&limit=${odd}`);
      expect(answer.status).toBe(200);
    },
  );

  test("a list of threads is not sent again to a client that has the current version", async () => {
    const mira = await newUser();
    await newRepository(mira);
    const first = await as(mira).get("/notifications");
    const poll = (headers: Record<string, string>) =>
      daemon.request("/api/v1/notifications", { token: tokenOf(mira), headers });
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^W\/"/);
    for (const other of [tag.slice(2), `"x", ${tag}`, "*"])
      expect((await poll({ "If-None-Match": other })).status).toBe(304);
    const same = await poll({ "If-None-Match": tag });
    expect([same.status, same.text]).toEqual([304, ""]);
    expect((await poll({ "If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT" })).status).toBe(304);
    expect((await poll({ "If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT" })).status).toBe(200);
    expect((await poll({ "If-Modified-Since": "no date" })).status).toBe(200);
    await newRepository(mira);
    expect((await poll({ "If-None-Match": tag })).status).toBe(200);
    const since = first.headers.get("last-modified") ?? "";
    expect((await poll({ "If-Modified-Since": since })).status).toBe(200);
  });
});

describe("marking", () => {
  test("marking all unread threads answers 205 with them, and keeps pinned ones", async () => {
    const mira = await newUser();
    for (let count = 0; count < 3; count += 1) await newRepository(mira);
    const found = idsOf(await as(mira).get("/notifications"));
    await as(mira).patch(`/notifications/threads/${found[1]}?to-status=pinned`);
    const marked = await as(mira).put("/notifications");
    expect(marked.status).toBe(205);
    expect(idsOf(marked)).toEqual([found[0], found[2]]);
    expect(marked.headers.get("x-total-count")).toBe("2");
    for (const thread of marked.json)
      expect(thread).toMatchObject({ unread: false, pinned: false });
    const left = await as(mira).get("/notifications");
    expect(left.json).toMatchObject([{ id: found[1], pinned: true }]);
    expect((await as(mira).put("/notifications")).json).toEqual([]);
    const named = await as(mira).put("/notifications?status-types=pinned&to-status=unread");
    expect(named.json).toMatchObject([{ id: found[1], unread: true, pinned: false }]);
  });

  test("marking with all=true marks pinned threads as well", async () => {
    const mira = await newUser();
    for (let count = 0; count < 3; count += 1) await newRepository(mira);
    const [first, pinned] = idsOf(await as(mira).get("/notifications"));
    await as(mira).patch(`/notifications/threads/${first}`);
    await as(mira).patch(`/notifications/threads/${pinned}?to-status=pinned`);
    // `status-types` is of no account then.
    const marked = await as(mira).put("/notifications?all=true&status-types=unread");
    expect(marked.headers.get("x-total-count")).toBe("3");
    expect((await as(mira).get("/notifications")).json).toEqual([]);
  });

  test("marking reads parameters from a form, which take precedence over the query", async () => {
    const mira = await newUser();
    await newRepository(mira);
    const path = "/api/v1/notifications";
    const send = (target: string, method: string, body: string, type: string) =>
      request(`${daemon.url}${target}`, {
        method: method as "PUT",
        headers: { authorization: `token ${tokenOf(mira)}`, "content-type": type },
        body,
      });
    const form = "application/x-www-form-urlencoded";
    const pinning = await send(`${path}?to-status=read`, "PUT", "to-status=pinned", form);
    expect([pinning.statusCode, await pinning.body.json()]).toMatchObject([
      205,
      [{ pinned: true }],
    ]);
    const [id] = idsOf(await as(mira).get("/notifications"));
    const parts =
      '--b\r\nContent-Disposition: form-data; name="to-status"\r\n\r\nunread\r\n--b--\r\n';
    const type = "multipart/form-data; boundary=b";
    const one = await send(`${path}/threads/${id}`, "PATCH", parts, type);
    expect([one.statusCode, await one.body.json()]).toMatchObject([205, { unread: true }]);
    const [{ repository }] = (await as(mira).get("/notifications?all=true")).json;
    for (const [target, method] of [
      [path, "PUT"],
      [`${path}/threads/${id}`, "PATCH"],
      [`/api/v1/repos/${repository.full_name}/notifications`, "PUT"],
    ] as const) {
      const nul = await send(target, method, "to-status=%00", form);
      expect([target, nul.statusCode]).toEqual([target, 422]);
      await nul.body.dump();
    }
    const json = await send(path, "PUT", '{"to-status":"pinned"}', "application/json");
    expect([json.statusCode, await json.body.json()]).toMatchObject([205, [{ unread: false }]]);
  });

  test("a hundred concurrent requests mark each thread once, and the count is right", async () => {
    const mira = await newUser();
    for (let count = 0; count < 5; count += 1) await newRepository(mira);
    const ids = idsOf(await as(mira).get("/notifications"));
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        at % 3 === 0
          ? as(mira).put("/notifications")
          : as(mira).patch(`/notifications/threads/${ids[at % 5]}`),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([205]));
    const bulk = answers.filter(({ json }) => Array.isArray(json)).flatMap(idsOf);
    expect(new Set(bulk).size).toBe(bulk.length);
    expect((await as(mira).get("/notifications/new")).json).toEqual({ new: 0 });
    const read = await as(mira).get("/notifications?status-types=read");
    expect([read.json.length, read.headers.get("x-total-count")]).toEqual([5, "5"]);
  });

  test("marking up to a time keeps later updates", async () => {
    const mira = await newUser();
    await newRepository(mira);
    const early = await as(mira).put("/notifications?last_read_at=2001-01-01T00:00:00Z");
    expect([early.status, early.json]).toEqual([205, []]);
    const late = await as(mira).put("/notifications?last_read_at=2100-01-01T00:00:00Z");
    expect(late.json.length).toBe(1);
  });

  test("marking one thread answers 205 with it, and refuses foreign and missing ones", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    await newRepository(mira);
    const [id] = idsOf(await as(mira).get("/notifications"));
    const path = `/notifications/threads/${id}`;
    for (const [query, state] of [
      ["", { unread: false, pinned: false }],
      ["?to-status=pinned", { unread: false, pinned: true }],
      ["?to-status=unread", { unread: true, pinned: false }],
      ["?to-status=nonsense", { unread: false, pinned: false }],
    ] as const) {
      const answer = await as(mira).patch(path + query);
      expect(answer.status).toBe(205);
      expect(answer.json).toMatchObject({ id, ...state });
    }
    const refused = await as(nora).get(path);
    expect([refused.status, refused.json.message]).toEqual([
      403,
      `only user itself and admin are allowed to read/change this thread ${id}`,
    ]);
    expect((await as(nora).patch(path)).status).toBe(403);
    expect((await api("GET", path)).json).toMatchObject({ id });
    expect((await api("PATCH", path)).status).toBe(403);
    const missing = await as(mira).get("/notifications/threads/9007199254740991");
    expect([missing.status, missing.json.message]).toEqual([
      404,
      "notification does not exist [id: 9007199254740991]",
    ]);
    for (const odd of ["x", "0", "-5", "99999999999999999999"])
      for (const method of ["GET", "PATCH"]) {
        const answer = await api(method, `/notifications/threads/${odd}`);
        expect([odd, method, answer.status]).toEqual([odd, method, 404]);
      }
  });

  test("concurrent marking keeps the counts right", async () => {
    const mira = await newUser();
    for (let count = 0; count < 4; count += 1) await newRepository(mira);
    const ids = idsOf(await as(mira).get("/notifications"));
    await Promise.all([
      ...ids.map((id) => as(mira).patch(`/notifications/threads/${id}`)),
      ...ids.map((id) => as(mira).patch(`/notifications/threads/${id}?to-status=unread`)),
      newRepository(mira),
    ]);
    const listed = await as(mira).get("/notifications?status-types=unread");
    expect((await as(mira).get("/notifications/new")).json).toEqual({ new: listed.json.length });
    await as(mira).put("/notifications?all=true");
    expect((await as(mira).get("/notifications/new")).json).toEqual({ new: 0 });
  });
});

describe("threads of one repository", () => {
  test("threads of one repository are listed and marked separately", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const one = await newRepository(mira, { private: true });
    const other = await newRepository(mira);
    const path = `/repos/${mira}/${one}/notifications`;
    const listed = await as(mira).get(path);
    expect(listed.json).toMatchObject([{ repository: { name: one } }]);
    expect((await as(mira).put(path)).status).toBe(205);
    expect((await as(mira).get(path)).json).toEqual([]);
    expect((await as(mira).get("/notifications")).json).toMatchObject([
      { repository: { name: other } },
    ]);
    for (const odd of [path, `/repos/${mira}/none/notifications`, "/repos/x/y/notifications"]) {
      expect((await as(nora).get(odd)).status).toBe(404);
      expect((await as(nora).put(odd)).status).toBe(404);
    }
    expect((await as(nora).get(`/repos/${mira}/${other}/notifications`)).json).toEqual([]);
  });
});

describe("a lost right", () => {
  test("a lost right hides repository and subject of a thread at once", async () => {
    const mira = await newUser();
    const org = `org${mira}`;
    await api("POST", `/admin/users/${mira}/orgs`, people.admin, { username: org });
    const repo = await newRepository(org, { private: true });
    const before = await as(mira).get("/notifications");
    expect(before.json).toMatchObject([{ repository: { name: repo } }]);
    const [id] = idsOf(before);
    const stranger = await newUser();
    const teams = await api("GET", `/orgs/${org}/teams`);
    const members = `/teams/${teams.json[0].id}/members`;
    // The last owner cannot leave.
    expect((await api("PUT", `${members}/${stranger}`)).status).toBe(204);
    expect((await api("DELETE", `${members}/${mira}`)).status).toBe(204);
    const after = await as(mira).get("/notifications");
    expect(after.json).toEqual([expect.objectContaining({ id, repository: null, subject: null })]);
    expect(after.headers.get("x-total-count")).toBe("1");
    expect(after.text).not.toContain(repo);
    for (const answer of [
      await as(mira).get(`/notifications/threads/${id}`),
      await as(mira).patch(`/notifications/threads/${id}`),
      await api("GET", `/notifications/threads/${id}`),
      await as(mira).put("/notifications?all=true"),
    ])
      expect(answer.text).not.toContain(repo);
    expect((await as(await newUser()).get(`/notifications/threads/${id}`)).status).toBe(403);
  });
});

test("a thread about an issue has no subject while the repository has no issues", async () => {
  const [mira, nora] = [await newUser(), await newUser()];
  const path = `/repos/${mira}/${await newRepository(mira)}`;
  await people.by(nora, "PUT", `${path}/subscription`);
  await people.by(mira, "POST", `${path}/issues`, { title: "An issue" });
  const list = async () => (await as(nora).get("/notifications")).json;
  await expect.poll(list).toMatchObject([{ subject: { title: "An issue" } }]);
  await people.by(mira, "PATCH", path, { has_issues: false });
  expect(await list()).toMatchObject([{ repository: null, subject: null }]);
  await people.by(mira, "PATCH", path, { has_issues: true });
  expect(await list()).toMatchObject([{ subject: { title: "An issue" } }]);
});

test("a public-only token is refused the notifications", async () => {
  const mira = await newUser();
  const token = await people.newToken(mira, ["public-only", "write:notification"]);
  const answer = await api("GET", "/notifications", token);
  expect([answer.status, answer.json.message]).toEqual([
    403,
    "this endpoint is not available for public-only tokens",
  ]);
});
