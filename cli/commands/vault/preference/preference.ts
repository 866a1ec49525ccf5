import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("get", "Show your preferences", () => import("./get.ts")),
  verb("set", "Change your preferences", () => import("./set.ts")),
];
