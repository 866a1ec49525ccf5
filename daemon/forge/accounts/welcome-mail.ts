import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryId, TeamId, UserId } from "../../../storage/tables/forge/ids.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";

/** Adds a mail to the queue in the caller's transaction. */
export type QueueMail = (
  tx: Transaction,
  message: {
    readonly to: string;
    readonly subject: string;
    readonly text: string;
    /**
     * Checked again when the mail is sent: the user must still be allowed to read the repository, or the named part, or be
     * a member of the team, or have the address and the link of this hash for a password.
     */
    readonly reader:
      | {
          readonly userId: UserId;
          readonly repositoryId: RepositoryId;
          readonly part?: "issue" | "pull";
        }
      | { readonly userId: UserId; readonly teamId: TeamId }
      | { readonly userId: UserId; readonly resetHash?: string };
    /** What mail programs show the mail with: the first mail of a thread, or a reply, and the list of its repository. */
    readonly thread?: { readonly id: string; readonly isStart: boolean; readonly list: string };
  },
) => Promise<unknown>;

export interface WelcomeMailDeps {
  readonly queueMail: QueueMail;
  readonly instanceName: string;
  readonly urls: ForgeUrls;
}

/** Returns the function that queues the mail to a new user. It does not contain the password. */
export function createWelcomeMail({ queueMail, instanceName, urls }: WelcomeMailDeps) {
  return async (tx: Transaction, user: ForgeUser): Promise<void> => {
    await queueMail(tx, {
      to: user.email,
      reader: { userId: user.id },
      subject: `Your account on ${instanceName}`,
      text: [
        `Hello ${user.fullName === "" ? user.name : user.fullName},`,
        "",
        `an administrator created an account for you on ${instanceName}.`,
        "",
        `User name: ${user.name}`,
        `Address: ${toUrl(urls, "/")}`,
        "",
        "Ask the administrator for the password.",
        "",
      ].join("\n"),
    });
  };
}
