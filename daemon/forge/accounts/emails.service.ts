import { type Database, isConflict } from "../../../storage/engine/database.ts";
import {
  deleteEmail,
  findEmail,
  type ForgeEmail,
  insertEmail,
  listEmailsOf,
} from "../../../storage/tables/forge/accounts/emails.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { findEmailFault } from "./names.ts";

export type OwnEmails = ReturnType<typeof createOwnEmails>;

/** Addresses of one user. */
const EMAILS_MAX = 20;
const EMAIL_CHARACTERS_MAX = 254;

/** A user's own e-mail addresses. Each call is atomic. */
export function createOwnEmails(db: Database) {
  return {
    list: (caller: ForgeCaller): Promise<readonly ForgeEmail[]> => listEmailsOf(db, caller.user.id),

    /**
     * Adds secondary addresses. They are verified only with a site administrator's credentials: users cannot confirm an
     * address, and a verified one can sign in. Throws `unprocessable` for an empty list, an invalid address, one in use, and
     * more than `EMAILS_MAX`.
     */
    async add(
      emails: readonly string[],
      { user, actor }: ForgeCaller,
    ): Promise<readonly ForgeEmail[]> {
      if (emails.length === 0) throw new AppError("unprocessable", "Email list empty");
      for (const email of emails) {
        const fault = findEmailFault(email);
        if (fault !== undefined) throw new AppError("unprocessable", fault);
        if (Array.from(email).length > EMAIL_CHARACTERS_MAX)
          throw new AppError("unprocessable", "[Emails]: MaxSize");
      }
      return db
        .transaction(async (tx) => {
          const present = await listEmailsOf(tx, user.id);
          if (present.length + emails.length > EMAILS_MAX)
            throw new AppError(
              "unprocessable",
              `a user has at most ${EMAILS_MAX} e-mail addresses`,
            );
          const added: ForgeEmail[] = [];
          for (const email of emails) {
            const record = { userId: user.id, email, isVerified: actor.isAdmin, isPrimary: false };
            if ((await findEmail(tx, email)) !== undefined) throw inUse(email);
            added.push(await insertEmail(tx, record));
          }
          return added;
        })
        .catch((error: unknown) => {
          throw isConflict(error) ? inUse(emails.join(", ")) : error;
        });
    },

    /** Throws `not_found` for an address that is not the user's, `unprocessable` for the primary one. */
    remove: (emails: readonly string[], { user }: ForgeCaller): Promise<void> =>
      db.transaction(async (tx) => {
        for (const email of emails) {
          const found = await findEmail(tx, email);
          if (found === undefined || found.userId !== user.id)
            throw new AppError("not_found", `Email address does not exist [email: ${email}]`);
          if (found.isPrimary)
            throw new AppError(
              "unprocessable",
              `the primary e-mail address cannot be deleted [email: ${email}]`,
            );
          await deleteEmail(tx, found);
        }
      }),
  };
}

const inUse = (email: string) =>
  new AppError("unprocessable", `Email address has been used: ${email}`);
