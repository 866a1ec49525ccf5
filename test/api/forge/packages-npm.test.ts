import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";

// Requests that npm never sends, and npm's own requests on the wire. test/e2e/npm.test.ts runs npm itself.

let daemon: TestDaemon;
let token: string;

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_MAX_UPLOAD_BYTES: "1MiB" },
  });
  token = daemon.first?.forge.token ?? "";
});
afterAll(() => daemon[Symbol.asyncDispose]());

const root = "/api/packages/keeper/npm";
const send = (path: string, json: unknown, method = "PUT") =>
  daemon.request(`${root}/${path}`, { method, token, json });
const view = (path: string) => daemon.request(`${root}/${path}`);
const tarball = Buffer.from("not really a tarball");
const hash = (algorithm: string, encoding: "hex" | "base64") =>
  createHash(algorithm).update(tarball).digest(encoding);

interface Parts {
  readonly manifest?: object;
  readonly dist?: object;
  readonly document?: object;
  readonly attachment?: object;
}

function toDocument(name: string, version: string, parts: Parts = {}) {
  const manifest = { name, version, dist: { ...parts.dist }, ...parts.manifest };
  return {
    _id: name,
    name,
    "dist-tags": { latest: version },
    versions: { [version]: manifest },
    _attachments: {
      [`${name}-${version}.tgz`]: {
        content_type: "application/octet-stream",
        data: tarball.toString("base64"),
        length: tarball.length,
        ...parts.attachment,
      },
    },
    ...parts.document,
  };
}

const publish = (name: string, version: string, parts: Parts = {}): Promise<TestAnswer> =>
  send(name.replace("/", "%2f"), toDocument(name, version, parts));

/** The files of packages, finished or not. The daily export of the vault's records may be written at the same time. */
async function listFiles(): Promise<string[]> {
  const tmp = await readdir(join(daemon.home, "tmp"));
  const unfinished = tmp.filter((name) => !/-audit-.*\.csv$/.test(name));
  return [...(await daemon.listObjects()), ...unfinished];
}

describe("inconsistent and malformed documents change nothing", () => {
  const other = createHash("sha512").update("other").digest("base64");
  test.each<[string, number, Parts]>([
    ["a shasum of other bytes", 400, { dist: { shasum: "0".repeat(40) } }],
    ["an integrity of other bytes", 400, { dist: { integrity: `sha512-${other}` } }],
    [
      "one of two hashes wrong",
      400,
      { dist: { integrity: `sha1-${hash("sha1", "base64")} sha512-${other}` } },
    ],
    ["a length of other bytes", 400, { attachment: { length: 3 } }],
    ["an empty tarball", 400, { attachment: { data: "", length: 0 } }],
    ["content that is not base64", 400, { attachment: { data: "****" } }],
    ["content that is not text", 400, { attachment: { data: 7 } }],
    ["an attachment that is not an object", 400, { document: { _attachments: { a: 1 } } }],
    ["another package's version", 400, { manifest: { name: "other" } }],
    ["another version", 400, { manifest: { version: "2.0.0" } }],
    ["another package's document", 400, { document: { name: "other" } }],
    ["no version", 400, { document: { versions: {} } }],
    ["versions that are a list", 400, { document: { versions: [] } }],
    ["a tag for another version", 400, { document: { "dist-tags": { latest: "9.9.9" } } }],
    ["a tag that is a version", 400, { document: { "dist-tags": { "1.0.0": "1.0.0" } } }],
    ["a tag that is a path", 400, { document: { "dist-tags": { "../x": "1.0.0" } } }],
    ["a manifest of 2 MiB", 413, { manifest: { scripts: { a: "x".repeat(2 << 20) } } }],
    ["a document of 17 MiB", 413, { document: { readme: "x".repeat(17 << 20) } }],
    [
      "two attachments",
      400,
      { document: { _attachments: { a: { data: "QUJD" }, b: { data: "QUJD" } } } },
    ],
    ["a tarball past the limit", 413, { attachment: { data: "A".repeat(2 << 20) } }],
  ])("an npm document with %s is %i", async (_what, status, parts) => {
    const before = await listFiles();
    const refused = await publish("liar", "1.0.0", parts);
    expect(refused.status).toBe(status);
    expect(refused.json.error).toBe(refused.json.message);
    expect((await view("liar")).status).toBe(404);
    expect(await listFiles()).toEqual(before);
  });

  test.each(["1", "1.0", "v1.0.0", "01.0.0", "1.0.0-", "latest", "../1.0.0", "1.0.0\n", " 1.0.0"])(
    "the npm version %j is refused",
    async (version) => expect((await publish("versions", version)).status).toBe(400),
  );

  test.each([
    "Upper",
    ".hidden",
    "_private",
    "-dash",
    "@scope",
    "@/name",
    "@scope/",
    "@scope/.x",
    "a b",
    "a%2fb",
    "__proto__",
    "node_modules",
    "x".repeat(215),
    "näme",
    "a\0b",
  ])("the npm name %j is refused", async (name) => {
    const path = `${root}/${encodeURIComponent(name)}`;
    const json = toDocument(name, "1.0.0");
    const refused = await daemon.request(path, { method: "PUT", token, json });
    expect(refused.status).toBe(400);
  });

  test("members of an npm document called __proto__ and constructor are ordinary members", async () => {
    const text = JSON.stringify(toDocument("proto", "1.0.0")).replace(
      '"dist":{}',
      '"dist":{},"__proto__":{"polluted":true},"constructor":"x"',
    );
    const headers = { "Content-Type": "application/json" };
    const put = await daemon.request(`${root}/proto`, {
      method: "PUT",
      token,
      body: text,
      headers,
    });
    expect(put.status).toBe(201);
    expect((await view("proto")).json.versions["1.0.0"].constructor).toBe("x");
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});

describe("a package on the wire", () => {
  test("correct integrity claims of a manifest are stored and returned", async () => {
    const integrity = `sha512-${hash("sha512", "base64")}`;
    const shasum = hash("sha1", "hex");
    expect((await publish("honest", "1.0.0", { dist: { integrity, shasum } })).status).toBe(201);
    const { json } = await view("honest");
    expect(json.versions["1.0.0"].dist).toEqual({
      integrity,
      shasum,
      tarball: `${daemon.url}${root}/honest/-/honest-1.0.0.tgz`,
    });
    expect((await view("honest/-/honest-1.0.0.tgz")).text).toBe(tarball.toString());
    expect((await publish("honest", "1.0.0")).status).toBe(409);
  });

  test("an npm package is abbreviated for installers", async () => {
    await publish("short", "1.0.0", { manifest: { description: "x", engines: { node: ">=1" } } });
    const answer = await daemon.request(`${root}/short`, {
      headers: { Accept: "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8" },
    });
    expect(answer.headers.get("content-type")).toBe("application/vnd.npm.install-v1+json");
    expect(answer.headers.get("vary")).toBe("Accept");
    const { dist: _dist, ...version } = answer.json.versions["1.0.0"];
    expect(version).toEqual({ name: "short", version: "1.0.0", engines: { node: ">=1" } });
  });

  test("of eight concurrent publications of one version one succeeds", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => publish("race", "1.0.0")));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });

  test("an npm package is not revised by a client with an outdated revision", async () => {
    await publish("revised", "1.0.0");
    const { json: previous } = await view("revised");
    await publish("revised", "2.0.0");
    expect((await send(`revised/-rev/${previous._rev}`, previous)).status).toBe(409);
    expect((await send(`revised/-rev/${previous._rev}`, undefined, "DELETE")).status).toBe(409);
    const { json: now } = await view("revised");
    expect(Object.keys(now.versions)).toEqual(["1.0.0", "2.0.0"]);
    expect((await send(`revised/-rev/${now._rev}`, { ...now, versions: {} })).status).toBe(400);
    expect((await send("nothing/-rev/1-1", now)).status).toBe(400);
    expect((await send("nothing/-rev/1-1", { versions: {} })).status).toBe(404);
  });

  test("npm tags need existing versions, and latest cannot be removed", async () => {
    await publish("tags", "1.0.0");
    const at = (tag: string) => `-/package/tags/dist-tags/${tag}`;
    expect((await send(at("beta"), "1.0.0")).status).toBe(200);
    expect((await send(at("beta"), "3.0.0")).status).toBe(404);
    expect((await send(at("beta"), { version: "1.0.0" })).status).toBe(400);
    expect((await send(at("2.x"), "1.0.0")).status).toBe(400);
    expect((await send(at("__proto__"), "1.0.0")).status).toBe(400);
    expect((await send(at("latest"), undefined, "DELETE")).status).toBe(400);
    expect((await send(at("beta"), undefined, "DELETE")).status).toBe(200);
    expect((await send(at("beta"), undefined, "DELETE")).status).toBe(404);
    expect((await view("-/package/tags/dist-tags")).json).toEqual({ latest: "1.0.0" });
  });

  test("an npm search accepts any text and any numbers", async () => {
    for (const query of [
      "text=%25&size=-1&from=-5",
      "size=99999999&from=9007199254740993",
      "text=%27",
    ])
      expect((await view(`-/v1/search?${query}`)).json).toMatchObject({
        objects: expect.any(Array),
      });
  });

  test("the manifests of a package are bounded, and each answer has exactly what was published", async () => {
    const notes = 'é"x\\'.repeat(140_000);
    const manifest = { notes, dependencies: { a: "^1.0.0" }, description: "d".repeat(5_000) };
    const readme = 'text,"readme":"of the document';
    const document = { readme };
    let count = 0;
    for (; count < 40; count++) {
      const answer = await publish("large", `1.0.${count}`, { manifest, document });
      if (answer.status === 201) continue;
      expect(answer.status).toBe(413);
      expect(answer.json.message).toContain("unpublish old versions");
      break;
    }
    // Twelve mebibytes of manifests with 845,000 characters each, escapes included.
    expect(count).toBe(14);
    const whole = await view("large");
    expect(Object.keys(whole.json.versions)).toHaveLength(count);
    const { dist, ...last } = whole.json.versions["1.0.10"];
    expect(last).toEqual({ name: "large", version: "1.0.10", ...manifest });
    expect(dist.tarball).toBe(`${daemon.url}${root}/large/-/large-1.0.10.tgz`);
    expect(whole.json).toMatchObject({ readme, name: "large", "dist-tags": { latest: "1.0.13" } });
    const short = await daemon.request(`${root}/large`, {
      headers: { Accept: "application/vnd.npm.install-v1+json" },
    });
    expect(short.text.length).toBeLessThan(10_000);
    expect(short.json.versions["1.0.3"].dependencies).toEqual(manifest.dependencies);
    const { objects } = (await view("-/v1/search?text=large")).json;
    expect(objects).toHaveLength(1);
    expect(objects[0].package.description).toBe("d".repeat(1_000));
    const deprecated = { ...whole.json.versions["1.0.4"], deprecated: "do not use" };
    const changed = { ...whole.json, versions: { "1.0.4": deprecated } };
    expect((await send("large", changed)).status).toBe(201);
    const { versions } = (await view("large")).json;
    expect(versions["1.0.4"]).toMatchObject({ deprecated: "do not use", notes });
    expect(versions["1.0.5"]).not.toHaveProperty("deprecated");
  });

  test("without latest, the highest version is the latest, a prerelease only if all are", async () => {
    const numbers = ["1.9.0", "1.10.0", "2.0.0-rc.10", "2.0.0-rc.9", "3.0.0", "1.0.1"];
    for (const version of numbers) await publish("order", version);
    const latest = async () => (await view("-/package/order/dist-tags")).json.latest;
    const unpublish = async (version: string) => {
      const { _rev } = (await view("order")).json;
      const path = `order/-/order-${version}.tgz/-rev/${_rev}`;
      expect((await send(path, undefined, "DELETE")).status).toBe(200);
    };
    await send("-/package/order/dist-tags/latest", "3.0.0");
    await unpublish("3.0.0");
    expect(await latest()).toBe("1.10.0");
    for (const version of ["1.10.0", "1.9.0", "1.0.1"]) await unpublish(version);
    expect(await latest()).toBe("2.0.0-rc.10");
  });

  test("npm audit gets an answer that says that nothing was audited", async () => {
    for (const path of ["advisories/bulk", "audits/quick"]) {
      const answer = await send(`-/npm/v1/security/${path}`, { a: ["1.0.0"] }, "POST");
      expect(answer.status).toBe(200);
      expect(answer.headers.get("npm-notice")).toContain("nothing was audited");
      expect(answer.json.advisories ?? answer.json).toEqual({});
    }
  });

  test("a tag whose body is not a version leaves no file", async () => {
    await publish("tidy", "1.0.0");
    const before = await listFiles();
    for (const body of [toDocument("tidy", "1.0.0"), "x".repeat(2_000), "9".repeat(300), 7, null])
      expect((await send("-/package/tidy/dist-tags/beta", body)).status).toBeGreaterThanOrEqual(
        400,
      );
    expect(await listFiles()).toEqual(before);
  });
});
