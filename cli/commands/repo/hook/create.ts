import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { hookColumns } from "../../admin/hook/hook-columns.ts";
import {
  addHookFlags,
  addNewHookFlags,
  type NewHookFlags,
  toNewHook,
} from "../../admin/hook/hook-flags.ts";
import { type RepositoryName, toRepositoryName } from "../repo-name.ts";

export const operations = [forge.createRepositoryHook];
export const output = resourceOf(forge.createRepositoryHook, 201);

/** What the command was given. */
export interface HookCreateOptions extends RepositoryName, NewHookFlags {
  /** The address that it sends to. */
  readonly target: string;
}

export function define(command: Command, cli: CliContext, run = runHookCreate): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .argument("<url>", "where it sends to");
  addNewHookFlags(addHookFlags(command)).action(
    (repository: string, target: string, flags: NewHookFlags) =>
      run(cli, { ...flags, ...toRepositoryName(repository), target }),
  );
}

/** Creates a hook of a repository that delivers at once unless told otherwise. */
async function runHookCreate(cli: CliContext, options: HookCreateOptions): Promise<void> {
  const { owner, repo, target } = options;
  const { body } = await cli.client.call(forge.createRepositoryHook, {
    params: { owner, repo },
    body: await toNewHook(cli, options, target),
  });
  await cli.output.resource(body, hookColumns);
}
