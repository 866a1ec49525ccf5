import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { type GitServer, startGitServer } from "../../support/forge/git-server.ts";

// A stand-in for GitHub's REST API, and servers that answer anything else.
let daemon: TestDaemon;
let server: GitServer;
const people = createForgePeople(() => daemon);
const { by } = people;
let names = 0;
/** The status with which the wiki of the source is answered. */
let wikiStatus = 404;
/** Holds requests for objects until they are released. */
let held:
  | {
      readonly arrived: PromiseWithResolvers<void>;
      readonly released: PromiseWithResolvers<void>;
    }
  | undefined;
/** Answers of the API by path and page; the test sets them. */
let answer: (
  path: string,
  page: number,
  request: IncomingMessage,
  response: ServerResponse,
) => void;

const at = (day: number) => `2024-03-${String(day).padStart(2, "0")}T10:00:00Z`;
const user = (login: string) => ({ login, id: 1 });
const issueOf = (number: number, more: object = {}) => ({
  number,
  title: `Issue ${number}`,
  body: null,
  user: user("octo"),
  state: "open",
  locked: false,
  labels: [],
  milestone: null,
  created_at: at(number),
  updated_at: at(number),
  closed_at: null,
  ...more,
});
const json = (response: ServerResponse, body: unknown, headers = {}) =>
  response
    .writeHead(200, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));
const migrate = (fields: object = {}) =>
  by("mira", "POST", "/repos/migrate", {
    clone_addr: `${server.url}/octo/notes`,
    service: "github",
    auth_token: "gh-token",
    repo_name: `copy${(names += 1)}`,
    issues: true,
    pull_requests: true,
    releases: true,
    ...fields,
  });
const importOf = async (copy: string) => (await by("mira", "GET", `/repos/${copy}/import`)).json;
const until = (copy: string, state: string) =>
  vi.waitFor(
    async () => {
      const found = await importOf(copy);
      expect(found.state, JSON.stringify(found)).toBe(state);
      return found;
    },
    { timeout: 60_000, interval: 100 },
  );

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  server = await startGitServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (pathname.startsWith("/octo/notes.wiki.git")) {
      response.writeHead(wikiStatus).end();
      return true;
    }
    if (pathname === "/octo/notes.git/info/lfs/objects/batch") {
      answer("/batch", 1, request, response);
      return true;
    }
    if (pathname.endsWith("/git-upload-pack") && held !== undefined) {
      held.arrived.resolve();
      return held.released.promise.then(() => false);
    }
    const api = /^\/api\/v[13]\/repos\/octo\/notes/;
    if (!api.test(pathname) && !pathname.startsWith("/files/")) return false;
    const path = pathname.replace(api, "");
    answer(path, Number(searchParams.get("page") ?? 1), request, response);
    return true;
  });
  await people.newUser("mira");
  const tree = (await server.run(["mktree"])).trim();
  const base = (await server.run(["commit-tree", tree, "-m", "base"])).trim();
  const head = (await server.run(["commit-tree", tree, "-p", base, "-m", "head"])).trim();
  for (const [ref, id] of [
    ["refs/heads/main", base],
    ["refs/tags/v1", base],
    ["refs/pull/3/head", head],
    ["refs/pull/99/head", head],
  ] as const)
    await server.run(["update-ref", ref, id]);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

test("an import from GitHub reads pages, sends the token only to its server, and waits when requests are limited", async () => {
  const base = (await server.run(["rev-parse", "main"])).trim();
  const tokens = new Set<string>();
  let isLimited = true;
  let isFileLimited = true;
  answer = (path, page, request, response) => {
    tokens.add(`${path.startsWith("/files") ? "file" : "api"} ${request.headers.authorization}`);
    if (path === "/issues" && request.url?.includes("direction=desc"))
      return json(response, [issueOf(5)]);
    if (path === "/issues/comments" && isLimited) {
      isLimited = false;
      return response
        .writeHead(403, { "x-ratelimit-remaining": "0", "retry-after": "1" })
        .end("{}");
    }
    const link = page === 1 ? { link: '<x>; rel="next"' } : { link: '<x>; rel="first"' };
    const lists: Record<string, readonly [readonly unknown[], readonly unknown[]]> = {
      "/labels": [[{ name: "bug", color: "d73a4a", description: null, default: true }], []],
      "/milestones": [
        [
          {
            ...{ title: "1.0", description: null, state: "closed" },
            ...{ due_on: at(9), created_at: at(1), closed_at: at(8) },
          },
        ],
        [],
      ],
      "/issues": [
        [
          issueOf(1, { labels: [{ name: "bug" }], milestone: { title: "1.0" }, locked: true }),
          issueOf(3, { pull_request: { url: "x" } }),
          { number: "not one" },
          null,
        ],
        [
          issueOf(5, { state: "closed", closed_at: at(6), user: null, body: "a\u0000b\ud800" }),
          issueOf(7, { title: "x".repeat(5_000), created_at: "never" }),
        ],
      ],
      "/pulls": [
        [
          issueOf(3, {
            state: "closed",
            merged_at: at(4),
            closed_at: at(4),
            merge_commit_sha: base,
            base: { ref: "main", sha: base, repo: { id: 1 } },
            head: { ref: "patch~1", sha: "x", repo: null },
          }),
          issueOf(4, {
            base: { ref: "main", sha: base, repo: { id: 1 } },
            head: { ref: "gone", sha: "x", repo: { id: 2 } },
          }),
        ],
        [],
      ],
      "/pulls/3/reviews": [
        [
          { id: 11, state: "PENDING", body: "", user: user("octo") },
          {
            id: 12,
            state: "CHANGES_REQUESTED",
            body: "Not yet",
            user: user("hubot"),
            commit_id: base,
            submitted_at: at(3),
          },
          { id: 13, state: "COMMENTED", body: "", user: user("octo"), submitted_at: at(4) },
          { id: 14, state: "DISMISSED", body: "Old", user: null, submitted_at: at(5) },
        ],
        [],
      ],
      "/pulls/3/comments": [
        [
          {
            pull_request_review_id: 12,
            path: "a.txt",
            body: "Why?",
            user: user("hubot"),
            side: "RIGHT",
            line: 9,
            original_line: 7,
            commit_id: base,
            original_commit_id: base,
            diff_hunk: "@@ -7,1 +7,1 @@\n+x",
            created_at: at(3),
            updated_at: at(3),
          },
          {
            pull_request_review_id: 13,
            path: "a.txt",
            body: "Because.",
            user: user("octo"),
            side: "LEFT",
            line: null,
            original_line: 6,
            commit_id: base,
            original_commit_id: base,
            diff_hunk: "@@ -6,1 +6,1 @@\n-x",
            created_at: at(4),
            updated_at: at(4),
          },
          // Of a whole file.
          { pull_request_review_id: 12, path: "a.txt", body: "All", line: null },
        ],
        [],
      ],
      "/issues/comments": [
        [
          {
            issue_url: "https://api.github.com/repos/octo/notes/issues/1",
            body: "Hello",
            user: user("hubot"),
            created_at: at(2),
            updated_at: at(3),
          },
          {
            issue_url: "https://api.github.com/repos/octo/notes/issues/6",
            body: "Of nothing",
            user: user("hubot"),
            created_at: at(2),
            updated_at: at(3),
          },
        ],
        [],
      ],
      "/releases": [
        [
          {
            tag_name: "v1",
            target_commitish: "main",
            name: "One",
            body: "Notes",
            draft: false,
            prerelease: true,
            author: user("octo"),
            created_at: at(1),
            published_at: at(2),
            assets: [
              { name: "a.txt", browser_download_url: `${server.url}/files/a.txt` },
              { name: "gone.txt", browser_download_url: `${server.url}/files/gone.txt` },
              { name: "../b.txt", browser_download_url: "javascript:alert(1)" },
            ].slice(0, 2),
          },
          {
            tag_name: "v9",
            target_commitish: "main",
            name: "",
            body: null,
            draft: false,
            prerelease: false,
            author: null,
            created_at: at(1),
            published_at: at(2),
            assets: [],
          },
        ],
        [],
      ],
    };
    if (path === "/files/a.txt" && isFileLimited) {
      isFileLimited = false;
      return response.writeHead(429, { "retry-after": "1" }).end();
    }
    if (path === "/files/a.txt") return response.writeHead(200).end("text");
    const pages = lists[path];
    if (pages === undefined) return response.writeHead(404).end();
    return json(response, pages[page - 1] ?? [], link);
  };
  const made = await migrate();
  expect(made.status, made.text).toBe(201);
  const copy = made.json.full_name;
  const done = await until(copy, "done");
  const counts = done.parts.map((part: { name: string; imported: number; skipped: number }) => [
    part.name,
    part.imported,
    part.skipped,
  ]);
  expect(counts).toEqual([
    ["labels", 1, 0],
    ["milestones", 1, 0],
    ["releases", 1, 1],
    ["issues", 2, 3],
    ["pulls", 2, 0],
    ["comments", 1, 1],
    ["reviews", 3, 1],
  ]);
  const get = async (path: string) => (await by("mira", "GET", `/repos/${copy}${path}`)).json;
  expect(await get("/issues/1")).toMatchObject({
    original_author: "octo",
    created_at: at(1),
    is_locked: true,
    labels: [{ name: "bug" }],
    milestone: { title: "1.0", state: "closed", created_at: at(1), closed_at: at(8) },
    comments: 1,
  });
  expect(await get("/issues/5")).toMatchObject({
    original_author: "ghost",
    body: "ab\ufffd",
    closed_at: at(6),
  });
  expect(await get("/issues/comments")).toMatchObject([
    { body: "Hello", original_author: "hubot", created_at: at(2), updated_at: at(3) },
  ]);
  expect(await get("/pulls/3")).toMatchObject({ merged: true, merged_at: at(4) });
  const reviews = await get("/pulls/3/reviews");
  expect(reviews).toMatchObject([
    { state: "REQUEST_CHANGES", body: "Not yet", original_author: "hubot", commit_id: base },
    { state: "COMMENT", body: "", original_author: "octo" },
    { state: "COMMENT", body: "Old", original_author: "ghost", dismissed: true },
  ]);
  expect(await get(`/pulls/3/reviews/${reviews[0].id}/comments`)).toMatchObject([
    { body: "Why?", position: 7, original_author: "hubot", commit_id: base },
  ]);
  expect(await get(`/pulls/3/reviews/${reviews[1].id}/comments`)).toMatchObject([
    { body: "Because.", original_position: 6, position: 0, original_author: "octo" },
  ]);
  // The pages name the authors of the source, and who has imported their texts.
  const page = async (rest: string) =>
    (await daemon.request(`/${copy}${rest}`)).text.replace(/<[^>]+>/g, "").replace(/\s+/g, " ");
  expect(await page("/issues")).toContain("by octo (imported by mira)");
  const shown = await page("/issues/1");
  for (const text of ["octo (imported by mira) opened", "hubot (imported by mira) commented"])
    expect(shown).toContain(text);
  const pull = await page("/pulls/3");
  for (const text of [
    "hubot (imported by mira) reviewed",
    "octo (imported by mira) asked to merge",
  ])
    expect(pull).toContain(text);
  // Its commits are not there.
  expect(await get("/issues/4")).toMatchObject({ pull_request: null, title: "Issue 4" });
  expect(await get("/releases")).toMatchObject([
    { tag_name: "v1", prerelease: true, published_at: at(2), assets: [{ name: "a.txt", size: 4 }] },
  ]);
  expect([...tokens].toSorted()).toEqual(["api Bearer gh-token", "file Bearer gh-token"]);
  // The head of a later pull request would take its place.
  const refs = await get("/git/refs");
  expect(JSON.stringify(refs)).not.toContain("refs/pull/99");
  expect((await by("mira", "POST", `/repos/${copy}/issues`, { title: "New" })).json.number).toBe(6);
});

test("reviews of Gitea are imported once over a cancellation, and malformed ones are left out", async () => {
  const [base, head] = [
    (await server.run(["rev-parse", "main"])).trim(),
    (await server.run(["rev-parse", "refs/pull/3/head"])).trim(),
  ];
  await server.run(["update-ref", "refs/pull/5/head", head]);
  const pull = (number: number) =>
    issueOf(number, {
      base: { ref: "main", sha: base, repo: { id: 1 } },
      head: { ref: "topic", sha: head, repo: { id: 2 } },
    });
  const review = (id: number, more: object = {}) => ({
    id,
    state: "APPROVED",
    body: `Review ${id}`,
    user: user("hubot"),
    commit_id: head,
    stale: true,
    dismissed: false,
    comments_count: 0,
    submitted_at: at(id),
    updated_at: at(id),
    ...more,
  });
  const line = (more: object = {}) => ({
    path: "a.txt",
    body: "Here",
    user: user("octo"),
    position: 0,
    original_position: 7,
    commit_id: "not a commit",
    diff_hunk: `@@ -7,1 +7,1 @@\n-${"x".repeat(20_000)}`,
    created_at: at(8),
    updated_at: at(9),
    ...more,
  });
  const arrived = Promise.withResolvers<ServerResponse>();
  let isHeld = true;
  answer = (path, page, request, response) => {
    if (path === "/issues" && request.url?.includes("state=all&limit=1"))
      return json(response, [issueOf(5)]);
    if (path === "/pulls/5/reviews" && isHeld) {
      isHeld = false;
      return arrived.resolve(response);
    }
    const link = { link: page === 1 ? '<x>; rel="next"' : "" };
    const pages: Record<string, readonly (readonly unknown[])[]> = {
      "/pulls": [[pull(3), pull(5)], []],
      "/pulls/3/reviews": [
        [review(1, { comments_count: 3 }), review(2, { state: "PENDING" }), { id: "x" }],
        [
          review(4, { state: "REQUEST_CHANGES", dismissed: true, original_author: "first" }),
          review(6, { state: "REQUEST_REVIEW" }),
          review(7, { state: "DELETED" }),
        ],
      ],
      "/pulls/3/reviews/1/comments": [
        [line(), line({ original_position: 0 }), line({ path: "" }), "no comment"],
      ],
      "/pulls/5/reviews": [[review(9, { state: "COMMENT", user: null })], []],
    };
    const found = pages[path];
    if (found === undefined)
      return path === "" ? json(response, { id: 1 }) : response.writeHead(404).end();
    return json(response, found[page - 1] ?? [], link);
  };
  const made = await migrate({ service: "gitea", auth_token: "t", issues: false, releases: false });
  expect(made.status, made.text).toBe(201);
  const copy = made.json.full_name;
  const response = await arrived.promise;
  expect((await by("mira", "DELETE", `/repos/${copy}/import`)).status).toBe(200);
  response.destroy();
  const resumed = await by("mira", "POST", `/repos/${copy}/import`, { auth_token: "t" });
  expect(resumed.status, resumed.text).toBe(200);
  const done = await until(copy, "done");
  expect(done.parts).toContainEqual({ name: "reviews", imported: 3, skipped: 4, total: null });
  const get = async (path: string) => (await by("mira", "GET", `/repos/${copy}${path}`)).json;
  const reviews = await get("/pulls/3/reviews");
  expect(reviews).toMatchObject([
    { state: "APPROVED", body: "Review 1", original_author: "hubot", submitted_at: at(1) },
    { state: "REQUEST_CHANGES", original_author: "first", dismissed: true, official: false },
  ]);
  expect(reviews).toHaveLength(2);
  const lines = await get(`/pulls/3/reviews/${reviews[0].id}/comments`);
  expect(lines).toMatchObject([
    { body: "Here", original_position: 7, position: 0, commit_id: "", original_author: "octo" },
  ]);
  expect(lines[0].diff_hunk).toHaveLength(16_384);
  expect(await get("/pulls/5/reviews")).toMatchObject([
    { state: "COMMENT", original_author: "ghost", submitted_at: at(9) },
  ]);
  const page = await daemon.request(`/${copy}/pulls/3`);
  expect(page.text).toContain("Review 1");
});

test("an import from a source that answers anything else fails with a reason, and resumes when the source is mended", async () => {
  let isMended = false;
  let wrong: (response: ServerResponse) => void = () => undefined;
  answer = (path, page, request, response) => {
    if (path === "") return json(response, { id: 1 });
    if (path === "/issues" && request.url?.includes("direction=desc"))
      return json(response, [issueOf(2)]);
    if (path !== "/issues") return response.writeHead(404).end();
    if (page === 1) return json(response, [issueOf(1)], { link: '<x>; rel="next"' });
    return isMended ? json(response, [issueOf(2)], { link: "" }) : wrong(response);
  };
  const cases: readonly (readonly [(response: ServerResponse) => void, string])[] = [
    [(response) => void response.writeHead(200).end("<html>"), "does not answer with JSON"],
    [(response) => json(response, { message: "no" }), "does not answer with a list"],
    [(response) => void response.writeHead(401).end(), "refuses the credentials (status 401)"],
    [
      (response) => {
        response.writeHead(200);
        const chunk = Buffer.alloc(1 << 20, "[");
        const more = () => {
          while (response.write(chunk));
        };
        response.on("drain", more);
        more();
      },
      "answers with too much at once",
    ],
    [
      (response) => void response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
      "the address is not permitted",
    ],
  ];
  const copies: string[] = [];
  for (const [answered, words] of cases) {
    wrong = answered;
    const made = await migrate({ pull_requests: false, releases: false });
    expect(made.status, made.text).toBe(201);
    const copy = made.json.full_name;
    expect((await until(copy, "failed")).error).toContain(words);
    copies.push(copy);
  }
  isMended = true;
  const copy = copies[0] ?? "";
  expect((await by("mira", "POST", `/repos/${copy}/import`, {})).status).toBe(200);
  const done = await until(copy, "done");
  expect(done.parts).toContainEqual({ name: "issues", imported: 2, skipped: 0, total: null });
  const listed = await by("mira", "GET", `/repos/${copy}/issues?state=all`);
  expect(listed.json.map(({ number }: { number: number }) => number)).toEqual([2, 1]);
});

test("a source whose newest number is beyond all bounds leaves numbers for issues here", async () => {
  answer = (path, _page, request, response) =>
    path === "/issues" && request.url?.includes("direction=desc")
      ? json(response, [issueOf(Number.MAX_SAFE_INTEGER)])
      : json(response, []);
  const made = await migrate({ pull_requests: false, releases: false });
  expect(made.status, made.text).toBe(201);
  await until(made.json.full_name, "done");
  const path = `/repos/${made.json.full_name}/issues`;
  expect((await by("mira", "POST", path, { title: "first" })).json.number).toBe(1);
});

test("an import that never ends is cancelled", async () => {
  let pages = 0;
  answer = (path, page, request, response) => {
    if (path === "/issues" && request.url?.includes("direction=desc"))
      return json(response, [issueOf(2)]);
    if (path !== "/labels") return response.writeHead(404).end();
    pages = page;
    // The same labels without end.
    return json(response, [{ name: "bug", color: "x" }], { link: '<x>; rel="next"' });
  };
  const copy = (await migrate()).json.full_name;
  await vi.waitFor(() => expect(pages).toBeGreaterThan(3), { timeout: 60_000, interval: 50 });
  expect((await by("mira", "DELETE", `/repos/${copy}/import`)).status).toBe(200);
  await until(copy, "cancelled");
  expect((await importOf(copy)).parts[0]).toMatchObject({ name: "labels", imported: 1 });
});

test("an import brings no wiki when the source says that it has none, and fails when the source does not say it", async () => {
  const code = { service: "git", wiki: true };
  for (const status of [401, 404]) {
    wikiStatus = status;
    const made = await migrate(code);
    expect(made.status, made.text).toBe(201);
    const pages = await by("mira", "GET", `/repos/${made.json.full_name}/wiki/pages`);
    expect(pages.status).toBe(404);
  }
  for (const status of [429, 500, 503]) {
    wikiStatus = status;
    const refused = await migrate({ ...code, repo_name: "without-wiki" });
    expect(refused.status, refused.text).toBe(422);
    expect(refused.json.message).toContain(`the server answered with status ${status}`);
  }
  expect((await by("mira", "GET", "/repos/mira/without-wiki")).status).toBe(404);
});

test("a mirror that is removed during its synchronization keeps its branches", async () => {
  const copy = (await migrate({ service: "git", mirror: true })).json.full_name;
  const branches = async () => (await by("mira", "GET", `/repos/${copy}/branches`)).json;
  const before = await branches();
  const quarantines = async () =>
    (await readdir(daemon.home, { recursive: true })).filter((path) =>
      path.includes("tmp_objdir-new-"),
    );
  const tree = (await server.run(["mktree"])).trim();
  const later = (await server.run(["commit-tree", tree, "-m", "later"])).trim();
  await server.run(["update-ref", "refs/heads/later", later]);
  held = { arrived: Promise.withResolvers(), released: Promise.withResolvers() };
  expect((await by("mira", "POST", `/repos/${copy}/mirror-sync`)).status).toBe(200);
  await held.arrived.promise;
  expect(await quarantines()).not.toEqual([]);
  expect((await by("mira", "DELETE", `/repos/${copy}/mirror`)).status).toBe(204);
  held.released.resolve();
  held = undefined;
  // The synchronization ends with the removal of its quarantine.
  await vi.waitFor(async () => expect(await quarantines()).toEqual([]), {
    timeout: 60_000,
    interval: 50,
  });
  expect(await branches()).toEqual(before);
});

test("an import waits when requests for large files are limited", async () => {
  const oid = createHash("sha256").update("large").digest("hex");
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 5\n`;
  const blob = (await server.run(["hash-object", "-w", "--stdin"], pointer)).trim();
  const tree = (await server.run(["mktree"], `100644 blob ${blob}\tlarge.bin\n`)).trim();
  const large = (await server.run(["commit-tree", tree, "-m", "large"])).trim();
  await server.run(["update-ref", "refs/heads/large", large]);
  const limited = new Set(["/batch", "/files/large"]);
  answer = (path, _page, _request, response) => {
    if (limited.delete(path)) return response.writeHead(429, { "retry-after": "1" }).end();
    if (path === "/files/large") return response.writeHead(200).end("large");
    const download = { href: `${server.url}/files/large` };
    return json(response, { objects: [{ oid, actions: { download } }] });
  };
  const copy = (await migrate({ service: "git", lfs: true })).json.full_name;
  const done = await until(copy, "done");
  expect(limited).toEqual(new Set());
  expect(done.parts).toMatchObject([{ name: "large_files", imported: 1, skipped: 0 }]);
});
