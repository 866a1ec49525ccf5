import type { z } from "zod";
import type { analysisSettings } from "../../../../daemon/contract/vault/cloud/shapes.ts";
import { type Column, size } from "../../../output/cells.ts";

/** A user's choices as lines. */
export const analysisColumns: readonly Column<z.output<typeof analysisSettings>>[] = [
  { header: "byte cache", cell: ({ byte_cache_limit_bytes: bytes }) => size(bytes) },
  { header: "analyse by itself", cell: ({ auto_analyze: isOn }) => isOn },
  { header: "largest analysed file", cell: ({ max_analyze_bytes: bytes }) => size(bytes) },
];
