import type { Command } from "commander";
import type {
  editHook as editHookEndpoint,
  getHook as getHookEndpoint,
} from "../../../../daemon/contract/forge/admin-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { readTrueOrFalse } from "../user/true-or-false.ts";
import { hookColumns } from "./hook-columns.ts";
import { addHookFlags, type HookFlags, readOneSecret, toConfig } from "./hook-flags.ts";

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
export interface HookEditOptions extends HookFlags {
  readonly id: string;
  /** The address; `--url` is the daemon's. */
  readonly target?: string;
  readonly active?: string;
  readonly authorizationHeaderStdin?: boolean;
  readonly clearAuthorizationHeader?: boolean;
}

export function define(command: Command, cli: CliContext, run = runHookEdit): void {
  addHookFlags(command.argument("<hook>", "the hook's id"))
    .option("--target <url>", "where it sends to")
    .option("--active <true|false>", "whether it delivers")
    .option("--authorization-header-stdin", "read a new Authorization header from standard input")
    .option("--clear-authorization-header", "send no Authorization header any more")
    .action((id: string, flags: Omit<HookEditOptions, "id">) => {
      if (Object.values(flags).every((value) => value === undefined))
        throw usageError("nothing to change", "give at least one flag of those that --help lists");
      if (flags.authorizationHeaderStdin && flags.clearAuthorizationHeader)
        throw usageError(
          "--authorization-header-stdin and --clear-authorization-header exclude each other",
        );
      return run(cli, { id, ...flags });
    });
}

/** Changes a hook. Its secret and kind stay for ever; what no flag names stays as it is. */
export async function runHookEdit(cli: CliContext, options: HookEditOptions): Promise<void> {
  const { id, clearAuthorizationHeader = false } = options;
  const active = readTrueOrFalse("--active", options.active);
  const { authorizationHeader } = await readOneSecret(cli, options);
  // The API overwrites events and branches with every edit, so the present ones are sent back.
  const { body: present } = await cli.client.call(getHook, { params: { id } });
  const { body } = await cli.client.call(editHook, {
    params: { id },
    query: { keep_authorization_header: !clearAuthorizationHeader },
    body: {
      config: toConfig(options, options.target),
      events: options.event === undefined ? toWords(present.events) : [...options.event],
      branch_filter: options.branchFilter ?? present.branch_filter,
      authorization_header: authorizationHeader,
      active,
      name: options.name,
    },
  });
  await cli.output.resource(body, hookColumns);
}

/** Words that stand for exactly these events: two of them would switch on their whole family. */
function toWords(events: readonly string[]): string[] {
  // No word at all would be taken for a push.
  if (events.length === 0) return ["none"];
  return events.map((event) =>
    event === "issues" || event === "pull_request" ? `${event}_only` : event,
  );
}
