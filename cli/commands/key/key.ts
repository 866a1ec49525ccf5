import { type Entry, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("rotate", "Put a new master key in the place of the old one", () => import("./rotate.ts")),
];
