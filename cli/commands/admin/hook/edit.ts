import type { Command } from "commander";
import type {
  editHook as editHookEndpoint,
  getHook as getHookEndpoint,
} from "../../../../daemon/contract/forge/hooks/admin-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { hookColumns } from "./hook-columns.ts";
import {
  addHookEditFlags,
  addHookFlags,
  assertHookEdit,
  type HookEditFlags,
  readHookEdit,
} from "./hook-flags.ts";

const editHook = operation<typeof editHookEndpoint>(
  "forge.admin.hooks.edit",
  "PATCH",
  "/api/v1/admin/hooks/:id",
);
const getHook = operation<typeof getHookEndpoint>(
  "forge.admin.hooks.get",
  "GET",
  "/api/v1/admin/hooks/:id",
);

export const operations = [editHook, getHook];
export const output = resourceOf(editHook);

/** What the command was given. Members that are undefined stay. */
export interface HookEditOptions extends HookEditFlags {
  readonly id: string;
}

export function define(command: Command, cli: CliContext, run = runHookEdit): void {
  addHookEditFlags(addHookFlags(command.argument("<hook>", "the hook's id"))).action(
    (id: string, flags: HookEditFlags) => {
      assertHookEdit(flags);
      return run(cli, { id, ...flags });
    },
  );
}

/** Changes a hook. Its secret and kind stay for ever; what no flag names stays as it is. */
async function runHookEdit(cli: CliContext, options: HookEditOptions): Promise<void> {
  const params = { id: options.id };
  const edit = await readHookEdit(cli, options, async () => {
    const { body } = await cli.client.call(getHook, { params });
    return body;
  });
  const { body } = await cli.client.call(editHook, { params, ...edit });
  await cli.output.resource(body, hookColumns);
}
