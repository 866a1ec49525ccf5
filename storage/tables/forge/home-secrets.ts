import type { Transaction } from "../../engine/database.ts";
import { deleteIdleHooksOf, type HookPlace } from "./hooks/hooks.ts";

/**
 * Deletes the secrets that no foreign key deletes with a repository or an account: its hooks, and the tokens with which
 * runners register. Call it before the row is deleted, in the same transaction.
 */
export async function deleteSecretsOf(tx: Transaction, home: HookPlace): Promise<void> {
  await deleteIdleHooksOf(tx, home);
  await tx.run(
    "DELETE FROM forge_action_registration_tokens WHERE level = ?",
    `${home.kind}/${home.id}`,
  );
}
