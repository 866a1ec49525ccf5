import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the mails that lie in the outbox", () => import("./list.ts"), {
    aliases: ["ls"],
  }),
  verb("show", "Show a mail of the outbox", () => import("./show.ts")),
];
