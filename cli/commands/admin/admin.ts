import { type Entry, noun } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  noun("user", "Forge users", () => import("./user.ts")),
  noun("org", "Organizations", () => import("./org.ts")),
  noun("repo", "Repositories of anybody", () => import("./repo.ts")),
  noun("unadopted", "Repositories on disk without a record", () => import("./unadopted.ts")),
  noun("email", "E-mail addresses of forge users", () => import("./email.ts")),
  noun("package", "Packages of the forge", () => import("./package.ts")),
  noun("badge", "Badges that can be given", () => import("./badge.ts")),
  noun("hook", "Hooks for everything, and templates for new repositories", async () => ({
    entries: (await import("../hook/hook.ts")).siteEntries,
  })),
  noun("cron", "Scheduled tasks", () => import("./cron.ts")),
];
