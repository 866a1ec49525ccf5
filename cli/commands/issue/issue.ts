import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List issues of a repository", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("view", "Show an issue and its comments", () => import("./view.ts")),
  verb("create", "Open an issue", () => import("./create.ts")),
  verb("edit", "Change, close or reopen an issue", () => import("./edit.ts")),
  verb("comment", "Comment on an issue", () => import("./comment.ts")),
];
