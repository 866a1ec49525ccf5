import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { size } from "../../../output/cells.ts";
import { resourceOf } from "../../../output/spec.ts";
import { toByteSize } from "../../../support/flag-values.ts";
import { type CommandModule, type Entry, noun, verb } from "../../../tree/entry.ts";
import { quotaColumns } from "../account.ts";
import { findUserId } from "./user.ts";

export const entries: readonly Entry[] = [
  noun("user", "Users of the vault", [
    verb(
      "list",
      "List and search vault users",
      async () => (await import("./user.ts")).listVaultUsers,
      {
        aliases: ["ls"],
      },
    ),
    verb(
      "create",
      "Create a vault user and mail a sign-in link",
      async () => (await import("./user.ts")).createUser,
    ),
    verb("activate", "Activate a vault user", async () => (await import("./user.ts")).activateUser),
    verb(
      "deactivate",
      "Deactivate a vault user",
      async () => (await import("./user.ts")).deactivateUser,
    ),
    verb(
      "reset-password",
      "Reset the password of a vault user",
      async () => (await import("./user.ts")).passwordUserReset,
    ),
    verb("delete", "Delete a vault user", async () => (await import("./user.ts")).deleteUser, {
      aliases: ["rm"],
    }),
    noun("local-folder", "Folders of the server that a vault user may connect besides its own", [
      verb(
        "list",
        "List the granted folders",
        async () => (await import("./user.ts")).listUserLocalFolders,
        { aliases: ["ls"] },
      ),
      verb(
        "set",
        "Replace the granted folders",
        async () => (await import("./user.ts")).setUserLocalFolders,
      ),
    ]),
  ]),
  noun("quota", "Storage quotas of vault users", [
    verb("view", "Show a vault user's quota", () => viewQuota),
    verb("set", "Set a vault user's quota", () => setQuota),
  ]),
  noun("ai", "Configure AI providers", () => import("./ai.ts")),
  noun("audit", "The vault's audit records", [
    verb(
      "list",
      "List and search audit records",
      async () => (await import("./audit.ts")).listAudit,
      {
        aliases: ["ls"],
      },
    ),
    verb(
      "export",
      "Export audit records as CSV",
      async () => (await import("./audit.ts")).exportAudit,
    ),
    noun("daily", "Daily exports of audit records", [
      verb(
        "list",
        "List the stored days",
        async () => (await import("./audit.ts")).listDailyExports,
        {
          aliases: ["ls"],
        },
      ),
      verb(
        "download",
        "Download the records of one day",
        async () => (await import("./audit.ts")).downloadDailyExport,
      ),
    ]),
  ]),
  verb("overview", "Show an overview of users, storage and recent events", () => overview),
];

const overview = {
  operations: [vault.viewOverview],
  output: resourceOf(vault.viewOverview),
  define(command, cli, run = runOverview): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the number of users, their storage, the documents by status and the latest audit records. */
async function runOverview(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.viewOverview);
  await cli.output.resource(body, [
    { header: "users", cell: ({ user_count: count }) => count },
    { header: "storage", cell: ({ total_storage_bytes: bytes }) => size(bytes) },
    {
      header: "documents",
      cell: ({ doc_status: counts }) => Object.entries(counts).map((one) => one.join(" ")),
    },
    {
      header: "last events",
      cell: ({ recent_audit: records }) =>
        records.map((one) => `${one.event_type} ${one.user_handle ?? one.user_id ?? ""}`.trim()),
    },
  ]);
}

interface QuotaViewOptions {
  readonly user: string;
}

const viewQuota = {
  operations: [vault.viewUserQuota, vault.listUsers],
  output: resourceOf(vault.viewUserQuota),
  define(command, cli, run = runQuotaView): void {
    command
      .argument("<user>", "the user's handle or id")
      .action((user: string) => run(cli, { user }));
  },
} satisfies CommandModule;

/** Prints a user's quota. */
async function runQuotaView(cli: CliContext, { user }: QuotaViewOptions): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.viewUserQuota, { params: { id } });
  await cli.output.resource(body, quotaColumns);
}

export interface QuotaSetOptions {
  readonly user: string;
  readonly limitBytes: number;
}

export const setQuota = {
  operations: [vault.setUserQuota, vault.listUsers],
  output: resourceOf(vault.setUserQuota),
  define(command, cli, run = runQuotaSet): void {
    command
      .argument("<user>", "the user's handle or id")
      .requiredOption("--limit <size>", "bytes, or a size such as 500MiB or 2GiB")
      .action((user: string, { limit }: { readonly limit: string }) =>
        run(cli, { user, limitBytes: toByteSize(limit) }),
      );
  },
} satisfies CommandModule;

/** Sets the limit of a user's quota and prints it. With a limit below the used bytes, every further upload is refused. */
async function runQuotaSet(cli: CliContext, { user, limitBytes }: QuotaSetOptions): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.setUserQuota, {
    params: { id },
    body: { limit_bytes: limitBytes },
  });
  await cli.output.resource(body, quotaColumns);
}
