import { basename, resolve } from "node:path";
import type { WireRepository } from "../../daemon/contract/forge/repositories/repositories.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { resourceOf } from "../output/spec.ts";
import { readGit, runGit, toHelperWords } from "../support/git.ts";
import { createIfAbsent, isSameName } from "../support/if-absent.ts";
import {
  findPresentRepository,
  repositorySettings,
  toNewRepositoryBody,
  newRepositoryFlags,
} from "../support/new-repository.ts";
import { repositoryLines, toRepositoryName } from "../support/repository.ts";
import { cloneRepository, toFolderName, toRemoteUrl } from "./repo-clone.ts";
import { commandDetails, type FlagValues } from "../tree/command.ts";

const createFlags = {
  "--org <organization>": "the organization that owns it; you by default",
  ...newRepositoryFlags,
  "--from-template <owner/name>": "begin with the content of a template repository",
  "--with <items>":
    "content, topics, labels, webhooks, protections: what to take from the template; content by default",
  "--public": "everyone may see it, which is the default",
  "--add-readme": { help: "the same as --init", hidden: true },
  "-s, --source <folder>": "a local repository that gets the new one as a remote",
  "-r, --remote <name>": "the name of that remote; origin by default",
  "--push": "push the current branch of the --source folder",
  "-c, --clone": "clone the new repository into the current folder",
  "--ssh": "use the address of SSH for the remote or the clone",
} as const;
type CreateFlags = Omit<FlagValues<typeof createFlags>, "addReadme">;

export const createRepo = commandDetails({
  args: { "[name]": "its name, or OWNER/NAME; by default the name of the --source folder" },
  flags: createFlags,
  calls: [
    forge.createOwnRepository,
    forge.createOrganizationRepository,
    forge.generateRepository,
    forge.getCurrentUser,
    forge.getRepository,
  ],
  output: resourceOf(forge.createOwnRepository, 201),
  examples: [
    ["Create a private repository", "croft repo create notes --private"],
    [
      "Create one in an organization, with README and license",
      "croft repo create notes --org acme --init --readme Default --license MIT",
    ],
    [
      "In a script that may run again",
      "croft repo create notes --private --if-absent --jq .clone_url",
    ],
  ],
  /** Creates a repository for the caller or in an organization, and optionally adds it as a remote of a local one. */
  async run(cli, { name: word, addReadme, ...flags }) {
    const named = splitName(word);
    const options = { ...flags, ...(addReadme === true ? { init: true as const } : {}) };
    assertFlags(word, options);
    const { source, remote = "origin", ssh = false } = options;
    const org = options.org ?? (await findOrganization(cli, named.owner));
    const local = source === undefined ? undefined : await readLocal(cli, source, options);
    const name = named.name ?? local?.name ?? "";
    const body = {
      ...toNewRepositoryBody(name, options),
      ...(options.defaultBranch === undefined && local?.branch !== undefined
        ? { default_branch: local.branch }
        : {}),
    };
    const { value, isNew } = await createIfAbsent<WireRepository>(cli, {
      ifAbsent: options.ifAbsent,
      title: `the repository ${org === undefined ? name : `${org}/${name}`}`,
      find: async () => {
        const owner = org ?? (await cli.client.call(forge.getCurrentUser)).body.login;
        return findPresentRepository(cli, { owner, repo: name });
      },
      create: async () => {
        if (options.fromTemplate !== undefined)
          return (
            await generate(cli, options.fromTemplate, name, {
              ...options,
              ...(org === undefined ? {} : { org }),
            })
          ).body;
        return org === undefined
          ? (await cli.client.call(forge.createOwnRepository, { body })).body
          : (await cli.client.call(forge.createOrganizationRepository, { params: { org }, body }))
              .body;
      },
      settings: (existing) => repositorySettings(options, existing),
      editedBy: "croft repo edit",
    });
    let repository = value;
    if (local !== undefined) {
      const url = await toRemoteUrl(cli, repository, ssh);
      if (isNew) cli.io.note(`Created repository ${repository.full_name}.`);
      await addRemote(cli, local, remote, url);
      if (options.push === true) {
        const helper = await toHelperWords(cli, (await cli.client.target()).url);
        const quiet = cli.flags.quiet ? ["--quiet"] : [];
        const words = ["push", ...quiet, "--set-upstream", remote, "HEAD"];
        await runGit(cli, ["-C", local.path, ...helper, ...words]);
        cli.io.note(`Pushed commits to ${url}`);
        const params = { owner: repository.owner.login, repo: repository.name };
        ({ body: repository } = await cli.client.call(forge.getRepository, { params }));
      }
    }
    if (options.clone === true)
      await cloneRepository(cli, repository, { target: toFolderName(repository), ssh });
    await cli.output.resource(repository, repositoryLines);
  },
});

/** `owner/name` or a name alone as its parts. */
function splitName(text: string | undefined): { owner?: string; name?: string } {
  if (text === undefined) return {};
  if (!text.includes("/")) return { name: text };
  const { owner, repo } = toRepositoryName(text);
  return { owner, name: repo };
}

function assertFlags(name: string | undefined, flags: CreateFlags): void {
  const { source, remote, push, clone, ssh, init, fromTemplate } = flags;
  if (name?.includes("/") === true && flags.org !== undefined)
    throw usageError("--org excludes OWNER/NAME: give the owner once");
  if (flags.public === true && flags.private === true)
    throw usageError("--public and --private exclude each other");
  if (name === undefined && source === undefined)
    throw new CliError("missing_input", "the name of the repository is missing", {
      hint: "give a name, or --source . to use the name of the current folder",
    });
  if (source === undefined && (push === true || remote !== undefined))
    throw usageError("--push and --remote take --source, the folder of a local repository");
  if (source !== undefined && (clone === true || init === true))
    throw usageError("--source excludes --clone and --init: the folder has the first commit");
  if (clone === true && flags.ifAbsent === true)
    throw usageError(
      "--if-absent excludes --clone: the folder may exist as well",
      '"croft repo clone" clones an existing repository',
    );
  if (flags.with !== undefined && fromTemplate === undefined)
    throw usageError("--with takes --from-template");
  if (fromTemplate !== undefined) {
    toRepositoryName(fromTemplate);
    const excluded = [
      ["--source", source],
      ["--init", init],
      ["--readme", flags.readme],
      ["--gitignore", flags.gitignore],
      ["--license", flags.license],
      ["--labels", flags.labels],
      ["--as-template", flags.asTemplate],
      ["--trust-model", flags.trustModel],
      ["--object-format", flags.objectFormat],
    ].find(([, value]) => value !== undefined);
    if (excluded !== undefined) throw usageError(`--from-template excludes ${String(excluded[0])}`);
  }
  if (ssh === true && source === undefined && clone !== true)
    throw usageError("--ssh takes --source or --clone");
}

/** The organization that an owner names; undefined for the caller and without an owner. */
async function findOrganization(
  cli: CliContext,
  owner: string | undefined,
): Promise<string | undefined> {
  if (owner === undefined) return undefined;
  const { body: caller } = await cli.client.call(forge.getCurrentUser);
  return isSameName(caller.login, owner) ? undefined : owner;
}

/** With `--if-absent`, keeps the remote that an earlier run added. @throws CliError `name_collision` */
async function addRemote(
  cli: CliContext,
  { path, remoteUrl }: LocalRepository,
  remote: string,
  url: string,
): Promise<void> {
  if (remoteUrl === url) {
    cli.io.note(`The remote ${remote} is ${url} already.`);
    return;
  }
  if (remoteUrl !== undefined) throw remoteTaken(path, remote);
  await runGit(cli, ["-C", path, "remote", "add", "--", remote, url]);
  cli.io.note(`Added remote ${remote}: ${url}`);
}

const remoteTaken = (path: string, remote: string) =>
  new CliError("name_collision", `${path} has a remote ${remote} already`, {
    hint: "give another name with --remote",
  });

/** The fields of the request by the words of `--with`: the parts that a template may contribute. */
const templateItems: Readonly<Record<string, string>> = {
  content: "git_content",
  topics: "topics",
  labels: "labels",
  webhooks: "webhooks",
  protections: "protected_branch",
};

async function generate(cli: CliContext, template: string, name: string, options: CreateFlags) {
  const items = (options.with ?? "content").split(",").map((word) => word.trim());
  const unknown = items.find((word) => templateItems[word] === undefined);
  if (unknown !== undefined)
    throw usageError(
      `--with takes ${Object.keys(templateItems).join(", ")}, not ${JSON.stringify(unknown)}`,
    );
  const { body: user } =
    options.org === undefined
      ? await cli.client.call(forge.getCurrentUser, {})
      : { body: undefined };
  return cli.client.call(forge.generateRepository, {
    params: toRepositoryName(template),
    body: {
      owner: options.org ?? user?.username,
      name,
      description: options.description,
      private: options.private,
      default_branch: options.defaultBranch,
      ...Object.fromEntries(items.map((word) => [templateItems[word], true])),
    },
  });
}

interface LocalRepository {
  readonly path: string;
  readonly name: string;
  /** Undefined when HEAD names a commit and no branch. */
  readonly branch: string | undefined;
  /** The address of a remote that exists already; only with `--if-absent`. */
  readonly remoteUrl: string | undefined;
}

/** Checks everything about the local repository before the new one is created. */
async function readLocal(
  cli: CliContext,
  source: string,
  { remote = "origin", push, ifAbsent }: CreateFlags,
): Promise<LocalRepository> {
  const path = resolve(cli.system.workingDirectory, source);
  const git = (...words: readonly string[]) => readGit(cli, ["-C", path, ...words]);
  if ((await git("rev-parse", "--git-dir")).code !== 0)
    throw new CliError("conflict", `${path} is not a git repository`, {
      hint: `run "git -C ${path} init" first`,
    });
  const known = await git("remote", "get-url", "--", remote);
  if (known.code === 0 && ifAbsent !== true) throw remoteTaken(path, remote);
  if (push === true && (await git("rev-parse", "--verify", "--quiet", "HEAD")).code !== 0)
    throw new CliError("conflict", `--push was given, but ${path} has no commits`);
  const head = await git("symbolic-ref", "--quiet", "--short", "HEAD");
  return {
    path,
    name: basename(path),
    branch: head.code === 0 ? head.out : undefined,
    remoteUrl: known.code === 0 ? known.out : undefined,
  };
}
