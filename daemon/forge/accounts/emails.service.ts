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

/** A person's own addresses. Each call does all or nothing. */
export interface OwnEmails {
  list(caller: ForgeCaller): Promise<readonly ForgeEmail[]>;
  /**
   * Adds secondary addresses. They are verified only when a site administrator's credentials were given: nobody can be
   * asked whether an address is theirs, and a verified one signs in. Refuses with `unprocessable` no address at all, what is
   * none, what anybody has, and more than `EMAILS_MAX`.
   */
  add(emails: readonly string[], caller: ForgeCaller): Promise<readonly ForgeEmail[]>;
  /** Refuses with `not_found` an address of somebody else or of nobody, with `unprocessable` the primary one. */
  remove(emails: readonly string[], caller: ForgeCaller): Promise<void>;
}

/** Addresses of one person. */
const EMAILS_MAX = 20;
const EMAIL_CHARACTERS_MAX = 254;

export function createOwnEmails(db: Database): OwnEmails {
  return {
    list: (caller) => listEmailsOf(db, caller.user.id),

    async add(emails, { user, actor }) {
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
            const wanted = { userId: user.id, email, isVerified: actor.isAdmin, isPrimary: false };
            if ((await findEmail(tx, email)) !== undefined) throw used(email);
            added.push(await insertEmail(tx, wanted));
          }
          return added;
        })
        .catch((error: unknown) => {
          throw isConflict(error) ? used(emails.join(", ")) : error;
        });
    },

    remove: (emails, { user }) =>
      db.transaction(async (tx) => {
        for (const email of emails) {
          const found = await findEmail(tx, email);
          if (found === undefined || found.userId !== user.id)
            throw new AppError("not_found", `Email address does not exist [email: ${email}]`);
          if (found.isPrimary)
            throw new AppError(
              "unprocessable",
              `the primary e-mail address stays [email: ${email}]`,
            );
          await deleteEmail(tx, found);
        }
      }),
  };
}

const used = (email: string) =>
  new AppError("unprocessable", `Email address has been used: ${email}`);
