import { toChoice } from "../support/flag-values.ts";
import { forge } from "../client/operations.ts";
import { resourceOf, shape } from "../output/spec.ts";
import { personColumns } from "../support/person.ts";
import { repositoryArgument, repositoryList } from "../support/repository.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const userArgument = { "<username>": "the user" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the collaborators of a repository", async () => listAll, {
    aliases: ["ls"],
  }),
  command("view", "Show a user's permission on a repository", {
    args: { ...repositoryArgument, ...userArgument },
    calls: [forge.getCollaboratorPermission],
    output: resourceOf(forge.getCollaboratorPermission),
    examples: [
      ["Show what a user may do", "croft repo collaborator view keeper/notes mira"],
      ["Print the permission", "croft repo collaborator view keeper/notes mira --jq .permission"],
      ["Show what a user may do", "croft collaborator view keeper/notes mira"],
      ["Print the permission", "croft collaborator view keeper/notes mira --jq .permission"],
    ],
    /** Prints the permission of a user, however it was granted. */
    async run(cli, { repository: { owner, repo }, username }) {
      const { body } = await cli.client.call(forge.getCollaboratorPermission, {
        params: { owner, repo, collaborator: username },
      });
      await cli.output.resource(body, [
        { header: "username", cell: ({ user }) => user.username },
        { header: "permission", cell: ({ permission }) => permission },
      ]);
    },
  }),
  command("add", "Add a collaborator, or change the permission of one", {
    args: { ...repositoryArgument, ...userArgument },
    flags: { "--permission <permission>": { help: "read, write or admin", default: "write" } },
    calls: [forge.putCollaborator],
    output: shape({ added: "boolean", username: "string", permission: "string" }),
    examples: [
      ["Let a user push", "croft repo collaborator add keeper/notes mira --permission write"],
      ["Let a user read", "croft repo collaborator add keeper/notes otto --permission read"],
      ["Let a user push", "croft collaborator add keeper/notes mira --permission write"],
      ["Let a user read", "croft collaborator add keeper/notes otto --permission read"],
    ],
    /** Adds a collaborator, or changes the permission of one. */
    async run(cli, { repository: { owner, repo }, username, permission }) {
      toChoice("--permission", permissions, permission);
      await cli.client.call(forge.putCollaborator, {
        params: { owner, repo, collaborator: username },
        body: { permission },
      });
      await cli.output.done(
        { added: true, username, permission },
        `${username} is a collaborator of ${owner}/${repo} with the permission ${permission}.`,
      );
    },
  }),
  command("remove", "Remove a collaborator", {
    aliases: ["rm"],
    args: { ...repositoryArgument, ...userArgument },
    calls: [forge.deleteCollaborator],
    output: shape({ removed: "boolean", username: "string" }),
    destructive: true,
    examples: [
      ["Remove a collaborator", "croft repo collaborator remove keeper/notes mira --yes"],
      ["Show the request only", "croft repo collaborator remove keeper/notes mira --dry-run"],
      ["Remove a collaborator", "croft collaborator remove keeper/notes mira --yes"],
      ["Show the request only", "croft collaborator remove keeper/notes mira --dry-run"],
    ],
    async run(cli, { repository: { owner, repo }, username }) {
      await cli.prompts.confirm(`Remove ${username} from ${owner}/${repo}?`);
      await cli.client.call(forge.deleteCollaborator, {
        params: { owner, repo, collaborator: username },
      });
      await cli.output.done(
        { removed: true, username },
        `${username} is not a collaborator of ${owner}/${repo}.`,
      );
    },
  }),
];

const permissions: readonly string[] = ["read", "write", "admin"];

/** The collaborators, in the order in which they were added. */
const listAll = repositoryList(forge.listCollaborators, personColumns, [
  ["List the collaborators", "croft repo collaborator list keeper/notes"],
  ["Print their names", "croft repo collaborator list keeper/notes --jq '.[].login'"],
  ["List the collaborators", "croft collaborator list keeper/notes"],
  ["Print their names", "croft collaborator list keeper/notes --jq '.[].login'"],
]);
