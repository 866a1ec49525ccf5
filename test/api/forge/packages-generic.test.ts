import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { flipBit } from "../../conformance/object-store.suite.ts";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { withOneDaemon } from "../../support/skip.ts";

const PASSWORD = "user-password";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { tokenOf, newToken } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_MAX_UPLOAD_BYTES: "1MiB" },
    // The test of damaged files damages two.
    expectErrors: ({ message }) => message === "stored object does not match its SHA-256",
  });
  for (const username of ["mira", "nora", "quiet"]) await people.newUser(username);
  await edit("quiet", { visibility: "private" });
  await daemon.request("/api/v1/admin/users/mira/orgs", {
    token: people.admin,
    json: { username: "team" },
  });
});
afterAll(() => daemon[Symbol.asyncDispose]());

const edit = (username: string, fields: object) =>
  daemon.request(`/api/v1/admin/users/${username}`, {
    method: "PATCH",
    token: people.admin,
    json: { login_name: username, source_id: 0, ...fields },
  });

const at = (path: string, owner = "mira") => `/api/packages/${owner}/generic/${path}`;

function put(
  path: string,
  body: string,
  init: { token?: string; basic?: string; headers?: Record<string, string> } = {
    token: tokenOf("mira"),
  },
): Promise<TestAnswer> {
  return daemon.request(path, { method: "PUT", body, ...init });
}

const listObjects = () => daemon.listObjects();
const listTemporary = () => readdir(join(daemon.home, "tmp"));
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("files of a generic package", () => {
  test("files of a generic package are uploaded, downloaded and deleted", async () => {
    expect((await put(at("tool/1.0/tool.bin"), "hello")).status).toBe(201);
    const got = await daemon.request(at("tool/1.0/tool.bin"));
    expect(got).toMatchObject({ status: 200, text: "hello" });
    expect(Object.fromEntries(got.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="tool.bin"; filename*=UTF-8''tool.bin`,
      "x-content-type-options": "nosniff",
      etag: `"${sha256("hello")}"`,
      "accept-ranges": "bytes",
    });
    const head = await daemon.request(at("tool/1.0/tool.bin"), { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, text: "" });
    expect(head.headers.get("content-length")).toBe("5");
    const remove = { method: "DELETE", token: tokenOf("mira") };
    expect((await daemon.request(at("tool/1.0/tool.bin"), remove)).status).toBe(204);
    expect((await daemon.request(at("tool/1.0/tool.bin"))).status).toBe(404);
    expect((await daemon.request(at("tool/1.0/tool.bin"), remove)).status).toBe(404);
  });

  test("files of a generic package are found regardless of case, and served in ranges", async () => {
    await put(at("Parts/1.0-RC/File.bin"), "0123456789");
    const path = at("parts/1.0-rc/file.BIN");
    const part = await daemon.request(path, { headers: { Range: "bytes=2-4" } });
    expect(part).toMatchObject({ status: 206, text: "234" });
    expect(part.headers.get("content-range")).toBe("bytes 2-4/10");
    expect((await daemon.request(path, { headers: { Range: "bytes=10-" } })).status).toBe(416);
    const current = await daemon.request(path, {
      headers: { "If-None-Match": `"${sha256("0123456789")}"` },
    });
    expect(current.status).toBe(304);
  });

  test("a file of a generic package cannot be replaced", async () => {
    expect((await put(at("once/1/a.txt"), "one")).status).toBe(201);
    expect(await put(at("once/1/A.TXT"), "two")).toMatchObject({
      status: 409,
      json: { message: "a file with this name exists in this version" },
    });
    expect((await daemon.request(at("once/1/a.txt"))).text).toBe("one");
    expect(await listObjects()).not.toContain(sha256("two"));
  });

  test("of concurrent uploads of one file of a generic package one succeeds", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => put(at("race/1/a.txt"), `body ${index}`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });

  test("files of a generic package may be empty, and share their bytes", async () => {
    expect((await put(at("empty/1/none"), "")).status).toBe(201);
    const empty = await daemon.request(at("empty/1/none"));
    expect(empty).toMatchObject({ status: 200, text: "" });
    await put(at("shared/1/a"), "the same");
    await put(at("shared/2/b"), "the same", { token: tokenOf("nora") });
    await put(at("shared/2/b", "nora"), "the same", { token: tokenOf("nora") });
    expect((await listObjects()).filter((name) => name === sha256("the same"))).toHaveLength(1);
  });

  test("files of a generic package are deleted with their version", async () => {
    await put(at("whole/1/a"), "a");
    await put(at("whole/1/b"), "b");
    await put(at("whole/2/a"), "a");
    const remove = { method: "DELETE", token: tokenOf("mira") };
    expect((await daemon.request(at("whole/1"), remove)).status).toBe(204);
    expect((await daemon.request(at("whole/1/a"))).status).toBe(404);
    expect((await daemon.request(at("whole/2/a"))).text).toBe("a");
    expect((await daemon.request(at("whole/1"), remove)).status).toBe(404);
  });

  test("names of any characters are encoded safely in the download header", async () => {
    const filename = "a;b = {c} %41 #1.bin";
    await put(at(`names/1/${encodeURIComponent(filename)}`), "x");
    const got = await daemon.request(at(`names/1/${encodeURIComponent(filename)}`));
    expect(got.headers.get("content-disposition")).toBe(
      `attachment; filename="${filename}"; filename*=UTF-8''a%3Bb%20%3D%20%7Bc%7D%20%2541%20%231.bin`,
    );
  });
});

describe("authorization", () => {
  test("anonymous callers read packages of a public owner, and write none", async () => {
    await put(at("open/1/a"), "a");
    expect((await daemon.request(at("open/1/a"))).status).toBe(200);
    const refused = await put(at("open/1/b"), "b", {});
    expect(refused).toMatchObject({ status: 401, json: { error: "token is required" } });
    expect(refused.headers.get("www-authenticate")).toBe('Basic realm="croft"');
  });

  test("other users read packages and may not write them, and hidden owners are not found", async () => {
    expect((await put(at("open/1/c"), "c", { token: tokenOf("nora") })).status).toBe(403);
    await put(at("own/1/a", "quiet"), "a", { token: tokenOf("quiet") });
    for (const init of [{}, { token: tokenOf("nora") }])
      expect((await daemon.request(at("own/1/a", "quiet"), init)).status).toBe(404);
    const foreign = await put(at("own/1/b", "quiet"), "b", { token: tokenOf("nora") });
    expect(foreign).toMatchObject({ status: 404, json: { message: "not found" } });
    const own = { token: tokenOf("quiet") };
    expect((await daemon.request(at("own/1/a", "quiet"), own)).status).toBe(200);
    expect((await daemon.request(at("own/1/a", "quiet"), { token: people.admin })).status).toBe(
      200,
    );
  });

  test("passwords and tokens with the scope authenticate for packages", async () => {
    expect((await put(at("scope/1/a"), "a", { basic: `mira:${PASSWORD}` })).status).toBe(201);
    const reading = await newToken("mira", ["read:package"]);
    expect((await put(at("scope/1/b"), "b", { token: reading })).status).toBe(403);
    expect((await daemon.request(at("scope/1/a"), { token: reading })).status).toBe(200);
    const writing = await newToken("mira", ["write:package"]);
    expect((await put(at("scope/1/b"), "b", { basic: `mira:${writing}` })).status).toBe(201);
    const other = await newToken("mira", ["write:repository"]);
    expect((await daemon.request(at("scope/1/a"), { token: other })).status).toBe(403);
    const open = await newToken("quiet", ["public-only", "all"]);
    expect((await daemon.request(at("own/1/a", "quiet"), { token: open })).status).toBe(403);
  });

  test("owners of an organization publish packages, others read them", async () => {
    expect((await put(at("lib/1/a", "team"), "a")).status).toBe(201);
    expect((await daemon.request(at("lib/1/a", "team"))).status).toBe(200);
    expect((await put(at("lib/1/b", "team"), "b", { token: tokenOf("nora") })).status).toBe(403);
  });
});

describe("bad input", () => {
  test.each([
    ["a slash in the name", "a%2Fb/1/f"],
    ["a slash in the version", "a/1%2F2/f"],
    ["a backslash in the file", "a/1/..%5Cf"],
    ["a double-encoded parent", "%252e%252e/1/f"],
    ["a NUL", "a/1/f%00"],
    ["a line end", "a/1/f%0d%0aX-Evil: 1"],
    ["a quote", "a/1/f%22"],
    ["an override of direction", "a/1%E2%80%AEgpj/f"],
    ["spaces around the file", "a/1/%20f"],
    ["spaces around the version", "a/1%20/f"],
    ["a name of signs only", "---/1/f"],
    ["a long name", `${"n".repeat(256)}/1/f`],
    ["a stream of another file system", "a/1/f::$DATA%00"],
  ])("a package with %s is refused", async (_what, path) => {
    const refused = await put(at(path), "x");
    expect(refused.status).toBe(400);
    expect(refused.text).not.toContain(daemon.home);
  });

  test.each(["%2e%2e/1/f", "a/%2e%2e/f", "a/1/%2e%2e", "../1/f", "a/1/..", "a/1/.", "..\\/1/f"])(
    "the path %s of a package is not found",
    async (path) => {
      const before = await listObjects();
      const answer = await sendRaw(
        `PUT ${at(path)} HTTP/1.1\r\nHost: ${new URL(daemon.url).host}\r\nConnection: close\r\n` +
          `Authorization: token ${tokenOf("mira")}\r\nContent-Length: 4\r\n\r\nevil`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 40[045] /);
      expect(await listObjects()).toEqual(before);
    },
  );

  test("overlong UTF-8 in the path of a package is refused", async () => {
    expect((await put(at("a/1/%c0%ae%c0%ae"), "x")).status).toBe(400);
  });

  test("an unknown owner of packages is 404", async () => {
    expect((await put(at("a/1/f", "nobody"), "x")).status).toBe(404);
    expect((await daemon.request(at("a/1/f", "nobody"))).status).toBe(404);
  });

  test("refuses an upload with a wrong hash and stores nothing", async () => {
    for (const headers of [
      { "X-Checksum-Sha256": sha256("other") },
      { "Content-Digest": `sha-256=:${createHash("sha256").update("other").digest("base64")}:` },
      { "Repr-Digest": "sha-512=:AAAA:" },
      { "X-Checksum-Md5": "zzzz" },
    ]) {
      const lie = await put(at("lies/1/f"), "truth", { token: tokenOf("mira"), headers });
      expect(lie.status).toBe(400);
    }
    expect((await daemon.request(at("lies/1/f"))).status).toBe(404);
    expect(await listObjects()).not.toContain(sha256("truth"));
    await expect.poll(listTemporary).toEqual([]);
    const true1 = await put(at("lies/1/f"), "truth", {
      token: tokenOf("mira"),
      headers: { "X-Checksum-Sha256": sha256("truth").toUpperCase() },
    });
    expect(true1.status).toBe(201);
  });

  test("an upload above the limit is 413, with and without a declared length", async () => {
    const big = "x".repeat(1024 * 1024 + 1);
    expect((await put(at("big/1/f"), big)).status).toBe(413);
    const chunked = await sendRaw(
      `PUT ${at("big/1/f")} HTTP/1.1\r\nHost: ${new URL(daemon.url).host}\r\nAuthorization: token ${tokenOf("mira")}\r\n` +
        `Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`,
    );
    expect(chunked).toMatch(/^HTTP\/1\.1 413 /);
    await expect.poll(listTemporary).toEqual([]);
  });

  test("an aborted upload stores nothing", async () => {
    const head =
      `PUT ${at("broken/1/f")} HTTP/1.1\r\nHost: ${new URL(daemon.url).host}\r\nAuthorization: token ${tokenOf("mira")}\r\n` +
      "Content-Length: 1000\r\n\r\n";
    await sendRaw(head + "only a part", true);
    await expect.poll(listTemporary).toEqual([]);
    expect((await daemon.request(at("broken/1/f"))).status).toBe(404);
    expect((await put(at("broken/1/f"), "whole")).status).toBe(201);
  });
});

withOneDaemon.describe("bytes on disk", () => {
  const pathOf = (name: string) =>
    join(daemon.home, "packages", name.slice(0, 2), name.slice(2, 4), name);
  const damage = async (body: string) => {
    const path = pathOf(sha256(body));
    await writeFile(path, flipBit(await readFile(path)), { flag: "r+" });
  };

  test("a small file with a flipped bit is answered with 503, whole and in part", async () => {
    const bytes = randomBytes(2000).toString("hex");
    await put(at("flipped/1/f"), bytes);
    expect((await daemon.request(at("flipped/1/f"))).text).toBe(bytes);
    await damage(bytes);
    const part = { headers: { Range: "bytes=0-9" } };
    expect((await daemon.request(at("flipped/1/f"), part)).status).toBe(503);
    expect(await daemon.request(at("flipped/1/f"))).toMatchObject({
      status: 503,
      json: { message: "the bytes of this file are missing or damaged" },
    });
    expect(daemon.log).toContainEqual(
      expect.objectContaining({
        message: "stored object does not match its SHA-256",
        sha256: sha256(bytes),
        outcome: "quarantined",
      }),
    );
    expect((await readdir(join(daemon.home, "packages", "quarantine"))).join()).toContain(
      sha256(bytes),
    );
    // The same bytes under another name repair it.
    await put(at("flipped/1/again"), bytes);
    expect((await daemon.request(at("flipped/1/f"))).text).toBe(bytes);
  });

  test("a large file with a flipped bit is cut off before its end", async () => {
    const bytes = randomBytes(400_000).toString("hex");
    await put(at("flipped/2/f"), bytes);
    await damage(bytes);
    const answer = await sendRaw(
      `GET ${at("flipped/2/f")} HTTP/1.1\r\nHost: ${new URL(daemon.url).host}\r\n\r\n`,
    );
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(head.toLowerCase()).toContain("content-length: 800000");
    expect(body.length).toBeLessThan(800_000);
    expect((await daemon.request(at("flipped/2/f"))).status).toBe(503);
  });

  test("missing or truncated files are never served as complete", async () => {
    const bytes = randomBytes(2000).toString("hex");
    await put(at("torn/1/f"), bytes);
    const path = pathOf(sha256(bytes));
    await truncate(path, 10);
    expect((await daemon.request(at("torn/1/f"))).status).toBe(503);
    await rm(path);
    expect((await daemon.request(at("torn/1/f"))).status).toBe(503);
    // The same bytes under another name mend it.
    await put(at("torn/1/again"), bytes);
    expect((await daemon.request(at("torn/1/f"))).text).toBe(bytes);
  });
});

/** Sends raw bytes and returns the response until the daemon closes the connection; `cut` ends it without waiting. */
function sendRaw(text: string, cut = false): Promise<string> {
  const { hostname, port } = new URL(daemon.url);
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(Number(port), hostname, () => {
      socket.write(text, () => {
        if (cut) socket.destroy();
      });
    });
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    socket.on("error", () => resolve(answer));
    socket.on("close", () => resolve(answer));
  });
}
