import { z } from "zod";
import { siteAdmin } from "../../endpoint.ts";
import { invitationCode, invitationFields } from "../../invitations.ts";
import { optionalFlag, optionalText, requiredText } from "../common.ts";
import { isEmailShape, isUserName } from "../rules.ts";
import { resource } from "../resource.ts";

/** An account without a password, and the link with which its owner chooses one. */
const invitationShape = z.object({
  username: z.string(),
  email: z.string(),
  ...invitationFields,
});

/** Ours: the reference invites to organizations only. */
export const invitationEndpoints = resource(
  {
    name: "forge.admin.invitations",
    path: "/api/v1/admin/invitations",
    shape: invitationShape,
    gate: siteAdmin,
  },
  ({ create }) => ({
    invitePerson: create(
      "Make an account without a password and a link to choose one; an account that has none yet gets another link",
      z.object({
        username: requiredText({ max: 40, rules: [["invalid username", isUserName]] }),
        email: requiredText({ max: 254, rules: [["Email", isEmailShape]] }),
        full_name: optionalText({ max: 100 }),
        admin: optionalFlag,
        /** Mails the link if a mail server is set up. */
        notify: optionalFlag,
        /** The code of the vault's invitation, for one link. */
        vault_code: invitationCode.optional(),
      }),
      { refuses: [409] },
    ),
  }),
);
