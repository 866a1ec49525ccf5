import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("forge", "Sign in to the forge", () => import("./forge.ts")),
  verb("vault", "Sign in to the vault", () => import("./vault.ts")),
];
