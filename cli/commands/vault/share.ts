import { Option } from "commander";
import type { z } from "zod";
import type { share } from "../../../daemon/contract/vault/shares.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { findDocumentId, findDocumentOperations } from "../../support/find-document.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("create", "Share a document with a user", () => createShare),
  verb("list", "List the shares you gave or received", () => listShares, { aliases: ["ls"] }),
  verb("edit", "Change the permission of a share", () => editShare),
  verb("revoke", "Revoke a share", () => revokeShare, { aliases: ["rm"] }),
];

type WireShare = z.output<typeof share>;

const columns: readonly Column<WireShare>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "document", cell: ({ filename }) => filename },
  { header: "owner", cell: ({ owner_handle: owner }) => owner },
  { header: "recipient", cell: ({ recipient_handle: recipient }) => recipient },
  { header: "permission", cell: ({ permission }) => permission },
  { header: "created", cell: ({ created_at: created }) => time(created) },
];

const lines: readonly Column<WireShare>[] = [
  ...columns,
  { header: "document id", cell: ({ document_id: id }) => id },
];

const permissions = ["view", "download"] as const;
type Permission = (typeof permissions)[number];

export interface ShareCreateOptions {
  readonly document: string;
  readonly to: string;
  readonly permission: Permission;
}

export const createShare = {
  operations: [...findDocumentOperations, vault.createShare],
  output: resourceOf(vault.createShare, 201),
  completions: { document: "documents", "--to": "handles" },
  define(command, cli, run = runCreate): void {
    command
      .argument("<document>", "the document's id, or its name if only one has it")
      .requiredOption("--to <handle>", "the user who gets it")
      .addOption(
        new Option("--permission <permission>", "view shows it in place only")
          .choices(permissions)
          .default("view"),
      )
      .action((document: string, flags: Omit<ShareCreateOptions, "document">) =>
        run(cli, { document, ...flags }),
      );
  },
} satisfies CommandModule;

async function runCreate(
  cli: CliContext,
  { document: word, to, permission }: ShareCreateOptions,
): Promise<void> {
  const document = await findDocumentId(cli, word);
  const { body } = await cli.client.call(vault.createShare, {
    body: { document_id: document, recipient_handle: to, permission },
  });
  await cli.output.resource(body, lines);
}

export const listShares = {
  operations: [vault.listShares, vault.listReceivedShares],
  output: listOf(vault.listShares, "items"),
  define(command, cli, run = runList): void {
    command
      .option("--received", "the shares you received")
      .action(({ received }: { readonly received?: true }) => run(cli, received === true));
  },
} satisfies CommandModule;

async function runList(cli: CliContext, isReceived: boolean): Promise<void> {
  const pages = isReceived
    ? vaultPages(cli.client, vault.listReceivedShares, { query: {} })
    : vaultPages(cli.client, vault.listShares, { query: {} });
  await cli.output.list(pages, columns);
}

export interface ShareEditOptions {
  readonly id: string;
  readonly permission: Permission;
}

export const editShare = {
  operations: [vault.updateShare],
  output: resourceOf(vault.updateShare),
  completions: { id: "shares" },
  define(command, cli, run = runEdit): void {
    command
      .argument("<id>", "the share's id")
      .addOption(
        new Option("--permission <permission>", "view shows it in place only")
          .choices(permissions)
          .makeOptionMandatory(),
      )
      .action((id: string, flags: { readonly permission: Permission }) =>
        run(cli, { id, ...flags }),
      );
  },
} satisfies CommandModule;

async function runEdit(cli: CliContext, { id, permission }: ShareEditOptions): Promise<void> {
  const { body } = await cli.client.call(vault.updateShare, {
    params: { share_id: id },
    body: { permission },
  });
  await cli.output.resource(body, lines);
}

export const revokeShare = {
  operations: [vault.revokeShare],
  output: shape({ revoked: "boolean", id: "string" }),
  // The owner can share the document again.
  destructive: false,
  completions: { id: "shares" },
  define(command, cli, run = runRevoke): void {
    command.argument("<id>", "the share's id").action((id: string) => run(cli, id));
  },
} satisfies CommandModule;

async function runRevoke(cli: CliContext, id: string): Promise<void> {
  await cli.client.call(vault.revokeShare, { params: { share_id: id } });
  await cli.output.done({ revoked: true, id }, "Revoked the share.");
}
