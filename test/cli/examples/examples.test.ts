import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createContext } from "../../../cli/context.ts";
import { foldCommand } from "../../../cli/tree/examples.ts";
import { neverStopping } from "../../../cli/report.ts";
import { commands } from "../../../cli/program.ts";
import { loadAllCommands } from "../../../cli/tree/command-tree.ts";
import {
  type ContractAnswers,
  contractDaemon,
  type SampleFields,
} from "../support/contract-daemon.ts";
import type { RecordedRequest } from "../support/fake-daemon.ts";
import { type FakeStorage, fakeStorage, toItems } from "../support/fake-storage.ts";
import { loadExamplesByLine } from "../support/loaded-examples.ts";
import { fakeSystem, runCli, temporaryHome } from "../support/run-cli.ts";
import { fakeJwt, signIn } from "../support/signed-in.ts";
import { toShellLine } from "./shell-line.ts";

const loaded = await loadAllCommands(
  createContext(fakeSystem({ home: "/nowhere" }), neverStopping),
  commands,
);
const visible = loaded.filter(({ hidden }) => !hidden);
const examples = await loadExamplesByLine();
const lines = visible.map(({ line }) => line);

describe("examples are complete", () => {
  test.each(lines)("croft %s has two examples or more, and each of them is one of it", (line) => {
    const found = examples[line] ?? [];
    expect(found.length).toBeGreaterThanOrEqual(2);
    for (const [, example] of found)
      expect(toShellLine(example).words.join(" ")).toMatch(new RegExp(`^${line}(?: |$)`));
  });

  test("every example belongs to a command that has it", () => {
    const shown = new Set(visible.flatMap((one) => one.examples.map(([, line]) => line)));
    const declared = visible.flatMap(({ module }) => module.examples.map(([, line]) => line));
    expect(declared.filter((line) => !shown.has(line))).toEqual([]);
  });
});

/** Commands of a home and its processes, which home-examples.test.ts runs. */
const ofAHome =
  /^(?:init|serve|daemon |key |mail |install|runner register|runner run|git |repo clone)/;

/** Needs a clone, which the tests of the command have. */
const isOfAClone = (line: string) => line === "pr checkout";

/** Runs until it is stopped. */
const isEndless = (line: string) => line === "vault item watch";

const all = Object.entries(examples)
  .filter(([line]) => !ofAHome.test(line) && !isEndless(line) && !isOfAClone(line))
  .flatMap(([, found]) => found.map(([, line]) => line));

describe("examples run", () => {
  test.each(all)("the example runs: %s", async (line) => {
    const { ran, called } = await runExample(line);
    expect(ran.code, `${ran.err}\ncalled ${called.join(", ")}`).toBe(0);
  });
});

const writing = new Set(
  loaded
    .filter(({ command }) => command.options.some(({ long }) => long === "--dry-run"))
    .map(({ line }) => line),
);

const allWriting = Object.entries(examples)
  .filter(([line]) => writing.has(line) && !ofAHome.test(line))
  .flatMap(([, found]) => found.map(([, line]) => line));

describe("dry runs change nothing", () => {
  test.each(allWriting)("with --dry-run nothing is sent that writes: %s", async (line) => {
    // The filter of an example is for its result, not for the request.
    const unfiltered = line.replace(/ --jq '[^']*'/, "");
    const { ran, changes, called } = await runExample(unfiltered, ["--dry-run"]);
    expect(ran.code, `${ran.err}\ncalled ${called.join(", ")}`).toBe(0);
    expect(changes).toEqual([]);
  });
});

/** Runs an example with more flags; `changes` are the requests that may have changed something. */
async function runExample(line: string, more: readonly string[] = []) {
  await using home = await temporaryHome();
  const { words, input } = toShellLine(line);
  await writeWorkFiles(home.path);
  await using daemon = await contractDaemon(
    { ...answersOf(fakeStorage(toItems(stored))), ...(line.includes("--wait") ? ended : {}) },
    fields,
  );
  await signIn(home.path, {
    url: daemon.url,
    forgeToken: "token",
    forgeUsername: "keeper",
    vault: {},
  });
  const ran = await runCli([...more, ...words], {
    home: home.path,
    workingDirectory: join(home.path, "work"),
    env: { CROFT_URL: daemon.url, EDITOR: "true" },
    ...(input === undefined
      ? {}
      : { stdin: await readFile(join(home.path, "work", input), "utf8") }),
  });
  const changes = daemon.requests
    .filter(({ method, path }) => method !== "GET" && !onlyReads.test(path))
    .map(({ method, path }) => `${method} ${path}`);
  return { ran, called: daemon.called, changes };
}

/** Requests that have a body and change nothing. */
const onlyReads = /\/(?:batch-list|batch-download)$/;

/** The items of the connection Papers. */
const stored = {
  "2026/": "",
  "2026/report.pdf": "pdf",
  "2026/invoice.pdf": "pdf",
  "archive/": "",
  "notes.md": "# Notes",
  "more.md": "# More",
};

/** Fields that the examples select. */
const fields: SampleFields = {
  "forge.admin.users.list": { login: "mira" },
  "forge.admin.invitations.create": { code: "FJk3l0pQxv7Zs2mWn8bTcR5yHd9uAe1g" },
  "forge.repos.labels.list": { name: "bug" },
  "forge.orgs.labels.list": { name: "priority/high" },
  "forge.orgs.teams.list": { name: "writers" },
  "forge.repos.issue_templates.list": { name: "Bug", labels: ["bug"], body: null },
  "forge.repos.releases.by_tag": {
    assets: [
      {
        id: 1,
        name: "report.pdf",
        size: 8,
        download_count: 0,
        created_at: "2026-11-20T09:30:00Z",
        uuid: "5e3c6b2e-8f4f-4d0e-9a3f-0d6a3a1c2b4d",
        browser_download_url: "http://127.0.0.1/attachments/5e3c6b2e-8f4f-4d0e-9a3f-0d6a3a1c2b4d",
        digest: `sha256:${"0".repeat(64)}`,
      },
    ],
  },
  "forge.repos.get": { default_branch: "main" },
  "forge.repos.wiki.get": { content_base64: "IyBOb3Rlcw==" },
  "forge.repos.import.get": { state: "done" },
  "forge.repos.actions.runs.get": { status: "completed" },
  "forge.repos.actions.runs.artifacts": { name: "logs", expired: false },
  "vault.auth.token.list": { name: "backup" },
  "vault.topics.list": { name: "Invoices" },
  "vault.documents.view": { status: "ready" },
  "vault.documents.list_versions": { number: 2 },
  "vault.cloud.items.view": { analysis_status: "ready" },
  "vault.cloud.connections.list": { provider: "webdav" },
};

/** The daemon deletes a job that has succeeded. */
const ended: ContractAnswers = {
  "vault.admin.job.view": () => ({ status: 404, body: { detail: "Job not found" } }),
};

/** Answers with more to them than a schema says. */
function answersOf({ answers }: FakeStorage): ContractAnswers {
  const toStorage = (request: RecordedRequest) => {
    const path = request.path.split("?")[0]?.replace(/connections\/[^/]+/, "connections/c1");
    return answers[`${request.method} ${path}`]!(request);
  };
  return {
    "vault.auth.session.login": () => ({
      body: {
        access_token: fakeJwt(Date.now() + 900_000),
        user: { id: "1", handle: "mira", email: "mira@example.org", role: "user" },
      },
      headers: { "Set-Cookie": "refresh_token=r; Max-Age=57600; Path=/api/auth/refresh; HttpOnly" },
    }),
    "vault.cloud.providers.list": () => ({
      body: {
        items: [toProvider("local_folder", "root"), toProvider("webdav", "url", "username")],
      },
    }),
    "vault.cloud.items.list": toStorage,
    "vault.cloud.items.mkdir": toStorage,
    "vault.cloud.items.mkdir_batch": toStorage,
    "vault.cloud.trash.list": () => ({
      body: {
        items: [
          {
            trash_id: "t1",
            name: "old.pdf",
            kind: "file",
            location: "/2026",
            size: 5,
            deleted_at: "2026-11-20T09:30:00.000Z",
          },
        ],
        next_cursor: null,
      },
    }),
    "vault.cloud.trash.empty": () => ({
      body: { kind: "emptied", removed: 1, has_more: false },
    }),
    "vault.cloud.items.replace": toStorage,
    "vault.cloud.items.upload": toStorage,
    "vault.cloud.items.download": toStorage,
    "vault.cloud.items.upload_batch": toStorage,
    "vault.cloud.items.replace_batch": toStorage,
    "vault.cloud.items.download_batch": toStorage,
    "vault.cloud.items.list_batch": toStorage,
  };
}

function toProvider(type: string, ...names: readonly string[]) {
  const setting = { type: "text", required: true, help: "…", choices: null, default: null };
  return {
    type,
    title: type,
    sign_in: "settings",
    available: true,
    missing_settings: [],
    settings: [
      ...names.map((name) => ({ ...setting, name, secret: false })),
      ...(type === "webdav" ? [{ ...setting, name: "password", secret: true }] : []),
    ],
    can: { case_sensitive: true },
  };
}

/** The files that examples name. */
async function writeWorkFiles(home: string): Promise<void> {
  const work = join(home, "work");
  for (const folder of ["photos", "papers/Bills", "paperless-export/originals"])
    await mkdir(join(work, folder), { recursive: true });
  const files: Readonly<Record<string, string>> = {
    "password.txt": "correct horse battery staple\n",
    "passwords.txt": "correct horse battery staple\nanother horse battery staple\n",
    "reset.txt": "http://127.0.0.1/reset-password?token=abc\nanother horse battery staple\n",
    "passphrase.txt": "a long passphrase of the backup\n",
    "token.txt": "0123456789abcdef0123456789abcdef01234567\n",
    "secret.txt": "a secret\n",
    "api-key.txt": "sk-0123456789abcdef\n",
    "value.txt": "north\n",
    "notes.md": "# Notes\n",
    "report.pdf": "%PDF-1.7",
    "photos/one.jpg": "jpg",
    "papers/Bills/gas.txt": "a bill",
    "papers/croft-documents.json": JSON.stringify({
      format: "croft-documents",
      version: 1,
      topics: [],
      documents: [
        {
          file: "Bills/gas.txt",
          filename: "gas.txt",
          sha256: "d1ada271bbd1851c04850208cba3705e204487969f55d440767a7d070d44271d",
          topics: [],
        },
      ],
    }),
    "paperless-export/originals/1.txt": "a bill",
    "paperless-export/manifest.json": JSON.stringify([
      {
        model: "documents.document",
        pk: 1,
        fields: { title: "Gas", tags: [] },
        __exported_file_name__: "originals/1.txt",
      },
    ]),
    "face.png": "png",
    "home.yaml": "version: 1\nusers:\n  - { username: mira, email: mira@example.org }\n",
    "laptop.pub": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGx8 mira@laptop\n",
  };
  for (const [path, text] of Object.entries(files)) await writeFile(join(work, path), text);
}

test("a long example is folded where a shell continues the line", () => {
  expect(foldCommand("croft repo list --jq '.[] | select(.x)' --all > file", 30)).toEqual([
    "croft repo list \\",
    "  --jq '.[] | select(.x)' \\",
    "  --all > file",
  ]);
});
