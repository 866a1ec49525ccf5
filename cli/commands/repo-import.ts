import type { WireImport } from "../../daemon/contract/forge/repositories/mirrors.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { resourceOf } from "../output/spec.ts";
import {
  repositoryArgument,
  type RepositoryName,
  toRepositoryName,
} from "../support/repository.ts";
import { repositoryLines } from "../support/repository.ts";
import { readSecret } from "../support/secrets.ts";
import { assertWaitFlags, waitFlags, type WaitFlags, waitUntilEnded } from "../support/wait.ts";
import { commandDetails, type FlagValues } from "../tree/command.ts";

const credentialFlags = {
  "--username <name>": "the name with which you sign in there",
  "--password-stdin": "read the password of that name from standard input",
  "--token-stdin": "read an access token from standard input",
} as const;

export const importRepo = commandDetails({
  args: {
    "<address>": "the address of the repository: http or https",
    "[name]": "its name here, or OWNER/NAME; by default the name there",
  },
  flags: {
    "--service <kind>": {
      help: "what runs there; issues and releases come from the last three",
      choices: ["git", "gitea", "forgejo", "github"],
    },
    "--mirror": "follow the repository there; it takes no pushes here",
    "--interval <duration>": "with --mirror: how often, such as 8h0m0s",
    "--issues": "import issues, with labels, milestones and comments",
    "--pulls": "import pull requests, with labels, milestones and comments",
    "--labels": "import labels",
    "--milestones": "import milestones",
    "--releases": "import releases with their files",
    "--wiki": "import the wiki",
    "--lfs": "import the files of Git LFS",
    "-a, --all": "import all of these",
    "-p, --private": "only you and those with access may see it",
    "-d, --description <text>": "its description",
    ...credentialFlags,
    ...waitFlags("wait until issues and releases are imported, and show the progress"),
  },
  calls: [forge.migrateRepository, forge.getImport],
  output: resourceOf(forge.migrateRepository, 201),
  examples: [
    ["Import the code of a repository", "croft repo import https://example.org/mira/notes.git"],
    [
      "Import everything from Gitea with a token, and wait",
      "croft repo import https://gitea.example.org/mira/notes --service gitea --all --token-stdin --wait < token.txt",
    ],
    [
      "Follow a repository in an organization",
      "croft repo import https://example.org/mira/notes.git acme/notes --mirror --interval 1h0m0s",
    ],
  ],
  /** Imports the code, which the command waits for; issues and releases follow in the background. */
  async run(cli, options) {
    const { address, name, service = "git", all, mirror, interval, wait, timeout } = options;
    assertWaitFlags(options);
    const parts = {
      issues: options.issues ?? all,
      pull_requests: options.pulls ?? all,
      labels: options.labels ?? all,
      milestones: options.milestones ?? all,
      releases: options.releases ?? all,
    };
    const lfs = options.lfs ?? (mirror === true ? undefined : all);
    const wiki = options.wiki ?? all;
    const hasParts = Object.values(parts).some((each) => each === true);
    if (hasParts && service === "git")
      throw usageError("issues and releases need --service gitea, forgejo or github");
    if (hasParts && mirror === true)
      throw usageError(
        "a mirror has no issues and releases of its own: leave out --mirror or them",
      );
    if (interval !== undefined && mirror !== true) throw usageError("--interval needs --mirror");
    const { owner, repo } = toTarget(name, address);
    const body = {
      clone_addr: address,
      service,
      repo_name: repo,
      repo_owner: owner,
      mirror,
      mirror_interval: interval,
      private: options.private,
      description: options.description,
      ...parts,
      lfs,
      wiki,
      ...(await readCredentials(cli, options)),
    };
    const { body: made } = await cli.client.call(forge.migrateRepository, { body });
    const hasJob = hasParts || lfs === true;
    if (hasJob && wait === true)
      await waitForImport(cli, toRepositoryName(made.full_name), timeout);
    await cli.output.resource(made, repositoryLines);
    if (hasJob && wait !== true)
      cli.io.note(
        `The rest follows; "croft repo import-status ${made.full_name}" shows the progress.`,
      );
  },
});

export const importStatus = commandDetails({
  args: repositoryArgument,
  flags: waitFlags("wait until the import has ended, and show the progress"),
  calls: [forge.getImport],
  output: resourceOf(forge.getImport),
  examples: [
    ["Show the progress of an import", "croft repo import-status keeper/notes"],
    ["Wait for its end", "croft repo import-status keeper/notes --wait --timeout 10m"],
  ],
  async run(cli, { repository, ...flags }) {
    assertWaitFlags(flags);
    await cli.output.resource(await readImport(cli, repository, flags), importLines);
  },
});

export const cancelImport = commandDetails({
  args: repositoryArgument,
  calls: [forge.cancelImport],
  output: resourceOf(forge.cancelImport),
  destructive: false,
  examples: [
    ["End an import", "croft repo import-cancel keeper/notes"],
    ["Show the request only", "croft repo import-cancel keeper/notes --dry-run"],
  ],
  /** Ends an import. What was imported stays, and the import can be resumed. */
  async run(cli, { repository: params }) {
    const { body } = await cli.client.call(forge.cancelImport, { params });
    await cli.output.resource(body, importLines);
  },
});

export const resumeImport = commandDetails({
  args: repositoryArgument,
  flags: { ...credentialFlags, ...waitFlags("wait until the import has ended") },
  calls: [forge.resumeImport, forge.getImport],
  output: resourceOf(forge.resumeImport),
  examples: [
    ["Resume an import that failed", "croft repo import-resume keeper/notes"],
    [
      "Resume one with another token",
      "croft repo import-resume keeper/notes --token-stdin --wait < token.txt",
    ],
  ],
  async run(cli, { repository: params, ...flags }) {
    assertWaitFlags(flags);
    const body = await readCredentials(cli, flags);
    const { body: resumed } = await cli.client.call(forge.resumeImport, { params, body });
    const shown = flags.wait === true ? await readImport(cli, params, flags) : resumed;
    await cli.output.resource(shown, importLines);
  },
});

async function readImport(
  cli: CliContext,
  params: RepositoryName,
  { wait, timeout }: WaitFlags,
): Promise<WireImport> {
  if (wait === true) return waitForImport(cli, params, timeout);
  return (await cli.client.call(forge.getImport, { params })).body;
}

/** Waits for the end of an import. @throws CliError `not_finished` when it did not bring everything */
async function waitForImport(
  cli: CliContext,
  params: RepositoryName,
  timeout: number | undefined,
): Promise<WireImport> {
  const name = `${params.owner}/${params.repo}`;
  const ended = await waitUntilEnded(cli, {
    title: `the import of ${name}`,
    timeout,
    read: async () => (await cli.client.call(forge.getImport, { params })).body,
    stateOf: toState,
    hasEnded: ({ state }) => state !== "waiting" && state !== "running",
    lookWith: `croft repo import-status ${name}`,
  });
  if (ended.state !== "done")
    throw new CliError(
      "not_finished",
      `the import of ${name} ${ended.state === "failed" ? `failed: ${ended.error}` : "was cancelled"}`,
      { hint: `"croft repo import-resume ${name}" resumes it` },
    );
  return ended;
}

function toState({ state, current, parts, error }: WireImport): string {
  const part = parts.find(({ name }) => name === current);
  if (part === undefined) return state;
  const count = part.total === null ? `${part.imported}` : `${part.imported}/${part.total}`;
  return `${part.name} ${count}${error === "" ? "" : ` (${error})`}`;
}

async function readCredentials(
  cli: CliContext,
  { username, passwordStdin, tokenStdin }: FlagValues<typeof credentialFlags>,
) {
  if (passwordStdin === true && tokenStdin === true)
    throw usageError("--password-stdin and --token-stdin exclude each other");
  if (passwordStdin === true && username === undefined)
    throw usageError("--password-stdin needs --username");
  const source = { fromInput: true, question: "", flag: "--token-stdin" };
  return {
    auth_username: username,
    auth_password:
      passwordStdin === true
        ? await readSecret(cli, { ...source, flag: "--password-stdin" })
        : undefined,
    auth_token: tokenStdin === true ? await readSecret(cli, source) : undefined,
  };
}

/** Returns the owner, if one is given, and the name of the repository. @throws CliError `usage` */
function toTarget(name: string | undefined, address: string) {
  if (name?.includes("/") === true) return toRepositoryName(name);
  const last = address.replace(/\/+$/, "").split("/").at(-1) ?? "";
  const repo = name ?? last.replace(/\.git$/, "");
  if (!/^[\w.-]+$/.test(repo)) throw usageError("the address has no name: give one as [name]");
  return { owner: undefined, repo };
}

const importLines: readonly Column<WireImport>[] = [
  { header: "state", cell: ({ state }) => state },
  { header: "from", cell: ({ address }) => address },
  { header: "service", cell: ({ service }) => service },
  {
    header: "imported",
    cell: ({ parts }) =>
      parts
        .map(({ name, imported, total, skipped }) => {
          const count = total === null ? `${imported}` : `${imported}/${total}`;
          return `${name} ${count}${skipped === 0 ? "" : ` (${skipped} left out)`}`;
        })
        .join(", "),
  },
  { header: "error", cell: ({ error }) => error },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];
