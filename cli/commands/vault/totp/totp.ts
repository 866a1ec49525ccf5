import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("setup", "Get a secret for an authenticator app", () => import("./setup.ts")),
  verb("enable", "Turn the second factor on", () => import("./enable.ts")),
  verb("disable", "Turn the second factor off", () => import("./disable.ts")),
];
