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
  /** What is given up can be asked for again. */
  destructive: false,
  define(command, cli, run = runNotificationWatch): void {
    command
      .argument("<subject>", "a repository as OWNER/NAME, or an issue as OWNER/NAME#NUMBER")
      .option("--off", "be told no more")
      .action((subject: string, options: { readonly off?: boolean }) =>
        run(cli, { subject, ...options }),
      );
  },
} satisfies CommandModule;

/** Has the caller told of a repository's pushes and issues, or of one issue, or not any more. */
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
  const sentence = off ? `You are told of ${subject} no more.` : `You are told of ${subject}.`;
  await cli.output.done({ watching: !off, subject }, sentence);
}
