import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your notification threads", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("inbox", "Read and mark your threads on a screen", () => import("./inbox.ts")),
  verb("count", "Count your unread threads", () => import("./count.ts")),
  verb("view", "Show a thread", () => import("./view.ts")),
  verb("mark", "Mark threads as read, unread or pinned", () => import("./mark.ts")),
  verb("watch", "Be told of a repository or an issue, or not any more", () => import("./watch.ts")),
];
