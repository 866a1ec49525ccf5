import { describe, expect, test } from "vitest";
import { createBadge, deleteBadge } from "../../../../cli/commands/admin/badge.ts";
import { listUserEmails } from "../../../../cli/commands/admin/email.ts";
import { createOrg } from "../../../../cli/commands/admin/org.ts";
import { viewOrg } from "../../../../cli/commands/org.ts";
import {
  addUserBadges,
  listUserBadges,
  removeUserBadges,
} from "../../../../cli/commands/admin/user-badge.ts";
import { editUser } from "../../../../cli/commands/admin/user-edit.ts";
import { addUserKey, deleteUserKey } from "../../../../cli/commands/admin/user-key.ts";
import {
  deleteUser,
  renameUser,
  resetTwoFactor,
  viewUser,
} from "../../../../cli/commands/admin/user.ts";
import { disableTotp, enableTotp, setupTotp } from "../../../../cli/commands/totp.ts";
import { optionsOf } from "../../support/parse-line.ts";

/** Parses the words of a command line to options. */
type Read = (words: readonly string[]) => Promise<object>;
const reading =
  (define: Parameters<typeof optionsOf<object>>[0]): Read =>
  (words) =>
    optionsOf<object>(define, words);

describe("a line becomes options", () => {
  test.each<[string, Read, string, object]>([
    ["user view", reading(viewUser.define), "mira", { username: "mira" }],
    ["user rename", reading(renameUser.define), "mira nora", { username: "mira", newName: "nora" }],
    ["user delete", reading(deleteUser.define), "mira", { username: "mira", purge: false }],
    [
      "user delete --purge",
      reading(deleteUser.define),
      "--purge mira",
      { username: "mira", purge: true },
    ],
    ["user reset-2fa", reading(resetTwoFactor.define), "mira", { username: "mira" }],
    [
      "user key add",
      reading(addUserKey.define),
      "mira - --title t",
      { username: "mira", file: "-", title: "t" },
    ],
    ["user key delete", reading(deleteUserKey.define), "mira 7", { username: "mira", id: "7" }],
    ["user badge list", reading(listUserBadges.define), "mira", { username: "mira" }],
    [
      "user badge add",
      reading(addUserBadges.define),
      "mira a b",
      { username: "mira", slugs: ["a", "b"] },
    ],
    [
      "user badge remove",
      reading(removeUserBadges.define),
      "mira a",
      { username: "mira", slugs: ["a"] },
    ],
    ["org view", reading(viewOrg.define), "team", { name: "team" }],
    [
      "org create",
      reading(createOrg.define),
      "team --owner mira --full-name T",
      { name: "team", owner: "mira", fullName: "T" },
    ],
    ["email list", reading(listUserEmails.define), "--search x", { search: "x" }],
    [
      "badge create",
      reading(createBadge.define),
      "a --description d --image-url u",
      { slug: "a", description: "d", imageUrl: "u" },
    ],
    ["badge delete", reading(deleteBadge.define), "a", { slug: "a" }],
    ["totp setup", reading(setupTotp.define), "--password-stdin", { passwordStdin: true }],
    ["totp enable", reading(enableTotp.define), "123456", { code: "123456" }],
    ["totp disable", reading(disableTotp.define), "123456", { code: "123456" }],
  ])("%s", async (_name, read, line, options) =>
    expect(await read(line.split(" "))).toMatchObject(options),
  );

  test("user edit takes each member of the API by a flag", async () => {
    const line =
      "mira --email a@b.de --full-name F --website w --location l --description d --visibility private " +
      "--must-change-password true --active false --admin true --restricted false --prohibit-login true " +
      "--allow-create-organization false --allow-git-hook true --allow-import-local false " +
      "--max-repo-creation -1 --source-id 0 --login-name n --password-stdin";
    expect(await reading(editUser.define)(line.split(" "))).toEqual({
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

  test("user edit omits absent flags, and sends empty ones", async () => {
    const { changes } = (await reading(editUser.define)(["mira", "--full-name", ""])) as {
      changes: Record<string, unknown>;
    };
    const presentFields = Object.entries(changes).filter(([, value]) => value !== undefined);
    expect(presentFields).toEqual([["full_name", ""]]);
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
    await expect(reading(editUser.define)(words)).rejects.toThrow(message);
  });
});
