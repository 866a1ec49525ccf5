import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ResponseParts, toFailure } from "../../../cli/client/outcomes.ts";
import { failure } from "../../../daemon/contract/vault/cloud/shapes.ts";
import { aiFailures } from "../../../daemon/contract/vault/ai-config.ts";
import { vaultHints } from "../../../cli/client/vault-hints.ts";
import { exitCodeOf } from "../../../cli/errors.ts";
import { runCli } from "../support/run-cli.ts";

function failureOf(status: number, body: unknown, more: Partial<ResponseParts> = {}) {
  const parts = {
    service: "vault",
    status,
    body,
    requestId: undefined,
    retryAfter: undefined,
    ...more,
  } as const;
  const failure = toFailure(parts);
  return failure === undefined ? undefined : [failure.code, exitCodeOf(failure)];
}

describe("success by status is not success by outcome", () => {
  test.each([
    [
      "an upload onto a taken name",
      200,
      { kind: "conflict", reason: "name_collision", existing_name: "a" },
      "name_collision",
      7,
    ],
    [
      "a folder at a provider without folders",
      201,
      { kind: "unsupported_operation", reason: "provider_unsupported" },
      "unsupported",
      15,
    ],
    [
      "an unavailable preview",
      200,
      { kind: "unsupported_preview", reason: "unsupported_format" },
      "unsupported",
      15,
    ],
    [
      "a document that was not deleted",
      200,
      { success: false, cloud_delete_failed: true },
      "provider_failed",
      11,
    ],
    ["a sign-in that wants a code", 200, { requires_totp: true }, "challenge_required", 16],
    [
      "a sign-in that wants a password",
      200,
      { requires_password_change: true, user_id: "u" },
      "challenge_required",
      16,
    ],
  ])(
    "a response with a status of success may report a failure: %s",
    (_what, status, body, code, exit) => {
      expect(failureOf(status, body)).toEqual([code, exit]);
    },
  );

  test.each(aiFailures)("reports a failed test of an AI provider: %s", (code) => {
    const failure = toFailure({
      service: "vault",
      status: 200,
      body: { ok: false, error_code: code, message: "The test failed." },
      requestId: undefined,
      retryAfter: undefined,
    });
    expect(failure).toMatchObject({ message: "The test failed.", details: { reason: code } });
    expect(failure?.details.hint).toBeDefined();
  });

  test.each([
    [200, { kind: "file", id: "1" }],
    [200, { kind: "uploaded" }],
    [200, { kind: "deleted", reason: "trashed" }],
    [201, { kind: "folder" }],
    [204, undefined],
    [205, []],
    [200, [{ kind: "conflict" }]],
  ])("but %i %j is one", (status, body) => {
    expect(failureOf(status, body)).toBeUndefined();
  });
});

test.each([
  [409, { kind: "stale", reason: "item_changed" }, "stale", 7],
  [409, { kind: "conflict", reason: "name_collision" }, "name_collision", 7],
  [409, { kind: "invalid_destination", reason: "self_destination" }, "invalid_destination", 7],
  [401, { kind: "reauth_required", reason: "token_expired" }, "reauth_required", 13],
  [
    401,
    { detail: "Credential decryption failed — reconnect this connection" },
    "reauth_required",
    13,
  ],
  [401, { detail: "Session revoked" }, "session_revoked", 4],
  [401, { detail: "Invalid or expired token" }, "invalid_credentials", 4],
  [403, { detail: "x" }, "forbidden", 5],
  [404, { detail: "x" }, "not_found", 6],
  [409, { detail: "x" }, "conflict", 7],
  [413, { detail: "Storage quota exceeded" }, "quota_exceeded", 17],
  [502, { detail: "The connected storage is full." }, "quota_exceeded", 17],
  [413, { detail: "too large" }, "too_large", 12],
  [422, { kind: "unsupported_operation", reason: "provider_unsupported" }, "unsupported", 15],
  [422, { kind: "invalid_name", reason: "x" }, "invalid", 12],
  [422, { detail: [{ loc: ["body", "email"], msg: "bad", type: "x" }] }, "invalid", 12],
  [429, { detail: "x" }, "rate_limited", 9],
  [500, { detail: "x" }, "server_error", 1],
  [502, { detail: "x" }, "provider_failed", 11],
  [503, { kind: "offline", reason: "provider_error" }, "provider_offline", 11],
  [503, { kind: "recording_failed", reason: "provider_accepted" }, "provider_failed", 11],
  [503, { detail: "busy" }, "server_error", 1],
  [503, { detail: "The connected storage is temporarily unavailable." }, "provider_failed", 11],
  [503, { detail: "It needs its owner to sign in again: reconnect it." }, "reauth_required", 13],
  [507, { detail: "x" }, "storage_full", 17],
  [302, undefined, "unexpected_answer", 1],
  [599, "<html>", "server_error", 1],
])("%i %j is %s and exits %i", (status, body, code, exit) => {
  expect(failureOf(status, body)).toEqual([code, exit]);
});

test("keeps the forge's message and ignores a kind in it", () => {
  const forge = { service: "forge", requestId: "r1", retryAfter: "7" } as const;
  const failure = toFailure({
    ...forge,
    status: 429,
    body: { message: "slow down", kind: "stale" },
  });
  expect(failure).toMatchObject({
    code: "rate_limited",
    message: "slow down",
    details: {
      httpStatus: 429,
      service: "forge",
      requestId: "r1",
      retryAfterSeconds: 7,
      hint: "try again in 7 s",
    },
  });
});

test("failed validation names each place", () => {
  const detail = [
    { loc: ["body", "email"], msg: "not an e-mail address", type: "x" },
    { loc: ["query", "page"], msg: "too small", type: "x" },
  ];
  const parts = {
    service: "vault",
    status: 422,
    body: { detail },
    requestId: undefined,
    retryAfter: undefined,
  } as const;
  expect(toFailure(parts)?.message).toBe("email: not an e-mail address; page: too small");
});

describe("outcomes of changes of a storage", () => {
  const refuse = (kind: string, reason: string, retryAfter?: string) =>
    toFailure({
      service: "vault",
      status: 503,
      body: { kind, reason },
      requestId: undefined,
      retryAfter,
    });

  test("names the moment to try again where the daemon does", () => {
    expect(refuse("offline", "rate_limited", "7")?.details.hint).toBe("try again in 7 s");
    expect(refuse("offline", "rate_limited")?.details.hint).toBe("try again later");
  });

  test("a typed failure is printed in words, and scripts get its kind and reason", () => {
    const full = refuse("failed", "quota_exceeded");
    expect(full?.message).toBe("the storage is full");
    expect(full?.code).toBe("quota_exceeded");
    expect(full?.details).toMatchObject({ kind: "failed", reason: "quota_exceeded" });
    expect(full?.details.hint).toBe("free some space and try again");
  });

  test.each(
    failure.shape.kind.options.filter((kind) => !["failed", "invalid_setting"].includes(kind)),
  )("%s has a message for every reason, future ones included", (kind) => {
    expect(refuse(kind, "of_another_day")?.message).not.toContain("of_another_day");
  });

  test("without an own message prints the daemon's", () => {
    expect(refuse("failed", "of_another_day")?.message).toBe("failed: of_another_day");
  });
});

describe("a refusal of an account route", () => {
  const hintOf = (detail: string, status: number) =>
    toFailure({
      service: "vault",
      status,
      body: { detail },
      requestId: undefined,
      retryAfter: undefined,
    })?.details.hint;

  test("a refusal suggests the next step, but not signing in after a failed sign-in", () => {
    expect(hintOf("Incorrect email or password", 401)).toMatch(/password reset --email/);
    expect(hintOf("Incorrect code", 401)).toMatch(/clocks/);
    expect(hintOf("Current password is incorrect", 401)).toMatch(/password reset --email/);
    expect(hintOf("Invalid or expired token", 401)).toBe('"croft login vault" signs in');
  });

  test.each(Object.keys(vaultHints))("%s: is the daemon's own text", async (text) => {
    const vault = join(import.meta.dirname, "../../../daemon/vault");
    const names = await readdir(vault, { recursive: true });
    const sources = names.filter((name) => name.endsWith(".ts"));
    const files = await Promise.all(sources.map((name) => readFile(join(vault, name), "utf8")));
    expect(files.some((file) => file.includes(`"${text}"`))).toBe(true);
  });

  test.each(Object.values(vaultHints))("%s: names commands that are there", async (hint) => {
    const lines = [...hint.matchAll(/"croft ((?:[a-z][a-z-]* ?)+)/g)].map(([, words = ""]) =>
      words.trim(),
    );
    for (const line of lines) {
      const ran = await runCli([...line.split(" "), "--help"], { home: "/nowhere" });
      expect([line, ran.code]).toEqual([line, 0]);
      expect(ran.out).toContain(`croft ${line}`);
    }
  });
});
