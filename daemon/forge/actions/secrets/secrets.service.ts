import type { Database, Queries } from "../../../../storage/engine/database.ts";
import type { SealAgain, Sealer } from "../../../../storage/keys/keyring.ts";
import type { ActionLevel } from "../../../../storage/tables/forge/actions/levels.ts";
import {
  insertSecret,
  updateSecret,
  secretRows,
} from "../../../../storage/tables/forge/actions/secrets.ts";
import type { ForgeRepository } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { type SecretId, toSecretId } from "../../../../storage/tables/forge/ids.ts";
import { AppError } from "../../../errors.ts";
import { type PageWindow, toRows } from "../../page-window.ts";
import { type OpenLevel, toLevelsOf } from "./levels.service.ts";
import { assertRoom, toSettingName, toSettingValue } from "./names.ts";

const PURPOSE = "action-secret";

/** Secrets of workflows, sealed at rest. No route returns a value. */
export type Secrets = ReturnType<typeof createSecrets>;

export function createSecrets({ db, sealer }: { readonly db: Database; readonly sealer: Sealer }) {
  const seal = (value: string) => (id: SecretId) => sealer.seal(PURPOSE, value, toRow(id));
  return {
    list: (level: ActionLevel, window: PageWindow) => secretRows.list(db, level, toRows(window)),

    /**
     * Creates a secret or replaces its value. Throws `invalid_argument` for an invalid name or a value that is too long,
     * `unprocessable` when its level has no room.
     */
    async put(
      openLevel: OpenLevel,
      written: string,
      {
        data,
        description,
      }: { readonly data: string; readonly description?: string | null | undefined },
    ): Promise<"created" | "replaced"> {
      const name = toSettingName(written);
      const value = toSettingValue(data);
      return db.transaction(async (tx) => {
        const level = await openLevel(tx);
        const existing = await secretRows.find(tx, level, name);
        const { count, bytes } = await secretRows.measureOthers(tx, level, name);
        // Sealed values are in base64.
        assertRoom({ count, bytes: Math.floor((bytes * 3) / 4) }, value);
        if (existing !== undefined) {
          await updateSecret(tx, existing.id, {
            description: description ?? existing.description,
            sealedValue: seal(value)(existing.id),
          });
          return "replaced";
        }
        await insertSecret(tx, level, { name, description: description ?? "" }, seal(value));
        return "created";
      });
    },

    /** Throws `not_found`. */
    async delete(openLevel: OpenLevel, written: string): Promise<void> {
      await db.transaction(async (tx) => {
        if (!(await secretRows.delete(tx, await openLevel(tx), toSettingName(written))))
          throw new AppError("not_found", "secret not found");
      });
    },

    /** Returns the values for a task of a repository; its own override those of its owner, and these the instance's. */
    async openAll(tx: Queries, repository: ForgeRepository): Promise<Record<string, string>> {
      const values: Record<string, string> = {};
      for (const secret of await secretRows.listOfLevels(tx, toLevelsOf(repository)))
        values[secret.name] = sealer.openText(PURPOSE, secret.sealedValue, toRow(secret.id));
      return values;
    },
  };
}

/** Seals a secret again, for a rotation of the master key. */
export function sealActionSecretAgain(
  value: string,
  key: string | number,
  again: SealAgain,
): string {
  return again(PURPOSE, value, toRow(toSecretId(key)));
}

const toRow = (id: SecretId) => `forge_action_secrets/${id}`;
