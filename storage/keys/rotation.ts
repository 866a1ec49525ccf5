import type { Database, Queries } from "../engine/database.ts";
import {
  listSealed,
  replaceSealed,
  type SealedColumn,
  sealedColumns,
  type SealedRow,
} from "../tables/common/sealed.ts";
import { type Keyring, type SealAgain, SealError } from "./keyring.ts";
import type { KeySource } from "./master-key.ts";
import { assertKeyOfDatabase, type OpenedKeyring } from "./open.ts";

/**
 * The outcome of a rotation. `rotated`: the old master key is retired; `isResumed` when a new key existed already,
 * from an interrupted rotation or in the environment. `key_needed`: the key comes from the environment, which does
 * not have a new key yet. `unreadable`: some values do not open, and nothing was changed. Values are named `table
 * key`.
 */
export type KeyRotation =
  | {
      readonly kind: "rotated";
      readonly source: KeySource;
      readonly isResumed: boolean;
      readonly sealedAgain: number;
      readonly leftUnreadable: readonly string[];
    }
  | { readonly kind: "key_needed" }
  | { readonly kind: "unreadable"; readonly values: readonly string[] };

/** Reseals a value of a column: opens it for its row and seals it with the newest key. */
type Reseal = (value: string, key: number | string, reseal: SealAgain) => string;

/** The function of each column's feature that reseals its values. */
export type SealAgainIn = Readonly<Record<keyof typeof sealedColumns, Reseal>>;

interface SealedPlace {
  readonly column: SealedColumn;
  readonly sealAgain: Reseal;
}

export interface KeyRotationDeps {
  /** No other process uses it. */
  readonly db: Database;
  /** With all known master keys. */
  readonly keyring: OpenedKeyring;
  /** Adds a new master key to the known ones. */
  readonly addKey: () => Promise<OpenedKeyring>;
  /** Retires all keys but the newest. */
  readonly retireOldKeys: () => Promise<void>;
  readonly sealAgainIn: SealAgainIn;
  /** Leaves values that do not open unchanged, instead of refusing. */
  readonly skipUnreadable: boolean;
}

const BATCH = 500;

/**
 * Rotates the master key: adds a new one, reseals all values in one transaction, retires the old one. After a crash either
 * both keys exist or the rotation is complete; another call resumes it.
 */
export async function rotateMasterKey(deps: KeyRotationDeps): Promise<KeyRotation> {
  const { db, keyring } = deps;
  const places = toPlaces(deps.sealAgainIn);
  const unreadable = await listUnreadable(db, keyring, places);
  if (unreadable.length > 0 && !deps.skipUnreadable)
    return { kind: "unreadable", values: unreadable };
  const isResumed = keyring.isRotating;
  if (!isResumed && keyring.source === "environment") return { kind: "key_needed" };
  const both = isResumed ? keyring : await deps.addKey();
  const sealedAgain = await db.transaction(async (tx) => {
    await assertKeyOfDatabase(tx, both.checks, tx.now);
    let count = 0;
    for (const place of places)
      for await (const row of rowsOf(tx, place.column)) {
        const value = sealedWithNewest(both, place, row);
        if (value === undefined) continue;
        await replaceSealed(tx, place.column, { key: row.key, value });
        count += 1;
      }
    return count;
  });
  await deps.retireOldKeys();
  return {
    kind: "rotated",
    source: both.source,
    isResumed,
    sealedAgain,
    leftUnreadable: unreadable,
  };
}

function toPlaces(sealAgainIn: SealAgainIn): readonly SealedPlace[] {
  return columnNames.map((name) => ({
    column: sealedColumns[name],
    sealAgain: sealAgainIn[name],
  }));
}

const columnNames = Object.keys(sealedColumns) as (keyof typeof sealedColumns)[];

async function listUnreadable(
  db: Queries,
  keyring: Keyring,
  places: readonly SealedPlace[],
): Promise<string[]> {
  const unreadable: string[] = [];
  for (const place of places)
    for await (const row of rowsOf(db, place.column))
      if (sealedWithNewest(keyring, place, row) === undefined)
        unreadable.push(`${place.column.table} ${row.key}`);
  return unreadable;
}

/** Returns the value sealed with the newest key; undefined when it does not open. */
function sealedWithNewest(
  keyring: Keyring,
  { sealAgain }: SealedPlace,
  { key, value }: SealedRow,
): string | undefined {
  try {
    return sealAgain(value, key, (purpose, sealed, associatedData) =>
      keyring.seal(purpose, keyring.open(purpose, sealed, associatedData), associatedData),
    );
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}

/** Yields all rows of a column, in batches. */
async function* rowsOf(db: Queries, column: SealedColumn): AsyncGenerator<SealedRow> {
  let last: SealedRow | undefined;
  for (;;) {
    const rows = await listSealed(db, column, last?.key, BATCH);
    yield* rows;
    last = rows.at(-1);
    if (rows.length < BATCH) return;
  }
}
