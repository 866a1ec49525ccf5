import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ARTIFACT_SERVICE } from "../../../daemon/contract/api-of.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { pathOf, sha256, takeArtifactJob, toList } from "../../support/forge/artifact-job.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";

// Artifacts as the toolkit of actions uploads and downloads them from a job, and as users see them.

let daemon: TestDaemon;
let git: GitClient;
let now = Date.now();
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_MAX_UPLOAD_BYTES: "100000" },
    clock: () => now,
  });
  git = await createGitClient();
  for (const name of ["mira", "theo"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** The artifact client of one job. */
async function startJob(name: string, jobs = "a: { runs-on: NAME, steps: [{ run: echo }] }") {
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", name);
  await repository.create();
  const workflow = `on: push\njobs:\n  ${jobs.replaceAll("NAME", name)}\n`;
  await repository.push({ "ci.yml": workflow });
  const run = await repository.waitForRuns(1);
  return { repository, run, ...(await takeArtifactJob(daemon, repository)) };
}

test("the page of a run that failed before it had jobs shows the reason, and a job has a page only in its run", async () => {
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", "broken");
  await repository.create();
  await repository.push({ "ci.yml": "on: push\njobs: { a: { runs-on: x, steps: 1 } }\n" });
  const run = await repository.waitForRuns(1);
  const page = await daemon.request(`/mira/broken/actions/runs/${run.id}`);
  expect(page.text).toContain("<dt>Error</dt>");
  expect(page.text).toContain("ci.yml");
  const whole = "on: push\njobs: { b: { runs-on: nowhere, steps: [{ run: echo }] } }\n";
  await repository.push({ "ci.yml": whole });
  const second = await repository.waitForRuns(2);
  const [job] = await repository.jobs(second.id);
  const jobPage = (id: number) => daemon.request(`/mira/broken/actions/runs/${id}/jobs/${job?.id}`);
  expect(await jobPage(second.id)).toMatchObject({ status: 200 });
  expect(await jobPage(run.id)).toMatchObject({ status: 404 });
});

describe("an upload", () => {
  test.each([".", ".."])(
    "an upload refuses the name %s, which leads out of a folder",
    async (name) => {
      const { call } = await startJob(`named${name.length}`);
      expect((await call("CreateArtifact", { name, version: 7 })).status).toBe(400);
    },
  );

  test("an upload joins blocks in the order of the list, and jobs and users read the complete artifact", async () => {
    const { call, put, list, download, repository, run } = await startJob("blocks");
    const created = await call("CreateArtifact", {
      name: "report",
      version: 7,
      mime_type: "application/zip",
    });
    expect([created.status, created.json.ok]).toEqual([200, true]);
    const address = created.json.signed_upload_url;
    for (const [id, content] of [
      ["Qg%3D%3D", "second "],
      ["QQ%3D%3D", "lost"],
      ["Qw%3D%3D", "unlisted"],
      ["QQ%3D%3D", "first "],
    ] as const)
      expect((await put(address, `&comp=block&blockid=${id}`, content)).status).toBe(201);
    expect((await put(address, "&comp=blocklist", toList(["QQ==", "Qg=="]))).status).toBe(201);
    // The artifact does not exist before its upload ends.
    expect(await list()).toEqual([]);
    const whole = "first second ";
    const finish = { name: "report", size: String(whole.length), hash: `sha256:${sha256(whole)}` };
    const done = await call("FinalizeArtifact", finish);
    expect([done.status, done.json]).toEqual([200, { ok: true, artifact_id: expect.any(String) }]);
    // The client asks again when the answer is lost.
    expect((await call("FinalizeArtifact", finish)).json).toEqual(done.json);
    expect(await list()).toMatchObject([
      { name: "report", size: "13", database_id: done.json.artifact_id },
    ]);
    const answer = await download("report");
    expect([answer.status, answer.text]).toEqual([200, whole]);
    expect(answer.headers.get("content-type")).toBe("application/zip");
    expect(answer.headers.get("content-disposition")).toContain(
      'attachment; filename="report.zip"',
    );

    const { artifacts, total_count: total } = await repository.get(`/runs/${run.id}/artifacts`);
    expect([total, artifacts]).toEqual([
      1,
      [
        expect.objectContaining({
          id: Number(done.json.artifact_id),
          name: "report",
          size_in_bytes: 13,
          expired: false,
          digest: `sha256:${sha256(whole)}`,
          workflow_run: expect.objectContaining({ id: run.id, run_attempt: 1 }),
        }),
      ],
    ]);
    const zip = await people.api("GET", `${repository.api}/artifacts/${artifacts[0].id}/zip`);
    expect(zip.status).toBe(302);
    const signed = pathOf(zip.headers.get("location") ?? "");
    // A client that follows the redirect may send its token along.
    const part = await daemon.request(signed, {
      token: people.tokenOf("mira"),
      headers: { Range: "bytes=6-" },
    });
    expect([part.status, part.text]).toEqual([206, "second "]);
  });

  test("an upload appends blocks without ids, and one without blocks is the complete artifact", async () => {
    const { call, put, download, list } = await startJob("appended");
    for (const [name, parts] of [
      ["log.txt", ["one ", "two"]],
      ["single.txt", ["all"]],
      ["empty.txt", []],
    ] as const) {
      const created = await call("CreateArtifact", { name, version: 4, mimeType: "text/plain" });
      const comp = parts.length === 1 ? "" : "&comp=appendBlock";
      for (const part of parts) await put(created.json.signed_upload_url, comp, part);
      const whole = parts.join("");
      expect((await call("FinalizeArtifact", { name, size: whole.length })).status).toBe(200);
      const answer = await download(name);
      expect([answer.status, answer.text]).toEqual([200, whole]);
      expect(answer.headers.get("content-type")).toBe("text/plain");
      expect(answer.headers.get("content-disposition")).toContain(`filename="${name}"`);
    }
    expect(await list()).toHaveLength(3);
  });

  test("an upload of a taken name replaces the artifact when it is complete, and a deleted one is not found", async () => {
    const { call, upload, list, download } = await startJob("replaced");
    const first = (await upload("site", "old")).json.artifact_id;
    const begun = await call("CreateArtifact", { name: "site", version: 7 });
    expect(begun.status).toBe(200);
    expect((await download("site")).text).toBe("old");
    const second = (await upload("site", "new")).json.artifact_id;
    expect(second).not.toBe(first);
    expect((await download("site")).text).toBe("new");
    expect(await list()).toHaveLength(1);
    const deleted = await call("DeleteArtifact", { name: "site" });
    expect(deleted.json).toEqual({ ok: true, artifact_id: second });
    expect((await call("DeleteArtifact", { name: "site" })).status).toBe(404);
    expect(await list()).toEqual([]);
  });

  test("an upload is refused when size, digest, block list, name or length are wrong", async () => {
    const { call, put, list } = await startJob("wrong");
    const { json } = await call("CreateArtifact", { name: "x", version: 7 });
    const address = json.signed_upload_url;
    await put(address, "&comp=block&blockid=QQ%3D%3D", "content");
    for (const text of [
      toList(["QQ==", "Qg=="]),
      toList(["QQ==", "QQ=="]),
      "<BlockList><Latest>QQ==</Latest>",
      '<!DOCTYPE x [<!ENTITY a "b">]><BlockList/>',
      "<BlockList><Latest>&a;</Latest></BlockList>",
      `<BlockList>${"<Latest>".repeat(10_000)}</BlockList>`,
    ])
      expect((await put(address, "&comp=blocklist", text)).status).toBe(400);
    for (const fields of [{ size: "6" }, { size: "7", hash: `sha256:${sha256("other")}` }]) {
      const answer = await call("FinalizeArtifact", { name: "x", ...fields });
      expect([answer.status, answer.json.code]).toEqual([400, "invalid_argument"]);
    }
    for (const name of ["", "a/b", "a\\b", "..:", "a\nb", "x".repeat(256)])
      expect((await call("CreateArtifact", { name, version: 7 })).status).toBe(400);
    const long = await put(address, "&comp=block&blockid=Qg%3D%3D", "x".repeat(100_000));
    expect([long.status, long.json.code]).toEqual([413, "resource_exhausted"]);
    expect((await put(address, "&comp=block&blockid=a:b", "x")).status).toBe(400);
    expect((await call("FinalizeArtifact", { name: "absent", size: "0" })).status).toBe(404);
    expect((await call("Unknown", {})).json.code).toBe("not_found");
    expect(await list()).toEqual([]);
  });
});

test("artifacts whose bytes are lost, that are deleted, or that are named wrongly are refused", async () => {
  const { call, put, upload, download } = await startJob("refused");
  for (const [method, message] of [
    ["ListArtifacts", { name_filter: 5 }],
    ["GetSignedArtifactURL", { name: "a/b" }],
    ["DeleteArtifact", { name: "a/b" }],
  ] as const)
    expect((await call(method, message)).status, method).toBe(400);
  const large = await call("CreateArtifact", { name: "x", mime_type: "x".repeat(2_000_000) });
  expect(large.status).toBe(413);
  await upload("site", "the bytes of the site");
  const { json } = await call("GetSignedArtifactURL", { name: "site" });
  const signed = pathOf(json.signed_url);
  expect((await daemon.request(`${signed}&sig=x`)).status).toBe(400);
  await daemon.removeObject(sha256("the bytes of the site"));
  expect((await download("site")).status).toBe(503);
  // Two blocks become one object when the upload is completed.
  const begun = await call("CreateArtifact", { name: "parts", version: 7 });
  for (const [id, block] of [
    ["QQ==", "the first block"],
    ["Qg==", "the second block"],
  ] as const)
    await put(begun.json.signed_upload_url, `&comp=block&blockid=${encodeURIComponent(id)}`, block);
  await put(begun.json.signed_upload_url, "&comp=blocklist", toList(["QQ==", "Qg=="]));
  await daemon.removeObject(sha256("the second block"));
  expect((await call("FinalizeArtifact", { name: "parts", size: "31" })).status).toBe(503);
  await call("DeleteArtifact", { name: "site" });
  expect((await daemon.request(signed)).status).toBe(404);
});

describe("the runtime token of a job", () => {
  test("a runtime token expires with its job, and no other token is accepted instead", async () => {
    const { call, put, upload, end } = await startJob("ended");
    await upload("kept", "content");
    const { json } = await call("CreateArtifact", { name: "late", version: 7 });
    const signed = (await call("GetSignedArtifactURL", { name: "kept" })).json.signed_url;
    const others = [undefined, people.tokenOf("mira"), "a.b.c", ""];
    for (const other of others) {
      const body = { method: "POST", json: {}, ...(other === undefined ? {} : { bearer: other }) };
      const answer = await daemon.request(`${ARTIFACT_SERVICE}/ListArtifacts`, body);
      expect([answer.status, answer.json.code]).toEqual([401, "unauthenticated"]);
    }
    // An address is good for its own use alone.
    const upAsDown = pathOf(json.signed_upload_url).replace("UploadArtifact", "DownloadArtifact");
    expect((await daemon.request(upAsDown)).status).toBe(401);
    const downAsUp = pathOf(signed).replace("DownloadArtifact", "UploadArtifact");
    expect((await daemon.request(downAsUp, { method: "PUT", body: "x" })).status).toBe(401);
    expect((await daemon.request(`${pathOf(signed)}x`)).status).toBe(401);
    await end();
    expect((await call("ListArtifacts", {})).status).toBe(401);
    expect((await put(json.signed_upload_url, "&comp=block", "x")).status).toBe(404);
    expect((await daemon.request(pathOf(signed))).status).toBe(200);
    now += 3_600_000;
    expect((await daemon.request(pathOf(signed))).status).toBe(401);
  });

  test("a runtime token reads only artifacts of its own run", async () => {
    const one = await startJob("one");
    const other = await startJob("other");
    await one.upload("secret", "content");
    expect(await other.list()).toEqual([]);
    expect((await other.call("GetSignedArtifactURL", { name: "secret" })).status).toBe(404);
    expect((await other.call("DeleteArtifact", { name: "secret" })).status).toBe(404);
    expect(await one.list()).toHaveLength(1);
  });

  test("the runtime token of a rerun job reads artifacts of jobs of earlier attempts that did not run again", async () => {
    const jobs = `made: { runs-on: NAME, steps: [{ run: echo }] }
  used: { runs-on: NAME, needs: made, steps: [{ run: echo }] }`;
    const first = await startJob("attempts", jobs);
    await first.upload("cake", "baked");
    await first.end();
    const { repository, run } = first;
    const used = await takeArtifactJob(daemon, repository);
    await used.upload("plate", "first");
    await used.end("FAILURE");
    await people.api("POST", `${repository.api}/runs/${run.id}/rerun-failed-jobs`);
    const again = await takeArtifactJob(daemon, repository);
    expect((await again.download("cake")).text).toBe("baked");
    expect((await again.download("plate")).text).toBe("first");
    await again.upload("plate", "second");
    expect((await again.download("plate")).text).toBe("second");
    // An artifact of another attempt stays.
    expect((await again.call("DeleteArtifact", { name: "cake" })).status).toBe(404);
    await again.end();
    await people.api("POST", `${repository.api}/runs/${run.id}/rerun`);
    const whole = await takeArtifactJob(daemon, repository);
    expect(await whole.list()).toEqual([]);
    await whole.end();
    const { artifacts } = await repository.get(`/runs/${run.id}/artifacts`);
    expect(
      artifacts.map((each: { name: string; workflow_run: { run_attempt: number } }) => [
        each.name,
        each.workflow_run.run_attempt,
      ]),
    ).toEqual([
      ["cake", 1],
      ["plate", 1],
      ["plate", 2],
    ]);
  });
});

test("a summary of a step is replaced, deleted and bounded, and belongs to the job of the token", async () => {
  const { summarize, repository, run, end, endLog } = await startJob(
    "summaries",
    "a: { runs-on: NAME, steps: [{ run: x }, { run: y }] }",
  );
  const read = async () =>
    (await people.api("GET", `${repository.api}/runs/${run.id}/summary`)).text;
  expect(await read()).toBe("");
  const stored = await summarize(1, "second");
  expect([stored.status, stored.json]).toEqual([
    200,
    { message: "success", sizeBytes: 6, runAttempt: 1 },
  ]);
  await summarize(0, "lost");
  await summarize(0, "first");
  expect(await read()).toBe("## a\n\nfirst\n\nsecond\n\n");
  expect((await summarize(1, "")).json.message).toBe("cleared");
  expect(await read()).toBe("## a\n\nfirst\n\n");
  expect((await summarize(2, "x")).status).toBe(400);
  expect((await summarize(0, "x", { job: "999" })).status).toBe(400);
  expect((await summarize(0, "x", { run: "999" })).status).toBe(400);
  expect((await summarize(0, "x".repeat(1024 * 1024 + 1))).status).toBe(413);
  await people.api("PATCH", "/repos/mira/summaries", { private: true });
  const stranger = await daemon.request(`/api/v1${repository.api}/runs/${run.id}/summary`, {
    token: people.tokenOf("theo"),
  });
  expect(stranger.status).toBe(404);
  await endLog();
  // Masks end with the log.
  expect((await summarize(0, "late")).status).toBe(400);
  await end();
  expect((await summarize(0, "late")).status).toBe(401);
  expect(await read()).toBe("## a\n\nfirst\n\n");
});

test("users see and delete artifacts according to their access, and deleting a run deletes its artifacts", async () => {
  const { upload, end, repository, run } = await startJob("rights");
  for (const name of ["a", "b", "c"]) await upload(name, `content of ${name}`);
  await end();
  const { artifacts } = await repository.get("/artifacts?name=b");
  expect(artifacts).toHaveLength(1);
  const path = `${repository.api}/artifacts/${artifacts[0].id}`;
  expect((await repository.get("/artifacts?limit=2")).artifacts).toHaveLength(2);
  const as = (token: string | undefined, method: string) =>
    daemon.request(`/api/v1${path}`, { method, ...(token === undefined ? {} : { token }) });
  expect((await as(people.tokenOf("theo"), "GET")).status).toBe(200);
  expect((await as(people.tokenOf("theo"), "DELETE")).status).toBe(403);
  expect((await as(undefined, "DELETE")).status).toBe(401);
  await people.api("PATCH", `/repos/mira/rights`, { private: true });
  for (const suffix of ["", "/zip"]) {
    const answer = await daemon.request(`/api/v1${path}${suffix}`, {
      token: people.tokenOf("theo"),
    });
    expect(answer.status).toBe(404);
  }
  const reader = await people.newToken("mira", ["read:repository"]);
  expect((await as(reader, "GET")).json.name).toBe("b");
  expect((await as(reader, "DELETE")).status).toBe(403);
  const foreign = path.replace("/rights/", "/one/");
  expect((await people.api("GET", foreign)).status).toBe(404);
  expect((await as(people.tokenOf("mira"), "DELETE")).status).toBe(204);
  expect((await as(people.tokenOf("mira"), "GET")).status).toBe(404);
  expect((await repository.get("/artifacts")).total_count).toBe(2);
  await people.api("DELETE", `${repository.api}/runs/${run.id}`);
  expect((await repository.get("/artifacts")).total_count).toBe(0);
});

test("the page of a run links its artifacts for readers of the repository only", async () => {
  const { upload, run } = await startJob("paged");
  const { artifact_id: id } = (await upload("report", "bytes")).json;
  const path = `/mira/paged/actions/runs/${run.id}`;
  const page = await daemon.request(path);
  expect(page.text).toContain(`href="${path}/artifacts/${id}"`);
  const led = await daemon.request(`${path}/artifacts/${id}`);
  expect(led.status).toBe(303);
  const sent = await daemon.request(led.headers.get("location") ?? "");
  expect([sent.status, sent.text]).toEqual([200, "bytes"]);
  expect((await daemon.request(`${path}/artifacts/999`)).status).toBe(404);
  await people.by("mira", "PATCH", "/repos/mira/paged", { private: true });
  for (const hidden of [path, `${path}/artifacts/${id}`])
    expect((await daemon.request(hidden)).status).toBe(404);
});
