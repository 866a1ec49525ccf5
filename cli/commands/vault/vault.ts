import { type Entry, noun, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("register", "Register a vault account", async () => (await import("./account.ts")).register),
  verb("me", "Show your vault account", async () => (await import("./account.ts")).me),
  verb(
    "quota",
    "Show how much of your storage is used",
    async () => (await import("./account.ts")).showQuota,
  ),
  noun("preference", "Your preferences", () => import("./preference.ts")),
  noun("session", "Where you are signed in", () => import("./session.ts")),
  noun("password", "Your password", () => import("./password.ts")),
  noun("totp", "Your second factor", () => import("./totp.ts")),
  noun("connection", "Connected storages", () => import("./connection/connection.ts")),
  noun("item", "Files and folders in connected storages", () => import("./item/item.ts")),
  noun("analysis", "Your byte cache and the analysis of items", () => import("./analysis.ts")),
  noun("admin", "Administration of the vault", () => import("./admin/admin.ts")),
];
