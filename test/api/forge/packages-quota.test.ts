import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// A daemon whose owners may have 1,000 bytes of packages, of all types but images.
let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { tokenOf } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_MAX_OWNER_PACKAGE_BYTES: "1000" },
  });
  for (const username of ["mira", "nora", "olga"]) await people.newUser(username);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const FULL = "The packages of an owner may have 1000 bytes in all (max_owner_package_bytes).";

const putGeneric = (name: string, body: string, owner = "mira") =>
  daemon.request(`/api/packages/${owner}/generic/${name}/1.0/file`, {
    method: "PUT",
    token: tokenOf(owner),
    body,
  });

function publishNpm(name: string, bytes: string, owner = "mira") {
  const data = Buffer.from(bytes);
  const tarball = `${name}-1.0.0.tgz`;
  const shasum = createHash("sha1").update(data).digest("hex");
  const attachment = { content_type: "application/octet-stream", length: data.length };
  return daemon.request(`/api/packages/${owner}/npm/${name}`, {
    method: "PUT",
    token: tokenOf(owner),
    json: {
      _id: name,
      name,
      "dist-tags": { latest: "1.0.0" },
      versions: {
        "1.0.0": { name, version: "1.0.0", dist: { shasum, tarball: `https://x/${tarball}` } },
      },
      _attachments: { [tarball]: { ...attachment, data: data.toString("base64") } },
    },
  });
}

function uploadPypi(name: string, content: string, owner = "mira") {
  const form = new FormData();
  const fields = {
    name,
    version: "1.0",
    filetype: "bdist_wheel",
    metadata_version: "2.1",
    sha256_digest: createHash("sha256").update(content).digest("hex"),
    ":action": "file_upload",
  };
  for (const [field, value] of Object.entries(fields)) form.append(field, value);
  form.append("content", new File([content], `${name}-1.0-py3-none-any.whl`));
  const body = { method: "POST", token: tokenOf(owner), body: form };
  return daemon.request(`/api/packages/${owner}/pypi/`, body);
}

test("the files of all packages of an owner have a maximum of bytes in all, which deletions give back", async () => {
  expect((await putGeneric("one", "x".repeat(300))).status).toBe(201);
  expect((await publishNpm("two", "y".repeat(300))).status).toBe(201);
  expect((await uploadPypi("three", "z".repeat(300))).status).toBe(201);
  for (const answer of [
    await putGeneric("four", "x".repeat(101)),
    await publishNpm("four", "y".repeat(101)),
    await uploadPypi("four", "z".repeat(101)),
  ])
    expect([answer.status, answer.text.includes(FULL)]).toEqual([413, true]);
  // Of no announced length.
  const stream = new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode("x".repeat(101)));
      controller.close();
    },
  });
  const streamed = await fetch(`${daemon.url}/api/packages/mira/generic/four/1.0/file`, {
    method: "PUT",
    headers: { Authorization: `token ${tokenOf("mira")}` },
    body: stream,
    duplex: "half",
  } as RequestInit);
  expect(streamed.status).toBe(413);
  expect((await putGeneric("four", "x".repeat(100))).status).toBe(201);
  expect((await putGeneric("five", "")).status).toBe(201);
  // Each owner has its own room.
  expect((await putGeneric("one", "x".repeat(1_000), "nora")).status).toBe(201);
  const removed = await daemon.request("/api/packages/mira/generic/one/1.0", {
    method: "DELETE",
    token: tokenOf("mira"),
  });
  expect(removed.status).toBe(204);
  expect((await uploadPypi("six", "z".repeat(300))).status).toBe(201);
});

test("of two uploads at once for the last bytes of an owner one is refused", async () => {
  const answers = await Promise.all(
    ["one", "two"].map((name) => putGeneric(name, name[0]?.repeat(600) ?? "", "olga")),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 413]);
});
