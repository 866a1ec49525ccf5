import { describe, expect, test } from "vitest";
import { define as createBadge } from "../../../../cli/commands/admin/badge/create.ts";
import { define as deleteBadge } from "../../../../cli/commands/admin/badge/delete.ts";
import { define as listEmails } from "../../../../cli/commands/admin/email/list.ts";
import { define as createOrg } from "../../../../cli/commands/admin/org/create.ts";
import { define as viewOrg } from "../../../../cli/commands/admin/org/view.ts";
import { define as addUserBadges } from "../../../../cli/commands/admin/user/badge-add.ts";
import { define as listUserBadges } from "../../../../cli/commands/admin/user/badge-list.ts";
import { define as removeUserBadges } from "../../../../cli/commands/admin/user/badge-remove.ts";
import { define as deleteUser } from "../../../../cli/commands/admin/user/delete.ts";
import { define as editUser } from "../../../../cli/commands/admin/user/edit.ts";
import { define as addKey } from "../../../../cli/commands/admin/user/key-add.ts";
import { define as deleteKey } from "../../../../cli/commands/admin/user/key-delete.ts";
import { define as renameUser } from "../../../../cli/commands/admin/user/rename.ts";
import { define as resetTwoFactor } from "../../../../cli/commands/admin/user/reset-2fa.ts";
import { define as viewUser } from "../../../../cli/commands/admin/user/view.ts";
import { define as disableTotp } from "../../../../cli/commands/totp/disable.ts";
import { define as enableTotp } from "../../../../cli/commands/totp/enable.ts";
import { define as setupTotp } from "../../../../cli/commands/totp/setup.ts";
import { optionsOf } from "../../support/parse-line.ts";

/** What a line's words become. */
type Read = (words: readonly string[]) => Promise<object>;
const reading =
  (define: Parameters<typeof optionsOf<object>>[0]): Read =>
  (words) =>
    optionsOf<object>(define, words);

describe("a line becomes options", () => {
  test.each<[string, Read, string, object]>([
    ["user view", reading(viewUser), "mira", { username: "mira" }],
    ["user rename", reading(renameUser), "mira nora", { username: "mira", newName: "nora" }],
    ["user delete", reading(deleteUser), "mira", { username: "mira", purge: false }],
    ["user delete --purge", reading(deleteUser), "--purge mira", { username: "mira", purge: true }],
    ["user reset-2fa", reading(resetTwoFactor), "mira", { username: "mira" }],
    [
      "user key add",
      reading(addKey),
      "mira - --title t",
      { username: "mira", file: "-", title: "t" },
    ],
    ["user key delete", reading(deleteKey), "mira 7", { username: "mira", id: "7" }],
    ["user badge list", reading(listUserBadges), "mira", { username: "mira" }],
    ["user badge add", reading(addUserBadges), "mira a b", { username: "mira", slugs: ["a", "b"] }],
    ["user badge remove", reading(removeUserBadges), "mira a", { username: "mira", slugs: ["a"] }],
    ["org view", reading(viewOrg), "team", { name: "team" }],
    [
      "org create",
      reading(createOrg),
      "team --owner mira --full-name T",
      { name: "team", owner: "mira", fullName: "T" },
    ],
    ["email list", reading(listEmails), "--search x", { search: "x" }],
    [
      "badge create",
      reading(createBadge),
      "a --description d --image-url u",
      { slug: "a", description: "d", imageUrl: "u" },
    ],
    ["badge delete", reading(deleteBadge), "a", { slug: "a" }],
    ["totp setup", reading(setupTotp), "--password-stdin", { passwordStdin: true }],
    ["totp enable", reading(enableTotp), "123456", { code: "123456" }],
    ["totp disable", reading(disableTotp), "123456", { code: "123456" }],
  ])("%s", async (_name, read, line, options) =>
    expect(await read(line.split(" "))).toMatchObject(options),
  );

  test("user edit takes each member of the API by a flag", async () => {
    const line =
      "mira --email a@b.de --full-name F --website w --location l --description d --visibility private " +
      "--must-change-password true --active false --admin true --restricted false --prohibit-login true " +
      "--allow-create-organization false --allow-git-hook true --allow-import-local false " +
      "--max-repo-creation -1 --source-id 0 --login-name n --password-stdin";
    expect(await reading(editUser)(line.split(" "))).toEqual({
      username: "mira",
      password: "input",
      changes: {
        email: "a@b.de",
        full_name: "F",
        website: "w",
        location: "l",
        description: "d",
        visibility: "private",
        must_change_password: true,
        active: false,
        admin: true,
        restricted: false,
        prohibit_login: true,
        allow_create_organization: false,
        allow_git_hook: true,
        allow_import_local: false,
        max_repo_creation: -1,
        source_id: 0,
        login_name: "n",
      },
    });
  });

  test("user edit leaves out what is not given, and keeps what is given empty", async () => {
    const { changes } = (await reading(editUser)(["mira", "--full-name", ""])) as {
      changes: Record<string, unknown>;
    };
    const given = Object.entries(changes).filter(([, value]) => value !== undefined);
    expect(given).toEqual([["full_name", ""]]);
  });

  test.each([
    [["mira"], "nothing to change"],
    [["mira", "--admin", "maybe"], '--admin takes true or false, not "maybe"'],
    [
      ["mira", "--max-repo-creation", "many"],
      '--max-repo-creation takes a whole number, not "many"',
    ],
    [
      ["mira", "--password-stdin", "--random-password"],
      "--password-stdin and --random-password exclude each other",
    ],
  ])("user edit %j is refused", async (words, message) => {
    await expect(reading(editUser)(words)).rejects.toThrow(message);
  });
});
