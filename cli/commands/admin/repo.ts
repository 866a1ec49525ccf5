import type { WireRepository } from "../../../daemon/contract/forge/repositories/repositories.ts";
import { forge } from "../../client/operations.ts";
import { resourceOf } from "../../output/spec.ts";
import { createIfAbsent } from "../../support/if-absent.ts";
import {
  findPresentRepository,
  repositorySettings,
  toNewRepositoryBody,
  newRepositoryFlags,
} from "../../support/new-repository.ts";
import { repositoryLines, toRepositoryName } from "../../support/repository.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("create", "Create a repository for a user", {
    args: {
      "<repository>": {
        help: "the repository as OWNER/NAME; the owner is a user or organization",
        parse: toRepositoryName,
      },
    },
    flags: newRepositoryFlags,
    calls: [forge.createRepository, forge.getRepository],
    output: resourceOf(forge.createRepository, 201),
    examples: [
      ["Create a private repository for a user", "croft admin repo create mira/notes --private"],
      [
        "Begin with README and license",
        "croft admin repo create mira/notes --init --readme Default --license MIT",
      ],
      [
        "In a script that may run again",
        "croft admin repo create mira/notes --if-absent --jq .clone_url",
      ],
    ],
    /** Creates a repository for another owner. */
    async run(cli, { repository, ...flags }) {
      const options = { ...repository, ...flags };
      const { owner, repo } = options;
      const { value } = await createIfAbsent<WireRepository>(cli, {
        ifAbsent: options.ifAbsent,
        title: `the repository ${owner}/${repo}`,
        find: () => findPresentRepository(cli, { owner, repo }),
        create: async () => {
          const params = { username: owner };
          const body = toNewRepositoryBody(repo, options);
          return (await cli.client.call(forge.createRepository, { params, body })).body;
        },
        settings: (existing) => repositorySettings(options, existing),
        editedBy: "croft repo edit",
      });
      await cli.output.resource(value, repositoryLines);
    },
  }),
];
