import { z } from "zod";

/** How long the link of an invitation works. */
export const INVITATION_SECONDS = 7 * 86_400;

/** A code of the other API, which is a random text or a signed one. */
export const invitationCode = z
  .string()
  .max(1_000)
  .regex(/^[\w.-]{20,}$/, "This is not the code of an invitation");

/** What both APIs answer to an invitation, beside the account. */
export const invitationFields = {
  /** Whether the account was made; false when an account without a password got another link. */
  created: z.boolean(),
  /** The code of this account, for a link that is for both accounts. */
  code: z.string(),
  /** The page on which the password is chosen. */
  link: z.string(),
  expires_at: z.iso.datetime(),
  /** Whether the link was mailed; false without a mail server. */
  mailed: z.boolean(),
};
