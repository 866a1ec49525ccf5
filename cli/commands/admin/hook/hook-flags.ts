import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { readSecret } from "../../secret-input.ts";

/** The flags that creating and editing a hook have in common. */
export interface HookFlags {
  readonly contentType?: string;
  readonly event?: readonly string[];
  readonly branchFilter?: string;
  readonly name?: string;
  readonly channel?: string;
  readonly slackUsername?: string;
  readonly iconUrl?: string;
  readonly color?: string;
}

/** Adds them to a command. */
export function addHookFlags(command: Command): Command {
  return command
    .option("--content-type <type>", "json or form")
    .option("--event <event...>", "what it is told of, such as push or repository")
    .option("--branch-filter <glob>", "only these branches, for push, create and delete")
    .option("--name <text>", "a label")
    .option("--channel <channel>", "slack: the channel")
    .option("--slack-username <name>", "slack: the name of the messages' author")
    .option("--icon-url <url>", "slack: the author's picture")
    .option("--color <color>", "slack: the colour of messages");
}

/** The config members that the flags and the address name. */
export function toConfig(flags: HookFlags, url: string | undefined): Record<string, string> {
  const members = {
    url,
    content_type: flags.contentType,
    channel: flags.channel,
    username: flags.slackUsername,
    icon_url: flags.iconUrl,
    color: flags.color,
  };
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** The one secret that standard input can hold, by the flag that was given; undefined when none was. */
export async function readOneSecret(
  cli: CliContext,
  flags: { readonly secretStdin?: boolean; readonly authorizationHeaderStdin?: boolean },
): Promise<{ readonly secret?: string; readonly authorizationHeader?: string }> {
  const { secretStdin, authorizationHeaderStdin } = flags;
  if (secretStdin && authorizationHeaderStdin)
    throw usageError(
      "--secret-stdin and --authorization-header-stdin exclude each other",
      'give the header by "croft admin hook edit" afterwards',
    );
  const read = (flag: string) => readSecret(cli, { fromInput: true, question: "", flag });
  if (secretStdin) return { secret: await read("--secret-stdin") };
  if (authorizationHeaderStdin)
    return { authorizationHeader: await read("--authorization-header-stdin") };
  return {};
}
