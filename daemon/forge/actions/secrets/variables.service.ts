import { type Database, isConflict, type Queries } from "../../../../storage/engine/database.ts";
import type { ActionLevel } from "../../../../storage/tables/forge/actions/levels.ts";
import {
  type ActionVariable,
  insertVariable,
  updateVariable,
  variableRows,
} from "../../../../storage/tables/forge/actions/variables.ts";
import type { ForgeRepository } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../../errors.ts";
import { type PageWindow, toRows } from "../../page-window.ts";
import { type OpenLevel, toLevelsOf } from "./levels.service.ts";
import { assertRoom, toSettingName, toSettingValue } from "./names.ts";

/** The input of a creation or an edit. */
export interface VariableInput {
  /** Absent or empty keeps the name. */
  readonly name?: string | null | undefined;
  readonly value: string;
  readonly description?: string | null | undefined;
}

/** Variables of workflows. Functions throw `invalid_argument` for invalid names, `not_found` for unknown ones. */
export type Variables = ReturnType<typeof createVariables>;

export function createVariables({ db }: { readonly db: Database }) {
  return {
    list: (level: ActionLevel, window: PageWindow) => variableRows.list(db, level, toRows(window)),

    get: (level: ActionLevel, written: string): Promise<ActionVariable> => get(db, level, written),

    /**
     * Throws `conflict` when the name is taken, `invalid_argument` for a value that is too long, `unprocessable` when its level
     * has no room.
     */
    async create(openLevel: OpenLevel, written: string, input: VariableInput): Promise<void> {
      const name = toSettingName(written);
      const value = toSettingValue(input.value);
      await db.transaction(async (tx) => {
        const level = await openLevel(tx);
        if ((await variableRows.find(tx, level, name)) !== undefined) throw taken(name);
        assertRoom(await variableRows.measureOthers(tx, level, name), value);
        await insertVariable(tx, level, { name, value, description: input.description ?? "" });
      });
    },

    /** Throws as `create` does. */
    async edit(openLevel: OpenLevel, written: string, input: VariableInput): Promise<void> {
      const value = toSettingValue(input.value);
      const name = input.name ? toSettingName(input.name) : undefined;
      try {
        await db.transaction(async (tx) => {
          const level = await openLevel(tx);
          const variable = await get(tx, level, written);
          assertRoom(await variableRows.measureOthers(tx, level, variable.name), value);
          await updateVariable(tx, variable.id, {
            name: name ?? variable.name,
            value,
            description: input.description ?? variable.description,
          });
        });
      } catch (error) {
        throw isConflict(error) ? taken(name ?? written) : error;
      }
    },

    async delete(openLevel: OpenLevel, written: string): Promise<void> {
      await db.transaction(async (tx) => {
        if (!(await variableRows.delete(tx, await openLevel(tx), toSettingName(written))))
          throw unknown();
      });
    },
  };
}

/** Returns the variables for a repository; its own override those of its owner, and these the instance's. */
export async function readVariables(
  db: Queries,
  repository: ForgeRepository,
): Promise<Record<string, string>> {
  const variables = await variableRows.listOfLevels(db, toLevelsOf(repository));
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}

async function get(db: Queries, level: ActionLevel, written: string): Promise<ActionVariable> {
  const variable = await variableRows.find(db, level, toSettingName(written));
  if (variable === undefined) throw unknown();
  return variable;
}

const unknown = () => new AppError("not_found", "variable not found");

const taken = (name: string) =>
  new AppError("conflict", `variable name already exists: ${name.toUpperCase()}`);
