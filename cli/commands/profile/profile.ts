import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the profiles", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("add", "Add a profile for another daemon or account", () => import("./add.ts")),
  verb("use", "Use a profile from here on", () => import("./use.ts")),
  verb("remove", "Remove a profile and its credentials", () => import("./remove.ts"), {
    aliases: ["rm"],
  }),
];
