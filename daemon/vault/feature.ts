import type { Feature } from "../feature.ts";
import type { VaultCaller } from "./caller.ts";

/** What a feature adds to the vault. */
export type VaultFeature = Feature<VaultCaller>;
