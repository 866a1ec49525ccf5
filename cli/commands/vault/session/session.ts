import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List where you are signed in", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("revoke", "Sign out somewhere else, or everywhere", () => import("./revoke.ts")),
];
