import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("list", "Show every setting and where its value comes from", () => import("./list.ts")),
  verb("get", "Show one setting", () => import("./get.ts")),
  verb("set", "Write a setting to the config file", () => import("./set.ts")),
  verb("path", "Show where croft's folders and files are", () => import("./path.ts")),
];
