import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import {
  clientEnvironment,
  createGitClient,
  type GitClient,
} from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "nora"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const create = async (name: string, fields: object = {}) => {
  const answer = await people.api("POST", "/admin/users/mira/repos", { name, ...fields });
  expect(answer.status).toBe(201);
};
const repository = async (name: string) =>
  (await daemon.request(`/api/v1/repos/mira/${name}`, { token: people.admin })).json;
/** The address with credentials in it. */
const urlOf = (name: string, password = people.tokenOf("mira"), user = "mira") =>
  `${daemon.url.replace("://", `://${user}:${password}@`)}/mira/${name}.git`;
const folderOf = (name: string) => join(daemon.home, "repositories", "mira", `${name}.git`);

async function ok(run: Promise<{ exitCode: number; output: string; errors: string }>) {
  const done = await run;
  expect(done.errors + String(done.exitCode)).toMatch(/0$/);
  expect(done.exitCode).toBe(0);
  return done.output;
}

/** A clone with some commits in it that are not pushed yet. */
async function workIn(name: string, commits: number, format = "sha1"): Promise<void> {
  // Not a clone: an older git takes every empty repository for one of sha1.
  await ok(git.run("init", "-q", `--object-format=${format}`, name));
  await ok(git.in(name, "remote", "add", "origin", urlOf(name)));
  await ok(git.in(name, "checkout", "-q", "-B", "main"));
  for (let index = 0; index < commits; index += 1) {
    await writeFile(join(git.folder, name, `file-${index}.txt`), `line ${index}\n`.repeat(50));
    await ok(git.in(name, "add", "."));
    await ok(git.in(name, "commit", "-q", "-m", `commit ${index}`));
  }
}

describe("clone, push, fetch", () => {
  test.each([["sha1"], ["sha256"]])("a %s repository makes the round trip", async (format) => {
    const name = `trip-${format}`;
    await create(name, { object_format_name: format });
    await workIn(name, 3, format);
    await ok(git.in(name, "push", "-q", "origin", "main"));
    expect(await repository(name)).toMatchObject({
      empty: false,
      branch_count: 1,
      default_branch: "main",
      object_format_name: format,
    });
    await ok(git.run("clone", "-q", urlOf(name), `${name}-again`));
    const log = (folder: string) => git.in(folder, "log", "--format=%H %s");
    expect((await log(`${name}-again`)).output).toBe((await log(name)).output);
    await ok(git.in(name, "commit", "-q", "--allow-empty", "-m", "later"));
    await ok(git.in(name, "tag", "v1"));
    await ok(git.in(name, "push", "-q", "origin", "main", "v1", "main:side"));
    await ok(git.in(`${name}-again`, "fetch", "-q", "--tags"));
    const fetched = await ok(
      git.in(`${name}-again`, "rev-parse", "origin/main", "v1", "origin/side"),
    );
    expect(new Set(fetched.trim().split("\n")).size).toBe(1);
    await ok(git.in(name, "push", "-q", "origin", ":side"));
    expect((await repository(name)).branch_count).toBe(1);
    await ok(git.run("--git-dir", folderOf(name), "-c", "safe.directory=*", "fsck", "--strict"));
  });

  test("a transfer goes on when the repository is renamed after the client listed the refs", async () => {
    await create("renamed-between");
    await workIn("renamed-between", 1);
    await ok(git.in("renamed-between", "push", "-q", "origin", "main", "main:old"));
    const head = (await ok(git.in("renamed-between", "rev-parse", "main"))).trim();
    const send = (path: string, init: RequestInit = {}) =>
      fetch(`${daemon.url}/mira/renamed-between.git/${path}`, {
        redirect: "manual",
        ...init,
        headers: { authorization: `token ${people.tokenOf("mira")}`, ...init.headers },
      });
    const post = (service: string, body: string, headers = {}) =>
      send(service, {
        method: "POST",
        headers: { "content-type": `application/x-${service}-request`, ...headers },
        body,
      });
    const name = "renamed-after";
    const renamed = await people.by("mira", "PATCH", "/repos/mira/renamed-between", { name });
    expect(renamed.status).toBe(200);
    const refs = await send("info/refs?service=git-upload-pack");
    expect(refs.status).toBe(307);
    expect(refs.headers.get("location")).toContain(`/mira/${name}.git/info/refs`);
    const listed = await post("git-upload-pack", "0014command=ls-refs\n0000", {
      "git-protocol": "version=2",
    });
    expect(await listed.text()).toContain(`${head} refs/heads/old`);
    const command = `${head} ${"0".repeat(40)} refs/heads/old\0report-status`;
    const length = (command.length + 4).toString(16).padStart(4, "0");
    const pushed = await post("git-receive-pack", `${length}${command}0000`);
    expect(await pushed.text()).toContain("ok refs/heads/old");
    expect((await repository(name)).branch_count).toBe(1);
  });

  test("the first branch pushed to an empty repository becomes its default", async () => {
    await create("renamed-branch");
    await workIn("renamed-branch", 1);
    await ok(git.in("renamed-branch", "push", "-q", "origin", "main:trunk"));
    expect((await repository("renamed-branch")).default_branch).toBe("trunk");
    await ok(git.run("clone", "-q", urlOf("renamed-branch"), "renamed-branch-again"));
    expect(existsSync(join(git.folder, "renamed-branch-again", "file-0.txt"))).toBe(true);
  });

  test("git makes shallow, partial and single-branch clones, with protocols 0 to 2", async () => {
    await create("shape");
    await workIn("shape", 6);
    await ok(git.in("shape", "push", "-q", "origin", "main"));
    const clone = async (folder: string, ...flags: string[]) => {
      await ok(git.run("clone", "-q", ...flags, urlOf("shape"), folder));
      return folder;
    };
    const shallow = await clone("shape-shallow", "--depth=2");
    expect(await ok(git.in(shallow, "rev-list", "--count", "HEAD"))).toBe("2\n");
    await ok(git.in(shallow, "fetch", "-q", "--unshallow"));
    expect(await ok(git.in(shallow, "rev-list", "--count", "HEAD"))).toBe("6\n");
    const partial = await clone("shape-partial", "--filter=blob:none", "--no-checkout");
    const missing = await ok(git.in(partial, "rev-list", "--objects", "--all", "--missing=print"));
    expect(missing).toContain("?");
    await ok(git.in(partial, "checkout", "-q", "main"));
    expect(existsSync(join(git.folder, partial, "file-5.txt"))).toBe(true);
    for (const version of ["0", "1", "2"]) {
      const run = git.run(
        "-c",
        `protocol.version=${version}`,
        "clone",
        "-q",
        urlOf("shape"),
        `p${version}`,
      );
      await ok(run);
    }
  });

  test("a big push is sent in chunks and arrives complete", async () => {
    await create("big");
    await workIn("big", 0);
    await writeFile(join(git.folder, "big", "noise"), randomBytes(4 * 1024 * 1024));
    await ok(git.in("big", "add", "."));
    await ok(git.in("big", "commit", "-q", "-m", "noise"));
    await ok(git.in("big", "push", "-q", "origin", "main"));
    expect((await repository("big")).size).toBeGreaterThan(4 * 1024);
    await ok(git.run("clone", "-q", urlOf("big"), "big-again"));
    await ok(git.in("big-again", "fsck"));
  });

  test("each of many concurrent pushes succeeds or gets the reason of its refusal", async () => {
    await create("busy");
    await workIn("busy", 1);
    const runs = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        git.in("busy", "push", "-q", "origin", `main:branch-${index}`),
      ),
    );
    expect(runs.map(({ exitCode }) => exitCode)).toEqual(Array(6).fill(0));
    expect((await repository("busy")).branch_count).toBe(6);
  });

  test("a forced push rewrites a branch, and the same push without force is refused", async () => {
    await create("rewritten");
    await workIn("rewritten", 2);
    await ok(git.in("rewritten", "push", "-q", "origin", "HEAD:main"));
    await ok(git.in("rewritten", "commit", "-q", "--amend", "--allow-empty", "-m", "Anew"));
    const plain = await git.in("rewritten", "push", "-q", "origin", "HEAD:main");
    expect(plain.exitCode).not.toBe(0);
    await ok(git.in("rewritten", "push", "-q", "--force", "origin", "HEAD:main"));
    const head = (await ok(git.in("rewritten", "rev-parse", "HEAD"))).trim();
    expect(await ok(git.run("ls-remote", urlOf("rewritten"), "main"))).toContain(head);
  });

  test("the client sees why git refused a push", async () => {
    await create("refused");
    await workIn("refused", 2);
    await ok(git.in("refused", "push", "-q", "origin", "main"));
    await ok(git.in("refused", "reset", "-q", "--hard", "HEAD~1"));
    await ok(git.in("refused", "commit", "-q", "--allow-empty", "-m", "other"));
    const refused = await git.in("refused", "push", "origin", "main");
    expect(refused.exitCode).toBe(1);
    expect(refused.errors).toContain("rejected");
  });
});

describe("authorization of clones and pushes", () => {
  beforeAll(async () => {
    await create("open", { auto_init: true });
    await create("secret", { auto_init: true, private: true });
  });

  test("an anonymous client clones public repositories and is challenged for others", async () => {
    const anonymous = (name: string) => `${daemon.url}/mira/${name}.git`;
    await ok(git.run("clone", "-q", anonymous("open"), "open-anonymous"));
    for (const path of [
      "/mira/secret.git/info/refs?service=git-upload-pack",
      "/mira/none.git/info/refs?service=git-upload-pack",
      "/nobody/none.git/info/refs?service=git-upload-pack",
      "/mira/open.git/info/refs?service=git-receive-pack",
    ]) {
      const answer = await daemon.request(path);
      expect([path, answer.status]).toEqual([path, 401]);
      expect(answer.headers.get("www-authenticate")).toBe('Basic realm="croft"');
    }
    const wrong = await daemon.request("/mira/open.git/info/refs?service=git-upload-pack", {
      basic: "mira:wrong-password",
    });
    expect(wrong.status).toBe(401);
    // git shows it to its user, who has no place to type a code of a second factor.
    expect(wrong.text).toContain("croft token create NAME --scope write:repository");
    expect(wrong.headers.get("www-authenticate")).toBe('Basic realm="croft"');
  });

  test("password, token as password and token as name all sign in", async () => {
    const token = people.tokenOf("mira");
    for (const [user, password] of [
      ["mira", "user-password"],
      ["anything", token],
      [token, "x-oauth-basic"],
    ] as const)
      await ok(git.run("ls-remote", urlOf("secret", password, user)));
  });

  test("other users can neither clone a private repository nor push to one", async () => {
    const nora = people.tokenOf("nora");
    const hidden = await git.run("ls-remote", urlOf("secret", nora, "nora"));
    expect(hidden.errors).toContain("not found");
    await ok(git.run("clone", "-q", urlOf("open", nora, "nora"), "open-nora"));
    await ok(git.in("open-nora", "commit", "-q", "--allow-empty", "-m", "mine"));
    const refused = await git.in("open-nora", "push", "origin", "HEAD");
    expect(refused.exitCode).not.toBe(0);
    expect(refused.errors).toContain("you may not push to this repository");
    await ok(git.run("clone", "-q", urlOf("secret", people.admin, "keeper"), "secret-keeper"));
  });

  test("the scope of a token restricts clones and pushes", async () => {
    const status = async (scopes: string[], service: string, name = "open") => {
      const token = await people.newToken("mira", scopes);
      const path = `/mira/${name}.git/info/refs?service=git-${service}`;
      return (await daemon.request(path, { basic: `mira:${token}` })).status;
    };
    expect(await status(["read:user"], "upload-pack")).toBe(403);
    expect(await status(["read:repository"], "upload-pack")).toBe(200);
    expect(await status(["read:repository"], "receive-pack")).toBe(403);
    expect(await status(["write:repository"], "receive-pack")).toBe(200);
    expect(await status(["public-only", "write:repository"], "upload-pack", "secret")).toBe(404);
  });

  test.each([
    ["/mira/..%2fopen.git/info/refs?service=git-upload-pack", 404],
    ["/mira/%2e%2e%2fopen.git/info/refs?service=git-upload-pack", 404],
    ["/mira/open.git/info/refs?service=git-evil-pack", 400],
    ["/mira/open.git/info/refs", 400],
    ["/mira/open.git/HEAD", 404],
    ["/mira/open.git/objects/info/packs", 404],
    ["/.croft/x.git/info/refs?service=git-upload-pack", 404],
  ])("a git request with %s is %i", async (path, status) => {
    expect((await daemon.request(path, { basic: `mira:${people.tokenOf("mira")}` })).status).toBe(
      status,
    );
  });
});

describe("inconsistent and aborted bodies", () => {
  const service = "git-receive-pack";
  const headers = { "Content-Type": `application/x-${service}-request` };
  const send = (name: string, body: string | Uint8Array<ArrayBuffer>, more: object = {}) =>
    daemon.request(`/mira/${name}.git/${service}`, {
      basic: `mira:${people.tokenOf("mira")}`,
      headers: { ...headers, ...more },
      body,
    });

  test("an empty push has no effect, and a gzipped body is accepted", async () => {
    await create("odd", { auto_init: true });
    expect((await send("odd", "0000")).status).toBe(200);
    const packed = new Uint8Array(gzipSync("0000"));
    expect((await send("odd", packed, { "Content-Encoding": "gzip" })).status).toBe(200);
    expect((await send("odd", "0000", { "Content-Type": "text/plain" })).status).toBe(400);
    expect((await send("odd", "0000", { "Content-Encoding": "br" })).status).toBe(400);
  });

  test("malformed pushes move no ref", async () => {
    const before = await repository("odd");
    for (const body of ["", "zzzz", "0008oops0000", `${"f".repeat(4)}x`]) await send("odd", body);
    const command = `${"0".repeat(40)} ${"1".repeat(40)} refs/heads/ghost\0report-status`;
    const line = (command.length + 4).toString(16).padStart(4, "0") + command;
    expect((await send("odd", `${line}0000`)).text).toContain("ng refs/heads/ghost");
    await send("odd", new Uint8Array([1, 2, 3]), { "Content-Encoding": "gzip" });
    expect(await repository("odd")).toEqual(before);
  });

  test("a push whose client dies in the middle leaves the repository as it was", async () => {
    await create("torn");
    await workIn("torn", 0);
    await writeFile(join(git.folder, "torn", "noise"), randomBytes(8 * 1024 * 1024));
    await ok(git.in("torn", "add", "."));
    await ok(git.in("torn", "commit", "-q", "-m", "noise"));
    // A body that is declared, started and never finished.
    const head = await ok(git.in("torn", "rev-parse", "HEAD"));
    const command = `${"0".repeat(40)} ${head.trim()} refs/heads/main\0report-status`;
    const line = (command.length + 4).toString(16).padStart(4, "0") + command;
    for (const size of [10, 400_000]) {
      const pack = Buffer.concat([
        Buffer.from(`${line}0000PACK\0\0\0\x02\0\0\0\x03`),
        randomBytes(size),
      ]);
      await sendAndDie(`/mira/torn.git/${service}`, pack);
    }
    const child = spawn("git", ["push", "-q", "origin", "main"], {
      cwd: join(git.folder, "torn"),
      env: clientEnvironment(git.folder),
      stdio: "ignore",
    });
    let isOver = false;
    const ended = once(child, "close").then(() => (isOver = true));
    // Waits until the push is running; on a busy machine it may be over by then.
    const isUnderWay = async () => (await readdir(join(folderOf("torn"), "objects"))).length > 2;
    await expect.poll(async () => isOver || (await isUnderWay()), { interval: 2 }).toBe(true);
    child.kill("SIGKILL");
    await ended;
    await expect.poll(() => leftOver("torn"), { interval: 20 }).toEqual([]);
    // The killed push may have arrived whole, and is then carried out, perhaps under this one; its record may follow later.
    const pushAgain = () => git.in("torn", "push", "-q", "origin", "main");
    await expect.poll(async () => (await pushAgain()).exitCode, { interval: 20 }).toBe(0);
    await expect
      .poll(async () => (await repository("torn")).branch_count, { interval: 20 })
      .toBe(1);
  });

  test("a push whose token is revoked before the end of its pack moves no ref", async () => {
    await create("revoked");
    await workIn("revoked", 1);
    await ok(git.in("revoked", "repack", "-q", "-a", "-d"));
    const packs = join(git.folder, "revoked/.git/objects/pack");
    const [file = ""] = (await readdir(packs)).filter((each) => each.endsWith(".pack"));
    const pack = await readFile(join(packs, file));
    const head = await ok(git.in("revoked", "rev-parse", "HEAD"));
    const branches = async () => (await repository("revoked")).branch_count;
    for (const isRevoked of [true, false]) {
      const password = await people.newToken("mira", ["all"], `push-${isRevoked}`);
      const push = startPush(`/mira/revoked.git/${service}`, password);
      push.write(toCommand("0".repeat(40), head.trim()));
      push.write(pack.subarray(0, 40));
      // Git has the list and the first part.
      await expect.poll(() => leftOver("revoked"), { interval: 2 }).not.toEqual([]);
      if (isRevoked) {
        const path = `/api/v1/users/mira/tokens/push-${isRevoked}`;
        await daemon.request(path, { method: "DELETE", basic: "mira:user-password" });
      }
      push.write(pack.subarray(40));
      push.end();
      await push.closed;
      await expect.poll(() => leftOver("revoked"), { interval: 20 }).toEqual([]);
      await expect.poll(branches, { interval: 20 }).toBe(isRevoked ? 0 : 1);
    }
  });

  /** The head of a push that moves `main`. */
  function toCommand(before: string, after: string): string {
    const command = `${before} ${after} refs/heads/main\0report-status`;
    return `${(command.length + 4).toString(16).padStart(4, "0")}${command}0000`;
  }

  /** Starts a push with a body of unknown length; each write is a chunk. */
  function startPush(path: string, password: string) {
    const request = httpRequest(`${daemon.url}${path}`, {
      method: "POST",
      auth: `mira:${password}`,
      headers,
    });
    const closed = new Promise<void>((resolve) => request.once("close", resolve));
    request.on("response", (response) => response.resume());
    // The connection of a refused push is cut.
    request.on("error", () => undefined);
    return {
      write: (chunk: string | Buffer) => request.write(chunk),
      end: () => request.end(),
      closed,
    };
  }

  async function leftOver(name: string): Promise<string[]> {
    const names = await readdir(join(folderOf(name), "objects"));
    return names.filter((each) => each.startsWith("tmp_") || each.startsWith("incoming-"));
  }

  async function sendAndDie(path: string, body: Buffer): Promise<void> {
    const request = httpRequest(`${daemon.url}${path}`, {
      method: "POST",
      auth: `mira:${people.tokenOf("mira")}`,
      headers: { ...headers, "Content-Length": body.byteLength + 1000 },
    });
    const closed = new Promise((resolve) => request.once("close", resolve));
    request.on("error", () => undefined);
    request.write(body, () => setTimeout(() => request.destroy(), 30));
    await closed;
  }
});
