import { z } from "zod";
import { anyone, perAccount, perAddress, vaultUser } from "../endpoint.ts";
import { handleName, newEmail, oneOf, password, time, uuid } from "./common.ts";
import { resource } from "./resource.ts";

/** 192 bits in base64url. */
const secret = z.string().regex(/^[\w-]{32}$/);
/** Mails that an account may send to addresses of its choice in an hour. */
const INVITATIONS_PER_HOUR = 20;

/** A share that waits for its recipient, who may have no account yet. */
export const invitation = z.object({
  id: uuid,
  document_id: uuid,
  filename: z.string(),
  recipient_email: z.string(),
  permission: z.enum(["view", "download"]),
  created_at: time,
  expires_at: time,
});

/** Shares with e-mail addresses. */
export const shareInvitationEndpoints = resource(
  {
    name: "vault.invitations",
    path: "/api/shares/invitations",
    id: { invitation_id: uuid },
    shape: invitation,
    gate: vaultUser,
    limit: perAccount(100, 60),
  },
  ({ list, create, remove, operation }) => ({
    createInvitation: create(
      "Share a document with an e-mail address; the share waits until its recipient accepts it from a mail",
      z.object({
        document_id: uuid.brand<"DocumentId">(),
        recipient_email: newEmail,
        permission: oneOf(["view", "download"]).default("view"),
      }),
      { refuses: [404, 409], limit: perAccount(INVITATIONS_PER_HOUR, 3_600) },
    ),
    listInvitations: list("List the shares of the caller that wait for their recipients"),
    revokeInvitation: remove("Revoke a share that waits for its recipient", { as: "revoke" }),
    acceptInvitation: operation({
      as: "accept",
      method: "POST",
      at: "accept",
      gate: anyone,
      limit: perAddress(10, 60),
      summary:
        "Create an account for the address of an invitation; its shares become the account's",
      body: z.object({ secret, handle: handleName, password }),
      replies: { 201: z.object({ handle: z.string(), shares: z.int().min(0) }) },
      refuses: [404, 409, 503],
      apiOnly: "the mail of an invitation leads to the page that does it",
    }),
    claimInvitation: operation({
      as: "claim",
      method: "POST",
      at: "claim",
      summary: "Accept the invitations to the caller's own address",
      body: z.object({ secret }),
      replies: { 200: z.object({ handle: z.string(), shares: z.int().min(0) }) },
      refuses: [404],
      apiOnly: "the mail of an invitation leads to the page that does it",
    }),
  }),
);
