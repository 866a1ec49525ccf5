import type { Command } from "commander";
import type { createHook as createHookEndpoint } from "../../../../daemon/contract/forge/admin-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { hookColumns } from "./hook-columns.ts";
import { addHookFlags, type HookFlags, readOneSecret, toConfig } from "./hook-flags.ts";

const createHook = operation<typeof createHookEndpoint>(
  "forge.admin.hooks.create",
  "POST",
  "/api/v1/admin/hooks",
);

export const operations = [createHook];
export const output = resourceOf(createHook, 201);

/** What the command was given. */
export interface HookCreateOptions extends HookFlags {
  readonly url: string;
  readonly type: string;
  /** A template for new repositories instead of a hook of its own. */
  readonly default: boolean;
  readonly inactive: boolean;
  readonly secretStdin?: boolean;
  readonly authorizationHeaderStdin?: boolean;
}

type Flags = HookFlags & Partial<Omit<HookCreateOptions, "url">>;

export function define(command: Command, cli: CliContext, run = runHookCreate): void {
  addHookFlags(command.argument("<url>", "where it sends to"))
    .option(
      "--type <type>",
      "gitea, slack, discord, telegram, msteams and others; gitea by default",
    )
    .option("--default", "copy it into each new repository instead of firing for all")
    .option("--inactive", "do not deliver yet")
    .option("--secret-stdin", "read the secret that deliveries are signed with from standard input")
    .option("--authorization-header-stdin", "read an Authorization header from standard input")
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
export async function runHookCreate(cli: CliContext, options: HookCreateOptions): Promise<void> {
  const { secret, authorizationHeader } = await readOneSecret(cli, options);
  const { body } = await cli.client.call(createHook, {
    body: {
      type: options.type,
      config: {
        ...toConfig({ ...options, contentType: options.contentType ?? "json" }, options.url),
        is_system_webhook: String(!options.default),
        ...(secret === undefined ? {} : { secret }),
      },
      events: options.event === undefined ? undefined : [...options.event],
      branch_filter: options.branchFilter,
      authorization_header: authorizationHeader,
      active: !options.inactive,
      name: options.name,
    },
  });
  await cli.output.resource(body, hookColumns);
}
