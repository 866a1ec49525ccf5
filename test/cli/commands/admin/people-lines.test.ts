import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

describe("a line becomes options", () => {
  test.each<[string, string, string, object]>([
    ["user view", "admin user view", "mira", { username: "mira" }],
    ["user rename", "admin user rename", "mira nora", { username: "mira", newName: "nora" }],
    ["user delete", "admin user delete", "mira", { username: "mira" }],
    ["user delete --purge", "admin user delete", "--purge mira", { username: "mira", purge: true }],
    ["user reset-2fa", "admin user reset-2fa", "mira", { username: "mira" }],
    [
      "user key add",
      "admin user key add",
      "mira - --title t",
      { username: "mira", file: "-", title: "t" },
    ],
    ["user key delete", "admin user key delete", "mira 7", { username: "mira", id: "7" }],
    ["user badge list", "admin user badge list", "mira", { username: "mira" }],
    ["user badge add", "admin user badge add", "mira a b", { username: "mira", slug: ["a", "b"] }],
    ["user badge remove", "admin user badge remove", "mira a", { username: "mira", slug: ["a"] }],
    ["org view", "admin org view", "team", { name: "team" }],
    [
      "org create",
      "admin org create",
      "team --owner mira --full-name T",
      { name: "team", owner: "mira", fullName: "T" },
    ],
    ["email list", "admin email list", "--search x", { search: "x" }],
    [
      "badge create",
      "admin badge create",
      "a --description d --image-url u",
      { slug: "a", description: "d", imageUrl: "u" },
    ],
    ["badge delete", "admin badge delete", "a", { slug: "a" }],
    ["totp setup", "totp setup", "--password-stdin", { passwordStdin: true }],
    ["totp enable", "totp enable", "123456", { code: "123456" }],
    ["totp disable", "totp disable", "123456", { code: "123456" }],
  ])("%s", async (_name, command, line, options) =>
    expect(await optionsOf(command, line.split(" "))).toMatchObject(options),
  );

  test("user edit takes each member of the API by a flag", async () => {
    const line =
      "mira --email a@b.de --full-name F --website w --location l --description d --visibility private " +
      "--must-change-password true --active false --admin true --restricted false --prohibit-login true " +
      "--allow-create-organization false --allow-git-hook true --allow-import-local false " +
      "--max-repo-creation -1 --source-id 0 --login-name n --password-stdin";
    expect(await sentBy(line.split(" "), "a long new password")).toEqual({
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
      password: "a long new password",
    });
  });

  test("user edit omits absent flags, and sends empty ones", async () => {
    expect(await sentBy(["mira", "--full-name", ""])).toMatchObject({ full_name: "" });
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
    expect(await refusalOf("admin user edit", words)).toContain(message);
  });
});

/** The body that `admin user edit` sends. */
async function sentBy(words: readonly string[], stdin = ""): Promise<unknown> {
  await using home = await temporaryHome();
  const user = { id: 7, login: "mira", login_name: "" };
  await using daemon = await fakeDaemon({
    "GET /api/v1/user": { body: { id: 1, login: "keeper" } },
    "GET /api/v1/users/mira": { body: user },
    "PATCH /api/v1/admin/users/mira": { body: user },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t", forgeUsername: "keeper" });
  const ran = await runCli(["admin", "user", "edit", ...words], { home: home.path, stdin });
  expect(ran.code, ran.err).toBe(0);
  return daemon.requests.at(-1)?.json();
}
