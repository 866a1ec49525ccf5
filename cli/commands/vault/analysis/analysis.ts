import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("get", "Show your choices for cache and analysis", () => import("./get.ts")),
  verb("set", "Change your choices for cache and analysis", () => import("./set.ts")),
];
