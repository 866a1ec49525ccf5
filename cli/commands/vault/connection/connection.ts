import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your connected storages", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("add", "Connect a storage", () => import("./add.ts")),
  verb("view", "Show a connection", () => import("./view.ts")),
  verb("test", "Look whether a storage answers", () => import("./test.ts")),
  verb("edit", "Give a connection another name or other credentials", () => import("./edit.ts")),
  verb("reconnect", "Give a connection fresh credentials", () => import("./reconnect.ts")),
  verb(
    "authorize",
    "Print the address at which a provider is signed in to",
    () => import("./authorize.ts"),
  ),
  verb("remove", "Forget a connection; its files stay", () => import("./remove.ts"), {
    aliases: ["rm"],
  }),
];
