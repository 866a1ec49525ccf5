import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import {
  createNpmClient,
  findNpm,
  type NpmClient,
  type NpmRun,
} from "../support/forge/npm-client.ts";
import { skipUnless } from "../support/skip.ts";

// The machine's own npm against the registry. One npm takes about half a second to start.

const npmVersion = findNpm();
const SLOW_MS = 300_000;
const PASSWORD = "user-password";

let daemon: TestDaemon;
let npm: NpmClient;
let registry: string;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  const admin = daemon.first?.forge.token ?? "";
  await daemon.request("/api/v1/admin/users", {
    token: admin,
    json: {
      username: "mira",
      email: "mira@example.org",
      password: PASSWORD,
      must_change_password: false,
    },
  });
  const made = await daemon.request("/api/v1/users/mira/tokens", {
    basic: `mira:${PASSWORD}`,
    json: { name: "npm", scopes: ["write:package"] },
  });
  registry = `${daemon.url}/api/packages/mira/npm/`;
  npm = await createNpmClient(registry, [`_authToken=${made.json.sha1}`]);
});
afterAll(async () => {
  await npm?.[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

async function ok(run: Promise<NpmRun>): Promise<string> {
  const { exitCode, output, errors } = await run;
  expect({ exitCode, errors: exitCode === 0 ? "" : errors }).toEqual({ exitCode: 0, errors: "" });
  return output;
}

async function publish(manifest: Record<string, unknown>, ...args: string[]): Promise<void> {
  const folder = await npm.makePackage(manifest, {
    "index.js": `module.exports = ${JSON.stringify(manifest["version"])};\n`,
    "README.md": `# ${String(manifest["name"])}\n`,
  });
  await ok(npm.run(folder, "publish", ...args));
}

const installed = async (folder: string, name: string) =>
  JSON.parse(
    await readFile(join(npm.folder, folder, "node_modules", name, "package.json"), "utf8"),
  );
const json = async (...args: string[]) => JSON.parse(await ok(npm.run("", ...args, "--json")));

skipUnless(npmVersion, "npm is not installed").describe(`npm ${npmVersion}`, () => {
  test(
    "knows whose token it has, and that the registry answers",
    async () => {
      expect((await ok(npm.run("", "whoami"))).trim()).toBe("mira");
      await ok(npm.run("", "ping"));
    },
    SLOW_MS,
  );

  test(
    "publishes and installs packages with and without a scope",
    async () => {
      await publish({ name: "plain", version: "1.0.0", description: "Nothing special" });
      await publish({
        name: "@croft/scoped",
        version: "1.2.3",
        bin: { scoped: "index.js" },
        dependencies: { plain: "^1.0.0" },
        scripts: { postinstall: "echo done" },
      });
      const folder = await npm.makePackage({ name: "user", version: "1.0.0" });
      await ok(npm.run(folder, "install", "@croft/scoped"));
      expect(await installed(folder, "@croft/scoped")).toMatchObject({ version: "1.2.3" });
      expect(await installed(folder, "plain")).toMatchObject({ version: "1.0.0" });
      const lock = JSON.parse(
        await readFile(join(npm.folder, folder, "package-lock.json"), "utf8"),
      );
      expect(lock.packages["node_modules/@croft/scoped"]).toMatchObject({
        resolved: `${registry}@croft/scoped/-/scoped-1.2.3.tgz`,
        integrity: expect.stringMatching(/^sha512-/),
        hasInstallScript: true,
      });
      await ok(npm.run(folder, "ci"));
    },
    SLOW_MS,
  );

  test(
    "views a package, its readme included",
    async () => {
      expect(await json("view", "plain")).toMatchObject({
        name: "plain",
        version: "1.0.0",
        description: "Nothing special",
        "dist-tags": { latest: "1.0.0" },
        dist: { tarball: `${registry}plain/-/plain-1.0.0.tgz` },
      });
      const whole = await daemon.request("/api/packages/mira/npm/@croft/scoped");
      expect(whole.json.versions["1.2.3"].scripts).toEqual({ postinstall: "echo done" });
      const inOneSegment = await daemon.request("/api/packages/mira/npm/@croft%2Fscoped");
      expect(inOneSegment.json).toEqual(whole.json);
    },
    SLOW_MS,
  );

  test(
    "npm publish of an existing version is refused with the reason",
    async () => {
      const folder = await npm.makePackage({ name: "plain", version: "1.0.0" }, { other: "x" });
      const refused = await npm.run(folder, "publish");
      expect(refused.exitCode).not.toBe(0);
      expect(refused.errors).toMatch(/previously published|exists already/);
    },
    SLOW_MS,
  );

  test(
    "moves, adds and removes tags",
    async () => {
      await publish({ name: "tagged", version: "1.0.0" });
      await publish({ name: "tagged", version: "2.0.0-rc.1" }, "--tag", "next");
      expect(await json("view", "tagged", "dist-tags")).toEqual({
        latest: "1.0.0",
        next: "2.0.0-rc.1",
      });
      await ok(npm.run("", "dist-tag", "add", "tagged@1.0.0", "stable"));
      await ok(npm.run("", "dist-tag", "rm", "tagged", "next"));
      expect((await ok(npm.run("", "dist-tag", "ls", "tagged"))).trim().split("\n")).toEqual([
        "latest: 1.0.0",
        "stable: 1.0.0",
      ]);
      const folder = await npm.makePackage({ name: "tag-user", version: "1.0.0" });
      await ok(npm.run(folder, "install", "tagged@stable"));
      expect(await installed(folder, "tagged")).toMatchObject({ version: "1.0.0" });
    },
    SLOW_MS,
  );

  test(
    "unpublishes a version, then everything",
    async () => {
      for (const version of ["1.0.0", "1.1.0", "1.2.0"])
        await publish({ name: "@croft/going", version });
      await ok(npm.run("", "unpublish", "@croft/going@1.2.0"));
      expect(await json("view", "@croft/going", "versions")).toEqual(["1.0.0", "1.1.0"]);
      expect(await json("view", "@croft/going", "dist-tags")).toEqual({ latest: "1.1.0" });
      const gone = await daemon.request("/api/packages/mira/npm/@croft/going/-/going-1.2.0.tgz");
      expect(gone.status).toBe(404);
      await ok(npm.run("", "unpublish", "@croft/going", "--force"));
      expect((await daemon.request("/api/packages/mira/npm/@croft%2fgoing")).status).toBe(404);
      // An unpublished version may be published again.
      await publish({ name: "@croft/going", version: "1.2.0" });
    },
    SLOW_MS,
  );

  test(
    "deprecates a version and undoes it",
    async () => {
      await publish({ name: "old", version: "1.0.0" });
      await ok(npm.run("", "deprecate", "old@1.0.0", "use the new one"));
      expect(await json("view", "old", "deprecated")).toBe("use the new one");
      await ok(npm.run("", "deprecate", "old@1.0.0", ""));
      expect(await json("view", "old", "name", "deprecated")).toBe("old");
    },
    SLOW_MS,
  );

  test(
    "searches by name",
    async () => {
      await publish({ name: "findable", version: "1.0.0", keywords: ["needle"] });
      expect(await json("search", "indab")).toMatchObject([
        { name: "findable", version: "1.0.0", keywords: ["needle"] },
      ]);
    },
    SLOW_MS,
  );

  test(
    "publishes megabytes that cannot be compressed",
    async () => {
      const folder = await npm.makePackage(
        { name: "large", version: "1.0.0" },
        { "data.bin": randomBytes(4 * 1024 * 1024) },
      );
      await ok(npm.run(folder, "publish"));
      const user = await npm.makePackage({ name: "large-user", version: "1.0.0" });
      await ok(npm.run(user, "install", "large"));
      const data = (where: string) => readFile(join(npm.folder, where, "data.bin"));
      expect(await data(`${user}/node_modules/large`)).toEqual(await data(folder));
    },
    SLOW_MS,
  );

  test(
    "npm may sign in with a user name and a password instead of a token",
    async () => {
      await using other = await createNpmClient(registry, [
        "username=mira",
        `_password=${Buffer.from(PASSWORD).toString("base64")}`,
      ]);
      expect(await other.run("", "whoami")).toMatchObject({ exitCode: 0, output: "mira\n" });
      await using stranger = await createNpmClient(registry, []);
      const folder = await stranger.makePackage({ name: "strange", version: "1.0.0" });
      expect((await stranger.run(folder, "publish")).exitCode).not.toBe(0);
      await ok(stranger.run(folder, "install", "plain"));
    },
    SLOW_MS,
  );
});
