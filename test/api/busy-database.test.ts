import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual as isEqual } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type * as Open from "../../storage/engine/open.ts";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../support/forge/git-client.ts";
import { openFilesBelow } from "../support/open-files.ts";
import { failingAt, withBusyStatements } from "../support/storage/busy-database.ts";
import { createPerson, type VaultPerson } from "../support/vault/vault-person.ts";

// The database is busy at each statement of a request in turn. The response says so, what the request would change is
// changed whole or not at all, and nothing stays open.

vi.mock("../../storage/engine/open.ts", async (importOriginal) => {
  const original = await importOriginal<typeof Open>();
  return {
    ...original,
    openDatabase: async (...args: Parameters<typeof original.openDatabase>) =>
      withBusyStatements(await original.openDatabase(...args)),
  };
});

let daemon: TestDaemon;
let git: GitClient;
let vault: VaultPerson;
let repo: string;
const people = createForgePeople(() => daemon);
const { by } = people;
let names = 0;
const newName = (word: string) => `${word}${(names += 1)}`;

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off" },
    // A push that git has carried out.
    expectErrors: ({ message }) => message.startsWith("failed to record a push"),
  });
  git = await createGitClient();
  await people.newUser("mira");
  repo = `/repos/mira/${await people.newRepository("mira", { auto_init: true })}`;
  await by("mira", "POST", `${repo}/labels`, { name: "bug", color: "#ff0000" });
  const address = daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`);
  await git.run("clone", "-q", `${address}/mira/${repo.split("/").at(-1)}.git`, "work");
  vault = createPerson(daemon, "vera", "198.51.100.7");
  await vault.register();
  await vault.signIn();
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** The daemon's open and temporary files, without those that it holds while it runs. */
async function openState(): Promise<string[]> {
  const open = await openFilesBelow(daemon.home);
  const temporary = await readdir(join(daemon.home, "tmp"), { recursive: true });
  return [
    ...open.filter((file) => !/croft\.(?:db|lock)/.test(file)),
    ...temporary.filter((file) => !file.startsWith("git-hooks")),
  ];
}

interface Operation {
  /** Sends the request about something new; returns the response. */
  readonly send: (name: string) => Promise<TestAnswer>;
  /** Returns what the request has changed: the same for each name. */
  readonly read: (name: string) => Promise<unknown>;
  /** Makes what the request needs. */
  readonly prepare?: (name: string) => Promise<unknown>;
  /** What the refusal says. */
  readonly says?: RegExp;
}

const toForm = (part: string, name: string) => {
  const body = new FormData();
  body.set(part, new File(["hello"], `${name}.txt`));
  return { method: "POST", body };
};
const statusOf = async (path: string, method = "GET") => (await by("mira", method, path)).status;
/** Paths of the issues that were made for an attempt, by title. */
const issues = new Map<string, string>();
const makeIssue = async (title: string) => {
  const { json } = await by("mira", "POST", `${repo}/issues`, { title });
  issues.set(title, `${repo}/issues/${json.number}`);
};
const timelineOf = async (path: string) => (await by("mira", "GET", `${path}/timeline`)).json;

const operations: Readonly<Record<string, Operation>> = {
  "an issue with a label and an assignee": {
    send: (title) =>
      by("mira", "POST", `${repo}/issues`, { title, labels: [1], assignees: ["mira"] }),
    async read(title) {
      const found = await by("mira", "GET", `${repo}/issues?state=all&q=${title}`);
      const issue = found.json.find((each: { title: string }) => each.title === title);
      if (issue === undefined) return undefined;
      const events = await timelineOf(`${repo}/issues/${issue.number}`);
      return [issue.labels.length, issue.assignees.length, events.length];
    },
  },
  "an edit that closes an issue": {
    prepare: makeIssue,
    send: (title) =>
      by("mira", "PATCH", issues.get(title) ?? "", { state: "closed", body: "done" }),
    async read(title) {
      const path = issues.get(title) ?? "";
      const { state, body } = (await by("mira", "GET", path)).json;
      return [state, body, (await timelineOf(path)).length];
    },
  },
  "a file of an issue": {
    prepare: makeIssue,
    send: (title) =>
      daemon.request(`/api/v1${issues.get(title)}/assets`, {
        ...toForm("attachment", title),
        token: people.tokenOf("mira"),
      }),
    read: async (title) => (await by("mira", "GET", `${issues.get(title)}/assets`)).json.length,
  },
  "a commit of the contents API": {
    send: (name) => by("mira", "POST", `${repo}/contents/${name}`, { content: "" }),
    read: (name) => statusOf(`${repo}/contents/${name}`),
  },
  "a repository with a first commit": {
    send: (name) => by("mira", "POST", "/user/repos", { name, auto_init: true }),
    read: async (name) => [
      await statusOf(`/repos/mira/${name}`),
      await statusOf(`/repos/mira/${name}/branches/main`),
    ],
  },
  "the deletion of a repository": {
    prepare: (name) => by("mira", "POST", "/user/repos", { name, auto_init: true }),
    send: (name) => by("mira", "DELETE", `/repos/mira/${name}`),
    read: async (name) => [
      await statusOf(`/repos/mira/${name}`),
      await statusOf(`/repos/mira/${name}/branches/main`),
    ],
  },
  "a file of a package": {
    send: (name) =>
      daemon.request(`/api/packages/mira/generic/${name}/1.0/a.txt`, {
        method: "PUT",
        token: people.tokenOf("mira"),
        body: name,
      }),
    async read(name) {
      const path = `/api/packages/mira/generic/${name}/1.0/a.txt`;
      const file = await daemon.request(path, { token: people.tokenOf("mira") });
      return [file.status, await statusOf(`/packages/mira/generic/${name}/1.0`)];
    },
  },
  "a push": {
    prepare: async (name) => {
      await git.in("work", "branch", name);
    },
    async send(name) {
      const { exitCode, errors } = await git.in("work", "push", "-q", "origin", name);
      const status = exitCode === 0 ? 200 : 503;
      return { status, text: errors, headers: new Headers(), json: undefined };
    },
    read: (name) => statusOf(`${repo}/branches/${name}`),
    // Git shows no body of a refused request.
    says: /returned error: 503|HTTP 503|could not check the push|The server is busy/,
  },
  "a registration in the vault": {
    send: (name) => createPerson(daemon, name, "198.51.100.8").register(),
    read: async (name) => (await createPerson(daemon, name, "198.51.100.8").signIn()).status,
  },
  "a document of the vault": {
    send: (name) => vault.request("/api/documents/upload", toForm("file", name)),
    async read(name) {
      const { json } = await vault.request("/api/documents?limit=200");
      return json.items.filter(({ filename }: { filename: string }) => filename === `${name}.txt`)
        .length;
    },
  },
};

test.each(Object.entries(operations))(
  "%s is made whole or not at all when the database is busy at any statement",
  async (
    _title,
    { send, read, prepare, says = /The server is busy\. Try again in a moment\./ },
  ) => {
    const whole = newName("whole");
    await prepare?.(whole);
    const before = await read(whole);
    expect((await send(whole)).status).toBeLessThan(300);
    const done = await read(whole);
    expect(done).not.toEqual(before);
    let refused = 0;
    for (let statement = 1; ; statement += 1) {
      const name = newName("busy");
      await prepare?.(name);
      const { result, hasFailed } = await failingAt(statement, () => send(name));
      // What does not matter for the answer may fail, such as the time of the last use of a token.
      if (result.status < 300) expect([statement, await read(name)]).toEqual([statement, done]);
      else {
        expect(hasFailed).toBe(true);
        refused += 1;
        expect([statement, result.status]).toEqual([statement, 503]);
        expect(result.text).toMatch(says);
        // A move of a folder that was interrupted is completed by a job.
        const isWhole = (value: unknown) => isEqual(value, before) || isEqual(value, done);
        await expect
          .poll(() => read(name), { message: `after statement ${statement}` })
          .toSatisfy(isWhole);
      }
      if (!hasFailed) break;
    }
    expect(refused).toBeGreaterThan(3);
    await expect.poll(openState).toEqual([]);
  },
);

test("what only reads answers 503 in words when the database is busy at any statement, never 500", async () => {
  const token = people.tokenOf("mira");
  const name = repo.split("/").at(-1) ?? "";
  const runner = (method: string, json: object, headers = {}) =>
    daemon.request(`/api/actions/runner.v1.RunnerService/${method}`, { json, headers });
  const { json } = await people.api("POST", "/admin/actions/runners/registration-token");
  const registered = await runner("Register", { name: "busy", token: json.token, labels: ["x"] });
  const credentials = {
    "x-runner-uuid": registered.json.runner.uuid,
    "x-runner-token": registered.json.runner.token,
  };
  const requests: Readonly<Record<string, () => Promise<TestAnswer>>> = {
    "a page": () => daemon.request(`/mira/${name}`),
    "a list": () => by("mira", "GET", `${repo}/issues`),
    "a folder": () => by("mira", "GET", `${repo}/contents`),
    "refs over git": () =>
      daemon.request(`/mira/${name}.git/info/refs?service=git-upload-pack`, {
        basic: `mira:${token}`,
      }),
    "a batch of large files": () =>
      daemon.request(`/mira/${name}.git/info/lfs/objects/batch`, {
        basic: `mira:${token}`,
        json: { operation: "download", objects: [] },
        headers: { Accept: "application/vnd.git-lfs+json" },
      }),
    "a package of npm": () => daemon.request("/api/packages/mira/npm/none", { token }),
    "a runner that asks for a job": () => runner("FetchTask", { tasksVersion: 0 }, credentials),
    "documents of the vault": () => vault.request("/api/documents"),
    "a search in the vault": () => vault.request("/api/search?q=hello"),
  };
  for (const [title, send] of Object.entries(requests)) {
    const usual = (await send()).status;
    expect([title, usual]).toEqual([title, title === "a package of npm" ? 404 : 200]);
    let refused = 0;
    for (let statement = 1; ; statement += 1) {
      const { result, hasFailed } = await failingAt(statement, send);
      if (!hasFailed) break;
      if (result.status !== usual) {
        refused += 1;
        expect([title, statement, result.status]).toEqual([title, statement, 503]);
        expect(result.text).toContain("The server is busy. Try again in a moment.");
      }
    }
    expect([title, refused > 0]).toEqual([title, true]);
  }
});
