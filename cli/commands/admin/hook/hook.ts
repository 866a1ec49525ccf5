import { type Entry, noun, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "List system and default hooks", () => import("./list.ts"), { aliases: ["ls"] }),
  verb("view", "Show a hook", () => import("./view.ts")),
  verb("create", "Create a hook", () => import("./create.ts")),
  verb("edit", "Change a hook", () => import("./edit.ts")),
  verb("delete", "Delete a hook", () => import("./delete.ts"), { aliases: ["rm"] }),
  noun("delivery", "What hooks delivered", [
    verb("list", "List the deliveries of a hook", () => import("./delivery-list.ts"), {
      aliases: ["ls"],
    }),
    verb("view", "Show a delivery with both bodies", () => import("./delivery-view.ts")),
    verb("redeliver", "Deliver the same once more", () => import("./delivery-redeliver.ts")),
  ]),
];
