import { type Entry, noun, verb } from "../../../command.ts";

export const entries: readonly Entry[] = [
  noun("user", "Users of the vault", [
    verb("list", "List and search vault users", () => import("./user-list.ts"), {
      aliases: ["ls"],
    }),
    verb("create", "Make a vault user, who is mailed a link", () => import("./user-create.ts")),
    verb("activate", "Let a vault user sign in again", () => import("./user-activate.ts")),
    verb("deactivate", "Shut a vault user out", () => import("./user-deactivate.ts")),
    verb(
      "reset-password",
      "Demand another password of a vault user",
      () => import("./user-reset-password.ts"),
    ),
    verb("delete", "Delete a vault user", () => import("./user-delete.ts"), { aliases: ["rm"] }),
  ]),
  noun("quota", "Storage quotas of vault users", [
    verb("view", "Show a vault user's quota", () => import("./quota-view.ts")),
    verb("set", "Set a vault user's quota", () => import("./quota-set.ts")),
  ]),
  noun("audit", "The vault's audit records", [
    verb("list", "List and search audit records", () => import("./audit-list.ts"), {
      aliases: ["ls"],
    }),
    verb("export", "Write audit records as CSV", () => import("./audit-export.ts")),
    noun("daily", "Stored audit records, a file per day", [
      verb("list", "List the days that have one", () => import("./audit-daily-list.ts"), {
        aliases: ["ls"],
      }),
      verb("download", "Write the records of a day", () => import("./audit-daily-download.ts")),
    ]),
  ]),
  verb("overview", "Show users, storage and last events", () => import("./overview.ts")),
];
