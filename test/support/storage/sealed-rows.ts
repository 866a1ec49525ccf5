import { sealAgainIn } from "../../../daemon/composition/seal-again.ts";
import type { Database, SqlValue } from "../../../storage/engine/database.ts";
import type { Keyring } from "../../../storage/keys/keyring.ts";
import { listSealed, sealedColumns } from "../../../storage/tables/common/sealed.ts";
import { insertUser } from "../../../storage/tables/forge/accounts/users.ts";
import { insertRun } from "../../../storage/tables/forge/actions/runs.ts";
import { insertRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../forge/forge-rows.ts";

type ColumnName = keyof typeof sealedColumns;
const names = Object.keys(sealedColumns) as ColumnName[];

/** Adds rows with a sealed value in every column that has such: `hooks` hooks, and one row of everything else. */
export async function addSealedRows(db: Database, keyring: Keyring, hooks = 1): Promise<void> {
  const seal = (name: ColumnName, key: number | string, value = "") =>
    sealAgainIn[name](value, key, (purpose, _sealed, row) =>
      keyring.seal(purpose, `${name} ${key}`, row),
    );
  await db.transaction(async (tx) => {
    const insert = (table: string, row: Readonly<Record<string, SqlValue>>) => {
      const columns = Object.keys(row);
      const marks = columns.map(() => "?").join(", ");
      return tx.run(
        `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`,
        ...Object.values(row),
      );
    };
    const at = { created_at: tx.now, updated_at: tx.now };
    await insert("vault_users", {
      id: "u1",
      handle: "mira",
      handle_key: "mira",
      email: "mira@example.org",
      password_hash: "",
      role: "user",
      is_active: 1,
      password_must_change: 0,
      default_storage_backend: "internal",
      token_version: 0,
      totp_enabled: 1,
      totp_secret: seal("vaultTotpSecrets", "u1"),
      totp_last_step: 0,
      totp_pending_secret: seal("vaultPendingTotpSecrets", "u1"),
      ...at,
    });
    await insert("vault_connections", {
      id: "c1",
      user_id: "u1",
      provider: "webdav",
      display_name: "mine",
      settings: "{}",
      credentials: seal("vaultCredentials", "c1"),
      status: "connected",
      generation: 0,
      created_at: tx.now,
    });
    await insert("forge_ssh_host_keys", {
      type: "ssh-ed25519",
      sealed_key: seal("forgeSshHostKeys", "ssh-ed25519"),
      created_at: tx.now,
    });
    await insert("vault_ai_providers", {
      provider_id: "openai",
      api_key: seal("vaultApiKeys", "openai"),
      base_url: "https://ai.example.org",
      model_name: "small",
      is_active: 1,
      updated_at: tx.now,
    });
    await insert("vault_oauth_states", {
      state_hash: "s1",
      user_id: "u1",
      provider: "dropbox",
      code_verifier: seal("vaultCodeVerifiers", "s1"),
      expires_at: tx.now,
    });
    await insert("vault_uploads", {
      id: "p1",
      connection_id: "c1",
      user_id: "u1",
      parent_ref: "",
      name: "large.bin",
      size: 9,
      fingerprint: "f",
      created_at: tx.now,
      expires_at: tx.now,
      sealed_session: seal("vaultUploadSessions", "p1"),
    });
    for (let id = 1; id <= hooks; id += 1)
      await insert("forge_hooks", {
        id,
        scope: "system",
        kind: "gitea",
        name: "",
        sealed_target: seal("forgeHookTargets", id),
        content_type: "json",
        events: "[]",
        branch_filter: "*",
        is_active: 1,
        ...at,
      });
    await insert("forge_action_registration_tokens", {
      id: 1,
      level: "instance",
      token_hash: "",
      sealed_token: seal("forgeRegistrationTokens", 1),
      is_active: 1,
      created_at: tx.now,
    });
    await insert("forge_action_secrets", {
      id: 1,
      level: "instance",
      name: "S",
      description: "",
      sealed_value: seal("forgeActionSecrets", 1),
      ...at,
    });
    const owner = await insertUser(tx, newUserRow("mira"));
    const repository = await insertRepository(tx, newRepositoryRow(owner, "box"));
    const run = await insertRun(tx, {
      repositoryId: repository.id,
      actorId: owner.id,
      event: "push",
      workflowFile: "ci.yml",
      workflowFolder: ".gitea/workflows",
      title: "",
      ref: "refs/heads/main",
      headSha: "",
      eventPayload: "{}",
      definition: undefined,
      status: "running",
      error: "",
      concurrencyGroup: "",
      isHeld: false,
      triggerKey: "",
    });
    await insert("forge_action_jobs", {
      id: 1,
      run_id: run?.id ?? 0,
      repository_id: repository.id,
      attempt: 1,
      job_key: "a",
      name: "a",
      status: "running",
      is_expanded: 1,
      labels: "[]",
      payload: "",
      fail_fast: 1,
      max_parallel: 0,
      timeout_minutes: 0,
      continue_on_error: 0,
      outputs: "{}",
      created_at: tx.now,
    });
    await insert("forge_action_tasks", {
      id: 1,
      job_id: 1,
      runner_name: "",
      status: "running",
      log_rows: 0,
      is_log_sealed: 0,
      sealed_masks: seal("forgeTaskMasks", 1),
      started_at: tx.now,
      reported_at: tx.now,
    });
    await insert("jobs", {
      kind: "mail.send",
      payload: seal("queuedMails", "m1", JSON.stringify({ id: "m1", sealed: "" })),
      state: "waiting",
      run_at: tx.now,
      attempts: 0,
      ...at,
    });
  });
}

/** Opens all sealed values and returns their texts; throws `SealError` when one does not open. */
export async function readSealedRows(db: Database, keyring: Keyring): Promise<string[]> {
  const texts: string[] = [];
  for (const name of names)
    for (const { key, value } of await listSealed(db, sealedColumns[name], undefined, 10_000))
      sealAgainIn[name](value, key, (purpose, sealed, row) => {
        texts.push(keyring.openText(purpose, sealed, row));
        return sealed;
      });
  return texts;
}

/** The result of `readSealedRows` for the rows of `addSealedRows`. */
export function sealedTexts(hooks = 1): string[] {
  return [
    ...Array.from({ length: hooks }, (_, index) => `forgeHookTargets ${index + 1}`),
    "forgeRegistrationTokens 1",
    "forgeActionSecrets 1",
    "forgeTaskMasks 1",
    "forgeSshHostKeys ssh-ed25519",
    "vaultTotpSecrets u1",
    "vaultPendingTotpSecrets u1",
    "vaultCredentials c1",
    "vaultApiKeys openai",
    "vaultCodeVerifiers s1",
    "vaultUploadSessions p1",
    "queuedMails m1",
  ];
}
