import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { hookColumns } from "../../admin/hook/hook-columns.ts";
import {
  addHookEditFlags,
  addHookFlags,
  assertHookEdit,
  type HookEditFlags,
  readHookEdit,
} from "../../admin/hook/hook-flags.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

export const operations = [forge.editRepositoryHook, forge.getRepositoryHook];
export const output = resourceOf(forge.editRepositoryHook);

/** What the command was given. Members that are undefined stay. */
export interface HookEditOptions extends RepositoryHookName, HookEditFlags {}

export function define(command: Command, cli: CliContext, run = runHookEdit): void {
  addHookEditFlags(addHookFlags(addHookArguments(command))).action(
    (repository: string, id: string, flags: HookEditFlags) => {
      assertHookEdit(flags);
      return run(cli, { ...toHookName(repository, id), ...flags });
    },
  );
}

/** Changes a hook of a repository. Its secret and kind stay for ever; what no flag names stays as it is. */
async function runHookEdit(cli: CliContext, options: HookEditOptions): Promise<void> {
  const { owner, repo, id } = options;
  const params = { owner, repo, id };
  const edit = await readHookEdit(cli, options, async () => {
    const { body } = await cli.client.call(forge.getRepositoryHook, { params });
    return body;
  });
  const { body } = await cli.client.call(forge.editRepositoryHook, { params, ...edit });
  await cli.output.resource(body, hookColumns);
}
