import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("bash", "Print the completion script for bash", () => import("./bash.ts")),
  verb("zsh", "Print the completion script for zsh", () => import("./zsh.ts")),
  verb("fish", "Print the completion script for fish", () => import("./fish.ts")),
  verb("powershell", "Print the completion script for PowerShell", () => import("./powershell.ts")),
];
