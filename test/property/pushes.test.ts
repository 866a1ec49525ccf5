import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCommandsReader, type PushCommands } from "../../daemon/forge/git/push-commands.ts";
import {
  answerHook,
  createPushHook,
  hookConfig,
  type HookRequest,
} from "../../daemon/forge/git/push-hook.ts";
import { createGit } from "../../storage/git/git.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { clientEnvironment } from "../support/forge/git-client.ts";
import { createSshClient, type SshClient } from "../support/forge/ssh-client.ts";
import { cases } from "../support/property.ts";

// Lists of commands that clients send, and lists that no client sends: capabilities in odd places, line feeds and NULs
// inside of names, other packets, truncated lists. Git's own reading is what its hook receives.

const run = promisify(execFile);
const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const ZERO = "0".repeat(40);

let folder: string;
let bare: string;
let head: string;
let daemon: TestDaemon;
let ssh: SshClient;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-pushes-"));
  bare = join(folder, "bare.git");
  const options = { cwd: folder, env: clientEnvironment(folder) };
  await run("git", ["init", "-q", "--bare", bare], options);
  const { stdout: tree } = await run(
    "git",
    ["-C", bare, "hash-object", "-wt", "tree", "/dev/null"],
    options,
  );
  const { stdout } = await run(
    "git",
    ["-C", bare, "commit-tree", tree.trim(), "-m", "first"],
    options,
  );
  head = stdout.trim();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  ssh = await createSshClient(() => daemon.sshPort ?? 0);
});
afterAll(async () => {
  await ssh[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const packet = (text: string) => {
  const bytes = Buffer.from(text, "latin1");
  return `${(bytes.byteLength + 4).toString(16).padStart(4, "0")}${text}`;
};

/** Texts are one byte a character. Names of commands are deletions of `x`, unless the list is read in an unexpected way. */
const name = fc.constantFrom(
  "refs/heads/kept",
  "refs/heads/x",
  "refs/heads/\xc3\xa9",
  "refs/heads/\xe9",
  "refs/heads/kept\n",
  "refs/heads/x ",
  "HEAD",
);
const capabilities = fc.constantFrom(
  "",
  "\0",
  "\0report-status",
  "\0 report-status push-options",
  "\0push-options=x",
  "\0\tpush-options\n",
  "\0side-band-64k report-status",
  "\0agent=push-options",
  "\0\0push-options",
  "\0report-status\0push-options",
  "\0atomic report-status",
  "\0object-format=sha1",
  "\0xpush-options",
  "\n\0push-options",
);
const command = fc
  .record({
    name,
    capabilities,
    end: fc.constantFrom("", "\n", "\n\n"),
    form: fc.constantFrom("lower", "lower", "lower", "lower", "upper", "short"),
  })
  .map(({ name, capabilities, end, form }) => {
    const id = form === "upper" ? head.toUpperCase() : form === "short" ? head.slice(1) : head;
    return packet(`${id} ${ZERO} ${name}${capabilities}${end}`);
  });
const oddity = fc
  .constantFrom(
    () => packet(`shallow ${head}`),
    () => packet(`shallow ${head}\0push-options`),
    () => packet(`shallow ${head}\0report-status side-band-64k`),
    () => packet("shallow "),
    () => packet("push-cert\0push-options"),
    () => packet("ERR no"),
    () => packet(""),
    () => "0001",
    () => "0002",
    () => "0003",
    () => "0000",
  )
  .map((make) => make());
const list = fc
  .record({
    lines: fc.array(fc.oneof({ weight: 3, arbitrary: command }, { weight: 1, arbitrary: oddity }), {
      minLength: 1,
      maxLength: 4,
    }),
    end: fc.constantFrom("0000", "0000", "0000", "0001", ""),
    rest: fc.constantFrom("", `${packet("ci.skip")}0000`, "0000", packet("ci.skip")),
  })
  .map(({ lines, end, rest }) => lines.join("") + end + rest);

function readAsCroft(bytes: Buffer): PushCommands | undefined {
  const read = createCommandsReader(1 << 20).read(bytes);
  return read === undefined || "kind" in read ? undefined : read;
}

/** Has git read a list and returns what git asks its hook; the hook refuses. Undefined when git does not get so far. */
async function readAsGit(bytes: Buffer) {
  const hooks = await createPushHook(join(folder, "hooks"))();
  const child = git.start(["receive-pack", "--stateless-rpc", "."], {
    directory: bare,
    config: { "core.hooksPath": hooks, ...hookConfig },
    hasHookSocket: true,
  });
  let asked: HookRequest | undefined;
  if (child.hookSocket === undefined) throw new Error("git has no socket");
  const answered = answerHook(
    child.hookSocket,
    {
      judge: async () => undefined,
      async accept(request) {
        asked = request;
        return "no";
      },
    },
    (error) => {
      throw error;
    },
  );
  child.stdout.resume();
  child.stdin.end(bytes);
  await child.ended;
  await answered;
  return asked;
}

test("what croft reads of a push is what git reads, or it is refused", async () => {
  let agreed = 0;
  await fc.assert(
    fc.asyncProperty(list, async (text) => {
      const bytes = Buffer.from(text, "latin1");
      const croft = readAsCroft(bytes);
      const asked = await readAsGit(bytes);
      if (croft === undefined || asked === undefined) return;
      agreed += 1;
      // Git leaves out commands that it refuses by itself: those of names outside of `refs/`, and repeated names.
      const known = croft.commands.map(({ ref, before, after }) => `${before} ${after} ${ref}`);
      for (const { ref, before, after } of asked.commands)
        expect(known).toContain(`${before} ${after} ${ref}`);
      expect(asked.options).toEqual(croft.options);
    }),
    cases(200),
  );
  expect(agreed).toBeGreaterThan(10);
});

test("no list of commands deletes a protected branch, over HTTP or SSH", async () => {
  await people.newUser("mira");
  const repository = await people.newRepository("mira", { auto_init: true });
  const path = `/repos/mira/${repository}`;
  const id: string = (await people.by("mira", "GET", `${path}/branches/main`)).json.commit.id;
  for (const branch of ["kept", "x", "é"])
    await people.by("mira", "POST", `${path}/branches`, { new_branch_name: branch });
  await people.by("mira", "POST", `${path}/branch_protections`, { rule_name: "kept" });
  const key = await ssh.newKey("key");
  await people.by("mira", "POST", "/user/keys", { title: "key", key });
  const push = {
    http: async (body: Buffer<ArrayBuffer>) => {
      await daemon.request(`/mira/${repository}.git/git-receive-pack`, {
        basic: `mira:${people.tokenOf("mira")}`,
        headers: { "Content-Type": "application/x-git-receive-pack-request" },
        body,
      });
    },
    ssh: async (body: Buffer) => {
      const child = ssh.start("key", [
        "-T",
        "git@127.0.0.1",
        `git-receive-pack 'mira/${repository}.git'`,
      ]);
      child.stdout?.resume();
      child.stdin?.on("error", () => undefined);
      child.stdin?.end(body);
      await new Promise((resolve) => child.once("close", resolve));
    },
  };
  const former = head;
  head = id;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom("http", "http", "ssh"), list, async (how, text) => {
      await push[how as keyof typeof push](Buffer.from(text, "latin1"));
      const kept = await people.by("mira", "GET", `${path}/branches/kept`);
      expect(kept.status).toBe(200);
    }),
    cases(60),
  );
  head = former;
});
