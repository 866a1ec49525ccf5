import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// What an import keeps of a repository beside its issues, and of pull requests whose branches are gone.
const TYPE = "application/vnd.git-lfs+json";
let there: TestDaemon;
let here: TestDaemon;
const far = createForgePeople(() => there);
const near = createForgePeople(() => here);
let names = 0;

const call = async (user: string, method: string, path: string, body?: object) => {
  const answer = await far.by(user, method, path, body);
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
  return answer.json;
};
const newSource = async () =>
  `olga/${await far.newRepository("olga", { auto_init: true, private: false })}`;
const get = async (copy: string, rest = "") =>
  (await near.by("mira", "GET", `/repos/${copy}${rest}`)).json;

async function importAll(path: string, fields: object = {}): Promise<string> {
  const made = await near.api("POST", "/repos/migrate", {
    clone_addr: `${there.url}/${path}`,
    auth_token: far.tokenOf("olga"),
    service: "gitea",
    repo_owner: "mira",
    repo_name: `copy${(names += 1)}`,
    issues: true,
    pull_requests: true,
    labels: true,
    releases: true,
    ...fields,
  });
  expect(made.status, made.text).toBe(201);
  const copy = made.json.full_name;
  await vi.waitFor(
    async () => expect(await get(copy, "/import")).toMatchObject({ state: "done" }),
    {
      timeout: 60_000,
      interval: 100,
    },
  );
  return copy;
}

/** Commits a file of three lines to a new branch. */
const commit = (user: string, path: string, branch: string) =>
  call(user, "POST", `/repos/${path}/contents/${branch}.txt`, {
    content: btoa("one\ntwo\nthree\n"),
    new_branch: branch,
    message: `Add ${branch}`,
  });

const whenMergeable = (read: () => Promise<unknown>) =>
  vi.waitFor(async () => expect(await read()).toMatchObject({ mergeable: true }), {
    timeout: 60_000,
    interval: 100,
  });

beforeAll(async () => {
  [there, here] = await Promise.all([
    startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } }),
    startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } }),
  ]);
  await near.newUser("mira");
  await near.newUser("olga");
  await far.newUser("olga");
  await far.newUser("nora");
});
afterAll(async () => {
  await here[Symbol.asyncDispose]();
  await there[Symbol.asyncDispose]();
});

test("a repository keeps its description, website, topics and archived labels", async () => {
  const path = await newSource();
  await call("olga", "PATCH", `/repos/${path}`, {
    description: "Pots and plates",
    website: "https://example.org/pots",
  });
  await call("olga", "PUT", `/repos/${path}/topics`, { topics: ["kiln", "glaze"] });
  await call("olga", "POST", `/repos/${path}/labels`, {
    name: "old",
    color: "#ff0000",
    is_archived: true,
  });
  const copy = await importAll(path);
  expect(await get(copy)).toMatchObject({
    description: "Pots and plates",
    website: "https://example.org/pots",
    topics: ["glaze", "kiln"],
  });
  expect(await get(copy, "/labels")).toMatchObject([{ name: "old", is_archived: true }]);
  expect(await get(await importAll(path, { description: "Mine" }))).toMatchObject({
    description: "Mine",
  });
});

test("a merged pull request keeps its counts and the name of its branch, which was deleted", async () => {
  const path = await newSource();
  await commit("olga", path, "topic");
  await call("olga", "POST", `/repos/${path}/pulls`, {
    head: "topic",
    base: "main",
    title: "Add it",
  });
  await whenMergeable(() => call("olga", "GET", `/repos/${path}/pulls/1`));
  await call("olga", "POST", `/repos/${path}/pulls/1/merge`, {
    Do: "merge",
    delete_branch_after_merge: true,
  });
  const copy = await importAll(path);
  expect(await get(copy, "/pulls/1")).toMatchObject({
    merged: true,
    additions: 3,
    deletions: 0,
    changed_files: 1,
    head: { label: "topic" },
  });
});

test("an open pull request from a fork can be merged here", async () => {
  const path = await newSource();
  const [, name] = path.split("/");
  await call("nora", "POST", `/repos/${path}/forks`, {});
  await commit("nora", `nora/${name}`, "theirs");
  await call("nora", "POST", `/repos/${path}/pulls`, {
    head: "nora:theirs",
    base: "main",
    title: "From afar",
  });
  const copy = await importAll(path);
  await whenMergeable(() => get(copy, "/pulls/1"));
  const merged = await near.by("mira", "POST", `/repos/${copy}/pulls/1/merge`, { Do: "merge" });
  expect(merged.status, merged.text).toBe(200);
});

test("a pull request from a fork brings the files of Git LFS that only the fork has", async () => {
  const path = await newSource();
  const fork = `nora/${path.split("/")[1]}`;
  await call("nora", "POST", `/repos/${path}/forks`, {});
  const open = async (bytes: string, isUploaded: boolean) => {
    const oid = createHash("sha256").update(bytes).digest("hex");
    const size = bytes.length;
    if (isUploaded)
      await there.request(`/${fork}.git/info/lfs/objects/${oid}/${size}`, {
        method: "PUT",
        basic: `nora:${far.tokenOf("nora")}`,
        headers: { "content-type": "application/octet-stream" },
        body: bytes,
      });
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
    await call("nora", "POST", `/repos/${fork}/contents/${bytes}.bin`, {
      content: btoa(pointer),
      new_branch: bytes,
      message: `Add ${bytes}`,
    });
    const pull = { head: `nora:${bytes}`, base: "main", title: bytes };
    await call("nora", "POST", `/repos/${path}/pulls`, pull);
    return { oid, size };
  };
  const objects = [await open("theirs", true), await open("nowhere", false)];
  const copy = await importAll(path, { lfs: true });
  const batch = await here.request(`/${copy}.git/info/lfs/objects/batch`, {
    method: "POST",
    basic: `mira:${near.tokenOf("mira")}`,
    headers: { accept: TYPE, "content-type": TYPE },
    body: JSON.stringify({ operation: "download", objects }),
  });
  expect(batch.json.objects).toMatchObject([
    { ...objects[0], actions: { download: {} } },
    { ...objects[1], error: { code: 404 } },
  ]);
  const { parts } = await get(copy, "/import");
  expect(parts[0]).toMatchObject({ name: "large_files", imported: 1, skipped: 1, total: 2 });
  // Without the flag, an import brings none.
  expect((await get(await importAll(path), "/import")).parts[0].name).toBe("labels");
});

test("a site administrator's import finds the authors of releases", async () => {
  const path = await newSource();
  await call("olga", "POST", `/repos/${path}/releases`, { tag_name: "v1" });
  const copy = await importAll(path);
  expect(await get(copy, "/releases")).toMatchObject([{ author: { login: "olga" } }]);
});

test("a mirror gets the files of Git LFS that its source has, and those of later changes", async () => {
  const path = await newSource();
  const addFile = async (bytes: string) => {
    const oid = createHash("sha256").update(bytes).digest("hex");
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${bytes.length}\n`;
    const put = await there.request(`/${path}.git/info/lfs/objects/${oid}/${bytes.length}`, {
      method: "PUT",
      basic: `olga:${far.tokenOf("olga")}`,
      headers: { "content-type": "application/octet-stream" },
      body: bytes,
    });
    expect(put.status, put.text).toBe(200);
    await call("olga", "POST", `/repos/${path}/contents/${bytes}.bin`, {
      content: btoa(pointer),
      message: `Add ${bytes}`,
    });
  };
  const arrives = (copy: string, bytes: string) =>
    vi.waitFor(
      async () => {
        const media = await here.request(`/api/v1/repos/${copy}/media/${bytes}.bin`, {
          token: near.tokenOf("mira"),
        });
        expect(media.text).toBe(bytes);
      },
      { timeout: 60_000, interval: 100 },
    );
  await addFile("first");
  const copy = await importAll(path, { service: "git", mirror: true, lfs: true });
  expect(await get(copy)).toMatchObject({ mirror: true });
  await arrives(copy, "first");
  await addFile("second");
  await near.by("mira", "POST", `/repos/${copy}/mirror-sync`);
  await arrives(copy, "second");
  await vi.waitFor(async () => expect((await get(copy, "/import")).state).toBe("done"), {
    timeout: 60_000,
    interval: 100,
  });
  const { json } = await near.by("mira", "GET", `/repos/${copy}/import`);
  expect(json.parts).toMatchObject([{ name: "large_files", imported: 2 }]);
});
