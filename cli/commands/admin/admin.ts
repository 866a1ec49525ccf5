import { type Entry, noun } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  noun("user", "Forge users", () => import("./user.ts")),
  noun("org", "Organizations", () => import("./org.ts")),
  noun("repo", "Repositories of any user", () => import("./repo.ts")),
  noun(
    "unadopted",
    "Repositories on disk that are not in the database",
    () => import("./unadopted.ts"),
  ),
  noun("email", "E-mail addresses of forge users", () => import("./email.ts")),
  noun("package", "Packages", () => import("./package.ts")),
  noun("badge", "Badges", () => import("./badge.ts")),
  noun("hook", "System hooks and default hooks", async () => ({
    entries: (await import("../hook/hook.ts")).siteEntries,
  })),
  noun("run", "Runs of workflows", () => import("./run.ts")),
  noun("job", "Jobs of workflow runs", async () => ({
    entries: (await import("./run.ts")).jobEntries,
  })),
  noun("runner", "Runners of the server", async () => ({
    entries: (await import("../runner.ts")).adminEntries,
  })),
  noun("cron", "Scheduled tasks", () => import("./cron.ts")),
];
