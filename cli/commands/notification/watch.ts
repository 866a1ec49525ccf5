import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";
import { toIssueName, toRepositoryName } from "../../support/repository.ts";
import type { CommandModule } from "../../tree/entry.ts";

interface NotificationWatchOptions {
  /** `owner/name`, or `owner/name#number`. */
  readonly subject: string;
  readonly off?: boolean;
}

export const watchRepository = {
  operations: [
    forge.watchRepository,
    forge.unwatchRepository,
    forge.subscribeToIssue,
    forge.unsubscribeFromIssue,
    forge.getCurrentUser,
  ],
  output: shape({ watching: "boolean", subject: "string" }),
  /** Unwatching can be undone, so it needs no confirmation. */
  destructive: false,
  define(command, cli, run = runNotificationWatch): void {
    command
      .argument("<subject>", "a repository as OWNER/NAME, or an issue as OWNER/NAME#NUMBER")
      .option("--off", "stop watching")
      .action((subject: string, flags: { readonly off?: boolean }) =>
        run(cli, { subject, ...flags }),
      );
  },
} satisfies CommandModule;

/** Subscribes the caller to a repository or to one issue, or unsubscribes. */
async function runNotificationWatch(
  cli: CliContext,
  { subject, off = false }: NotificationWatchOptions,
): Promise<void> {
  if (subject.includes("#")) {
    const { owner, repo, index } = toIssueName(subject);
    const { body: user } = await cli.client.call(forge.getCurrentUser, {});
    const params = { owner, repo, index, user: user.login };
    if (off) await cli.client.call(forge.unsubscribeFromIssue, { params });
    else await cli.client.call(forge.subscribeToIssue, { params });
  } else {
    const params = { ...toRepositoryName(subject) };
    if (off) await cli.client.call(forge.unwatchRepository, { params });
    else await cli.client.call(forge.watchRepository, { params });
  }
  const sentence = off ? `No longer watching ${subject}.` : `Watching ${subject}.`;
  await cli.output.done({ watching: !off, subject }, sentence);
}
