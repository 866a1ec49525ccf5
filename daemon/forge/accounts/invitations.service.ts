import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import { findUserByName, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { INVITATION_SECONDS } from "../../contract/invitations.ts";
import { toInvitationLink } from "../../contract/people.ts";
import { AppError } from "../../errors.ts";
import { toInvitationMail } from "../../outbound/mail/invitation-mail.ts";
import { emailTaken } from "../refusals.ts";
import type { ForgeUrls } from "../urls.ts";
import { insertPerson, toTakenName } from "./insert-person.ts";
import { assertUsableName, findEmailFault } from "./names.ts";
import { createResetToken, mayReset, putResetLink, toResetHash } from "./password-reset.service.ts";
import type { QueueMail } from "./welcome-mail.ts";

/** A person to be invited. */
export interface Invited {
  readonly username: string;
  readonly email: string;
  readonly fullName: string;
  readonly isAdmin: boolean;
  /** Mail the link, if a mail server is set up. */
  readonly notify: boolean;
  /** The code of the same person's invitation to the vault, which goes into the same link. */
  readonly vaultCode: string | undefined;
}

/** An account without a password, and the link with which its owner chooses one. */
export interface Invitation {
  readonly user: ForgeUser;
  /** Whether the account was made. */
  readonly isNew: boolean;
  readonly code: string;
  readonly link: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly isMailed: boolean;
}

export type Invitations = ReturnType<typeof createInvitations>;

export interface InvitationsDeps {
  readonly db: Database;
  readonly random: (bytes: number) => Uint8Array;
  readonly queueMail: QueueMail;
  /** Whether a mail server is set up. Without one, the administrator hands the link on. */
  readonly sendsMail: boolean;
  readonly instanceName: string;
  readonly urls: ForgeUrls;
}

/** Invites people: their accounts have no password until they choose one with a link. */
export function createInvitations(deps: InvitationsDeps) {
  const { db, sendsMail } = deps;
  return {
    /**
     * Creates an account without a password and its only valid link. An account with this name and address that has no
     * password yet gets another link and stays as it is, so a call can be repeated. Throws `unprocessable` for the name
     * or the address, `conflict` for a taken one and for an account that has a password.
     */
    async invite(invited: Invited): Promise<Invitation> {
      assertUsableName(invited.username);
      const fault = findEmailFault(invited.email);
      if (fault !== undefined) throw new AppError("unprocessable", fault);
      const code = createResetToken(deps.random);
      const link = toInvitationLink(deps.urls.publicUrl(), {
        forge: code,
        vault: invited.vaultCode,
      });
      const isMailed = invited.notify && sendsMail;
      try {
        return await db.transaction(async (tx) => {
          const earlier = await findInvited(tx, invited);
          const user = earlier ?? (await insertInvited(tx, invited));
          const expiresAt = tx.now + INVITATION_SECONDS * 1000;
          await putResetLink(tx, user, { token: code, expiresAt });
          if (isMailed) await deps.queueMail(tx, toMail(user, link, code));
          return { user, isNew: earlier === undefined, code, link, expiresAt, isMailed };
        });
      } catch (error) {
        throw toTakenName(error, invited);
      }
    },
  };

  function toMail({ id: userId, name, fullName, email }: ForgeUser, link: string, code: string) {
    const { instanceName } = deps;
    const mail = toInvitationMail({ to: email, name, fullName, link, instanceName });
    return { ...mail, reader: { userId, resetHash: toResetHash(code) } };
  }
}

/** Returns the account that was invited before; undefined when name and address are free. */
async function findInvited(
  tx: Transaction,
  { username, email }: Invited,
): Promise<ForgeUser | undefined> {
  const user = await findUserByName(tx, username);
  if (user === undefined) {
    if ((await findEmail(tx, email)) !== undefined) throw emailTaken(email);
    return undefined;
  }
  const isSame = user.kind === "individual" && user.email === email.toLowerCase();
  const name = JSON.stringify(user.name);
  if (isSame && user.passwordHash === "") {
    // Its link would set no password.
    if (!mayReset(user)) throw new AppError("conflict", `the user ${name} may not sign in`);
    return user;
  }
  throw new AppError(
    "conflict",
    isSame
      ? `the user ${name} exists and has a password`
      : `the name ${name} belongs to another account`,
  );
}

function insertInvited(
  tx: Transaction,
  { username, email, fullName, isAdmin }: Invited,
): Promise<ForgeUser> {
  return insertPerson(tx, {
    username,
    email,
    fullName,
    isAdmin,
    passwordHash: "",
    createdAt: tx.now,
  });
}
