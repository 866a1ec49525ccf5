import { type Entry, noun, verb } from "./command.ts";

/** The top of the command tree. Only names and summaries: each import happens when its command is entered. */
export const commands: readonly Entry[] = [
  noun(
    "completion",
    "Print a completion script for a shell",
    () => import("./commands/completion/completion.ts"),
  ),
  noun("config", "Show and change settings", () => import("./commands/config/config.ts")),
  verb("commands", "List every command", () => import("./commands/commands.ts")),
  verb("help", "Show help for a command or topic", () => import("./commands/help.ts")),
  verb(
    "schema",
    "Print the JSON Schema of a command's output",
    () => import("./commands/schema.ts"),
  ),
  verb("version", "Print the version", () => import("./commands/version.ts")),
  verb("__complete", "Values for completion scripts", () => import("./commands/complete.ts"), {
    hidden: true,
  }),
];
