import { type Entry, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  verb("change", "Change your password", () => import("./change.ts")),
  verb("reset", "Have a link mailed to choose another password", () => import("./reset.ts")),
  verb("confirm", "Choose another password with a mailed link", () => import("./confirm.ts")),
];
