import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto"]) await people.newUser(name);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const TYPE = "application/vnd.git-lfs+json";
const lfs = (who: string, home: string, path: string, method: string, body: string) =>
  daemon.request(`/${home}.git/info/lfs${path}`, {
    method,
    basic: `${who}:${people.tokenOf(who)}`,
    headers: {
      accept: TYPE,
      "content-type": path === "/objects/batch" ? TYPE : "application/octet-stream",
    },
    body,
  });

/** Uploads a large file and commits its pointer to a branch. */
async function addLargeFile(who: string, home: string, text: string, branch: object) {
  const oid = createHash("sha256").update(text).digest("hex");
  const uploaded = await lfs(who, home, `/objects/${oid}/${text.length}`, "PUT", text);
  expect(uploaded.status, uploaded.text).toBe(200);
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${text.length}\n`;
  const content = Buffer.from(pointer).toString("base64");
  const added = await by(who, "POST", `/repos/${home}/contents/${text}.bin`, {
    content,
    ...branch,
  });
  expect(added.status).toBe(201);
  return { oid, size: text.length };
}

/** Returns which of the files a repository serves. */
async function served(home: string, files: readonly object[]): Promise<boolean[]> {
  const body = JSON.stringify({ operation: "download", transfers: ["basic"], objects: files });
  const { json } = await lfs("otto", home, "/objects/batch", "POST", body);
  return json.objects.map(({ actions }: { actions?: object }) => actions !== undefined);
}

const merge = async (path: string) => {
  await expect
    .poll(async () => (await by("mira", "GET", path)).json.mergeable, { interval: 20 })
    .toBe(true);
  const merged = await by("mira", "POST", `${path}/merge`, { do: "squash" });
  expect(merged.status, merged.text).toBe(200);
};

test("a merge gives the base the large files that the commits of a fork name, and no others of the fork", async () => {
  const name = await people.newRepository("mira", { auto_init: true });
  const [base, fork] = [`mira/${name}`, `otto/${name}`];
  await by("otto", "POST", `/repos/${base}/forks`, { name });
  const topic = await addLargeFile("otto", fork, "topic", { new_branch: "topic" });
  const other = await addLargeFile("otto", fork, "other", { new_branch: "other" });
  const opened = { head: "otto:topic", base: "main", title: "Add a large file" };
  expect((await by("otto", "POST", `/repos/${base}/pulls`, opened)).status).toBe(201);
  expect(await served(base, [topic, other])).toEqual([false, false]);
  await merge(`/repos/${base}/pulls/1`);
  expect(await served(base, [topic, other])).toEqual([true, false]);
  // An update brings the files of the base to the fork.
  const late = await addLargeFile("mira", base, "late", { branch: "main" });
  const again = { head: "otto:other", base: "main", title: "Add another one" };
  expect((await by("otto", "POST", `/repos/${base}/pulls`, again)).status).toBe(201);
  expect(await served(fork, [late])).toEqual([false]);
  expect((await by("otto", "POST", `/repos/${base}/pulls/2/update`)).status).toBe(200);
  expect(await served(fork, [late])).toEqual([true]);
});
