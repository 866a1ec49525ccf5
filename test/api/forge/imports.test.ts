import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

// Repositories of one daemon, which speaks Gitea's API, are imported by another one.
let there: TestDaemon;
let here: TestDaemon;
let git: GitClient;
let receiver: Receiver;
const far = createForgePeople(() => there);
const near = createForgePeople(() => here);
const { by } = near;
let names = 0;

const parts = { issues: true, pull_requests: true, releases: true, wiki: true, lfs: true };
const largeFile = "a large file";
const oid = createHash("sha256").update(largeFile).digest("hex");
const migrate = (path: string, fields: object = {}, user = "mira") =>
  by(user, "POST", "/repos/migrate", {
    clone_addr: `${there.url}/${path}.git`,
    auth_token: far.tokenOf("olga"),
    service: "gitea",
    repo_name: `copy${(names += 1)}`,
    ...parts,
    ...fields,
  });
const importOf = async (copy: string) => (await by("mira", "GET", `/repos/${copy}/import`)).json;
const ended = (copy: string) =>
  vi.waitFor(
    async () => {
      const found = await importOf(copy);
      expect(["done", "failed", "cancelled"], JSON.stringify(found)).toContain(found.state);
      return found;
    },
    { timeout: 60_000, interval: 100 },
  );

/** A private repository of olga with everything that is imported. */
async function newSource(): Promise<string> {
  const path = `olga/${await far.newRepository("olga", { auto_init: true, private: true })}`;
  const call = async (method: string, rest: string, body?: object) => {
    const answer = await far.by("olga", method, `/repos/${path}${rest}`, body);
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.json;
  };
  const label = await call("POST", "/labels", {
    name: "kind/bug",
    color: "#ff0000",
    exclusive: true,
  });
  const milestone = await call("POST", "/milestones", { title: "1.0", description: "First" });
  await call("POST", "/issues", {
    title: "It breaks",
    body: "See *here*.",
    labels: [label.id],
    milestone: milestone.id,
  });
  await far.by("nora", "POST", `/repos/${path}/issues/1/comments`, { body: "Me too" });
  await call("POST", "/issues/1/comments", { body: "Thanks" });
  await call("POST", "/issues", { title: "Done", closed: true });
  await call("POST", "/branches", { new_branch_name: "feature" });
  await call("POST", "/contents/new.txt", {
    content: Buffer.from("new").toString("base64"),
    branch: "feature",
    message: "Add new",
  });
  await call("POST", "/pulls", { head: "feature", base: "main", title: "Add new", body: "Please" });
  await call("POST", "/issues/3/comments", { body: "Looks good" });
  const review = async (user: string, body: object) => {
    const made = await far.by(user, "POST", `/repos/${path}/pulls/3/reviews`, body);
    expect(made.status, made.text).toBe(200);
    return made.json.id as number;
  };
  const line = { path: "new.txt", new_position: 1, body: "Why?" };
  const first = await review("nora", {
    event: "REQUEST_CHANGES",
    body: "Not yet",
    comments: [line, { ...line, body: "And this?" }],
  });
  const [comment] = (
    await far.by("nora", "GET", `/repos/${path}/pulls/3/reviews/${first}/comments`)
  ).json;
  await call("POST", `/pulls/3/comments/${comment.id}/replies`, { body: "Because" });
  await call("POST", `/pulls/comments/${comment.id}/resolve`);
  await review("nora", { event: "APPROVED", body: "" });
  await review("olga", { event: "COMMENT", body: "Thanks all" });
  await review("nora", { body: "Not submitted" });
  await call("POST", "/pulls/3/requested_reviewers", { reviewers: ["nora"] });
  await call("POST", "/branches", { new_branch_name: "merged", old_branch_name: "feature" });
  await call("POST", "/pulls", { head: "merged", base: "main", title: "Merge me" });
  await vi.waitFor(
    async () => {
      const merged = await far.by("olga", "POST", `/repos/${path}/pulls/4/merge`, { Do: "merge" });
      expect(merged.status, merged.text).toBe(200);
    },
    { timeout: 60_000, interval: 200 },
  );
  const release = await call("POST", "/releases", { tag_name: "v1", name: "One", body: "Notes" });
  const form = new FormData();
  form.set("attachment", new Blob(["bytes"]), "file.bin");
  const asset = await there.request(`/api/v1/repos/${path}/releases/${release.id}/assets`, {
    method: "POST",
    token: far.tokenOf("olga"),
    body: form,
  });
  expect(asset.status).toBe(201);
  await call("POST", "/releases", { tag_name: "v2", draft: true });
  await call("POST", "/wiki/new", { title: "Home", content_base64: btoa("# Hello") });
  const size = largeFile.length;
  for (const [name, text] of [
    ["large.bin", `oid sha256:${oid}\nsize ${size}\n`],
    ["lost.bin", `oid sha256:${"0".repeat(64)}\nsize ${size}\n`],
  ] as const)
    await call("POST", `/contents/${name}`, {
      content: btoa(`version https://git-lfs.github.com/spec/v1\n${text}`),
      message: `Add ${name}`,
    });
  const uploaded = await there.request(`/${path}.git/info/lfs/objects/${oid}/${size}`, {
    method: "PUT",
    basic: `olga:${far.tokenOf("olga")}`,
    headers: { "content-type": "application/octet-stream" },
    body: largeFile,
  });
  expect(uploaded.status, uploaded.text).toBe(200);
  return path;
}

beforeAll(async () => {
  [there, here] = await Promise.all([
    startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } }),
    startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } }),
  ]);
  git = await createGitClient();
  receiver = await startReceiver((_request, response) => response.writeHead(200).end("[]"));
  await near.newUser("mira");
  await far.newUser("olga");
  await far.newUser("nora", { admin: true });
  await far.api("PATCH", "/admin/users/nora", { admin: true, source_id: 0, login_name: "nora" });
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
  await here[Symbol.asyncDispose]();
  await there[Symbol.asyncDispose]();
});

describe("an import from Gitea's API", () => {
  test("an import keeps numbers, texts, times, states and files, and causes no events", async () => {
    const path = await newSource();
    await by("mira", "PATCH", "/user/settings", { full_name: "Mira" });
    const hook = await by("mira", "POST", "/user/hooks", {
      type: "gitea",
      config: { url: `${receiver.url}/hook`, content_type: "json" },
      events: ["issues", "issue_comment", "pull_request", "release"],
      active: true,
    });
    expect(hook.status, hook.text).toBe(201);
    const made = await migrate(path);
    expect(made.status, made.text).toBe(201);
    expect(made.text).not.toContain(far.tokenOf("olga"));
    const copy = made.json.full_name;
    // What is opened meanwhile does not take the number of an issue that is still to come.
    const early = await by("mira", "POST", `/repos/${copy}/issues`, { title: "Mine" });
    expect(early.json.number).toBe(5);
    const result = await ended(copy);
    expect(result).toMatchObject({ state: "done", error: "", current: "", service: "gitea" });
    expect(JSON.stringify(result)).not.toContain(far.tokenOf("olga"));
    const counts = Object.fromEntries(
      result.parts.map((part: { name: string; imported: number }) => [part.name, part.imported]),
    );
    expect(counts).toEqual({
      large_files: 1,
      labels: 1,
      milestones: 1,
      releases: 2,
      issues: 2,
      pulls: 2,
      comments: 3,
      reviews: 3,
    });
    const [theirs, ours] = await Promise.all(
      [
        [far, "olga", path],
        [near, "mira", copy],
      ].map(async ([daemon, user, name]) => {
        const get = async (rest: string) =>
          (
            await (daemon as typeof far).by(
              user as string,
              "GET",
              `/repos/${name as string}${rest}`,
            )
          ).json;
        return {
          labels: await get("/labels"),
          milestones: await get("/milestones"),
          issues: [1, 2, 3, 4].map((number) => get(`/issues/${number}`)),
          comments: await get("/issues/comments"),
          pulls: [await get("/pulls/3"), await get("/pulls/4")],
          releases: await get("/releases"),
          reviews: await get("/pulls/3/reviews"),
          timeline: await get("/issues/3/timeline"),
        };
      }),
    );
    const pick = (item: Record<string, unknown>, ...members: string[]) =>
      Object.fromEntries(members.map((member) => [member, item[member]]));
    for (const [index, issue] of (await Promise.all(ours?.issues ?? [])).entries()) {
      const source = await theirs?.issues[index];
      const kept = [
        "number",
        "title",
        "body",
        "state",
        "created_at",
        "closed_at",
        "updated_at",
        "comments",
      ];
      expect(pick(issue, ...kept)).toEqual(pick(source, ...kept));
      expect(issue.original_author).toBe("olga");
      expect(issue.user.login).toBe("mira");
    }
    const first = await ours?.issues[0];
    expect(first).toMatchObject({
      labels: [{ name: "kind/bug", color: "ff0000", exclusive: true }],
      milestone: { title: "1.0", description: "First" },
    });
    expect(
      ours?.comments.map((comment: Record<string, unknown>) =>
        pick(comment, "body", "original_author", "created_at"),
      ),
    ).toEqual(
      theirs?.comments.map((comment: { user: { login: string } } & Record<string, unknown>) => ({
        ...pick(comment, "body", "created_at"),
        original_author: comment.user.login,
      })),
    );
    const kept = [
      "state",
      "body",
      "commit_id",
      "dismissed",
      "stale",
      "submitted_at",
      "comments_count",
    ];
    const submitted = theirs?.reviews.filter(
      ({ state }: { state: string }) => !["PENDING", "REQUEST_REVIEW"].includes(state),
    );
    expect(submitted).toHaveLength(3);
    expect(
      ours?.reviews.map((each: Record<string, unknown>) =>
        pick(each, ...kept, "original_author", "official"),
      ),
    ).toEqual(
      submitted.map((each: { user: { login: string } } & Record<string, unknown>) => ({
        ...pick(each, ...kept),
        original_author: each.user.login,
        official: false,
      })),
    );
    // Its author has no account here.
    expect(ours?.reviews[0].user.login).toBe("Ghost");
    const linesOf = async (
      daemon: typeof far,
      user: string,
      name: string,
      id: number,
    ): Promise<(Record<string, unknown> & { user: { login: string } })[]> =>
      (await daemon.by(user, "GET", `/repos/${name}/pulls/3/reviews/${id}/comments`)).json;
    const place = [
      "body",
      "path",
      "position",
      "original_position",
      "diff_hunk",
      "commit_id",
      "created_at",
    ];
    const theirLines = await linesOf(far, "olga", path, submitted[0].id);
    expect(
      (await linesOf(near, "mira", copy, ours?.reviews[0].id)).map((line) => ({
        ...pick(line, ...place, "original_author"),
        isResolved: line["resolver"] !== null,
      })),
    ).toEqual(
      theirLines.map((line) => ({
        ...pick(line, ...place),
        original_author: line.user.login,
        isResolved: line["resolver"] !== null,
      })),
    );
    expect(theirLines.map(({ body }) => body)).toEqual(["Why?", "And this?", "Because"]);
    const spoken = (entries: { type: string; body: string }[]) =>
      entries.filter(({ type }) => ["comment", "review"].includes(type)).map(({ body }) => body);
    expect(spoken(ours?.timeline)).toEqual(["Looks good", "Not yet", "", "Thanks all"]);
    expect((await by("mira", "GET", `/repos/${copy}/pulls/3`)).json.review_comments).toBe(3);
    await vi.waitFor(
      async () =>
        expect((await by("mira", "GET", `/repos/${copy}/pulls/3`)).json).toMatchObject({
          mergeable: true,
          state: "open",
          head: { ref: "feature", sha: theirs?.pulls[0].head.sha },
          base: { ref: "main" },
          changed_files: 0,
        }),
      { timeout: 60_000, interval: 100 },
    );
    expect(ours?.pulls[1]).toMatchObject({
      merged: true,
      merged_at: theirs?.pulls[1].merged_at,
      merge_commit_sha: theirs?.pulls[1].merge_commit_sha,
    });
    expect((await by("mira", "GET", `/repos/${copy}/pulls/4/files`)).json).toMatchObject([
      { filename: "new.txt" },
    ]);
    expect(ours?.releases).toMatchObject([
      { tag_name: "v2", draft: true },
      {
        tag_name: "v1",
        name: "One",
        body: "Notes",
        published_at: theirs?.releases[1].published_at,
        assets: [{ name: "file.bin", size: 5 }],
      },
    ]);
    const file = await here.request(`/${copy}/releases/download/v1/file.bin`, {
      token: near.tokenOf("mira"),
    });
    expect(file.text).toBe("bytes");
    expect((await by("mira", "GET", `/repos/${copy}/wiki/page/Home`)).json).toMatchObject({
      content_base64: btoa("# Hello"),
    });
    const media = await here.request(`/api/v1/repos/${copy}/media/large.bin`, {
      token: near.tokenOf("mira"),
    });
    expect(media.text).toBe(largeFile);
    // No hook, no notification and no activity but those of the repository and of the issue that was opened here.
    const fired = receiver.received.filter(({ path: to }) => to === "/hook");
    expect(fired.filter(({ body }) => !body.includes('"Mine"'))).toEqual([]);
    const next = await by("mira", "POST", `/repos/${copy}/issues`, { title: "Next" });
    expect(next.json.number).toBe(6);
  });

  test("an import by a site administrator finds the authors by their names", async () => {
    await near.newUser("olga");
    const path = `olga/${await far.newRepository("olga", { private: true })}`;
    await far.by("olga", "POST", `/repos/${path}/issues`, { title: "Hers" });
    const made = await near.api("POST", "/repos/migrate", {
      clone_addr: `${there.url}/${path}`,
      auth_token: far.tokenOf("olga"),
      service: "forgejo",
      repo_name: "found",
      repo_owner: "mira",
      issues: true,
    });
    expect(made.status, made.text).toBe(201);
    await ended("mira/found");
    expect((await by("mira", "GET", "/repos/mira/found/issues/1")).json).toMatchObject({
      user: { login: "olga" },
      original_author: "olga",
    });
  });

  test("an import refuses wrong credentials and a server of another kind, and leaves nothing", async () => {
    const path = `olga/${await far.newRepository("olga", { private: true })}`;
    const wrong = await migrate(path, { auth_token: "wrong", repo_name: "wrong" });
    expect(wrong).toMatchObject({ status: 422 });
    const other = await migrate(path, { service: "github", repo_name: "wrong" });
    expect(other).toMatchObject({ status: 422 });
    const list = await migrate(path, { clone_addr: receiver.url, repo_name: "wrong" });
    expect(list).toMatchObject({ status: 422 });
    expect((await by("mira", "GET", "/repos/mira/wrong")).status).toBe(404);
    const nora = await near.newUser();
    const copy = (await migrate(path)).json.full_name;
    expect((await by(nora, "DELETE", `/repos/${copy}/import`)).status).toBe(403);
    expect(await ended(copy)).toMatchObject({ state: "done", error: "" });
    expect((await by("mira", "DELETE", `/repos/${copy}/import`)).status).toBe(409);
    expect((await by("mira", "POST", `/repos/${copy}/import`, {})).status).toBe(409);
  });

  test("hundreds of issues are imported once, over a restart of the daemon and a cancellation", async () => {
    const path = `olga/${await far.newRepository("olga", { auto_init: true, private: true })}`;
    for (let at = 0; at < 250; at += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          far.by("olga", "POST", `/repos/${path}/issues`, { title: `Issue ${at + index}` }),
        ),
      );
    const made = await migrate(path);
    expect(made.status, made.text).toBe(201);
    const copy = made.json.full_name;
    const cancelled = await by("mira", "DELETE", `/repos/${copy}/import`);
    if (cancelled.status === 200) {
      expect(cancelled.json.state).toBe("cancelled");
      const { home } = here;
      await here.stop();
      here = await startTestDaemon({ home, env: { CROFT_RATE_LIMITS: "off" } });
      const resumed = await by("mira", "POST", `/repos/${copy}/import`, {
        auth_token: far.tokenOf("olga"),
      });
      expect(resumed.status, resumed.text).toBe(200);
    }
    expect(await ended(copy)).toMatchObject({ state: "done" });
    const listed = await by("mira", "GET", `/repos/${copy}/issues?state=all&limit=1`);
    expect(listed.headers.get("x-total-count")).toBe("250");
    for (const number of [1, 125, 250])
      expect((await by("mira", "GET", `/repos/${copy}/issues/${number}`)).status).toBe(200);
  });
});
