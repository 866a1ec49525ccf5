import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import type { QueueMail } from "../accounts/welcome-mail.ts";
import type { OwnedRepository } from "../events.ts";

/** What happens to an issue or a pull request that is mailed. */
export const issueNewsWords = [
  "opened",
  "commented",
  "closed",
  "reopened",
  "merged",
  "ready",
  "assigned",
  "review_requested",
  "approved",
  "changes_requested",
  "reviewed",
] as const;
export type IssueNews = (typeof issueNewsWords)[number];

const sentences: Readonly<Record<IssueNews, string>> = {
  opened: "opened",
  commented: "commented on",
  closed: "closed",
  reopened: "reopened",
  merged: "merged",
  ready: "marked as ready for review",
  assigned: "assigned you to",
  review_requested: "asks for your review of",
  approved: "approved",
  changes_requested: "requested changes in",
  reviewed: "reviewed",
};

/** A change of an issue or a pull request that is mailed. */
export interface MailedChange {
  readonly owned: OwnedRepository;
  readonly issue: ForgeIssue;
  /** Undefined once the account is deleted. */
  readonly actor: ForgeUser | undefined;
  readonly news: IssueNews;
  /** What the actor wrote; empty for nothing. */
  readonly text: string;
  /** The part of the address behind `#`; empty for the page itself. */
  readonly anchor: string;
  /** Whether the recipient is named in the text. */
  readonly isMentioned: boolean;
}

/** Queues the mail about a change in the transaction that notifies its recipient. */
export type MailIssue = (
  tx: Transaction,
  recipient: ForgeUser,
  change: MailedChange,
) => Promise<void>;

/** Maximum characters of what the actor wrote; the link leads to the rest. */
export const MAILED_CHARACTERS_MAX = 10_000;

/**
 * Returns the function that mails changes of issues and pull requests. All mails about one of them are one thread of a mail
 * program, and name the repository as a mailing list.
 */
export function createIssueMails({
  queueMail,
  instanceName,
  toAddress,
}: {
  readonly queueMail: QueueMail;
  readonly instanceName: string;
  /** Returns the address of the page of an issue or a pull request. */
  readonly toAddress: (owned: OwnedRepository, issue: ForgeIssue) => string;
}): MailIssue {
  return async (tx, recipient, change) => {
    if (recipient.emailNotifications === "disabled") return;
    const { owned, issue, news, text, anchor } = change;
    const home = `${owned.owner.name}/${owned.repository.name}`;
    const title = `[${home}] ${toShortLine(issue.title)} (#${issue.number})`;
    const noun = issue.isPull ? "pull request" : "issue";
    const who = change.actor?.name ?? "Ghost";
    const shown = text.slice(0, MAILED_CHARACTERS_MAX).toWellFormed();
    await queueMail(tx, {
      to: recipient.email,
      reader: {
        userId: recipient.id,
        repositoryId: owned.repository.id,
        part: issue.isPull ? "pull" : "issue",
      },
      subject: news === "opened" ? title : `Re: ${title}`,
      thread: { id: `issue-${issue.id}`, isStart: news === "opened", list: home },
      text: [
        `Hello ${toShortLine(recipient.fullName) || recipient.name},`,
        "",
        `${who} ${sentences[news]} the ${noun} #${issue.number} of ${home} on ${instanceName}: ${toShortLine(issue.title)}`,
        "",
        ...(shown.trim() === "" ? [] : [shown, ...(shown === text ? [] : ["…"]), ""]),
        `${toAddress(owned, issue)}${anchor === "" ? "" : `#${anchor}`}`,
        "",
        `You get this mail because ${toReason(change, noun)}. To get none:`,
        "croft account edit --email-notifications disabled",
        "",
      ].join("\n"),
    });
  };
}

function toReason({ news, isMentioned }: MailedChange, noun: string): string {
  if (news === "assigned") return "you are assigned";
  if (news === "review_requested") return "your review is requested";
  if (isMentioned) return "you were mentioned";
  return `you take part in the ${noun} or watch the repository`;
}

/** Maximum characters of a name, which its author chose. */
const NAME_CHARACTERS_MAX = 100;

/** Returns a name on one line: a line break in it would let its author write lines of the mail. */
export function toShortLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  const characters = [...line];
  return characters.length <= NAME_CHARACTERS_MAX
    ? line
    : `${characters.slice(0, NAME_CHARACTERS_MAX - 1).join("")}…`;
}
