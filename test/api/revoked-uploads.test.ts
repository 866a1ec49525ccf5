import { hash } from "node:crypto";
import { request as plainRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";

// An upload may take hours. These begin with valid credentials, which are revoked before the last byte arrives.

let daemon: TestDaemon;
let now = Date.now();
const people = createForgePeople(() => daemon);
const { api, by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" }, clock: () => now });
  await people.newUser("mira");
  await by("mira", "POST", "/user/repos", { name: "hut", auto_init: true });
  await by("mira", "POST", "/repos/mira/hut/issues", { title: "Leak" });
  await by("mira", "POST", "/repos/mira/hut/releases", { tag_name: "v1" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface SlowUpload {
  readonly method?: "POST" | "PUT";
  readonly path: string;
  readonly authorization: string;
  readonly contentType: string;
  readonly body: string;
}

/** Sends all but the end of a body, runs `between`, then sends the end. Returns the status; 0 without a response. */
async function uploadSlowly(
  { method = "PUT", path, authorization, contentType, body }: SlowUpload,
  between: () => Promise<unknown>,
): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const request = plainRequest(`${daemon.url}${path}`, {
    method,
    headers: {
      Authorization: authorization,
      "Content-Type": contentType,
      "Content-Length": Buffer.byteLength(body),
      "User-Agent": "node",
      "Accept-Language": "*",
    },
  });
  request.on("response", (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  request.on("error", () => resolve(0));
  request.write(body.slice(0, -8));
  // Requests that come later are answered earlier only while the upload waits for its body.
  for (let turn = 0; turn < 25; turn += 1) await daemon.request("/api/v1/version");
  await between();
  request.end(body.slice(-8));
  return promise;
}

const toForm = (field: string) =>
  `--B\r\nContent-Disposition: form-data; name="${field}"; filename="a.txt"\r\n\r\n0123456789\r\n--B--\r\n`;
const FORM = "multipart/form-data; boundary=B";

function toPythonForm(name: string): string {
  const fields = { name, version: "1", sha256_digest: hash("sha256", "0123456789", "hex") };
  const parts = Object.entries(fields).map(
    ([field, value]) =>
      `--B\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join("")}${toForm("content").replace("a.txt", `${name}-1.tar.gz`)}`;
}

function toPackage(name: string): string {
  const version = { name, version: "1.0.0", dist: {} };
  const data = Buffer.from("archive").toString("base64");
  return JSON.stringify({
    name,
    versions: { "1.0.0": version },
    "dist-tags": { latest: "1.0.0" },
    _attachments: { [`${name}-1.0.0.tgz`]: { data, length: 7 } },
  });
}

describe("an upload to the forge whose token is revoked before its end is not stored", () => {
  /** The uploads, each with the address that finds the file afterwards. */
  const uploads = {
    "a package file": {
      path: "/api/packages/mira/generic/pack/1/file",
      contentType: "application/octet-stream",
      body: "0123456789",
      found: "/api/packages/mira/generic/pack/1/file",
    },
    "an npm package": {
      path: "/api/packages/mira/npm/pack",
      contentType: "application/json",
      body: toPackage("pack"),
      found: "/api/packages/mira/npm/pack",
    },
    "a Python package": {
      method: "POST",
      path: "/api/packages/mira/pypi",
      contentType: FORM,
      body: toPythonForm("pack"),
      found: "/api/packages/mira/pypi/simple/pack",
    },
    "a file of an issue": {
      method: "POST",
      path: "/api/v1/repos/mira/hut/issues/1/assets",
      contentType: FORM,
      body: toForm("attachment"),
      found: "/api/v1/repos/mira/hut/issues/1/assets/1",
    },
    "a file of a release in a form": {
      method: "POST",
      path: "/api/v1/repos/mira/hut/releases/1/assets",
      contentType: FORM,
      body: toForm("attachment"),
      found: "/api/v1/repos/mira/hut/releases/1/assets/1",
    },
    "a file of a release as the body": {
      method: "POST",
      path: "/api/v1/repos/mira/hut/releases/1/assets?name=a.txt",
      contentType: "application/octet-stream",
      body: "0123456789",
      found: "/api/v1/repos/mira/hut/releases/1/assets/2",
    },
    "an issue": {
      method: "POST",
      path: "/api/v1/repos/mira/hut/issues",
      contentType: "application/json",
      body: JSON.stringify({ title: "Late", body: "x".repeat(100_000) }),
      found: "/api/v1/repos/mira/hut/issues/2",
    },
  } as const;

  test.each(Object.entries(uploads))(
    "does not store an upload whose token is revoked before its end: %s",
    async (name, { found, ...upload }) => {
      const token = await people.newToken("mira", ["all"], name);
      const status = await uploadSlowly({ ...upload, authorization: `token ${token}` }, () =>
        daemon.request(`/api/v1/users/mira/tokens/${encodeURIComponent(name)}`, {
          method: "DELETE",
          basic: "mira:user-password",
        }),
      );
      expect([0, 401]).toContain(status);
      expect((await daemon.request(found, { token: people.tokenOf("mira") })).status).toBe(404);
    },
  );

  test.each(Object.entries(uploads))("but %s is with a valid one", async (_name, upload) => {
    const { found, ...rest } = upload;
    const authorization = `token ${people.tokenOf("mira")}`;
    const status = await uploadSlowly({ ...rest, authorization }, async () => undefined);
    expect(status).toBe(201);
    expect((await daemon.request(found, { token: people.tokenOf("mira") })).status).toBe(200);
  });

  test("nor one of an account that may no longer sign in", async () => {
    await people.newUser("nora");
    const path = "/api/packages/nora/generic/pack/1/file";
    const status = await uploadSlowly(
      {
        path,
        contentType: "application/octet-stream",
        body: "0123456789",
        authorization: `token ${people.tokenOf("nora")}`,
      },
      () =>
        api("PATCH", "/admin/users/nora", {
          source_id: 0,
          login_name: "nora",
          prohibit_login: true,
        }),
    );
    expect([0, 401]).toContain(status);
    expect((await daemon.request(path, { token: people.admin })).status).toBe(404);
  });
});

describe("an upload of a document", () => {
  const PASSWORD = "Correct-Horse-7-Battery";
  const signIn = async (handle: string): Promise<string> => {
    const account = { email: `${handle}@example.org`, password: PASSWORD };
    await daemon.request("/api/auth/register", { json: { handle, ...account } });
    return (await daemon.request("/api/auth/login", { json: account })).json.access_token;
  };
  const upload = (bearer: string, between: () => Promise<unknown>) =>
    uploadSlowly(
      {
        method: "POST",
        path: "/api/documents/upload",
        authorization: `Bearer ${bearer}`,
        contentType: FORM,
        body: toForm("file"),
      },
      between,
    );
  const countDocuments = async (bearer: string) =>
    (await daemon.request("/api/documents", { bearer })).json.items.length;

  test("whose session ends before its end is not stored", async () => {
    const bearer = await signIn("vera");
    const status = await upload(bearer, () =>
      daemon.request("/api/auth/logout-all", { method: "POST", bearer }),
    );
    expect([0, 401]).toContain(status);
    expect(await countDocuments(await signIn("vera"))).toBe(0);
  });

  test("that takes longer than the life of its access token is stored", async () => {
    const bearer = await signIn("wilma");
    const status = await upload(bearer, async () => {
      now += 3_600_000;
    });
    expect(status).toBe(201);
    expect(await countDocuments(await signIn("wilma"))).toBe(1);
  });
});
