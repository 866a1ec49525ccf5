import { createHash, randomBytes } from "node:crypto";
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { skipUnless } from "../../support/skip.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createSshClient, type SshClient } from "../../support/forge/ssh-client.ts";

const TYPE = "application/vnd.git-lfs+json";
const DAY = 24 * 3_600_000;

let daemon: TestDaemon;
let git: GitClient;
let ssh: SshClient;
let now = Date.now();
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({
    clock: () => now,
    env: {
      CROFT_RATE_LIMITS: "off",
      CROFT_SSH_PORT: "0",
      CROFT_MAX_UPLOAD_BYTES: "200000",
      CROFT_MAX_REPOSITORY_LFS_BYTES: "300000",
    },
  });
  git = await createGitClient();
  ssh = await createSshClient(() => daemon.sshPort ?? 0);
  for (const name of ["mira", "nora", "rita"]) await people.newUser(name);
});
afterAll(async () => {
  await ssh[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const create = async (name: string, fields: object = {}) => {
  const made = await people.api("POST", "/admin/users/mira/repos", { name, ...fields });
  expect(made.status).toBe(201);
  const asReader = { permission: "read" };
  const path = `/repos/mira/${name}/collaborators/rita`;
  expect((await people.by("mira", "PUT", path, asReader)).status).toBe(204);
};

interface Call {
  readonly by?: string | undefined;
  readonly authorization?: string;
  readonly accept?: string;
  readonly method?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

/** Sends a request as a client of Git LFS, by a user with a token, or as nobody. */
const send = (name: string, path: string, { by, authorization, accept = TYPE, ...rest }: Call) =>
  daemon.request(`/mira/${name}.git/info/lfs${path}`, {
    headers: {
      accept,
      "Content-Type": typeof rest.body === "string" ? TYPE : "application/octet-stream",
      ...(authorization === undefined ? {} : { authorization }),
    },
    ...(by === undefined ? {} : { basic: `${by}:${people.tokenOf(by)}` }),
    ...rest,
  });
const post = (name: string, path: string, body: object, call: Call = { by: "mira" }) =>
  send(name, path, { method: "POST", body: JSON.stringify(body), ...call });
const batch = (name: string, operation: string, objects: object[], call?: Call) =>
  post(name, "/objects/batch", { operation, transfers: ["basic"], objects }, call);

const pointerOf = (bytes: Uint8Array) => ({
  oid: createHash("sha256").update(bytes).digest("hex"),
  size: bytes.byteLength,
});
const upload = async (
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  call: Call = { by: "mira" },
) => {
  const { oid, size } = pointerOf(bytes);
  return send(name, `/objects/${oid}/${size}`, { method: "PUT", body: bytes, ...call });
};
const bytesOf = (length: number) => new Uint8Array(randomBytes(length));

describe("transfers", () => {
  beforeAll(async () => {
    await create("open");
    await create("secret", { private: true });
    await create("other");
  });

  test("a file is planned, uploaded, verified, and downloaded in parts", async () => {
    const bytes = bytesOf(5_000);
    const file = pointerOf(bytes);
    const planned = await batch("open", "upload", [file]);
    expect([planned.status, planned.headers.get("content-type")]).toEqual([200, TYPE]);
    const base = `${daemon.url}/mira/open.git/info/lfs`;
    const header = { Authorization: expect.stringMatching(/^Bearer croft-lfs-/) };
    const expiry = { expires_in: 900, expires_at: expect.stringMatching(/Z$/) };
    expect(planned.json).toEqual({
      transfer: "basic",
      hash_algo: "sha256",
      objects: [
        {
          ...file,
          authenticated: true,
          actions: {
            upload: { href: `${base}/objects/${file.oid}/5000`, header, ...expiry },
            verify: { href: `${base}/verify`, header, ...expiry },
          },
        },
      ],
    });
    expect((await post("open", "/verify", file)).status).toBe(404);
    expect((await upload("open", bytes)).status).toBe(200);
    expect((await post("open", "/verify", file)).status).toBe(200);
    expect((await post("open", "/verify", { ...file, size: 4 })).status).toBe(422);
    expect((await batch("open", "upload", [file])).json.objects).toEqual([file]);

    const { json } = await batch("open", "download", [file], {});
    expect(json.objects[0].actions.download).toEqual({ href: `${base}/objects/${file.oid}` });
    const part = await daemon.request(`/mira/open.git/info/lfs/objects/${file.oid}`, {
      headers: { range: "bytes=10-19" },
    });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 10-19/5000"]);
  });

  test("an object is visible only in the repositories into which it was uploaded", async () => {
    const bytes = bytesOf(100);
    await upload("secret", bytes);
    const { oid, size } = pointerOf(bytes);
    const found = (await batch("open", "download", [{ oid, size }])).json.objects[0];
    expect(found).toMatchObject({ oid, size, error: { code: 404 } });
    expect((await send("open", `/objects/${oid}`, { by: "mira" })).status).toBe(404);
    expect((await send("secret", `/objects/${oid}`, { by: "mira" })).status).toBe(200);
    // The bytes are there, yet nobody gets them by their name: the client must show that it has them.
    const planned = (await batch("open", "upload", [{ oid, size }])).json.objects[0];
    expect(Object.keys(planned.actions)).toEqual(["upload", "verify"]);
  });

  test("a fork has the files of its parent, also those that come with an update", async () => {
    const bytes = bytesOf(300);
    await upload("secret", bytes);
    const commit = (path: string) =>
      people.by("mira", "POST", `/repos/mira/secret/contents/${path}`, { content: "YQ==" });
    expect((await commit("a.txt")).status).toBe(201);
    const fork = await people.by("rita", "POST", "/repos/mira/secret/forks", { name: "mine" });
    expect(fork.status).toBe(202);
    const { oid } = pointerOf(bytes);
    const get = async (by: string, name = oid) =>
      daemon.request(`/rita/mine.git/info/lfs/objects/${name}`, {
        basic: `${by}:${people.tokenOf(by)}`,
      });
    expect((await get("rita")).status).toBe(200);
    expect((await get("nora")).status).toBe(404);

    const later = bytesOf(300);
    await upload("secret", later);
    await commit("b.txt");
    const path = "/repos/rita/mine/merge-upstream";
    const synced = await people.by("rita", "POST", path, { branch: "main" });
    expect(synced.json).toEqual({ merge_type: "fast-forward" });
    expect((await get("rita", pointerOf(later).oid)).status).toBe(200);
  });

  test("bytes that are not those of the pointer are refused and kept nowhere", async () => {
    const bytes = bytesOf(1_000);
    const { oid } = pointerOf(bytes);
    const put = (path: string, body: Uint8Array<ArrayBuffer>) =>
      send("open", path, { by: "mira", method: "PUT", body });
    expect((await put(`/objects/${oid}/1000`, bytesOf(1_000))).status).toBe(422);
    expect((await put(`/objects/${oid}/999`, bytes)).status).toBe(422);
    expect((await put(`/objects/${"A".repeat(64)}/1000`, bytes)).status).toBe(422);
    expect((await put(`/objects/${oid}/many`, bytes)).status).toBe(422);
    expect((await post("open", "/verify", { oid, size: 1_000 })).status).toBe(404);
  });

  test("a file or a repository above its limit is refused before its bytes arrive", async () => {
    const large = { oid: "a".repeat(64), size: 200_001 };
    const [planned] = (await batch("other", "upload", [large])).json.objects;
    expect(planned.error).toMatchObject({ code: 422 });
    expect((await upload("other", bytesOf(200_001))).status).toBe(413);
    expect((await upload("other", bytesOf(199_000))).status).toBe(200);
    const second = bytesOf(199_000);
    const [full] = (await batch("other", "upload", [pointerOf(second)])).json.objects;
    expect(full.error.message).toContain("max_repository_lfs_bytes");
    expect((await upload("other", second)).status).toBe(413);
  });

  test("readers download and writers upload; refusals are in the format of Git LFS", async () => {
    const bytes = bytesOf(20);
    const file = pointerOf(bytes);
    const of = async (name: string, operation: string, by?: string) =>
      (await batch(name, operation, [file], { by })).status;
    expect(await of("open", "upload")).toBe(401);
    expect(await of("open", "upload", "nora")).toBe(403);
    expect(await of("secret", "download")).toBe(401);
    expect(await of("secret", "download", "nora")).toBe(404);
    expect(await of("secret", "download", "rita")).toBe(200);
    expect(await of("secret", "upload", "rita")).toBe(403);
    expect((await upload("secret", bytes, { by: "rita" })).status).toBe(403);
    expect((await upload("open", bytes, {})).status).toBe(401);
    const refused = await batch("open", "upload", [file], {});
    expect(refused.headers.get("content-type")).toBe(TYPE);
    expect(refused.headers.get("www-authenticate")).toBe('Basic realm="croft"');
    expect(refused.json.message).toBe("authentication required");
    const readOnly = await people.newToken("mira", ["read:repository"]);
    const authorization = `token ${readOnly}`;
    expect((await batch("open", "upload", [file], { authorization })).status).toBe(403);
    expect((await batch("open", "download", [file], { authorization })).status).toBe(200);
  });

  test("malformed requests are 400, and a client that does not accept the type gets 415", async () => {
    expect((await batch("open", "mirror", [])).status).toBe(400);
    expect((await post("open", "/objects/batch", { operation: "upload" })).status).toBe(400);
    const broken = { by: "mira", method: "POST", body: "{" };
    expect((await send("open", "/objects/batch", broken)).status).toBe(400);
    expect((await batch("open", "upload", [], { by: "mira", accept: "*/*" })).status).toBe(415);
    const named = { operation: "upload", objects: [], hash_algo: "sha512" };
    expect((await post("open", "/objects/batch", named)).status).toBe(409);
    const bad = [
      { oid: "x", size: 1 },
      { oid: "b".repeat(64), size: -1 },
    ];
    const { json } = await batch("open", "upload", bad);
    expect(json.objects.map((each: { error: { code: number } }) => each.error.code)).toEqual([
      422, 422,
    ]);
  });
});

describe("the token of a batch", () => {
  const bytes = bytesOf(70);
  const file = pointerOf(bytes);

  /** Returns how the token of a batch for the file is sent. */
  async function tokenOf(name: string, operation: "upload" | "download", call: Call) {
    const { json } = await batch(name, operation, [file], call);
    const { Authorization: authorization } = json.objects[0].actions[operation].header;
    return { authorization: authorization as string };
  }
  /** Sends each transfer of a file, and returns the statuses. */
  async function use(name: string, call: { readonly authorization: string }) {
    const [put, got, checked] = [
      await upload(name, bytes, call),
      await send(name, `/objects/${file.oid}`, call),
      await post(name, "/verify", file, call),
    ];
    return [put.status, got.status, checked.status];
  }
  const refused = [401, 401, 401];
  const passwordOf = (user: string) =>
    `Basic ${Buffer.from(`${user}:user-password`).toString("base64")}`;

  beforeAll(async () => {
    await create("batches", { private: true });
    await create("neighbour", { private: true });
    for (const name of ["batches", "neighbour"])
      expect((await upload(name, bytes)).status).toBe(200);
    for (const name of ["ines", "otto"]) {
      await people.newUser(name);
      const path = `/repos/mira/batches/collaborators/${name}`;
      await people.by("mira", "PUT", path, { permission: "write" });
    }
  });
  /** A new file, so that a batch has an action for it. */
  const newFile = () => pointerOf(bytesOf(10));
  async function uploadToken(call: Call) {
    const { json } = await batch("batches", "upload", [newFile()], call);
    return { authorization: json.objects[0].actions.upload.header.Authorization as string };
  }

  test("it opens one repository for one operation, and nothing else", async () => {
    const uploading = await uploadToken({ by: "mira" });
    const downloading = await tokenOf("batches", "download", { by: "rita" });
    expect(await use("batches", uploading)).toEqual([200, 403, 200]);
    expect(await use("batches", downloading)).toEqual([403, 200, 403]);
    for (const call of [uploading, downloading]) {
      expect(await use("neighbour", call)).toEqual(refused);
      expect((await batch("batches", "download", [file], call)).status).toBe(403);
      expect((await post("batches", "/locks", { path: "a" }, call)).status).toBe(403);
      const api = await daemon.request("/api/v1/user", { headers: call });
      expect(api.status).toBe(401);
      const git = await daemon.request("/mira/batches.git/info/refs?service=git-upload-pack", {
        headers: call,
      });
      expect(git.status).toBe(401);
    }
  });

  test("a changed token opens nothing, and each ends after 15 minutes", async () => {
    const call = await uploadToken({ by: "mira" });
    const { authorization } = call;
    const changed = authorization.slice(0, -2) + (authorization.endsWith("AA") ? "BB" : "AA");
    expect(await use("batches", { authorization: changed })).toEqual(refused);
    expect(await use("batches", { authorization: "Bearer croft-lfs-" })).toEqual(refused);
    now += 15 * 60_000 - 1;
    expect(await use("batches", call)).toEqual([200, 403, 200]);
    now += 1;
    expect(await use("batches", call)).toEqual(refused);
  });

  test("it ends with the access token, the password and the account that it was made with", async () => {
    const limited = await people.newToken("ines", ["write:repository"]);
    const byToken = await uploadToken({ authorization: `token ${limited}` });
    const byPassword = await uploadToken({ authorization: passwordOf("ines") });
    for (const call of [byToken, byPassword])
      expect(await use("batches", call)).toEqual([200, 403, 200]);
    const headers = { authorization: `token ${limited}` };
    await people.api("PATCH", "/admin/users/ines", {
      login_name: "ines",
      source_id: 0,
      password: "another-password-1",
      must_change_password: false,
    });
    expect(await use("batches", byPassword)).toEqual(refused);
    await daemon.request("/api/v1/token", { method: "DELETE", headers });
    expect(await use("batches", byToken)).toEqual(refused);

    const byOtto = await uploadToken({ by: "otto" });
    const ottoByPassword = await uploadToken({ authorization: passwordOf("otto") });
    const path = "/repos/mira/batches/collaborators/otto";
    await people.by("mira", "PUT", path, { permission: "read" });
    for (const call of [byOtto, ottoByPassword])
      expect(await use("batches", call)).toEqual([403, 403, 403]);
    await people.by("mira", "PUT", path, { permission: "write" });
    const inactive = { login_name: "otto", source_id: 0, active: false };
    expect((await people.api("PATCH", "/admin/users/otto", inactive)).status).toBe(200);
    expect(await use("batches", byOtto)).toEqual([403, 403, 403]);
    expect(await use("batches", ottoByPassword)).toEqual(refused);
  });
});

describe("locks", () => {
  const lock = (path: string, by = "mira") => post("locked", "/locks", { path }, { by });

  beforeAll(async () => {
    await create("locked");
    const asWriter = { permission: "write" };
    await people.by("mira", "PUT", "/repos/mira/locked/collaborators/nora", asWriter);
  });

  test("writers lock and unlock, and only force removes the lock of another person", async () => {
    const made = await lock("art/cat.psd");
    expect(made.status).toBe(201);
    const { id } = made.json.lock;
    expect(made.json.lock).toEqual({
      id: expect.any(String),
      path: "art/cat.psd",
      locked_at: expect.stringMatching(/Z$/),
      owner: { name: "mira" },
    });
    const again = await lock("art/cat.psd", "nora");
    expect([again.status, again.json.lock.id]).toEqual([409, id]);
    expect((await lock("art/dog.psd", "rita")).status).toBe(403);
    expect((await lock("../dog.psd")).status).toBe(422);

    await lock("art/dog.psd", "nora");
    const verified = (await post("locked", "/locks/verify", {}, { by: "nora" })).json;
    const paths = (locks: { path: string }[]) => locks.map(({ path }) => path);
    expect([paths(verified.ours), paths(verified.theirs)]).toEqual([
      ["art/dog.psd"],
      ["art/cat.psd"],
    ]);
    expect((await post("locked", "/locks/verify", {}, { by: "rita" })).status).toBe(403);

    const unlock = (force: boolean, by: string) =>
      post("locked", `/locks/${id}/unlock`, { force }, { by });
    expect((await unlock(false, "nora")).status).toBe(403);
    expect((await unlock(true, "nora")).json.lock.path).toBe("art/cat.psd");
    expect((await unlock(true, "nora")).status).toBe(404);
  });

  test("readers list locks by path and id, in parts", async () => {
    for (const path of ["a.bin", "b.bin", "c.bin"]) await lock(path);
    const list = async (query: string) =>
      (await send("locked", `/locks?${query}`, { by: "rita" })).json;
    const first = await list("limit=2");
    expect(first.locks).toHaveLength(2);
    const rest = await list(`limit=50&cursor=${first.next_cursor}`);
    expect(rest.next_cursor).toBeUndefined();
    expect([...first.locks, ...rest.locks].map(({ path }: { path: string }) => path)).toEqual([
      "art/dog.psd",
      "a.bin",
      "b.bin",
      "c.bin",
    ]);
    const [byPath] = (await list("path=b.bin")).locks;
    expect((await list(`id=${byPath.id}`)).locks).toEqual([byPath]);
    expect((await list("path=none")).locks).toEqual([]);
  });
});

describe("over SSH", () => {
  test("an account's key opens one repository for an hour, and no longer than the key exists", async () => {
    await create("by-ssh");
    const key = await ssh.newKey("mira");
    const added = await people.by("mira", "POST", "/user/keys", { title: "laptop", key });
    const ask = (line: string) => ssh.ssh("mira", ["git@127.0.0.1", line]);
    const ended = await ask("git-lfs-authenticate mira/by-ssh.git upload");
    const { href, header, expires_in: seconds } = JSON.parse(ended.stdout);
    expect([href, seconds]).toEqual([`${daemon.url}/mira/by-ssh.git/info/lfs`, 3_600]);
    const authorization = header.Authorization;
    const bytes = bytesOf(50);
    expect((await upload("by-ssh", bytes, { authorization })).status).toBe(200);
    expect((await batch("open", "download", [], { authorization })).status).toBe(401);
    const api = await daemon.request("/api/v1/user", { headers: { authorization } });
    expect(api.status).toBe(401);

    const planned = await batch("by-ssh", "upload", [pointerOf(bytesOf(5))], { authorization });
    const { header: own } = planned.json.objects[0].actions.upload;
    const inBatch = { authorization: own.Authorization };
    expect(own.Authorization).not.toBe(authorization);
    expect((await upload("by-ssh", bytes, inBatch)).status).toBe(200);
    expect((await batch("by-ssh", "upload", [], inBatch)).status).toBe(403);

    const reading = await ask("git-lfs-authenticate 'mira/by-ssh.git' download");
    const { Authorization: read } = JSON.parse(reading.stdout).header;
    expect((await batch("by-ssh", "download", [], { authorization: read })).status).toBe(200);
    expect((await batch("by-ssh", "upload", [], { authorization: read })).status).toBe(403);

    now += 3_600_000;
    expect((await batch("by-ssh", "upload", [], { authorization })).status).toBe(401);
    const fresh = JSON.parse((await ask("git-lfs-authenticate mira/by-ssh.git upload")).stdout);
    const call = { authorization: fresh.header.Authorization };
    expect((await batch("by-ssh", "upload", [], call)).status).toBe(200);
    await people.by("mira", "DELETE", `/user/keys/${added.json.id}`);
    expect((await batch("by-ssh", "upload", [], call)).status).toBe(401);
    expect((await upload("by-ssh", bytes, inBatch)).status).toBe(401);
  });

  test("a deploy key opens its repository, with its own access", async () => {
    const key = await ssh.newKey("deploy");
    const fields = { title: "deploy", key, read_only: true };
    await people.by("mira", "POST", "/repos/mira/by-ssh/keys", fields);
    const ask = (line: string) => ssh.ssh("deploy", ["git@127.0.0.1", line]);
    expect((await ask("git-lfs-authenticate mira/by-ssh.git upload")).exitCode).toBe(1);
    expect((await ask("git-lfs-authenticate mira/other.git download")).exitCode).toBe(1);
    const ended = await ask("git-lfs-authenticate mira/by-ssh.git download");
    const call = { authorization: JSON.parse(ended.stdout).header.Authorization };
    expect((await batch("by-ssh", "download", [], call)).status).toBe(200);
    expect((await batch("by-ssh", "upload", [], call)).status).toBe(403);
    expect((await post("by-ssh", "/locks", { path: "a" }, call)).status).toBe(403);
  });
});

test("the clean-up removes what no commit has named for a week, and the media address follows pointers", async () => {
  await create("kept");
  const [named, unnamed] = [bytesOf(2_000), bytesOf(2_000)];
  for (const bytes of [named, unnamed]) await upload("kept", bytes);
  const { oid, size } = pointerOf(named);
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
  const commit = (path: string, content: string) =>
    people.by("mira", "POST", `/repos/mira/kept/contents/${path}`, {
      content: Buffer.from(content).toString("base64"),
    });
  expect((await commit("cat.bin", pointer)).status).toBe(201);
  expect((await commit("lost.bin", pointer.replace(oid, "c".repeat(64)))).status).toBe(201);
  const get = (path: string) => daemon.request(`/api/v1/repos/mira/kept/${path}`);
  const media = await get("media/cat.bin");
  expect([media.headers.get("content-length"), media.headers.get("etag")]).toEqual([
    "2000",
    `"${oid}"`,
  ]);
  expect((await get("raw/cat.bin")).text).toBe(pointer);
  expect((await get("media/lost.bin")).text).toContain("oid sha256:ccc");

  const sizes = async () => {
    const files = [pointerOf(named), pointerOf(unnamed)];
    const { json } = await batch("kept", "download", files, {});
    return json.objects.map((each: { error?: { code: number } }) => each.error?.code ?? 200);
  };
  now += 6 * DAY;
  expect((await people.api("POST", "/admin/cron/gc_lfs")).status).toBe(204);
  expect(await sizes()).toEqual([200, 200]);
  now += 2 * DAY;
  await people.api("POST", "/admin/cron/gc_lfs");
  await expect.poll(sizes, { timeout: 60_000 }).toEqual([200, 404]);
});

const withClient = skipUnless(
  spawnSync("git", ["lfs", "version"]).status === 0,
  "the client of Git LFS is not installed",
);

withClient("the client of Git LFS pushes, clones and locks", async () => {
  await create("art", { private: true });
  const address = `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}/mira/art.git`;
  const ok = async (run: ReturnType<GitClient["run"]>) => {
    const done = await run;
    expect(done.errors + String(done.exitCode)).toMatch(/0$/);
    return done.output;
  };
  await ok(git.run("lfs", "install"));
  await ok(git.run("init", "-q", "-b", "main", "art"));
  await ok(git.in("art", "remote", "add", "origin", address));
  await ok(git.in("art", "lfs", "track", "*.bin"));
  const bytes = bytesOf(150_000);
  await writeFile(join(git.folder, "art", "cat.bin"), bytes);
  await ok(git.in("art", "add", "."));
  await ok(git.in("art", "commit", "-q", "-m", "a cat"));
  await ok(git.in("art", "push", "-q", "origin", "main"));
  await ok(git.run("clone", "-q", address, "art-again"));
  expect(await readFile(join(git.folder, "art-again", "cat.bin"))).toEqual(Buffer.from(bytes));
  await ok(git.in("art", "lfs", "lock", "cat.bin"));
  expect(await ok(git.in("art-again", "lfs", "locks"))).toContain("mira");
  // Workflows sign in with a header of their configuration, which goes with each request beside that of the batch.
  const basic = Buffer.from(`mira:${people.tokenOf("mira")}`).toString("base64");
  const anonymous = `${daemon.url}/mira/art.git`;
  const header = `http.extraheader=Authorization: Basic ${basic}`;
  await ok(git.run("-c", header, "clone", "-q", anonymous, "art-by-header"));
  expect(await readFile(join(git.folder, "art-by-header", "cat.bin"))).toEqual(Buffer.from(bytes));
  await ok(git.in("art", "lfs", "unlock", "cat.bin"));
});

withClient("the client of Git LFS pushes, clones and locks over SSH", async () => {
  await create("art-by-ssh", { private: true });
  const key = await ssh.newKey("client");
  await people.by("mira", "POST", "/user/keys", { title: "client", key });
  const address = "git@127.0.0.1:mira/art-by-ssh.git";
  const ok = async (...words: readonly string[]) => {
    const { exitCode, stdout, stderr } = await ssh.git("client", ...words);
    expect(exitCode, stderr).toBe(0);
    return stdout;
  };
  const inArt = (...words: readonly string[]) => ok("-C", "art", ...words);
  await ok("lfs", "install");
  await ok("init", "-q", "-b", "main", "art");
  await inArt("remote", "add", "origin", address);
  await inArt("lfs", "track", "*.bin");
  const bytes = bytesOf(150_000);
  await writeFile(join(ssh.folder, "art", "cat.bin"), bytes);
  await inArt("add", ".");
  await inArt("commit", "-q", "-m", "a cat");
  await inArt("push", "-q", "origin", "main");
  await ok("clone", "-q", address, "art-again");
  expect(await readFile(join(ssh.folder, "art-again", "cat.bin"))).toEqual(Buffer.from(bytes));
  await inArt("lfs", "lock", "cat.bin");
  expect(await ok("-C", "art-again", "lfs", "locks")).toContain("mira");
  await inArt("lfs", "unlock", "cat.bin");
});
