import { type Entry, noun, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your repositories", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("view", "Show a repository", () => import("./view.ts")),
  verb("edit", "Change a repository", () => import("./edit.ts")),
  verb("rename", "Rename a repository", () => import("./rename.ts")),
  verb("transfer", "Give a repository to another owner", () => import("./transfer.ts")),
  verb("delete", "Delete a repository", () => import("./delete.ts"), { aliases: ["rm"] }),
  noun("hook", "Hooks of a repository", () => import("./hook/hook.ts")),
];
