import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";
import { pattern } from "../../conformance/cloud-provider/acting.ts";

const BASE = "/api/documents/upload-sessions";
const UPLOAD_MAX = 1024 * 1024;
const QUOTA = 2 * 1024 * 1024;
const DAYS_MS = 24 * 3600 * 1000;

let daemon: TestDaemon;
let mira: VaultPerson;
let noah: VaultPerson;
let now = Date.UTC(2026, 10, 20, 9, 30);

beforeAll(async () => {
  daemon = await startTestDaemon({
    clock: () => now,
    env: {
      CROFT_RATE_LIMITS: "off",
      CROFT_MAX_UPLOAD_BYTES: String(UPLOAD_MAX),
      CROFT_DEFAULT_QUOTA_BYTES: String(QUOTA),
    },
  });
  mira = createPerson(daemon, "mira", "198.51.100.1");
  noah = createPerson(daemon, "noah", "198.51.100.2");
  for (const person of [mira, noah]) {
    await person.register();
    expect(await person.signIn()).toMatchObject({ status: 200 });
  }
});
afterAll(() => daemon[Symbol.asyncDispose]());

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const begin = (size: number, more: object = {}, person = mira) =>
  person.request(BASE, { json: { filename: "scan.bin", size, fingerprint: "one", ...more } });
const append = (id: string, offset: number, bytes: Uint8Array<ArrayBuffer>, person = mira) =>
  person.request(`${BASE}/${id}`, {
    method: "PATCH",
    headers: { "Content-Type": "application/octet-stream", "Upload-Offset": String(offset) },
    body: bytes,
  });
const complete = (id: string, bytes: Uint8Array, person = mira) =>
  person.request(`${BASE}/${id}/complete`, { json: { sha256: hashOf(bytes) } });
const usedBytes = async () => (await mira.request("/api/auth/me/quota")).json.used_bytes as number;
const parts = () => readdir(join(daemon.home, "uploads")).catch(() => []);

describe("a document that is sent in parts", () => {
  test("is one when it is complete, and a repeated completion returns it", async () => {
    const bytes = Buffer.from(pattern(300_000));
    const begun = await begin(bytes.length);
    expect([begun.status, begun.json.offset]).toEqual([201, 0]);
    const id = begun.json.upload_id as string;
    expect((await append(id, 0, bytes.subarray(0, 100_000))).json.offset).toBe(100_000);
    expect((await complete(id, bytes)).json).toEqual({ kind: "conflict", reason: "incomplete" });
    expect((await mira.request(`/api/documents/${id}`)).status).toBe(404);
    // Another page of the same person has sent the part meanwhile.
    expect((await append(id, 0, bytes)).json).toEqual({
      kind: "conflict",
      reason: "offset_mismatch",
    });
    expect((await begin(bytes.length)).json).toMatchObject({ upload_id: id, offset: 100_000 });
    await append(id, 100_000, bytes.subarray(100_000));
    const [first, second] = await Promise.all([complete(id, bytes), complete(id, bytes)]);
    expect([first.status, first.json.id, first.json.sha256]).toEqual([201, id, hashOf(bytes)]);
    expect(second.json.id).toBe(id);
    expect(await usedBytes()).toBe(bytes.length);
    const { status } = await complete(id, Buffer.from("other"));
    expect(status).toBe(404);
    expect(await parts()).toEqual([]);
    await mira.request(`/api/documents/${id}?permanent=true`, { method: "DELETE" });
  });

  test("is resumed where a lost connection ended it", async () => {
    const bytes = Buffer.from(pattern(500_000, 2));
    const id = (await begin(bytes.length)).json.upload_id as string;
    const request = httpRequest(`${daemon.url}${BASE}/${id}`, {
      method: "PATCH",
      headers: {
        Authorization: `Bearer ${mira.accessToken}`,
        "User-Agent": "croft-test",
        "Accept-Language": "*",
        "X-Forwarded-For": "198.51.100.1",
        "Content-Type": "application/octet-stream",
        "Upload-Offset": "0",
        "Content-Length": String(bytes.length),
      },
    });
    request.on("error", () => undefined);
    request.write(bytes.subarray(0, 200_000));
    const part = join(daemon.home, "uploads", id);
    await expect
      .poll(async () => (await readFile(part).catch(() => Buffer.alloc(0))).length)
      .toBe(200_000);
    const closed = new Promise((resolve) => request.once("close", resolve));
    request.destroy();
    await closed;
    expect((await begin(bytes.length)).json).toMatchObject({ upload_id: id, offset: 200_000 });
    await append(id, 200_000, bytes.subarray(200_000));
    expect((await complete(id, bytes)).status).toBe(201);
    await mira.request(`/api/documents/${id}?permanent=true`, { method: "DELETE" });
  });

  test("that is longer than announced is refused before it has arrived, and goes on", async () => {
    const begun = await begin(5, { filename: "longer" });
    const id = begun.json.upload_id as string;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = httpRequest(`${daemon.url}${BASE}/${id}`, {
      method: "PATCH",
      headers: {
        Authorization: `Bearer ${mira.accessToken}`,
        "User-Agent": "croft-test",
        "Accept-Language": "*",
        "X-Forwarded-For": "198.51.100.1",
        "Content-Type": "application/octet-stream",
        "Upload-Offset": "0",
        "Content-Length": String(1024 ** 3),
      },
    });
    request.on("response", resolve).on("error", reject);
    request.write(Buffer.alloc(100_000));
    const answer = await promise;
    expect([answer.statusCode, await text(answer)]).toEqual([
      422,
      expect.stringContaining("longer than announced"),
    ]);
    request.destroy();
    expect((await append(id, 0, Buffer.from("hello"))).json.offset).toBe(5);
    expect((await mira.request(`${BASE}/${id}`, { method: "DELETE" })).status).toBe(204);
  });

  test("belongs to its sender: others neither append to it, nor complete or cancel it", async () => {
    const id = (await begin(5)).json.upload_id as string;
    const bytes = Buffer.from("hello");
    expect((await append(id, 0, bytes, noah)).status).toBe(404);
    expect((await complete(id, bytes, noah)).status).toBe(404);
    expect((await noah.request(`${BASE}/${id}`, { method: "DELETE" })).status).toBe(404);
    expect((await daemon.request(`${BASE}/${id}`, { method: "DELETE" })).status).toBe(401);
    expect((await mira.request(`${BASE}/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await append(id, 0, bytes)).status).toBe(404);
  });

  test("is refused before a byte is sent when it is too large or the quota has no room for all open ones", async () => {
    expect((await begin(UPLOAD_MAX + 1)).status).toBe(413);
    const first = await begin(UPLOAD_MAX, { filename: "a" });
    const second = await begin(UPLOAD_MAX, { filename: "b" });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect((await begin(1, { filename: "c" })).status).toBe(413);
    for (const { json } of [first, second])
      await mira.request(`${BASE}/${json.upload_id}`, { method: "DELETE" });
    expect((await begin(1, { filename: "c" })).status).toBe(201);
  });

  test("keeps its bytes while the quota has no room, and loses those of another hash", async () => {
    const id = (await begin(5, { filename: "late" })).json.upload_id as string;
    const bytes = Buffer.from("hello");
    expect((await append(id, 0, Buffer.from("hello!"))).status).toBe(422);
    expect((await begin(5, { filename: "late" })).json.offset).toBe(0);
    await append(id, 0, bytes);
    const fill = async (content: Uint8Array<ArrayBuffer>) => {
      const data = new FormData();
      data.set("file", new File([content], "filler"));
      return mira.request("/api/documents/upload", { method: "POST", body: data });
    };
    const fillers = [await fill(Buffer.alloc(UPLOAD_MAX)), await fill(Buffer.alloc(UPLOAD_MAX))];
    expect((await complete(id, bytes)).status).toBe(413);
    for (const { json } of fillers)
      await mira.request(`/api/documents/${json.id}?permanent=true`, { method: "DELETE" });
    expect((await complete(id, bytes)).status).toBe(201);

    const wrong = (await begin(5, { filename: "wrong" })).json.upload_id as string;
    await append(wrong, 0, bytes);
    expect((await complete(wrong, Buffer.from("other"))).json.reason).toBe("hash_mismatch");
    expect((await complete(wrong, bytes)).status).toBe(404);
  });

  test("expires two days after its start, with its bytes", async () => {
    const id = (await begin(5, { filename: "slow" })).json.upload_id as string;
    await append(id, 0, Buffer.from("hel"));
    expect(await parts()).toContain(id);
    now += 2 * DAYS_MS + 1;
    expect(await mira.signIn()).toMatchObject({ status: 200 });
    expect((await append(id, 3, Buffer.from("lo"))).status).toBe(404);
    await expect.poll(parts).not.toContain(id);
  });
});
