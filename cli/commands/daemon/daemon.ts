import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("status", "Show whether the daemon runs, and where", () => import("./status.ts")),
  verb("stop", "Stop the daemon that runs on this home", () => import("./stop.ts")),
  verb("wait", "Wait until the daemon accepts requests", () => import("./wait.ts")),
  verb("logs", "Show the end of the daemon's log", () => import("./logs.ts")),
  verb("restore", "Put a copy of the database in its place", () => import("./restore.ts")),
];
