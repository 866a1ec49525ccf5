import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your connected storages", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("add", "Connect a storage", () => import("./add.ts")),
];
