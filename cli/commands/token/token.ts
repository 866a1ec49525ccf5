import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your forge access tokens", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("create", "Make a forge access token", () => import("./create.ts")),
  verb("delete", "Delete a forge access token", () => import("./delete.ts"), { aliases: ["rm"] }),
];
