import { type Entry, noun, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  noun("gitignore", "Ignore files", [
    verb("list", "List ignore-file templates", () => import("./gitignore-list.ts"), {
      aliases: ["ls"],
    }),
    verb("view", "Print an ignore file", () => import("./gitignore-view.ts")),
  ]),
  noun("label", "Label sets", [
    verb("list", "List label sets", () => import("./label-list.ts"), { aliases: ["ls"] }),
    verb("view", "Show the labels of a set", () => import("./label-view.ts")),
  ]),
  noun("license", "Licenses", [
    verb("list", "List license templates", () => import("./license-list.ts"), { aliases: ["ls"] }),
    verb("view", "Print the text of a license", () => import("./license-view.ts")),
  ]),
];
