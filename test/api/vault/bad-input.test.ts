import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { STRONG } from "../../support/vault/vault-accounts.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let person: VaultPerson;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  person = createPerson(daemon, "mira", "198.51.100.1");
  await person.register();
  await person.signIn();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** The routes that take a body, each with one that is right. */
const bodies: Record<string, { method: string; path: string; body: Record<string, unknown> }> = {
  register: {
    method: "POST",
    path: "/api/auth/register",
    body: { handle: "otto", email: "otto@example.org", password: STRONG },
  },
  login: {
    method: "POST",
    path: "/api/auth/login",
    body: { email: "mira@example.org", password: STRONG },
  },
  "change-password": {
    method: "POST",
    path: "/api/auth/change-password",
    body: { current_password: STRONG, new_password: STRONG },
  },
  "totp/enable": { method: "POST", path: "/api/auth/totp/enable", body: { code: "123456" } },
  "password-reset": {
    method: "POST",
    path: "/api/auth/password-reset",
    body: { email: "mira@example.org" },
  },
  "password-reset/confirm": {
    method: "POST",
    path: "/api/auth/password-reset/confirm",
    body: { token: "x", new_password: STRONG },
  },
  "me/preferences": {
    method: "PATCH",
    path: "/api/auth/me/preferences",
    body: { pdf_open_mode: "in_app" },
  },
};

const cases = Object.entries(bodies).flatMap(([name, { method, path, body }]) =>
  Object.keys(body).map((field) => ({ name, method, path, body, field })),
);

describe.each(cases)("$name: $field", ({ method, path, body, field }) => {
  const send = (changed: Record<string, unknown>) =>
    person.request(path, { method, json: changed });
  const refused = { status: 422, json: { detail: [{ loc: ["body", field] }] } };
  // Any text that is not a token of this server is a link that is not good.
  const refusedText =
    field === "token"
      ? { status: 400, json: { detail: "Invalid or expired reset link" } }
      : refused;

  test("a missing value is reported as missing", async () => {
    const { [field]: _left, ...rest } = body;
    expect(await send(rest)).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", field], msg: "Field required", type: "missing" }] },
    });
  });

  const values: readonly unknown[] = [null, 1, true, [], {}, ["x"], { toString: "x" }];
  test.each(values.map((value) => ({ value })))("$value is refused", async ({ value }) => {
    expect(await send({ ...body, [field]: value })).toMatchObject(refused);
  });

  test("far too long is refused", async () => {
    expect(await send({ ...body, [field]: "Aa1-".repeat(2000) })).toMatchObject(refusedText);
  });

  test("broken Unicode is refused", async () => {
    expect(await send({ ...body, [field]: "abc\ud800def" })).toMatchObject(refusedText);
  });
});

describe("names", () => {
  const register = (more: Record<string, unknown>) =>
    person.request("/api/auth/register", {
      json: { handle: "otto", email: "otto@example.org", password: STRONG, ...more },
    });

  test.each([
    "",
    "ab",
    "1abc",
    "_abc",
    "-abc",
    "a b c",
    "mira\u0000",
    "mira\n",
    "mírà",
    "а".repeat(5),
    "a".repeat(33),
    "a/b/c",
    "../etc",
    " mira",
    "<b>abc",
  ])("the handle %j is refused", async (handle) => {
    expect(await register({ handle })).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "handle"] }] },
    });
  });

  test.each([
    "",
    "mira",
    "mira@",
    "@example.org",
    "mira@example",
    "mi ra@example.org",
    "mira@exa mple.org",
    "mira@@example.org",
    "mira@example.org\u0000",
    "mira\r\nBcc: x@example.org",
    "мира@example.org",
    "mira@exаmple.org",
    // The Kelvin sign: in lower case it is a k.
    "ni\u212ao@example.org",
    "mira@example.org,x@example.org",
    "<mira@example.org>",
    "mira@[127.0.0.1]",
    `${"a".repeat(250)}@example.org`,
    ".mira@example.org",
    "mi..ra@example.org",
  ])("the address %j is refused", async (email) => {
    const refused = { status: 422, json: { detail: [{ loc: ["body", "email"] }] } };
    expect(await register({ email })).toMatchObject(refused);
    expect(
      await person.request("/api/auth/login", { json: { email, password: STRONG } }),
    ).toMatchObject(refused);
    expect(await person.request("/api/auth/password-reset", { json: { email } })).toMatchObject(
      refused,
    );
  });

  test("registration refuses an e-mail address with more than 64 characters before the @", async () => {
    expect(await register({ email: `${"a".repeat(65)}@example.org` })).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "email"] }] },
    });
    const email = `${"a".repeat(64)}@example.org`;
    expect((await register({ handle: "long-address", email })).status).toBe(201);
  });

  test("ignores unknown fields, which cannot set a role", async () => {
    const answer = await register({
      handle: "extra",
      email: "extra@example.org",
      role: "admin",
      is_active: false,
      id: "1",
      __proto__: { role: "admin" },
    });
    expect(answer).toMatchObject({ status: 201, json: { role: "user" } });
  });
});

describe("bodies that are no JSON object", () => {
  const send = (body: string | Uint8Array<ArrayBuffer>, type = "application/json") =>
    daemon.request("/api/auth/login", { body, headers: { "Content-Type": type } });
  const malformed = { status: 422, json: { detail: [{ loc: ["body"] }] } };

  test.each(["", "{", "{'a':1}", "nul", '{"email":}', "\ufeff{", "{}{}", '{"a":1}\u0000', "NaN"])(
    "refuses a body that is not a JSON object: %j",
    async (body) => {
      expect(await send(body)).toMatchObject(malformed);
    },
  );

  test.each(["null", "[]", "1", '"x"', "true", '[{"email":"x"}]'])(
    "refuses JSON that is not an object: %s",
    async (body) => {
      expect(await send(body)).toMatchObject(malformed);
    },
  );

  test("refuses bytes that are not UTF-8", async () => {
    expect(await send(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]))).toMatchObject(malformed);
  });

  test("refuses a body that is nested a hundred thousand deep", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(await send(deep)).toMatchObject(malformed);
    expect(await send(`{"email":${deep},"password":"x"}`)).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "email"] }] },
    });
  });

  test("bodies that are no JSON object with a hundred thousand fields", async () => {
    const fields = Array.from({ length: 100_000 }, (_, index) => `"f${index}":0`).join(",");
    const { status } = await send(`{${fields}}`);
    expect([413, 422]).toContain(status);
  });

  test("larger than any sign-in", async () => {
    expect(
      await send(JSON.stringify({ email: "x", password: "x".repeat(2_000_000) })),
    ).toMatchObject({ status: 413, json: { detail: expect.any(String) } });
  });

  test("the last of two JSON members with the same name counts", async () => {
    const body = `{"email":"nobody@example.org","email":"mira@example.org","password":"x","password":${JSON.stringify(STRONG)}}`;
    expect(await send(body)).toMatchObject({ status: 200 });
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonx",
    "",
  ])("sent as %j, which a page of another origin can do unasked", async (type) => {
    const body = JSON.stringify({ email: "mira@example.org", password: STRONG });
    const answer = await rawPost(daemon.url, "/api/auth/login", type, body);
    expect(answer).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["header", "content-type"] }] },
    });
  });
});

/** Sends a POST with exactly this content type, or without one; `fetch` would add its own. */
function rawPost(base: string, path: string, type: string, body: string) {
  return new Promise<{ status: number; json: unknown }>((resolve, reject) => {
    const headers = { "Content-Length": Buffer.byteLength(body) };
    const request = httpRequest(
      new URL(path, base),
      { method: "POST", headers: type === "" ? headers : { ...headers, "Content-Type": type } },
      (response) => {
        response.setEncoding("utf8");
        let text = "";
        response.on("data", (chunk: string) => (text += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, json: JSON.parse(text) }),
        );
      },
    );
    request.on("error", reject).end(body);
  });
}
