import type { WireHook } from "../../../daemon/contract/forge/hooks/admin-hooks.ts";
import { hookEventWords } from "../../../daemon/contract/forge/hooks/fields.ts";
import type { forge, InputOf } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { readTrueOrFalse, toChoice } from "../../support/flag-values.ts";
import { readSecret } from "../../support/secrets.ts";
import type { FlagValues } from "../../tree/command.ts";

/** Adds the flags that both have in common to a command. */
export const hookFlags = {
  "--content-type <type>": "json or form",
  "--event <event...>": "events to deliver, such as push or repository",
  "--branch-filter <glob>": "only these branches, for push, create and delete",
  "--name <text>": "a label",
  "--channel <channel>": "slack: the channel",
  "--slack-username <name>": "slack: the name of the messages' author",
  "--icon-url <url>": "slack: the author's picture",
  "--color <color>": "slack: the colour of messages",
} as const;

/** Adds the flags of a creation to a command. */
export const newHookFlags = {
  "--type <type>": "gitea, slack, discord, telegram, msteams and others; gitea by default",
  "--inactive": "do not deliver yet",
  "--secret-stdin": "read the secret that deliveries are signed with from standard input",
  "--authorization-header-stdin": "read an Authorization header from standard input",
} as const;

/** Adds the flags of an edit to a command. */
export const hookEditFlags = {
  "--target <url>": "URL that deliveries are sent to",
  "--active <true|false>": "whether it delivers",
  "--authorization-header-stdin": "read a new Authorization header from standard input",
  "--clear-authorization-header": "remove the Authorization header",
} as const;

type HookFlags = FlagValues<typeof hookFlags>;
type NewHookFlags = HookFlags & FlagValues<typeof newHookFlags>;
type HookEditFlags = HookFlags & FlagValues<typeof hookEditFlags>;

/** Refuses an edit without a change, and one that contradicts itself. @throws CliError `usage` */
export function assertHookEdit(flags: HookEditFlags, daemonUrl: string | undefined): void {
  if (Object.values(flags).every((value) => value === undefined))
    throw usageError(
      "nothing to change",
      daemonUrl === undefined
        ? "give at least one flag of those that --help lists"
        : "--target <url> changes where deliveries are sent; --url is the daemon's",
    );
  if (flags.authorizationHeaderStdin && flags.clearAuthorizationHeader)
    throw usageError(
      "--authorization-header-stdin and --clear-authorization-header exclude each other",
    );
}

/** The body of a creation; `config` may be added to. */
export async function toNewHook(cli: CliContext, flags: NewHookFlags, url: string) {
  const events = readEvents(flags);
  const { secret, authorizationHeader } = await readOneSecret(cli, flags);
  return {
    type: flags.type ?? "gitea",
    config: {
      ...toConfig({ ...flags, contentType: flags.contentType ?? "json" }, url),
      ...(secret === undefined ? {} : { secret }),
    },
    events,
    branch_filter: flags.branchFilter,
    authorization_header: authorizationHeader,
    active: !flags.inactive,
    name: flags.name,
  } satisfies InputOf<typeof forge.createHook>["body"];
}

/**
 * The query and body of an edit. The API overwrites events and branches with every edit, so the current ones are sent
 * back.
 */
export async function readHookEdit(
  cli: CliContext,
  flags: HookEditFlags,
  getPresent: () => Promise<WireHook>,
) {
  const active = readTrueOrFalse("--active", flags.active);
  const events = readEvents(flags);
  const { authorizationHeader } = await readOneSecret(cli, flags);
  const present = await getPresent();
  return {
    query: { keep_authorization_header: flags.clearAuthorizationHeader !== true },
    body: {
      config: toConfig(flags, flags.target),
      events: events ?? toEventWords(present.events),
      branch_filter: flags.branchFilter ?? present.branch_filter,
      authorization_header: authorizationHeader,
      active,
      name: flags.name,
    },
  } satisfies InputOf<typeof forge.editHook>;
}

/**
 * Returns the words of `--event`, which may be separated by commas. The API drops unknown words without an error, and a
 * hook with none of the known ones never fires. @throws CliError `usage`
 */
function readEvents({ event }: HookFlags): string[] | undefined {
  const words = event?.flatMap((value) => value.split(",")).map((word) => word.trim());
  const named = words?.filter((word) => word !== "");
  if (named?.length === 0) throw usageError("--event is empty", "such as --event push");
  return named?.map((word) => toChoice("--event", hookEventWords, word.toLowerCase()));
}

/**
 * Converts events to the API's words. There `issues` and `pull_request` mean whole families of events, so their
 * `_only` forms are sent.
 */
export function toEventWords(events: readonly string[]): string[] {
  // An empty list would be read as "push".
  if (events.length === 0) return ["none"];
  return events.map((event) =>
    event === "issues" || event === "pull_request" ? `${event}_only` : event,
  );
}

/** The config members that the flags and the address name. */
function toConfig(flags: HookFlags, url: string | undefined): Record<string, string> {
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

/** Reads the one secret that standard input can hold, for the flag that asks for it; undefined without such a flag. */
async function readOneSecret(
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
