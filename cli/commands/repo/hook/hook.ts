import { type Entry, noun, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the hooks of a repository", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("view", "Show a hook of a repository", () => import("./view.ts")),
  verb("create", "Create a hook of a repository", () => import("./create.ts")),
  verb("edit", "Change a hook of a repository", () => import("./edit.ts")),
  verb("delete", "Delete a hook of a repository", () => import("./delete.ts"), { aliases: ["rm"] }),
  verb("test", "Have a hook told of the newest commit", () => import("./test.ts")),
  noun("delivery", "What hooks of a repository delivered", [
    verb("list", "List the deliveries of a hook", () => import("./delivery-list.ts"), {
      aliases: ["ls"],
    }),
    verb("view", "Show a delivery with both bodies", () => import("./delivery-view.ts")),
    verb("redeliver", "Deliver the same once more", () => import("./delivery-redeliver.ts")),
  ]),
];
