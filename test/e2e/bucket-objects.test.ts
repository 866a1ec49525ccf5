import { createHash, randomBytes, randomInt } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startS3Server, type S3Server } from "../stand-ins/s3-server.ts";
import { croftJson, serveCroft, type CroftCommand } from "../support/croft.ts";
import { createGitClient } from "../support/forge/git-client.ts";
import { createNpmClient, findNpm } from "../support/forge/npm-client.ts";
import { createServerDatabases } from "../support/storage/postgres-server.ts";
import { countKills, limitOfKills } from "../support/kills.ts";
import { skipUnless } from "../support/skip.ts";

// Daemons in processes of their own, whose packages lie in a bucket. Each takes a second or two to start.

const SLOW_MS = 300_000;
const PASSWORD = "Correct-Horse-7-Battery";
const command: CroftCommand = [process.execPath, join(import.meta.dirname, "../../bin/croft.js")];
const npmVersion = findNpm();
const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];
const onServer = skipUnless(serverUrl, "CROFT_TEST_POSTGRES_URL names no PostgreSQL server");

/** A home that is initialised, and whose daemons keep objects in a bucket. */
async function makeHome(bucket: S3Server, env: Readonly<Record<string, string>> = {}) {
  const home = await mkdtemp(join(tmpdir(), "croft-bucket-"));
  const around = {
    home,
    env: {
      CROFT_RATE_LIMITS: "off",
      CROFT_OBJECTS_URL: `s3://${bucket.bucket}/packages?endpoint=${bucket.origin}`,
      CROFT_OBJECTS_ACCESS_KEY_ID: bucket.key.id,
      CROFT_OBJECTS_SECRET_ACCESS_KEY: bucket.key.secret,
      ...env,
    },
  };
  return {
    ...around,
    serve: () => serveCroft(command, around),
    async initialise(): Promise<string> {
      const { forge } = await croftJson<{ forge: { token: string } }>(
        command,
        ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
        around,
        PASSWORD,
      );
      return forge.token;
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const inBucket = (bucket: S3Server) =>
  bucket.store.versions("packages/objects/").map(({ key }) => key.split("/")[2]);

describe("packages in a bucket", () => {
  test(
    "every daemon of the database stores and serves packages of a bucket, whole and in ranges, and answers 503 without the bucket",
    async () => {
      await using bucket = await startS3Server();
      await using home = await makeHome(bucket);
      const authorization = { Authorization: `token ${await home.initialise()}` };
      // More than one part.
      const bytes = randomBytes(17 * 1024 * 1024);
      const path = "/api/packages/keeper/generic/tool/1.0/tool.bin";
      {
        await using daemon = await home.serve();
        const put = await fetch(daemon.url + path, {
          method: "PUT",
          headers: authorization,
          body: bytes,
        });
        expect(put.status).toBe(201);
        // A bucket that does not answer for a few seconds is not there.
        await expect
          .poll(async () => (await fetch(`${daemon.url}/readyz`)).json())
          .toEqual({ status: "ready", objects: "reachable" });
        expect(daemon.stderr()).not.toContain(bucket.key.secret);
        expect(await daemon.end("SIGTERM")).toBe(0);
      }
      expect(inBucket(bucket)).toEqual([digest(bytes)]);
      expect(bucket.store.uploads.size).toBe(0);
      expect(await readdir(join(home.home, "packages"))).toEqual([]);
      await using daemon = await home.serve();
      const whole = await fetch(daemon.url + path, { headers: authorization });
      expect(whole.headers.get("etag")).toContain(digest(bytes));
      expect(digest(await whole.bytes())).toBe(digest(bytes));
      const part = await fetch(daemon.url + path, {
        headers: { ...authorization, Range: "bytes=9000000-9000009" },
      });
      expect(part.status).toBe(206);
      expect(Buffer.from(await part.bytes())).toEqual(bytes.subarray(9_000_000, 9_000_010));

      bucket.refuse(() => true, { status: 503, code: "ServiceUnavailable" });
      const refused = await fetch(daemon.url + path, { headers: authorization });
      expect(refused.status).toBe(503);
      const lost = await fetch(`${daemon.url}/api/packages/keeper/generic/tool/2.0/tool.bin`, {
        method: "PUT",
        headers: authorization,
        body: "never kept",
      });
      expect(lost.status).toBe(503);
      bucket.calm();
      const list = await fetch(`${daemon.url}/api/v1/admin/packages`, { headers: authorization });
      expect(await list.json()).toMatchObject([{ name: "tool", version: "1.0" }]);
      expect(inBucket(bucket)).toEqual([digest(bytes)]);
      expect(await daemon.end("SIGTERM")).toBe(0);
    },
    SLOW_MS,
  );

  skipUnless(npmVersion, "npm is not installed")(
    "are published and installed by npm",
    async () => {
      await using bucket = await startS3Server();
      await using home = await makeHome(bucket);
      const token = await home.initialise();
      await using daemon = await home.serve();
      const registry = `${daemon.url}/api/packages/keeper/npm/`;
      await using npm = await createNpmClient(registry, [`_authToken=${token}`]);
      const folder = await npm.makePackage(
        { name: "in-bucket", version: "1.0.0" },
        { "index.js": "module.exports = 1;\n" },
      );
      expect(await npm.run(folder, "publish")).toMatchObject({ exitCode: 0 });
      expect(inBucket(bucket)).toHaveLength(1);
      const user = await npm.makePackage({ name: "user", version: "1.0.0" });
      expect(await npm.run(user, "install", "in-bucket")).toMatchObject({ exitCode: 0 });
      expect(await readdir(join(npm.folder, user, "node_modules/in-bucket"))).toContain("index.js");
    },
    SLOW_MS,
  );
});

onServer.describe("two daemons on one database and one bucket", () => {
  const databases = createServerDatabases(serverUrl ?? "");
  afterAll(() => databases.dropAll());

  onServer(
    "start on an empty database at the same time, and one of them creates the administrators",
    async () => {
      await using bucket = await startS3Server();
      const env = {
        CROFT_DATABASE_URL: await databases.create(),
        CROFT_MASTER_KEY: "07".repeat(32),
      };
      await using one = await makeHome(bucket, env);
      await using two = await makeHome(bucket, env);
      const daemons = await Promise.all([one.serve(), two.serve()]);
      for (const daemon of daemons) {
        expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
        expect(await daemon.end("SIGTERM")).toBe(0);
      }
    },
    SLOW_MS,
  );

  onServer(
    "give what the other took, and sweep without taking what is in use",
    async () => {
      await using bucket = await startS3Server();
      const env = {
        CROFT_DATABASE_URL: await databases.create(),
        CROFT_MASTER_KEY: "07".repeat(32),
      };
      await using one = await makeHome(bucket, env);
      await using two = await makeHome(bucket, env);
      const authorization = { Authorization: `token ${await one.initialise()}` };
      await using first = await one.serve();
      await using second = await two.serve();
      const at = (name: string) => `/api/packages/keeper/generic/${name}/1/file`;
      const put = (url: string, name: string, bytes: Uint8Array<ArrayBuffer>) =>
        fetch(url + at(name), { method: "PUT", headers: authorization, body: bytes });
      const [mine, theirs] = [randomBytes(9_000_000), randomBytes(100)];
      expect((await put(first.url, "mine", mine)).status).toBe(201);
      expect((await put(second.url, "theirs", theirs)).status).toBe(201);
      // Equal bytes from both sides.
      expect((await put(second.url, "same", mine)).status).toBe(201);
      for (const { url } of [first, second]) {
        for (const [name, bytes] of [
          ["mine", mine],
          ["same", mine],
          ["theirs", theirs],
        ] as const) {
          const answer = await fetch(url + at(name), { headers: authorization });
          expect(digest(await answer.bytes())).toBe(digest(bytes));
        }
        const swept = await fetch(`${url}/api/v1/admin/cron/cleanup_packages`, {
          method: "POST",
          headers: authorization,
        });
        expect(swept.status).toBe(204);
      }
      expect(new Set(inBucket(bucket))).toEqual(new Set([digest(mine), digest(theirs)]));
      for (const daemon of [first, second]) expect(await daemon.end("SIGTERM")).toBe(0);
    },
    SLOW_MS,
  );

  onServer(
    "count the branches that are pushed to both at once",
    async () => {
      await using bucket = await startS3Server();
      await using one = await makeHome(bucket, {
        CROFT_DATABASE_URL: await databases.create(),
        CROFT_MASTER_KEY: "07".repeat(32),
      });
      await using two = await makeHome(bucket, {
        ...one.env,
        CROFT_REPOSITORIES_DIR: join(one.home, "repositories"),
      });
      const token = await one.initialise();
      const headers = { Authorization: `token ${token}`, "Content-Type": "application/json" };
      await using first = await one.serve();
      await using second = await two.serve();
      const made = await fetch(`${first.url}/api/v1/user/repos`, {
        method: "POST",
        headers,
        body: JSON.stringify({ name: "cabin" }),
      });
      expect(made.status).toBe(201);
      await using git = await createGitClient();
      await git.run("init", "--quiet", ".");
      await git.run("commit", "--quiet", "--allow-empty", "-m", "one");
      const names = Array.from({ length: 12 }, (_, index) => `branch-${index}`);
      const pushes = names.map((name, index) => {
        const { url } = index % 2 === 0 ? first : second;
        const address = `${url.replace("://", `://keeper:${token}@`)}/keeper/cabin.git`;
        return git.run("push", "--quiet", address, `HEAD:refs/heads/${name}`);
      });
      for (const push of await Promise.all(pushes))
        expect(push.errors.replace(/^remote:.*\n/gm, "")).toBe("");
      for (const { url } of [first, second]) {
        const shown = await fetch(`${url}/api/v1/repos/keeper/cabin`, { headers });
        expect(await shown.json()).toMatchObject({ branch_count: names.length, empty: false });
      }
      for (const daemon of [first, second]) expect(await daemon.end("SIGTERM")).toBe(0);
    },
    SLOW_MS,
  );

  onServer(
    "merge a pull request once when both are asked at the same time",
    async () => {
      await using bucket = await startS3Server();
      await using one = await makeHome(bucket, {
        CROFT_DATABASE_URL: await databases.create(),
        CROFT_MASTER_KEY: "07".repeat(32),
        CROFT_RATE_LIMITS: "off",
      });
      await using two = await makeHome(bucket, {
        ...one.env,
        CROFT_REPOSITORIES_DIR: join(one.home, "repositories"),
      });
      const token = await one.initialise();
      const headers = { Authorization: `token ${token}`, "Content-Type": "application/json" };
      await using first = await one.serve();
      await using second = await two.serve();
      const send = (url: string, method: string, path: string, body?: object) =>
        fetch(`${url}/api/v1${path}`, {
          method,
          headers,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
      const read = async (path: string) => (await send(second.url, "GET", path)).json();
      const cabin = "/repos/keeper/cabin";
      await send(first.url, "POST", "/user/repos", { name: "cabin", auto_init: true });
      for (let round = 1; round <= 4; round += 1) {
        const head = `branch-${round}`;
        const file = { content: "", new_branch: head };
        await send(first.url, "POST", `${cabin}/contents/${head}`, file);
        const pull = { head, base: "main", title: head };
        const made = await send(first.url, "POST", `${cabin}/pulls`, pull);
        const { number } = (await made.json()) as { number: number };
        await expect
          .poll(() => read(`${cabin}/pulls/${number}`))
          .toMatchObject({ mergeable: true });
        const merges = [first, second, first, second].map(({ url }) =>
          send(url, "POST", `${cabin}/pulls/${number}/merge`, { do: "merge" }),
        );
        const statuses = (await Promise.all(merges)).map(({ status }) => status);
        expect(statuses.filter((status) => status === 200)).toHaveLength(1);
        expect(statuses.filter((status) => status >= 500)).toEqual([]);
        expect(await read(`${cabin}/pulls/${number}`)).toMatchObject({ merged: true });
        const commits = (await read(`${cabin}/commits`)) as { parents: object[] }[];
        expect(commits.filter(({ parents }) => parents.length === 2)).toHaveLength(round);
      }
      for (const daemon of [first, second]) expect(await daemon.end("SIGTERM")).toBe(0);
    },
    SLOW_MS,
  );

  const kills = countKills(4);
  onServer(
    "lose nothing that was acknowledged while either is killed, and the other one goes on",
    async () => {
      await using bucket = await startS3Server();
      await using one = await makeHome(bucket, {
        CROFT_DATABASE_URL: await databases.create(),
        CROFT_MASTER_KEY: "07".repeat(32),
      });
      await using two = await makeHome(bucket, {
        ...one.env,
        CROFT_REPOSITORIES_DIR: join(one.home, "repositories"),
      });
      const Authorization = `token ${await one.initialise()}`;
      const homes = [one, two];
      const daemons = [await one.serve(), await two.serve()];
      await using _daemons = {
        async [Symbol.asyncDispose]() {
          for (const daemon of daemons) await daemon[Symbol.asyncDispose]();
        },
      };
      const send = (at: number, method: string, path: string, body?: object | string) =>
        fetch(`${daemons[at % 2]?.url}${path}`, {
          method,
          headers: { Authorization, "Content-Type": "application/json" },
          ...(body === undefined
            ? {}
            : { body: typeof body === "string" ? body : JSON.stringify(body) }),
        });
      const cabin = "/api/v1/repos/keeper/cabin";
      await send(0, "POST", "/api/v1/user/repos", { name: "cabin", auto_init: true });
      const writes: readonly ((at: number) => readonly [string, string, object | string])[] = [
        (at) => ["POST", `${cabin}/issues`, { title: `Shelf ${at}` }],
        (at) => ["POST", `${cabin}/contents/file-${at}.txt`, { content: "eA==" }],
        (at) => ["PUT", `/api/packages/keeper/generic/pack/${at}/f`, `bytes ${at}`],
      ];
      /** The numbers of the acknowledged writes of each kind. */
      const acknowledged = writes.map((): number[] => []);
      const statuses = new Set<number>();
      let isOver = false;
      const writer = async (kind: number) => {
        // A last one at each daemon once both are back.
        for (let at = 0; !isOver || at % 4 !== 0; at += 1) {
          const [method, path, body] = writes[kind]?.(at) ?? ["GET", "/", ""];
          // A killed daemon answers nothing; the client does not know what became of its request.
          const answer = await send(at, method, path, body).catch(() => undefined);
          if (answer === undefined) continue;
          statuses.add(answer.status);
          await answer.body?.cancel();
          if (answer.ok) acknowledged[kind]?.push(at);
        }
      };
      const writing = Promise.all(writes.map((_, kind) => writer(kind)));
      for (let kill = 0; kill < kills; kill += 1) {
        const before = acknowledged.flat().length;
        await expect.poll(() => acknowledged.flat().length).toBeGreaterThan(before + randomInt(9));
        await daemons[kill % 2]?.end("SIGKILL");
        const alone = await send(kill + 1, "POST", `${cabin}/issues`, { title: `Alone ${kill}` });
        expect(alone.status).toBe(201);
        const home = homes[kill % 2];
        if (home !== undefined) daemons[kill % 2] = await home.serve();
      }
      isOver = true;
      await writing;
      expect([...statuses].filter((status) => status === 500)).toEqual([]);
      const [issues = [], files = [], packages = []] = acknowledged;
      for (const at of [0, 1]) {
        const titles: string[] = [];
        for (let page = 1, more = true; more; page += 1) {
          const answer = await send(at, "GET", `${cabin}/issues?limit=50&page=${page}`);
          const list = (await answer.json()) as { title: string }[];
          titles.push(...list.map(({ title }) => title));
          more = list.length > 0;
        }
        expect(titles).toEqual(expect.arrayContaining(issues.map((number) => `Shelf ${number}`)));
        expect(new Set(titles).size).toBe(titles.length);
        const tree = await send(at, "GET", `${cabin}/contents`);
        const names = ((await tree.json()) as { name: string }[]).map(({ name }) => name);
        expect(names).toEqual(expect.arrayContaining(files.map((number) => `file-${number}.txt`)));
        for (const number of packages) {
          const read = await send(at, "GET", `/api/packages/keeper/generic/pack/${number}/f`);
          expect(await read.text()).toBe(`bytes ${number}`);
        }
        // Both write on.
        for (const write of writes) {
          const [method, path, body] = write(1_000_000 + at);
          expect((await send(at, method, path, body)).status).toBe(201);
        }
      }
      await using git = await createGitClient();
      const fsck = await git.in(
        "",
        `--git-dir=${join(one.home, "repositories/keeper/cabin.git")}`,
        "fsck",
      );
      expect(fsck).toMatchObject({ exitCode: 0 });
    },
    limitOfKills(kills),
  );
});
