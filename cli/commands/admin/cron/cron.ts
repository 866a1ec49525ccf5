import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List scheduled tasks", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("run", "Run a scheduled task now", () => import("./run.ts")),
];
