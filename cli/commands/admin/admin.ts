import { type Entry, noun, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  noun("user", "Forge users", [
    verb("list", "List and search forge users", () => import("./user-list.ts"), {
      aliases: ["ls"],
    }),
    verb("create", "Create a forge user", () => import("./user-create.ts")),
  ]),
];
