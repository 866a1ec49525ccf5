import { type Entry, noun, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("register", "Register a vault account", async () => (await import("./account.ts")).register),
  verb("me", "Show your vault account", async () => (await import("./account.ts")).me),
  verb("quota", "Show your storage usage", async () => (await import("./account.ts")).showQuota),
  noun("preference", "Manage your preferences", () => import("./preference.ts")),
  noun("session", "Manage your sessions", () => import("./session.ts")),
  noun("token", "Manage tokens for scripts", () => import("./token.ts")),
  noun("password", "Manage your password", () => import("./password.ts")),
  noun("totp", "Manage your second factor", () => import("./totp.ts")),
  noun("connection", "Manage connections to storage", () => import("./connection/connection.ts")),
  noun("item", "Manage files and folders in connected storage", () => import("./item/item.ts")),
  noun("document", "Manage documents", () => import("./document.ts")),
  noun("share", "Manage shares of documents", () => import("./share.ts")),
  noun("topic", "Manage topics of documents", () => import("./topic.ts")),
  verb(
    "search",
    "Search documents and analysed items",
    async () => (await import("./search.ts")).search,
  ),
  noun("analysis", "Manage the cache and analysis of items", () => import("./analysis.ts")),
  noun("admin", "Administer the vault", () => import("./admin/admin.ts")),
];
