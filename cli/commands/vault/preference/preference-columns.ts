import type { z } from "zod";
import type { preferences } from "../../../../daemon/contract/vault/auth.ts";
import type { Column } from "../../../output/cells.ts";

/** Preferences, line by line. */
export const preferenceColumns: readonly Column<z.output<typeof preferences>>[] = [
  { header: "pdf_open_mode", cell: ({ pdf_open_mode: mode }) => mode },
];
