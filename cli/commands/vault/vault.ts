import { type Entry, noun, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  verb("register", "Register a vault account", () => import("./register.ts")),
  verb("me", "Show your vault account", () => import("./me.ts")),
  verb("quota", "Show how much of your storage is used", () => import("./quota.ts")),
  noun("connection", "Connected storages", () => import("./connection/connection.ts")),
  noun("item", "Files and folders in connected storages", () => import("./item/item.ts")),
];
