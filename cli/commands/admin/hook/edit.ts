import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
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

export const operations = [forge.editHook, forge.getHook];
export const output = resourceOf(forge.editHook);

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
    const { body } = await cli.client.call(forge.getHook, { params });
    return body;
  });
  const { body } = await cli.client.call(forge.editHook, { params, ...edit });
  await cli.output.resource(body, hookColumns);
}
