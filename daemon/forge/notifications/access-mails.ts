import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { QueueMail } from "../accounts/welcome-mail.ts";
import type { Subscribers } from "../events.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import { toShortLine } from "./issue-mails.ts";

/**
 * Queues a mail to a user whom another user made a collaborator of a repository or a member of a team, unless the
 * recipient has turned off mails.
 */
export function createAccessMails({
  queueMail,
  instanceName,
  urls,
}: {
  readonly queueMail: QueueMail;
  readonly instanceName: string;
  readonly urls: ForgeUrls;
}): Subscribers {
  return {
    async "collaborator.added"(tx, { repository, owner, actor, collaborator }) {
      const home = `${owner.name}/${repository.name}`;
      await mail(tx, collaborator, actor, {
        subject: `${actor.name} added you to ${home}`,
        sentence: `${actor.name} made you a collaborator of the repository ${home} on ${instanceName}.`,
        path: `/${home}`,
        reader: { userId: collaborator.id, repositoryId: repository.id },
      });
    },
    async "team.member_added"(tx, { team, organization, member, actor }) {
      const name = toShortLine(team.name);
      await mail(tx, member, actor, {
        subject: `${actor.name} added you to the team ${name} of ${organization.name}`,
        sentence: `${actor.name} made you a member of the team ${name} of ${organization.name} on ${instanceName}.`,
        path: `/${organization.name}`,
        reader: { userId: member.id, teamId: team.id },
      });
    },
  };

  async function mail(
    tx: Transaction,
    recipient: ForgeUser,
    actor: ForgeUser,
    {
      subject,
      sentence,
      path,
      reader,
    }: {
      readonly subject: string;
      readonly sentence: string;
      readonly path: string;
      /** By default: the account has the address. */
      readonly reader?: Parameters<QueueMail>[1]["reader"];
    },
  ): Promise<void> {
    if (recipient.id === actor.id || recipient.emailNotifications === "disabled") return;
    if (!recipient.isActive || recipient.prohibitLogin) return;
    await queueMail(tx, {
      to: recipient.email,
      subject,
      reader: reader ?? { userId: recipient.id },
      text: [
        `Hello ${toShortLine(recipient.fullName) || recipient.name},`,
        "",
        sentence,
        "",
        toUrl(urls, path),
        "",
        "To get no mails of this kind:",
        "croft account edit --email-notifications disabled",
        "",
      ].join("\n"),
    });
  }
}
