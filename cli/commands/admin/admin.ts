import { type Entry, noun, verb } from "../../command.ts";

export const entries: readonly Entry[] = [
  noun("user", "Forge users", [
    verb("list", "List and search forge users", () => import("./user/list.ts"), {
      aliases: ["ls"],
    }),
    verb("create", "Create a forge user", () => import("./user/create.ts")),
    verb("view", "Show a forge user", () => import("./user/view.ts")),
    verb("edit", "Change a forge user", () => import("./user/edit.ts")),
    verb("rename", "Rename a forge user", () => import("./user/rename.ts")),
    verb("delete", "Delete a forge user", () => import("./user/delete.ts"), { aliases: ["rm"] }),
    verb(
      "reset-2fa",
      "Take the second factor from a forge user",
      () => import("./user/reset-2fa.ts"),
    ),
    noun("key", "Public keys of a forge user", [
      verb("add", "Add a public key to a forge user", () => import("./user/key-add.ts")),
      verb("delete", "Delete a public key of a forge user", () => import("./user/key-delete.ts"), {
        aliases: ["rm"],
      }),
    ]),
    noun("badge", "Badges of a forge user", [
      verb("list", "List the badges of a forge user", () => import("./user/badge-list.ts"), {
        aliases: ["ls"],
      }),
      verb("add", "Give a forge user badges", () => import("./user/badge-add.ts")),
      verb("remove", "Take badges from a forge user", () => import("./user/badge-remove.ts"), {
        aliases: ["rm"],
      }),
    ]),
  ]),
  noun("org", "Organizations", [
    verb("list", "List organizations", () => import("./org/list.ts"), { aliases: ["ls"] }),
    verb("view", "Show an organization", () => import("./org/view.ts")),
    verb("create", "Create an organization", () => import("./org/create.ts")),
  ]),
  noun("repo", "Repositories of anybody", [
    verb("create", "Create a repository for a user", () => import("./repo/create.ts")),
  ]),
  noun("unadopted", "Repositories on disk without a record", [
    verb("list", "List unadopted repositories", () => import("./unadopted/list.ts"), {
      aliases: ["ls"],
    }),
    verb("adopt", "Adopt repositories", () => import("./unadopted/adopt.ts")),
    verb("delete", "Delete unadopted repositories", () => import("./unadopted/delete.ts"), {
      aliases: ["rm"],
    }),
  ]),
  noun("email", "E-mail addresses of forge users", [
    verb("list", "List and search e-mail addresses", () => import("./email/list.ts"), {
      aliases: ["ls"],
    }),
  ]),
  noun("package", "Packages of the forge", [
    verb("list", "List and search packages", () => import("./package/list.ts"), {
      aliases: ["ls"],
    }),
    verb("view", "Show a version of a package", () => import("./package/view.ts")),
    verb("files", "List the files of a version", () => import("./package/files.ts")),
    verb("link", "Link a package to a repository", () => import("./package/link.ts")),
    verb("unlink", "Link a package to no repository", () => import("./package/unlink.ts")),
    verb("delete", "Delete a version of a package", () => import("./package/delete.ts"), {
      aliases: ["rm"],
    }),
  ]),
  noun("badge", "Badges that can be given", [
    verb("list", "List badges", () => import("./badge/list.ts"), { aliases: ["ls"] }),
    verb("create", "Define a badge", () => import("./badge/create.ts")),
    verb("delete", "Delete a badge", () => import("./badge/delete.ts"), { aliases: ["rm"] }),
  ]),
  noun(
    "hook",
    "Hooks for everything, and templates for new repositories",
    () => import("./hook/hook.ts"),
  ),
  noun("cron", "Scheduled tasks", () => import("./cron/cron.ts")),
];
