import type { Command } from "commander";
import type {
  editRepositoryHook as editRepositoryHookEndpoint,
  getRepositoryHook as getRepositoryHookEndpoint,
} from "../../../../daemon/contract/forge/hooks/repository-hooks.ts";
import { operation } from "../../../client/operation.ts";
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

const editHook = operation<typeof editRepositoryHookEndpoint>(
  "forge.repos.hooks.edit",
  "PATCH",
  "/api/v1/repos/:owner/:repo/hooks/:id",
);
const getHook = operation<typeof getRepositoryHookEndpoint>(
  "forge.repos.hooks.get",
  "GET",
  "/api/v1/repos/:owner/:repo/hooks/:id",
);

export const operations = [editHook, getHook];
export const output = resourceOf(editHook);

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
    const { body } = await cli.client.call(getHook, { params });
    return body;
  });
  const { body } = await cli.client.call(editHook, { params, ...edit });
  await cli.output.resource(body, hookColumns);
}
