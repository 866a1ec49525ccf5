import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { hookColumns } from "./hook-columns.ts";
import { addHookFlags, addNewHookFlags, type NewHookFlags, toNewHook } from "./hook-flags.ts";

export const operations = [forge.createHook];
export const output = resourceOf(forge.createHook, 201);

/** What the command was given. */
export interface HookCreateOptions extends NewHookFlags {
  readonly url: string;
  readonly type: string;
  /** A template for new repositories instead of a hook of its own. */
  readonly default: boolean;
  readonly inactive: boolean;
}

type Flags = NewHookFlags & { readonly default?: boolean };

export function define(command: Command, cli: CliContext, run = runHookCreate): void {
  addNewHookFlags(addHookFlags(command.argument("<url>", "where it sends to")))
    .option("--default", "copy it into each new repository instead of firing for all")
    .action((url: string, flags: Flags) =>
      run(cli, {
        ...flags,
        url,
        type: flags.type ?? "gitea",
        default: flags.default ?? false,
        inactive: flags.inactive ?? false,
      }),
    );
}

/** Creates a hook that delivers at once unless told otherwise. */
async function runHookCreate(cli: CliContext, options: HookCreateOptions): Promise<void> {
  const made = await toNewHook(cli, options, options.url);
  const config = { ...made.config, is_system_webhook: String(!options.default) };
  const { body } = await cli.client.call(forge.createHook, { body: { ...made, config } });
  await cli.output.resource(body, hookColumns);
}
