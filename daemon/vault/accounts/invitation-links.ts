import type { Database } from "../../../storage/engine/database.ts";
import type { VaultUser } from "../../../storage/tables/vault/users.ts";
import { INVITATION_SECONDS } from "../../contract/invitations.ts";
import { toInvitationLink } from "../../contract/people.ts";
import { toInvitationMail } from "../../outbound/mail/invitation-mail.ts";
import type { QueueMail } from "./reset-mails.ts";
import { fingerprintOfAccount, type ResetTokens } from "./reset-tokens.ts";

/** The link with which an invited person chooses a password. */
export interface InvitationLink {
  readonly code: string;
  readonly link: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly isMailed: boolean;
}

export type InvitationLinks = ReturnType<typeof createInvitationLinks>;

export interface InvitationLinksDeps {
  readonly db: Database;
  readonly clock: () => number;
  /** Reset tokens with the lifetime of an invitation. */
  readonly invitationTokens: ResetTokens;
  readonly queueMail: QueueMail;
  /** Whether a mail server is set up. Without one, the administrator hands the link on. */
  readonly sendsMail: boolean;
  readonly publicUrl: () => string;
  readonly instanceName: string;
}

/** Makes the links of invitations. Each works until a password is chosen or the address of the account changes. */
export function createInvitationLinks(deps: InvitationLinksDeps) {
  return {
    /**
     * Makes a link for an account without a password, and mails it if that is wanted and a mail server is set up.
     * `forgeCode` is the code of the same person's invitation to the forge, which goes into the same link.
     */
    async make(
      user: VaultUser,
      { notify, forgeCode }: { readonly notify: boolean; readonly forgeCode: string | undefined },
    ): Promise<InvitationLink> {
      const replaces = fingerprintOfAccount(user);
      const code = await deps.invitationTokens.issue({ userId: user.id, replaces });
      const link = toInvitationLink(deps.publicUrl(), { forge: forgeCode, vault: code });
      const isMailed = notify && deps.sendsMail;
      const { instanceName } = deps;
      const message = { to: user.email, name: user.handle, link, instanceName };
      const reader = { vault: "password", id: user.id, replaces } as const;
      if (isMailed)
        await deps.db.transaction((tx) =>
          deps.queueMail(tx, { ...toInvitationMail(message), reader }),
        );
      return { code, link, expiresAt: deps.clock() + INVITATION_SECONDS * 1000, isMailed };
    },
  };
}
