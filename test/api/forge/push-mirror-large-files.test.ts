import { createHash, randomBytes } from "node:crypto";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import {
  createServer,
  type IncomingMessage,
  request as sendOn,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";
import { skipUnless } from "../../support/skip.ts";

// `here` pushes to `there`, by a server between them that may answer for Git LFS itself.
let there: TestDaemon;
let here: TestDaemon;
let between: Server;
let betweenUrl = "";
let receiver: Receiver;
let git: GitClient;
const far = createForgePeople(() => there);
const near = createForgePeople(() => here);
const { by } = near;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}
/** What the server between has got. */
let asked: Asked[] = [];
/** Answers a request for Git LFS in place of `there`. Returns whether it does. */
type Answer = (asked: Asked, response: ServerResponse) => boolean;
let answer: Answer = () => false;
/** Answers before the body of the request is read. */
let answerEarly: Answer = () => false;

async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", url: path = "", headers } = incoming;
  const isLfs = path.includes("/info/lfs/");
  if (isLfs && answerEarly({ method, path, headers, body: "" }, response)) return;
  const bytes = Buffer.concat(await incoming.toArray());
  const got = { method, path, headers, body: isLfs ? bytes.toString("latin1") : "" };
  asked.push(got);
  if (isLfs && answer(got, response)) return;
  const onward = sendOn(there.url + path, {
    method,
    headers: { ...headers, host: new URL(there.url).host, "content-length": bytes.byteLength },
  });
  onward.end(bytes);
  const [answered] = (await once(onward, "response")) as [IncomingMessage];
  const given = Buffer.concat(await answered.toArray()).toString("latin1");
  // The files pass by here, too.
  const passed = Buffer.from(isLfs ? given.replaceAll(there.url, betweenUrl) : given, "latin1");
  const { "content-length": _own, "transfer-encoding": _chunked, ...rest } = answered.headers;
  response.writeHead(answered.statusCode ?? 0, rest).end(passed);
}

beforeAll(async () => {
  [there, here] = await Promise.all([
    startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } }),
    startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } }),
  ]);
  between = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(between, "listening");
  betweenUrl = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
  receiver = await startReceiver((_request, response) => response.writeHead(200).end("{}"));
  git = await createGitClient();
  await near.newUser("mira");
  await far.newUser("olga");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  between.closeAllConnections();
  between.close();
  await here[Symbol.asyncDispose]();
  await there[Symbol.asyncDispose]();
});
beforeEach(() => {
  asked = [];
  answer = () => false;
  answerEarly = () => false;
});

const pointerOf = (bytes: Uint8Array) => ({
  oid: createHash("sha256").update(bytes).digest("hex"),
  size: bytes.byteLength,
});
type Pointer = ReturnType<typeof pointerOf>;
const bytesOf = (length: number) => new Uint8Array(randomBytes(length));

async function upload(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<Pointer> {
  const file = pointerOf(bytes);
  const uploaded = await here.request(`/${path}.git/info/lfs/objects/${file.oid}/${file.size}`, {
    method: "PUT",
    basic: `mira:${near.tokenOf("mira")}`,
    headers: { "content-type": "application/octet-stream" },
    body: bytes,
  });
  expect(uploaded.status, uploaded.text).toBe(200);
  return file;
}
/** Commits the pointer of a file, which is uploaded before. */
async function commitFile(path: string, name: string, bytes: Uint8Array<ArrayBuffer>) {
  const file = await upload(path, bytes);
  await commitPointer(path, name, file);
  return file;
}
async function commitPointer(path: string, name: string, { oid, size }: Pointer) {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
  const made = await by("mira", "POST", `/repos/${path}/contents/${name}`, {
    content: btoa(pointer),
    message: `Add ${name}`,
  });
  expect(made.status, made.text).toBe(201);
}

const newPath = async () => `mira/${await near.newRepository("mira", { auto_init: true })}`;
const newTarget = async () => `olga/${await far.newRepository("olga", { private: true })}`;

/** Adds a mirror, and returns how it is looked at. */
async function addMirror(path: string, address: string, fields: object = {}) {
  const made = await by("mira", "POST", `/repos/${path}/push_mirrors`, {
    remote_address: address,
    remote_username: "olga",
    remote_password: far.tokenOf("olga"),
    interval: "8h0m0s",
    sync_on_commit: false,
    ...fields,
  });
  expect(made.status, made.text).toBe(200);
  const view = async () => {
    const { json } = await by(
      "mira",
      "GET",
      `/repos/${path}/push_mirrors/${made.json.remote_name}`,
    );
    expect(JSON.stringify(json)).not.toContain(far.tokenOf("olga"));
    return json;
  };
  const looksLike = (what: object) => until(async () => expect(await view()).toMatchObject(what));
  return {
    view,
    pushed: (lastError = "") =>
      looksLike({ last_error: lastError, last_update: expect.any(String) }),
    fails: (why: string) => looksLike({ last_error: expect.stringContaining(why) }),
    sync: () => by("mira", "POST", `/repos/${path}/push_mirrors-sync`),
  };
}

const download = (target: string, { oid }: Pointer) =>
  there.request(`/${target}.git/info/lfs/objects/${oid}`, {
    basic: `olga:${far.tokenOf("olga")}`,
  });
const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });
const idsOf = ({ json: branches }: { readonly json: { commit: { id: string } }[] }) =>
  branches.map(({ commit }) => commit.id);
const branchesOf = async (target: string) =>
  idsOf(await far.by("olga", "GET", `/repos/${target}/branches`));
const ownBranchesOf = async (path: string) =>
  idsOf(await by("mira", "GET", `/repos/${path}/branches`));
interface Batch {
  readonly operation: string;
  readonly objects: readonly Pointer[];
}
const toBatch = ({ body }: Asked): Batch => JSON.parse(body);
const batchOf = (each: Asked) => toBatch(each).objects;
const isBatch = ({ path }: Asked) => path.endsWith("/objects/batch");
const batches = () => asked.filter(isBatch).map(toBatch);
const json = (response: ServerResponse, body: object) => {
  response
    .writeHead(200, { "content-type": "application/vnd.git-lfs+json" })
    .end(JSON.stringify(body));
  return true;
};

const actionsOf = (response: ServerResponse, each: Asked, upload: object, more: object = {}) =>
  json(response, {
    transfer: "basic",
    objects: batchOf(each).map((one) => ({ ...one, actions: { upload, ...more } })),
  });

test("files are pushed before the commits that name them, and later those of new commits only", async () => {
  const path = await newPath();
  const [one, two] = [bytesOf(3_000_000), bytesOf(2_000)];
  const first = await commitFile(path, "one.bin", one);
  const second = await commitFile(path, "two.bin", two);
  const unnamed = await upload(path, bytesOf(10));
  const target = await newTarget();
  const mirror = await addMirror(path, `${betweenUrl}/${target}.git`, { sync_on_commit: true });
  await mirror.pushed();
  for (const file of [first, second]) {
    const got = await download(target, file);
    const length = Number(got.headers.get("content-length"));
    expect([got.status, got.headers.get("etag"), length]).toEqual([
      200,
      `"${file.oid}"`,
      file.size,
    ]);
  }
  expect((await download(target, unnamed)).status).toBe(404);
  expect(batches().map(({ objects }) => objects.length)).toEqual([2]);
  const order = asked.map(({ method, path: to }) => `${method} ${to.split("/").at(-1)}`);
  const sent = [`PUT ${first.size}`, "POST verify", `PUT ${second.size}`, "POST verify"];
  expect(order.slice(1, 5).toSorted()).toEqual(sent.toSorted());
  expect([order[0], order.indexOf("POST git-receive-pack") > 4]).toEqual(["POST batch", true]);

  asked = [];
  const third = await commitFile(path, "three.bin", bytesOf(100));
  await until(async () => expect((await download(target, third)).status).toBe(200));
  expect(batches()).toMatchObject([{ operation: "upload", objects: [third] }]);
});

const withClient = skipUnless(
  spawnSync("git", ["lfs", "version"]).status === 0,
  "the client of Git LFS is not installed",
);

withClient("the client of Git LFS clones the mirror of what it has pushed", async () => {
  const path = `mira/${await near.newRepository("mira")}`;
  const target = await newTarget();
  const addressOf = ({ url }: TestDaemon, user: string, at: string) =>
    `${url.replace("//", `//${user}@`)}/${at}.git`;
  const ok = async (run: ReturnType<GitClient["run"]>) => {
    const done = await run;
    expect(done.errors + String(done.exitCode)).toMatch(/0$/);
  };
  await ok(git.run("lfs", "install"));
  await ok(git.run("init", "-q", "-b", "main", "art"));
  await ok(git.in("art", "lfs", "track", "*.bin"));
  const bytes = bytesOf(150_000);
  await writeFile(join(git.folder, "art", "cat.bin"), bytes);
  await ok(git.in("art", "add", "."));
  await ok(git.in("art", "commit", "-q", "-m", "A cat"));
  const from = addressOf(here, `mira:${near.tokenOf("mira")}`, path);
  await ok(git.in("art", "push", "-q", from, "main"));
  await (await addMirror(path, `${there.url}/${target}.git`)).pushed();
  const to = addressOf(there, `olga:${far.tokenOf("olga")}`, target);
  await ok(git.run("clone", "-q", to, "copy"));
  expect(new Uint8Array(await readFile(join(git.folder, "copy", "cat.bin")))).toEqual(bytes);
});

test("a server without Git LFS gets branches and tags, the mirror tells it, and the files follow once it has Git LFS", async () => {
  const path = await newPath();
  const file = await commitFile(path, "cat.bin", bytesOf(500));
  for (const status of [404, 501]) {
    const target = await newTarget();
    answer = (_asked, response) => {
      response.writeHead(status).end("none");
      return true;
    };
    const mirror = await addMirror(path, `${betweenUrl}/${target}.git`);
    await mirror.pushed(
      `the files of Git LFS were not pushed: the server has no Git LFS (status ${status})`,
    );
    expect(await branchesOf(target)).toEqual(await ownBranchesOf(path));
    answer = () => false;
    await mirror.sync();
    await mirror.pushed();
    expect((await download(target, file)).status).toBe(200);
  }
});

test("files that are missing or damaged here do not stop the mirror", async () => {
  const path = await newPath();
  await commitPointer(path, "lost.bin", pointerOf(bytesOf(20)));
  const [damaged, whole] = [
    await commitFile(path, "damaged.bin", bytesOf(30)),
    await commitFile(path, "whole.bin", bytesOf(40)),
  ];
  await here.removeObject(damaged.oid);
  const target = await newTarget();
  const mirror = await addMirror(path, `${betweenUrl}/${target}.git`);
  await mirror.pushed("files of Git LFS that are damaged here were not pushed: 1");
  expect((await download(target, whole)).status).toBe(200);
  expect(await branchesOf(target)).toEqual(await ownBranchesOf(path));
});

test("a batch whose credentials end in the middle is asked again", async () => {
  const path = await newPath();
  const files = [];
  for (const name of ["a", "b", "c"]) files.push(await commitFile(path, name, bytesOf(50)));
  const target = await newTarget();
  let puts = 0;
  answer = ({ method }, response) => {
    if (method !== "PUT") return false;
    puts += 1;
    if (puts !== 2) return false;
    response.writeHead(401).end();
    return true;
  };
  await (await addMirror(path, `${betweenUrl}/${target}.git`)).pushed();
  for (const file of files) expect((await download(target, file)).status).toBe(200);
  expect(batches().map(({ objects }) => objects.length)).toEqual([3, 2]);
});

describe("a hostile or broken server", () => {
  let path = "";
  let file: Pointer;
  beforeAll(async () => {
    path = await newPath();
    file = await commitFile(path, "cat.bin", bytesOf(3_000_000));
  });
  const basic = () => `Basic ${btoa(`olga:${far.tokenOf("olga")}`)}`;
  const own = () => `${betweenUrl}/olga/x.git/info/lfs/objects/put`;
  const refusing =
    (status: number): Answer =>
    (each, response) => {
      if (isBatch(each)) actionsOf(response, each, { href: own() });
      else response.writeHead(status).end("no");
      return true;
    };

  test.each<[string, string, () => Answer]>([
    [
      "refuses an upload",
      "(0 of 1 are there): the server refuses a file (status 413)",
      () => refusing(413),
    ],
    [
      "refuses the credentials of an upload",
      "the server refuses a file (status 403)",
      () => refusing(403),
    ],
    ["limits uploads", "the server refuses a file (status 429)", () => refusing(429)],
    [
      "limits batches",
      "the server limits requests",
      () => (_asked, response) => {
        response.writeHead(429, { "retry-after": "1000" }).end();
        return true;
      },
    ],
    [
      "refuses the credentials of a batch",
      "Git LFS refuses the credentials (status 401)",
      () => (_asked, response) => {
        response.writeHead(401).end();
        return true;
      },
    ],
    [
      "redirects an upload to another host",
      "the server refuses a file (status 307)",
      () => (each, response) => {
        if (isBatch(each)) actionsOf(response, each, { href: own() });
        else response.writeHead(307, { location: `${receiver.url}/stolen` }).end();
        return true;
      },
    ],
    [
      "names an address that is not permitted",
      "the address is not permitted",
      () => (each, response) =>
        actionsOf(response, each, { href: "http://169.254.169.254/latest" }),
    ],
    [
      "names an address of another protocol",
      "not that of its batch API",
      () => (each, response) => actionsOf(response, each, { href: "file:///etc/passwd" }),
    ],
    [
      "names other files than it was asked for",
      "does not answer for a file",
      () => (_asked, response) => json(response, { objects: [{ oid: "f".repeat(64), size: 1 }] }),
    ],
    [
      "answers with no list",
      "not that of its batch API",
      () => (_asked, response) => json(response, { objects: 7 }),
    ],
    [
      "answers without end",
      "not that of its batch API",
      () => (_asked, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const more = () => {
          while (!response.destroyed && response.write(`[${"1,".repeat(30_000)}`));
        };
        response.on("drain", more);
        more();
        return true;
      },
    ],
    [
      "refuses one file",
      "the server refuses a file (status 422)",
      () => (each, response) => {
        const error = { code: 422, message: "too large <b>" };
        json(response, { objects: batchOf(each).map((one) => ({ ...one, error })) });
        return true;
      },
    ],
    [
      "gives headers that cannot be sent",
      "the request failed",
      () => (each, response) =>
        actionsOf(response, each, { href: own(), header: { "X-A": "b\r\nX-Injected: c" } }),
    ],
    [
      "gives too many headers",
      "too many headers",
      () => (each, response) => {
        const names = Array.from({ length: 60 }, (_, at) => [`x-${at}`, "y"]);
        actionsOf(response, each, { href: own(), header: Object.fromEntries(names) });
        return true;
      },
    ],
    [
      "does not confirm an upload",
      "the server refuses a file (status 404)",
      () => (each, response) => {
        if (isBatch(each))
          actionsOf(response, each, { href: own() }, { verify: { href: `${own()}/verify` } });
        else response.writeHead(each.path.endsWith("/verify") ? 404 : 200).end();
        return true;
      },
    ],
  ])("a server that %s gets no commits", async (_what, why, answers) => {
    answer = answers();
    const target = await newTarget();
    const mirror = await addMirror(path, `${betweenUrl}/${target}.git`);
    await mirror.fails("the files of Git LFS could not be pushed");
    expect((await mirror.view()).last_error).toContain(why);
    expect((await mirror.view()).last_update).toBeNull();
    expect(await branchesOf(target)).toEqual([]);
    expect(receiver.received).toEqual([]);
  });

  test("a server that answers before it has the whole file does not have it", async () => {
    answer = (each, response) => actionsOf(response, each, { href: own() });
    answerEarly = ({ method }, response) => {
      if (method === "PUT") response.writeHead(200).end();
      return method === "PUT";
    };
    const mirror = await addMirror(path, `${betweenUrl}/${await newTarget()}.git`);
    await mirror.fails("(0 of 1 are there)");
  });

  test("credentials go to the server of the mirror only, and a file has the length that it has", async () => {
    const header = { "Content-Length": "1", Host: "elsewhere", "X-Own": "yes" };
    for (const [href, isOwn] of [
      [`${receiver.url}/put`, false],
      [own(), true],
    ] as const) {
      asked = [];
      answer = (each, response) => {
        if (isBatch(each)) actionsOf(response, each, { href, header });
        else response.writeHead(200).end();
        return true;
      };
      await (await addMirror(path, `${betweenUrl}/${await newTarget()}.git`)).pushed();
      const [put] = (isOwn ? asked : receiver.received).filter(({ method }) => method === "PUT");
      expect(put?.headers).toMatchObject({ "content-length": "3000000", "x-own": "yes" });
      expect(put?.headers["host"]).toBe(new URL(href).host);
      expect(put?.headers["authorization"]).toBe(isOwn ? basic() : undefined);
      expect(pointerOf(Buffer.from(put?.body ?? "")).size > 0).toBe(true);
    }
  });

  test("a batch that is redirected to another host takes no credentials with it", async () => {
    const before = receiver.received.length;
    answer = (each, response) => {
      if (isBatch(each)) response.writeHead(301, { location: `${receiver.url}/batch` }).end();
      return isBatch(each);
    };
    const mirror = await addMirror(path, `${betweenUrl}/${await newTarget()}.git`);
    await mirror.fails("not that of its batch API");
    const [redirected] = receiver.received.slice(before);
    expect([redirected?.method, redirected?.headers["authorization"]]).toEqual(["POST", undefined]);
    expect(JSON.parse(redirected?.body ?? "").objects).toEqual([file]);
  });
});
