import type { SqlValue } from "../engine/database.ts";

/** A part of a statement with the values of its placeholders. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}
