import { vault } from "../../../client/operations.ts";
import { size } from "../../../output/cells.ts";
import { resourceOf } from "../../../output/spec.ts";
import { toByteSize } from "../../../support/flag-values.ts";
import { type Entry, noun } from "../../../tree/entry.ts";
import { quotaColumns } from "../account.ts";
import { findUserId } from "./user.ts";
import { command } from "../../../tree/command.ts";

export const entries: readonly Entry[] = [
  noun("user", "Users of the vault", [
    command(
      "list",
      "List and search vault users",
      async () => (await import("./user.ts")).listVaultUsers,
      {
        aliases: ["ls"],
      },
    ),
    command(
      "create",
      "Create a vault user and mail a sign-in link",
      async () => (await import("./user.ts")).createUser,
    ),
    command(
      "activate",
      "Activate a vault user",
      async () => (await import("./user.ts")).activateUser,
    ),
    command(
      "deactivate",
      "Deactivate a vault user",
      async () => (await import("./user.ts")).deactivateUser,
    ),
    command(
      "reset-password",
      "Reset the password of a vault user",
      async () => (await import("./user.ts")).passwordUserReset,
    ),
    command("delete", "Delete a vault user", async () => (await import("./user.ts")).deleteUser, {
      aliases: ["rm"],
    }),
    noun("local-folder", "Folders of the server that a vault user may connect besides its own", [
      command(
        "list",
        "List the granted folders",
        async () => (await import("./user.ts")).listUserLocalFolders,
        { aliases: ["ls"] },
      ),
      command(
        "set",
        "Replace the granted folders",
        async () => (await import("./user.ts")).setUserLocalFolders,
      ),
    ]),
  ]),
  noun("quota", "Storage quotas of vault users", [
    command("view", "Show a vault user's quota", {
      args: { "<user>": "the user's handle or id" },
      calls: [vault.viewUserQuota, vault.listUsers],
      output: resourceOf(vault.viewUserQuota),
      examples: [
        ["Show the quota of a user", "croft vault admin quota view mira"],
        ["Print it as JSON", "croft vault admin quota view mira --json"],
      ],
      /** Prints a user's quota. */
      async run(cli, { user }) {
        const id = await findUserId(cli, user);
        const { body } = await cli.client.call(vault.viewUserQuota, { params: { id } });
        await cli.output.resource(body, quotaColumns);
      },
    }),
    command("set", "Set a vault user's quota", {
      args: { "<user>": "the user's handle or id" },
      flags: {
        "--limit <size>": {
          help: "bytes, or a size such as 500MiB or 2GiB",
          required: true,
        },
      },
      calls: [vault.setUserQuota, vault.listUsers],
      output: resourceOf(vault.setUserQuota),
      examples: [
        ["Set the quota of a user", "croft vault admin quota set mira --limit 20GiB"],
        ["Show the request only", "croft vault admin quota set mira --limit 20GiB --dry-run"],
      ],
      /** Sets the limit of a user's quota and prints it. With a limit below the used bytes, every further upload is refused. */
      async run(cli, { user, limit }) {
        const limitBytes = toByteSize(limit);
        const id = await findUserId(cli, user);
        const { body } = await cli.client.call(vault.setUserQuota, {
          params: { id },
          body: { limit_bytes: limitBytes },
        });
        await cli.output.resource(body, quotaColumns);
      },
    }),
  ]),
  noun("ai", "Configure AI providers", () => import("./ai.ts")),
  noun("audit", "The vault's audit records", [
    command(
      "list",
      "List and search audit records",
      async () => (await import("./audit.ts")).listAudit,
      {
        aliases: ["ls"],
      },
    ),
    command(
      "export",
      "Export audit records as CSV",
      async () => (await import("./audit.ts")).exportAudit,
    ),
    command(
      "verify",
      "Check that no audit record was changed, added or removed",
      async () => (await import("./audit.ts")).verifyAudit,
    ),
    noun("head", "Daily hashes of the audit trail, to keep elsewhere", [
      command("list", "List them", async () => (await import("./audit.ts")).listAuditHeads, {
        aliases: ["ls"],
      }),
    ]),
    noun("daily", "Daily exports of audit records", [
      command(
        "list",
        "List the stored days",
        async () => (await import("./audit.ts")).listDailyExports,
        {
          aliases: ["ls"],
        },
      ),
      command(
        "download",
        "Download the records of one day",
        async () => (await import("./audit.ts")).downloadDailyExport,
      ),
    ]),
  ]),
  command("overview", "Show an overview of users, storage and recent events", {
    calls: [vault.viewOverview],
    output: resourceOf(vault.viewOverview),
    examples: [
      ["Show users, storage and recent events", "croft vault admin overview"],
      ["Print it as YAML", "croft vault admin overview --format yaml"],
    ],
    /** Prints the number of users, their storage, the documents by status and the latest audit records. */
    async run(cli) {
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
            records.map((one) =>
              `${one.event_type} ${one.user_handle ?? one.user_id ?? ""}`.trim(),
            ),
        },
      ]);
    },
  }),
];
