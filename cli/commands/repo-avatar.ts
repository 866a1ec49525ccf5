import { forge } from "../client/operations.ts";
import { shape } from "../output/spec.ts";
import { readPicture } from "../support/input.ts";
import { repositoryArgument } from "../support/repository.ts";
import { command } from "../tree/command.ts";
import type { Entry } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  command("set", "Upload the picture of a repository", {
    args: { ...repositoryArgument, "<file>": "a PNG, JPEG, GIF or WebP image" },
    calls: [forge.setRepositoryAvatar],
    output: shape({ set: "boolean", full_name: "string" }),
    examples: [
      ["Upload a picture", "croft repo avatar set keeper/notes face.png"],
      ["Show the request only", "croft repo avatar set keeper/notes face.png --dry-run"],
    ],
    async run(cli, { repository: params, file }) {
      const body = { image: await readPicture(cli, file) };
      await cli.client.call(forge.setRepositoryAvatar, { params, body });
      const name = `${params.owner}/${params.repo}`;
      await cli.output.done({ set: true, full_name: name }, `Uploaded the picture of ${name}.`);
    },
  }),
  command("delete", "Delete the picture of a repository", {
    aliases: ["rm"],
    args: repositoryArgument,
    calls: [forge.deleteRepositoryAvatar],
    output: shape({ deleted: "boolean", full_name: "string" }),
    destructive: true,
    examples: [
      ["Delete the picture", "croft repo avatar delete keeper/notes --yes"],
      ["Show the request only", "croft repo avatar delete keeper/notes --dry-run"],
    ],
    async run(cli, { repository: params }) {
      const name = `${params.owner}/${params.repo}`;
      await cli.prompts.confirm(`Delete the picture of ${name}?`);
      await cli.client.call(forge.deleteRepositoryAvatar, { params });
      await cli.output.done({ deleted: true, full_name: name }, `Deleted the picture of ${name}.`);
    },
  }),
];
