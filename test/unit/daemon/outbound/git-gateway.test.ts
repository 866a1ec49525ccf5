import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRemotes, RemoteUnusable } from "../../../../daemon/forge/imports/remotes.ts";
import { createAddressCheck } from "../../../../daemon/outbound/address-policy.ts";
import { createGitGateway } from "../../../../daemon/outbound/git-gateway.ts";
import { createGuardedDispatcher } from "../../../../daemon/outbound/guarded-request.ts";
import { createGit } from "../../../../storage/git/git.ts";
import { startGitServer } from "../../../support/forge/git-server.ts";
import { type Received, startReceiver } from "../../../support/receiver.ts";

let workFolder: string;
const check = createAddressCheck({ policy: "home", own: () => [], machine: () => [] });
const dispatcher = createGuardedDispatcher({ check });
const gateway = createGitGateway({ dispatcher });
const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const remotesOf = (bytesMax = 1 << 20) => createRemotes({ git, gateway, workFolder, bytesMax });
const never = new AbortController().signal;
const list = (url: string, credentials = { username: "", password: "" }, signal = never) =>
  remotesOf().list({ url, ...credentials }, { hasPulls: true }, signal);
const ADVERTISEMENT = "application/x-git-upload-pack-advertisement";
const packet = (line: string) => (line.length + 4).toString(16).padStart(4, "0") + line;
/** A listing of protocol version 0. */
const toListing = (refs: Readonly<Record<string, string>>) => {
  const [first = "", ...rest] = Object.entries(refs).map(([name, id]) => `${id} ${name}`);
  return [
    packet("# service=git-upload-pack\n"),
    "0000",
    packet(`${first}\0symref=HEAD:refs/heads/main\n`),
    ...rest.map((line) => packet(`${line}\n`)),
    "0000",
  ].join("");
};
const answering = (answer: (request: Received, response: ServerResponse) => void) =>
  startReceiver(answer);

beforeAll(async () => {
  workFolder = await mkdtemp(join(tmpdir(), "croft-gateway-"));
});
afterAll(async () => {
  await dispatcher.destroy();
  await rm(workFolder, { recursive: true, force: true });
});

describe("a remote that does not behave", () => {
  test.each<[string, (request: Received, response: ServerResponse) => void, string]>([
    [
      "lists refs without end",
      (_request, response) => {
        response.writeHead(200, { "content-type": ADVERTISEMENT });
        const line = Buffer.alloc(1 << 20, packet(`${"a".repeat(40)} refs/heads/x\n`));
        const more = () => {
          while (response.write(line));
        };
        response.on("drain", more);
        more();
      },
      "it sends more than is allowed",
    ],
    [
      "answers with a page",
      (_request, response) =>
        response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      "it is no git repository",
    ],
    [
      "compresses what git would unpack in memory",
      (_request, response) =>
        response
          .writeHead(200, { "content-type": ADVERTISEMENT, "content-encoding": "gzip" })
          .end("x"),
      "it is no git repository",
    ],
    [
      "redirects to a metadata service",
      (_request, response) =>
        response
          .writeHead(302, {
            location: "http://169.254.169.254/a.git/info/refs?service=git-upload-pack",
          })
          .end(),
      "the address is not permitted: addresses of this range are never called",
    ],
    [
      "redirects to a page of sign-in",
      (_request, response) => response.writeHead(302, { location: "/login" }).end(),
      "it redirects to something that is no git repository",
    ],
    [
      "redirects in a circle",
      ({ path }, response) => response.writeHead(301, { location: path }).end(),
      "too many redirects",
    ],
    [
      "closes the connection",
      (_request, response) => response.destroy(),
      "the connection was closed early",
    ],
    [
      "sends rubbish",
      (_request, response) =>
        response.writeHead(200, { "content-type": ADVERTISEMENT }).end("rubbish"),
      "git could not read what the server sent",
    ],
    [
      "wants credentials",
      (_request, response) => response.writeHead(401).end(),
      "the server wants credentials (status 401)",
    ],
  ])("a remote that %s is reported without its address", async (_case, answer, words) => {
    await using server = await answering(answer);
    const refused = await list(`${server.url}/secret-name.git`).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RemoteUnusable);
    expect((refused as Error).message).toContain(words);
    expect((refused as Error).message).not.toMatch(/secret-name|127\.0\.0\.1/);
  });

  test("a remote that never answers is left when the caller leaves", async () => {
    await using server = await answering(() => undefined);
    const leaving = new AbortController();
    const listed = list(`${server.url}/a`, undefined, leaving.signal);
    await server.waitFor(1);
    leaving.abort(new Error("left"));
    await expect(listed).rejects.toThrow("left");
  });

  test("a remote that sends or takes a byte now and then is too slow, and one that is fast enough is not", async () => {
    const leastRate = { graceMs: 200, bytesPerSecond: 100_000_000 };
    const hasty = createRemotes({
      git,
      gateway: createGitGateway({ dispatcher, leastRate }),
      workFolder,
      bytesMax: 1 << 20,
    });
    const at = (url: string) => ({ url, username: "", password: "" });
    await using trickling = await answering((_request, response) => {
      response.writeHead(200, { "content-type": ADVERTISEMENT });
      const timer = setInterval(() => response.write("0"), 5);
      response.once("close", () => clearInterval(timer));
    });
    const listed = hasty.list(at(trickling.url), { hasPulls: false }, never);
    await expect(listed).rejects.toThrow("it is too slow");
    // Takes no byte of the pack, after the question whether it takes one.
    let packs = 0;
    await using deaf = await startGitServer(({ method, headers }, response) => {
      const service = "application/x-git-receive-pack";
      const listing = [
        packet("# service=git-receive-pack\n"),
        "0000",
        packet(`${"0".repeat(40)} capabilities^{}\0report-status delete-refs\n`),
        "0000",
      ].join("");
      if (method === "GET")
        response.writeHead(200, { "content-type": `${service}-advertisement` }).end(listing);
      else if (headers["content-length"] === "4")
        response.writeHead(200, { "content-type": `${service}-result` }).end();
      else packs += 1;
      return true;
    });
    const directory = await mkdtemp(join(workFolder, "pushed-"));
    await git.run(["init", "-q", "--bare"], { directory });
    const input = randomBytes(4 << 20).toString("latin1");
    const blob = String(
      await git.run(["hash-object", "-w", "--stdin"], { directory, input }),
    ).trim();
    const tree = await git.run(["mktree"], { directory, input: `100644 blob ${blob}\tlarge\n` });
    const commit = await git.run(["commit-tree", String(tree).trim(), "-m", "large"], {
      directory,
      env: {
        GIT_AUTHOR_NAME: "Mira",
        GIT_AUTHOR_EMAIL: "mira@example.org",
        GIT_COMMITTER_NAME: "Mira",
        GIT_COMMITTER_EMAIL: "mira@example.org",
      },
    });
    await git.run(["update-ref", "refs/heads/main", String(commit).trim()], { directory });
    const push = { directory, signal: never, first: undefined };
    await expect(hasty.push(at(deaf.url), push)).rejects.toThrow("it is too slow");
    expect(packs).toBe(1);
    await using sound = await startGitServer();
    expect((await hasty.list(at(sound.url), { hasPulls: false }, never)).refs.size).toBe(0);
  });

  test("refs with names that croft does not accept are left out, and no name becomes an option", async () => {
    const id = "a".repeat(40);
    const names = [
      "HEAD",
      "refs/heads/main",
      "refs/heads/--upload-pack=id",
      "refs/heads/a..b",
      "refs/heads/x.lock",
      "refs/heads/dir",
      "refs/heads/dir/below",
      `refs/heads/${"n".repeat(300)}`,
      "refs/heads/\xff\xfe",
      "refs/heads/new\tline",
      "refs/tags/v1",
      "refs/tags/v1^{}",
      "refs/pull/7/head",
      "refs/pull/07/head",
      "refs/pull/7/merge",
      "refs/notes/commits",
      "refs/replace/x",
    ];
    await using server = await answering((_request, response) =>
      response
        .writeHead(200, { "content-type": ADVERTISEMENT })
        .end(Buffer.from(toListing(Object.fromEntries(names.map((name) => [name, id]))), "latin1")),
    );
    const taken = await list(server.url);
    expect([...taken.refs.keys()]).toEqual([
      "refs/heads/main",
      "refs/heads/dir",
      "refs/tags/v1",
      "refs/pull/7/head",
    ]);
    expect(taken).toMatchObject({ head: "main", objectFormat: "sha1" });
  });

  test("a history with a dangerous .gitmodules is refused, and one that is too large as well", async () => {
    await using server = await startGitServer();
    const commit = async (name: string, content: string) => {
      const blob = (await server.run(["hash-object", "-w", "--stdin"], content)).trim();
      const tree = await server.run(["mktree"], `100644 blob ${blob}\t${name}\n`);
      return (await server.run(["commit-tree", tree.trim(), "-m", name])).trim();
    };
    const evil = '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch\n';
    await server.run(["update-ref", "refs/heads/main", await commit(".gitmodules", evil)]);
    const fetch = async (bytesMax?: number) => {
      const directory = await mkdtemp(join(workFolder, "fetched-"));
      await git.run(["init", "-q", "--bare"], { directory });
      const { refs } = await list(server.url);
      const remote = { url: server.url, username: "", password: "" };
      await remotesOf(bytesMax).fetch(remote, refs.values(), { directory, signal: never });
    };
    await expect(fetch()).rejects.toThrow("refused (gitmodulesUrl)");
    const noise = Array.from({ length: 5_000 }, (_, at) => `${at * 7919} ${Math.sqrt(at)}`);
    await server.run(["update-ref", "refs/heads/main", await commit("large", noise.join("\n"))]);
    await fetch();
    await expect(fetch(20_000)).rejects.toThrow("more than is allowed");
  });
});

describe("credentials", () => {
  test("a remote gets its credentials, and another server after a redirect does not", async () => {
    await using other = await startGitServer((request) => {
      expect(request.headers.authorization).toBeUndefined();
      return false;
    });
    const seen: (string | undefined)[] = [];
    await using first = await answering(({ path, headers }, response) => {
      seen.push(headers.authorization);
      response.writeHead(301, { location: `${other.url}${path}` }).end();
    });
    const credentials = { username: "mira", password: "secret" };
    expect((await list(`${first.url}/a`, credentials)).refs.size).toBe(0);
    expect(seen).toEqual([`Basic ${Buffer.from("mira:secret").toString("base64")}`]);
  });

  test("another program of the machine cannot use the gateway, and git may only use one service", async () => {
    await using server = await startGitServer();
    const options = { service: "git-upload-pack", receivedBytesMax: 1000, signal: never } as const;
    const remote = { url: server.url, username: "mira", password: "secret" };
    await using session = await gateway.open(remote, options);
    const listing = `${session.url}/info/refs?service=git-upload-pack`;
    expect((await fetch(listing)).status).toBe(404);
    const wrong = { "x-croft-gateway": "a".repeat(64) };
    expect((await fetch(listing, { headers: wrong })).status).toBe(404);
    const [name = "", value = ""] = (session.config["http.extraHeader"] ?? "").split(": ");
    const ask = async (path: string, method = "GET") =>
      (await fetch(session.url + path, { method, headers: { [name]: value } })).status;
    expect(await ask("/info/refs?service=git-upload-pack")).toBe(200);
    expect(await ask("/info/refs?service=git-receive-pack")).toBe(404);
    expect(await ask("/HEAD")).toBe(404);
    expect(await ask("/git-receive-pack", "POST")).toBe(404);
    expect(JSON.stringify(session.env) + session.url).not.toContain("secret");
    expect(JSON.stringify(session.config)).not.toContain("secret");
  });
});
