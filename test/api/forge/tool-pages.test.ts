import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { DEPLOY_KEYS } from "../../support/forge/route-requests.ts";

// Addresses outside the API that tools ask for: go-get, keys, API descriptions, features that this server lacks.

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await people.newUser("mira");
  await people.newUser("hermit", { visibility: "private" });
  for (const [at, key] of DEPLOY_KEYS.entries())
    await people.by("mira", "POST", "/user/keys", {
      title: `key ${at}`,
      key: `${key} mira@laptop`,
    });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function open(path: string, method = "GET") {
  const response = await fetch(`${daemon.url}${path}`, { method, redirect: "manual" });
  const type = response.headers.get("content-type");
  return { status: response.status, type, text: await response.text() };
}

test("the go command gets the address of a module, the same for private and missing repositories", async () => {
  await people.by("mira", "POST", "/user/repos", { name: "open" });
  await people.by("mira", "POST", "/user/repos", { name: "shut", private: true });
  const answers = await Promise.all(
    ["open", "shut", "none"].map(async (name) => {
      const { status, type, text } = await open(`/mira/${name}?go-get=1`);
      return { status, type, text: text.replaceAll(name, "NAME") };
    }),
  );
  const base = daemon.url.replace("http://", "");
  expect(answers[0]).toMatchObject({ status: 200, type: "text/html; charset=utf-8" });
  expect(answers[0]?.text).toContain(
    `<meta name="go-import" content="${base}/mira/NAME git ${daemon.url}/mira/NAME.git">`,
  );
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

test("the go command gets the repository as the root of a package in a folder, and malformed names are refused", async () => {
  const { text } = await open("/mira/open/v2/cmd/tool?go-get=1");
  expect(text).toContain(`/mira/open git ${daemon.url}/mira/open.git"`);
  for (const path of ["/mira?go-get=1", "/mira/%22%3E%3Cb%3E?go-get=1", "/mira/open%2F..?go-get=1"])
    expect((await open(path)).text).not.toContain("go-import");
  expect((await open("/mira/none?go-get=0")).status).toBe(404);
});

test("the keys of a user are served as lines without comments, and a hidden user is not found", async () => {
  expect(await open("/mira.keys")).toEqual({
    status: 200,
    type: "text/plain; charset=utf-8",
    text: DEPLOY_KEYS.map((key) => `${key}\n`).join(""),
  });
  expect((await open("/mira.gpg")).text).toContain("BEGIN PGP PUBLIC KEY BLOCK");
  for (const path of ["/hermit.keys", "/hermit.gpg", "/nobody.keys"])
    expect(await open(path)).toMatchObject({ status: 404, text: "404 page not found\n" });
});

test("the OpenAPI document is served at the address that tools for Gitea use", async () => {
  const described = await open("/openapi/forge.json");
  expect(JSON.parse(described.text)).toMatchObject({ openapi: "3.1.0" });
  expect(await open("/swagger.v1.json")).toEqual(described);
  expect(await open("/openapi3.v1.json")).toEqual(described);
  expect((await open("/api/swagger")).status).toBe(302);
});

test("lists of OpenPGP keys are empty, and missing features of Gitea are reported in JSON", async () => {
  for (const path of ["/user/gpg_keys", "/users/mira/gpg_keys"])
    expect(await people.by("mira", "GET", path)).toMatchObject({ status: 200, json: [] });
  expect((await people.by("mira", "GET", "/users/nobody/gpg_keys")).status).toBe(404);
  for (const [method, path] of [
    ["GET", "/user/gpg_keys/1"],
    ["GET", "/user/gpg_key_token"],
    ["GET", "/nodeinfo"],
    ["POST", "/activitypub/user-id/1/inbox"],
  ] as const)
    expect(await people.by("mira", method, path), path).toMatchObject({
      status: 404,
      json: {
        message: expect.stringMatching(/^this server does not support \w/),
        url: expect.stringContaining("/api/swagger"),
      },
    });
  expect(await people.by("mira", "GET", "/none")).toMatchObject({ status: 404, json: undefined });
});
