import type { Queries, SqlValue, Transaction } from "../../engine/database.ts";

/** A column of sealed values, and the key of its rows. */
export interface SealedColumn {
  readonly table: string;
  readonly key: string;
  readonly column: string;
  /** Only rows with this value in this column. */
  readonly only?: { readonly column: string; readonly value: string | number };
}

/** All columns of sealed values. A test fails if a column with the comment "sealed" in a migration is missing here. */
export const sealedColumns = {
  forgeSecondFactors: { table: "forge_two_factors", key: "user_id", column: "sealed_secret" },
  /** A deleted hook has none. */
  forgeHookTargets: {
    table: "forge_hooks",
    key: "id",
    column: "sealed_target",
    only: { column: "is_deleted", value: 0 },
  },
  forgeRegistrationTokens: {
    table: "forge_action_registration_tokens",
    key: "id",
    column: "sealed_token",
  },
  forgeActionSecrets: { table: "forge_action_secrets", key: "id", column: "sealed_value" },
  forgeTaskMasks: { table: "forge_action_tasks", key: "id", column: "sealed_masks" },
  forgeMirrorCredentials: { table: "forge_mirrors", key: "id", column: "sealed_credentials" },
  forgeImportCredentials: {
    table: "forge_imports",
    key: "repository_id",
    column: "sealed_credentials",
  },
  forgeSshHostKeys: { table: "forge_ssh_host_keys", key: "type", column: "sealed_key" },
  vaultTotpSecrets: { table: "vault_users", key: "id", column: "totp_secret" },
  vaultPendingTotpSecrets: { table: "vault_users", key: "id", column: "totp_pending_secret" },
  vaultCredentials: { table: "vault_connections", key: "id", column: "credentials" },
  vaultApiKeys: { table: "vault_ai_providers", key: "provider_id", column: "api_key" },
  vaultCodeVerifiers: { table: "vault_oauth_states", key: "state_hash", column: "code_verifier" },
  vaultLinkSecrets: { table: "vault_links", key: "id", column: "sealed_secret" },
  vaultUploadSessions: { table: "vault_uploads", key: "id", column: "sealed_session" },
  /** JSON with a sealed part. */
  queuedMails: {
    table: "jobs",
    key: "id",
    column: "payload",
    only: { column: "kind", value: "mail.send" },
  },
} as const satisfies Readonly<Record<string, SealedColumn>>;

/** The sealed value of one row. */
export interface SealedRow {
  readonly key: string | number;
  readonly value: string;
}

/** Returns up to `limit` values of a column in the order of their keys, after the key `after`. Skips rows without a value. */
export async function listSealed(
  db: Queries,
  { table, key, column, only }: SealedColumn,
  after: string | number | undefined,
  limit: number,
): Promise<SealedRow[]> {
  const conditions = [
    `${column} IS NOT NULL`,
    ...(only === undefined ? [] : [`${only.column} = ?`]),
    ...(after === undefined ? [] : [`${key} > ?`]),
  ];
  const values: SqlValue[] = [
    ...(only === undefined ? [] : [only.value]),
    ...(after === undefined ? [] : [after]),
    limit,
  ];
  const rows = await db.all<{ row_key: string | number; value: string }>(
    `SELECT ${key} AS row_key, ${column} AS value FROM ${table}
     WHERE ${conditions.join(" AND ")} ORDER BY ${key} LIMIT ?`,
    ...values,
  );
  return rows.map(({ row_key: rowKey, value }) => ({ key: rowKey, value }));
}

/** Replaces the value of a row. */
export async function replaceSealed(
  tx: Transaction,
  { table, key, column }: SealedColumn,
  row: SealedRow,
): Promise<void> {
  await tx.run(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, row.value, row.key);
}
