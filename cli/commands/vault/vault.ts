import { type Entry, noun, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("register", "Register a vault account", () => import("./register.ts")),
  verb("me", "Show your vault account", () => import("./me.ts")),
  verb("quota", "Show how much of your storage is used", () => import("./quota.ts")),
  noun("preference", "Your preferences", () => import("./preference/preference.ts")),
  noun("session", "Where you are signed in", () => import("./session/session.ts")),
  noun("password", "Your password", () => import("./password/password.ts")),
  noun("totp", "Your second factor", () => import("./totp/totp.ts")),
  noun("connection", "Connected storages", () => import("./connection/connection.ts")),
  noun("item", "Files and folders in connected storages", () => import("./item/item.ts")),
  noun(
    "analysis",
    "Your byte cache and the analysis of items",
    () => import("./analysis/analysis.ts"),
  ),
  noun("admin", "Administration of the vault", () => import("./admin/admin.ts")),
];
