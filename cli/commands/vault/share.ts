import type { z } from "zod";
import type { invitation } from "../../../daemon/contract/vault/invitations.ts";
import type { share } from "../../../daemon/contract/vault/shares.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { findDocumentId, findDocumentOperations } from "../../support/find-document.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

const permissions = ["view", "download"] as const;

/** The document and the permission of a new share, whether its recipient has an account or not. */
const documentArgument = {
  "<document>": "the document's id, or its name if only one has it",
} as const;
const newPermission = {
  "--permission <permission>": {
    help: "view shows it in place only",
    choices: permissions,
    default: "view",
  },
} as const;

export const entries: readonly Entry[] = [
  command("create", "Share a document with a user", {
    args: documentArgument,
    flags: {
      "--to <handle>": { help: "the user who gets it", required: true },
      ...newPermission,
    },
    calls: [...findDocumentOperations, vault.createShare],
    output: resourceOf(vault.createShare, 201),
    completions: { document: "documents", "--to": "handles" },
    examples: [
      [
        "Let a user view a document",
        "croft vault share create 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --to otto",
      ],
      [
        "Let a user download it",
        "croft vault share create 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --to otto --permission download",
      ],
    ],
    async run(cli, { document: word, to, permission }) {
      const document = await findDocumentId(cli, word);
      const { body } = await cli.client.call(vault.createShare, {
        body: { document_id: document, recipient_handle: to, permission },
      });
      await cli.output.resource(body, lines);
    },
  }),
  command("invite", "Share a document with an e-mail address", {
    args: documentArgument,
    flags: {
      "--email <address>": { help: "the address that gets the invitation", required: true },
      ...newPermission,
    },
    calls: [...findDocumentOperations, vault.createInvitation],
    output: resourceOf(vault.createInvitation, 201),
    completions: { document: "documents" },
    examples: [
      [
        "Share with a person who has no account yet",
        "croft vault share invite 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --email ada@example.org",
      ],
      [
        "Let the recipient download it",
        "croft vault share invite 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --email ada@example.org --permission download",
      ],
    ],
    async run(cli, { document: word, email, permission }) {
      const document = await findDocumentId(cli, word);
      const { body } = await cli.client.call(vault.createInvitation, {
        body: { document_id: document, recipient_email: email, permission },
      });
      await cli.output.resource(body, invitationColumns);
    },
  }),
  command("waiting", "List the shares that wait for their recipients", {
    calls: [vault.listInvitations],
    output: listOf(vault.listInvitations, "items"),
    examples: [
      ["List them", "croft vault share waiting"],
      ["Print their addresses", "croft vault share waiting --jq '.[].recipient_email'"],
    ],
    async run(cli) {
      const pages = vaultPages(cli.client, vault.listInvitations, { query: {} });
      await cli.output.list(pages, invitationColumns);
    },
  }),
  command("uninvite", "Revoke a share that waits for its recipient", {
    args: { "<id>": "the id of the waiting share" },
    calls: [vault.revokeInvitation],
    output: shape({ revoked: "boolean", id: "string" }),
    // The owner can invite again.
    destructive: false,
    examples: [
      ["Revoke it", "croft vault share uninvite 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8"],
      [
        "Show the request only",
        "croft vault share uninvite 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --dry-run",
      ],
    ],
    async run(cli, { id }) {
      await cli.client.call(vault.revokeInvitation, { params: { invitation_id: id } });
      await cli.output.done({ revoked: true, id }, "Revoked the waiting share.");
    },
  }),
  command("list", "List the shares you gave or received", {
    aliases: ["ls"],
    flags: { "--received": "the shares you received" },
    calls: [vault.listShares, vault.listReceivedShares],
    output: listOf(vault.listShares, "items"),
    examples: [
      ["List the shares you gave", "croft vault share list"],
      ["List the shares you received", "croft vault share list --received"],
    ],
    async run(cli, { received: isReceived = false }) {
      const pages = isReceived
        ? vaultPages(cli.client, vault.listReceivedShares, { query: {} })
        : vaultPages(cli.client, vault.listShares, { query: {} });
      await cli.output.list(pages, columns);
    },
  }),
  command("edit", "Change the permission of a share", {
    args: { "<id>": "the share's id" },
    flags: {
      "--permission <permission>": {
        help: "view shows it in place only",
        choices: permissions,
        required: true,
      },
    },
    calls: [vault.updateShare],
    output: resourceOf(vault.updateShare),
    completions: { id: "shares" },
    examples: [
      [
        "Let the other user download",
        "croft vault share edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --permission download",
      ],
      [
        "Let the other user view only",
        "croft vault share edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --permission view",
      ],
    ],
    async run(cli, { id, permission }) {
      const { body } = await cli.client.call(vault.updateShare, {
        params: { share_id: id },
        body: { permission },
      });
      await cli.output.resource(body, lines);
    },
  }),
  command("revoke", "Revoke a share", {
    aliases: ["rm"],
    args: { "<id>": "the share's id" },
    calls: [vault.revokeShare],
    output: shape({ revoked: "boolean", id: "string" }),
    // The owner can share the document again.
    destructive: false,
    completions: { id: "shares" },
    examples: [
      ["Revoke a share", "croft vault share revoke 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8"],
      [
        "Show the request only",
        "croft vault share revoke 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --dry-run",
      ],
    ],
    async run(cli, { id }) {
      await cli.client.call(vault.revokeShare, { params: { share_id: id } });
      await cli.output.done({ revoked: true, id }, "Revoked the share.");
    },
  }),
];

type WireInvitation = z.output<typeof invitation>;
type WireShare = z.output<typeof share>;

const columns: readonly Column<WireShare>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "document", cell: ({ filename }) => filename },
  { header: "owner", cell: ({ owner_handle: owner }) => owner },
  { header: "recipient", cell: ({ recipient_handle: recipient }) => recipient },
  { header: "permission", cell: ({ permission }) => permission },
  { header: "created", cell: ({ created_at: created }) => time(created) },
];

const invitationColumns: readonly Column<WireInvitation>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "document", cell: ({ filename }) => filename },
  { header: "recipient", cell: ({ recipient_email: recipient }) => recipient },
  { header: "permission", cell: ({ permission }) => permission },
  { header: "expires", cell: ({ expires_at: expires }) => time(expires) },
];

const lines: readonly Column<WireShare>[] = [
  ...columns,
  { header: "document id", cell: ({ document_id: id }) => id },
];
