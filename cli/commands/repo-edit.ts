import { forge } from "../client/operations.ts";
import { CliError, usageError } from "../errors.ts";
import { resourceOf } from "../output/spec.ts";
import { addValues } from "../support/issues.ts";
import { readTrueOrFalse, toChoice } from "../support/flag-values.ts";
import { repositoryLines, repositoryArgument } from "../support/repository.ts";
import { commandDetails } from "../tree/command.ts";

/** Flags of features and of merging, by the members of the request that they set. */
const switches = {
  "--enable-issues <true|false>": { member: "has_issues", help: "whether it has issues" },
  "--enable-pull-requests <true|false>": {
    member: "has_pull_requests",
    help: "whether it has pull requests",
  },
  "--enable-releases <true|false>": { member: "has_releases", help: "whether it has releases" },
  "--enable-packages <true|false>": { member: "has_packages", help: "whether it has packages" },
  "--enable-workflows <true|false>": { member: "has_actions", help: "whether workflows run" },
  "--enable-merge-commit <true|false>": {
    member: "allow_merge_commits",
    help: "whether pull requests may be merged by a merge commit",
  },
  "--enable-squash-merge <true|false>": {
    member: "allow_squash_merge",
    help: "whether they may be squashed",
  },
  "--enable-rebase-merge <true|false>": {
    member: "allow_rebase",
    help: "whether they may be rebased",
  },
  "--delete-branch-on-merge <true|false>": {
    member: "default_delete_branch_after_merge",
    help: "whether a merge deletes the branch unless it says otherwise",
  },
} as const;
const switchFlags = Object.fromEntries(
  Object.entries(switches).map(([flag, { help }]) => [flag, help]),
) as Readonly<Record<keyof typeof switches, string>>;

const toVisibility = (value: string) => toChoice("--visibility", ["public", "private"], value);

const mergeStyles = ["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"] as const;

export const editRepo = commandDetails({
  args: repositoryArgument,
  flags: {
    "-d, --description <text>": "the description; empty to clear it",
    "--homepage <url>": { help: "the same as --website", hidden: true },
    "--visibility <visibility>": { help: "public or private", parse: toVisibility },
    "--add-topic <name>": { help: "add this topic; may be repeated", parse: addValues },
    "--remove-topic <name>": { help: "remove this topic; may be repeated", parse: addValues },
    "--website <url>": "its website; empty to clear it",
    "--private <true|false>": "whether only its owner, collaborators and administrators see it",
    "--as-template <true|false>": "whether it is a template repository",
    "--default-branch <name>": "the branch that clones begin with",
    ...switchFlags,
    "--merge-style <style>": {
      help: "merge, rebase, rebase-merge, squash or fast-forward-only",
      parse: (word: string) => toChoice("--merge-style", mergeStyles, word),
    },
    "--archived <true|false>": "whether it is archived and takes no pushes, issues or comments",
  },
  calls: [forge.editRepository, forge.addTopic, forge.deleteTopic],
  destructive: false,
  output: resourceOf(forge.editRepository),
  examples: [
    ["Change the description", 'croft repo edit keeper/notes --description "Notes of the meeting"'],
    ["Make a repository private", "croft repo edit keeper/notes --visibility private"],
  ],
  /** Changes a repository and prints it. */
  async run(cli, { repository, homepage, visibility, ...rest }) {
    if (visibility !== undefined && rest.private !== undefined)
      throw usageError("--visibility and --private exclude each other");
    const flags = {
      ...rest,
      ...(homepage === undefined ? {} : { website: homepage }),
      ...(visibility === undefined ? {} : { private: String(visibility === "private") }),
    };
    if (Object.values(flags).every((value) => value === undefined))
      throw usageError("nothing to change", "give at least one flag of those that --help lists");
    const options = { ...repository, ...flags };

    const { owner, repo, description, website, defaultBranch, addTopic = [] } = options;
    for (const topic of addTopic)
      await cli.client.call(forge.addTopic, { params: { owner, repo, topic } });
    for (const topic of options.removeTopic ?? [])
      await cli.client.call(forge.deleteTopic, { params: { owner, repo, topic } });
    const { body } = await cli.client.call(forge.editRepository, {
      params: { owner, repo },
      body: {
        description,
        website,
        private: readTrueOrFalse("--private", options.private),
        template: readTrueOrFalse("--as-template", options.asTemplate),
        default_branch: defaultBranch,
        archived: readTrueOrFalse("--archived", options.archived),
        default_merge_style: options.mergeStyle,
        ...readSwitches(options),
      },
    });
    await cli.output.resource(body, repositoryLines);
  },
});

/** Returns the members of the request that the switches set. */
function readSwitches(options: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(switches).map(([text, { member }]) => {
      const flag = text.slice(0, text.indexOf(" "));
      const name = flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
      return [member, readTrueOrFalse(flag, options[name] as string | undefined)];
    }),
  );
}

export const renameRepo = commandDetails({
  args: { ...repositoryArgument, "<new-name>": "the new name; the old one redirects to it" },
  calls: [forge.editRepository],
  output: resourceOf(forge.editRepository),
  examples: [
    ["Rename a repository", "croft repo rename keeper/notes minutes"],
    ["Show the request only", "croft repo rename keeper/notes minutes --dry-run"],
  ],
  async run(cli, { repository: { owner, repo }, newName }) {
    const { body } = await cli.client.call(forge.editRepository, {
      params: { owner, repo },
      body: { name: newName },
    });
    await cli.output.resource(body, repositoryLines);
  },
});

export const transferRepo = commandDetails({
  args: {
    ...repositoryArgument,
    "[new-owner]": "the user or organization that gets it, or is offered it",
  },
  flags: {
    "--accept": "accept a repository that is offered to you",
    "--reject": "reject a repository that is offered to you, or withdraw your own offer",
  },
  calls: [forge.transferRepository, forge.acceptTransfer, forge.rejectTransfer],
  output: resourceOf(forge.acceptTransfer, 202),
  examples: [
    ["Offer a repository to an organization", "croft repo transfer keeper/notes acme"],
    ["Accept a repository", "croft repo transfer keeper/notes --accept"],
  ],
  /** Transfers a repository, or accepts or rejects an offered one, and prints the result. */
  async run(cli, { repository: { owner, repo }, newOwner, accept, reject }) {
    const params = { owner, repo };
    if ([newOwner, accept, reject].filter((each) => each !== undefined).length > 1)
      throw usageError("a new owner, --accept and --reject exclude each other");
    if (accept !== undefined || reject !== undefined) {
      const { body } =
        accept === undefined
          ? await cli.client.call(forge.rejectTransfer, { params })
          : await cli.client.call(forge.acceptTransfer, { params });
      return cli.output.resource(body, repositoryLines);
    }
    if (newOwner === undefined)
      throw new CliError("missing_input", "name the new owner, or give --accept or --reject");
    const { status, body } = await cli.client.call(forge.transferRepository, {
      params,
      body: { new_owner: newOwner },
    });
    if (status === 201) cli.io.note(`${newOwner} must accept it: croft repo transfer --accept`);
    await cli.output.resource(body, repositoryLines);
  },
});

export const archiveRepo = toArchiving(true);

export const unarchiveRepo = toArchiving(false);

/** Archives a repository, or makes it writable again, and prints it. As in gh, both must be confirmed. */
function toArchiving(archived: boolean) {
  return commandDetails({
    args: repositoryArgument,
    calls: [forge.editRepository],
    output: resourceOf(forge.editRepository),
    destructive: true,
    examples: [
      ["Archive a repository", "croft repo archive keeper/notes --yes"],
      ["Show the request only", "croft repo archive keeper/notes --dry-run"],
      ["Make a repository writable again", "croft repo unarchive keeper/notes --yes"],
      ["Show the request only", "croft repo unarchive keeper/notes --dry-run"],
    ],
    async run(cli, { repository: params }) {
      const { owner, repo } = params;
      await cli.prompts.confirm(`${archived ? "Archive" : "Unarchive"} ${owner}/${repo}?`);
      const { body } = await cli.client.call(forge.editRepository, { params, body: { archived } });
      await cli.output.resource(body, repositoryLines);
    },
  });
}
