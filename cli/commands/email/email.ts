import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your e-mail addresses", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("add", "Add e-mail addresses to your account", () => import("./add.ts")),
  verb("delete", "Delete e-mail addresses of your account", () => import("./delete.ts"), {
    aliases: ["rm"],
  }),
];
