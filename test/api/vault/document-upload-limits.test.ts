import { existsSync } from "node:fs";
import { readdir, readlink, stat } from "node:fs/promises";
import { request as sendHttp } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openFilesBelow } from "../../support/open-files.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { skipUnless, withOneDaemon } from "../../support/skip.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

const MIB = 1024 * 1024;
const onLinux = skipUnless(existsSync("/proc/self/fd"), "the system does not list open files");

let daemon: TestDaemon;
let admin: VaultPerson;
let people = 0;

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_MAX_UPLOAD_BYTES: "8MiB" },
  });
  admin = createPerson(daemon, "keeper", "198.51.100.250");
  const answer = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
    headers: { "User-Agent": "croft-test" },
  });
  admin.accessToken = answer.json.access_token;
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Creates a user with a quota of `limitBytes`. */
async function personWith(limitBytes: number): Promise<VaultPerson & { readonly id: string }> {
  people += 1;
  const person = createPerson(daemon, `sender-${people}`, `198.51.100.${people}`);
  await person.register();
  await person.signIn();
  const { id } = (await person.request("/api/auth/me")).json;
  const set = await admin.request(`/api/admin/users/${id}/quota`, {
    method: "PUT",
    json: { limit_bytes: limitBytes },
  });
  expect(set).toMatchObject({ status: 200 });
  return Object.assign(person, { id });
}

const usedBytes = async (person: VaultPerson): Promise<number> =>
  (await person.request("/api/auth/me/quota")).json.used_bytes;

const disposition = (rest: string) => `--x\r\nContent-Disposition: form-data; ${rest}\r\n\r\n`;
const FILE_FIRST = disposition('name="file"; filename="a.bin"');
const FIELD_FIRST = `${disposition('name="filename"')}b.bin\r\n${FILE_FIRST}`;
const END = "\r\n--x--\r\n";

/** Sends the parts of a form, the last of them only if `ends`, and resolves with the answer whenever it comes. */
function sendForm(
  person: VaultPerson,
  parts: readonly (string | Buffer)[],
  {
    path = "/api/documents/upload",
    length,
    ends = true,
    signal,
  }: { path?: string; length?: number; ends?: boolean; signal?: AbortSignal } = {},
): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const request = sendHttp(`${daemon.url}${path}`, {
    method: "POST",
    ...(signal && { signal }),
    headers: {
      Authorization: `Bearer ${person.accessToken}`,
      "User-Agent": "croft-test",
      "Accept-Language": "*",
      "X-Forwarded-For": `198.51.100.${/\d+$/.exec(person.handle)?.[0]}`,
      "Content-Type": "multipart/form-data; boundary=x",
      ...(length === undefined ? {} : { "Content-Length": length }),
    },
  });
  request.on("response", (response) => {
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (text: string) => (body += text));
    response.on("end", () => {
      resolve({ status: response.statusCode ?? 0, body });
      request.destroy();
    });
  });
  // The daemon closes the connection of a body that it refuses; the answer has come by then.
  request.on("error", (error) => reject(error));
  for (const part of parts) request.write(part);
  if (ends) request.end();
  return promise;
}

/** Bytes of the open files below a folder that have no name any more. */
async function openBytesBelow(folder: string): Promise<number> {
  const sizes = (await readdir("/proc/self/fd")).map(async (fd) => {
    const target = await readlink(`/proc/self/fd/${fd}`).catch(() => "");
    if (!target.startsWith(folder)) return 0;
    return stat(`/proc/self/fd/${fd}`).then(
      ({ size }) => size,
      () => 0,
    );
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Neither a name nor an open file is left in the folder of temporary files. */
async function expectNothingLeft(): Promise<void> {
  const tmp = join(daemon.home, "tmp");
  await expect.poll(() => openFilesBelow(tmp)).toEqual([]);
  await expect
    .poll(async () => (await readdir(tmp)).filter((name) => /^(form|upload|object)-/.test(name)))
    .toEqual([]);
}

const QUOTA = { status: 413, body: JSON.stringify({ detail: "Storage quota exceeded" }) };

describe("a document larger than its user's quota", () => {
  test("is refused by its announced length, before any of it has arrived", async () => {
    const person = await personWith(MIB);
    // More than a megabyte is read on, so that clients that send first get to read the answer.
    const filler = Buffer.alloc(2 * MIB);
    expect(await sendForm(person, [FILE_FIRST, filler], { length: 7 * MIB, ends: false })).toEqual(
      QUOTA,
    );
    await expectNothingLeft();
  });

  test.each([
    ["before its fields", FILE_FIRST],
    ["behind its fields", FIELD_FIRST],
  ])("is refused while it arrives without a length, %s", async (_where, head) => {
    const person = await personWith(MIB);
    const chunks = Array.from({ length: 40 }, () => Buffer.alloc(64 * 1024));
    expect(await sendForm(person, [head, ...chunks], { ends: false })).toEqual(QUOTA);
    await expectNothingLeft();
    expect(await usedBytes(person)).toBe(0);
  });

  test.each([
    ["before its fields", FILE_FIRST, `\r\n${disposition('name="filename"')}b.bin${END}`],
    ["behind its fields", FIELD_FIRST, END],
  ])(
    "is accepted when it has exactly the free bytes of the quota, %s",
    async (_where, head, end) => {
      const person = await personWith(MIB);
      const taken = await sendForm(person, [head, Buffer.alloc(MIB), end]);
      expect(taken.status).toBe(201);
      expect(JSON.parse(taken.body)).toMatchObject({ filename: "b.bin", size_bytes: MIB });
      expect(await sendForm(person, [head, "x", end])).toEqual(QUOTA);
      expect((await sendForm(person, [head, end])).status).toBe(201);
      await expectNothingLeft();
    },
  );
});

onLinux.test("a form aborted before its fields leaves no file and books no quota", async () => {
  const person = await personWith(MIB);
  const request = sendHttp(`${daemon.url}/api/documents/upload`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${person.accessToken}`,
      "User-Agent": "croft-test",
      "Accept-Language": "*",
      "Content-Type": "multipart/form-data; boundary=x",
      "Content-Length": MIB,
    },
  });
  request.on("error", () => undefined);
  request.write(FILE_FIRST);
  request.write(Buffer.alloc(200_000));
  const tmp = join(daemon.home, "tmp");
  await expect.poll(async () => (await openFilesBelow(tmp)).length).toBeGreaterThan(0);
  request.destroy();
  await expectNothingLeft();
  expect(await usedBytes(person)).toBe(0);
});

// The bound is of the disk of one machine.
withOneDaemon.describe("the disk of a daemon", () => {
  onLinux.test(
    "forms that wait for their fields hold at most one largest upload of a user on the disk",
    async () => {
      const person = await personWith(100 * MIB);
      const other = await personWith(100 * MIB);
      const waiting = new AbortController();
      const file = Buffer.alloc(6 * MIB);
      const { signal } = waiting;
      const first = sendForm(person, [FILE_FIRST, file], { ends: false, signal });
      await expect.poll(() => openBytesBelow(join(daemon.home, "tmp"))).toBe(6 * MIB);
      // The excess is less than a megabyte, which the daemon still reads: the response arrives before the connection
      // closes.
      const second = await sendForm(person, [FILE_FIRST, Buffer.alloc(2.5 * MIB), END]);
      expect(second.status).toBe(429);
      expect((await sendForm(other, [FILE_FIRST, file, END])).status).toBe(201);
      waiting.abort();
      await expect(first).rejects.toThrow("aborted");
      await expectNothingLeft();
      expect((await sendForm(person, [FILE_FIRST, file, END])).status).toBe(201);
    },
  );
});

test("an upload to another user's connection is refused before its file has arrived", async () => {
  const person = await personWith(MIB);
  const path = "/api/cloud/connections/00000000-0000-7000-8000-000000000000/items/upload";
  const answer = await sendForm(person, [FILE_FIRST, Buffer.alloc(100)], { path, ends: false });
  expect(answer.status).toBe(404);
  await expectNothingLeft();
});

describe("uploads that race for the last megabyte", () => {
  test.each([
    ["before their fields", FILE_FIRST],
    ["behind their fields", FIELD_FIRST],
  ])("book only the files that fit, with files %s", async (_where, head) => {
    const person = await personWith(MIB);
    const size = 100_000;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => sendForm(person, [head, Buffer.alloc(size, 7), END])),
    );
    const taken = answers.filter(({ status }) => status === 201);
    expect(answers.filter(({ status }) => status === 413).length).toBe(50 - taken.length);
    // Uploads that are refused while they arrive may have kept out one that would have fitted.
    expect(taken.length).toBeLessThanOrEqual(10);
    expect(taken.length).toBeGreaterThan(0);
    expect(await usedBytes(person)).toBe(taken.length * size);
    expect((await person.request("/api/documents")).json.total).toBe(taken.length);
    await expectNothingLeft();
  });

  test("concurrent uploads cannot announce more than the quota leaves", async () => {
    const person = await personWith(MIB);
    const ask = () =>
      person.request("/api/documents/upload-url", {
        json: { filename: "a", content_type: "text/plain", size_bytes: 100_000 },
      });
    const answers = await Promise.all(Array.from({ length: 50 }, ask));
    expect(answers.filter(({ status }) => status === 201).length).toBe(10);
    expect(answers.filter(({ status }) => status === 413).length).toBe(40);
  });
});

test("an upload address ends with the account of its user", async () => {
  const person = await personWith(MIB);
  const { upload_url: url } = (
    await person.request("/api/documents/upload-url", {
      json: { filename: "a", content_type: "text/plain", size_bytes: 5 },
    })
  ).json;
  await admin.request(`/api/admin/users/${person.id}/status`, {
    method: "PATCH",
    json: { is_active: false },
  });
  const put = () =>
    daemon.request(new URL(url).pathname, {
      method: "PUT",
      body: "hello",
      headers: { "Content-Type": "text/plain" },
    });
  expect(await put()).toMatchObject({ status: 404 });
  await admin.request(`/api/admin/users/${person.id}/status`, {
    method: "PATCH",
    json: { is_active: true },
  });
  expect(await put()).toMatchObject({ status: 204 });
});
