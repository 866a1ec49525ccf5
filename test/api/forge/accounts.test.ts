import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AccountDependents } from "../../../daemon/forge/accounts/remove-user.ts";
import { AppError } from "../../../daemon/errors.ts";
import { startForgeApp, type ForgeApp } from "../../support/forge/forge-app.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";

const users = "/api/v1/admin/users";
const swagger = "http://croft.example:7420/api/swagger";

describe("PATCH /admin/users/{username}", () => {
  let app: ForgeApp;
  beforeAll(async () => {
    app = await startForgeApp();
    await app.addUser();
    await app.addUser({ username: "nora" });
    await app.request(`${users}/admin/orgs`, { token: app.token, json: { username: "team" } });
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const patch = (json: object, username = "mira") =>
    app.request(`${users}/${username}`, {
      token: app.token,
      method: "PATCH",
      json: { login_name: "mira", ...json },
    });

  test("an edit of an account changes the fields of the request, and clears empty ones", async () => {
    const profile = {
      full_name: "Mira",
      website: "https://mira.example",
      location: "Here",
      description: "Hello",
      visibility: "limited",
      restricted: true,
      admin: true,
    };
    const changed = await patch(profile);
    expect(changed.status).toBe(200);
    expectWireShape("User", changed.json);
    const { admin, ...shown } = profile;
    expect(changed.json).toMatchObject({ ...shown, is_admin: admin, login_name: "mira" });
    const untouched = await patch({ full_name: null, location: "" });
    expect(untouched.json).toMatchObject({ ...shown, location: "" });
    await patch({ admin: false, restricted: false, visibility: "public" });
  });

  test("sets a password with which the user can sign in", async () => {
    await app.addUser({ username: "locked", must_change_password: true });
    const signIn = (password: string) =>
      app.request("/api/v1/user", { basic: `locked:${password}` });
    expect((await signIn("user-password")).status).toBe(403);
    await patch({ password: "another-password", must_change_password: false }, "locked");
    expect((await signIn("user-password")).status).toBe(401);
    expect((await signIn("another-password")).status).toBe(200);
  });

  test("a changed address becomes the primary one and changes the picture", async () => {
    const before = (await patch({}, "nora")).json;
    const after = (await patch({ email: "Nora@new.example" }, "nora")).json;
    // The account has it in small letters, the list of addresses as it was given.
    expect(after.email).toBe("nora@new.example");
    expect(after.avatar_url).not.toBe(before.avatar_url);
    const found = await app.request("/api/v1/admin/emails/search?q=nora", { token: app.token });
    expect(found.json.map(({ email }: { email: string }) => email)).toEqual(["Nora@new.example"]);
    expect((await patch({ email: "NORA@NEW.example" }, "nora")).json.email).toBe(
      "nora@new.example",
    );
  });

  test.each([
    [{ login_name: "" }, 422, "[LoginName]: Required"],
    [{ login_name: null }, 422, "[LoginName]: Required"],
    [{ full_name: "x".repeat(101) }, 422, "[FullName]: MaxSize"],
    [{ website: "mira.example" }, 422, "[Website]: Url"],
    [{ website: "javascript:alert(1)" }, 422, "[Website]: Url"],
    [{ website: "http://a:port/" }, 422, "[Website]: Url"],
    [{ location: "x".repeat(51) }, 422, "[Location]: MaxSize"],
    [{ description: "x".repeat(256) }, 422, "[Description]: MaxSize"],
    [{ visibility: "none" }, 422, "[Visibility]: In"],
    [{ source_id: 9 }, 422, "login source does not exist [id: 9]"],
    [{ password: "1234567" }, 400, "password must be at least 8 characters"],
    [{ email: "" }, 400, "e-mail invalid [email: ]"],
    [{ email: ".a@b.de" }, 400, "e-mail invalid [email: .a@b.de]"],
    [
      { email: "Foo <a@b.de>" },
      400,
      "e-mail address contains unsupported character [email: Foo <a@b.de>]",
    ],
    [{ email: "Admin@croft.example" }, 409, "e-mail already in use [email: Admin@croft.example]"],
  ])(
    "an edit of an account with %j is refused and changes nothing",
    async (json, status, message) => {
      const before = (await app.request("/api/v1/users/mira", { token: app.token })).json;
      const answer = await patch({ full_name: "Somebody else", ...json });
      expect(answer).toMatchObject({ status, json: { message, url: swagger } });
      expect((await app.request("/api/v1/users/mira", { token: app.token })).json).toEqual(before);
    },
  );

  test("the last administrator cannot be demoted", async () => {
    expect(await patch({ admin: false }, "admin")).toMatchObject({
      status: 400,
      json: { message: "can not delete the last admin user [uid: 1]" },
    });
  });

  test.each([
    [{ active: false }, "can not deactivate the last admin user [uid: 1]"],
    [{ prohibit_login: true }, "can not deactivate the last admin user [uid: 1]"],
    [{ admin: false }, "can not delete the last admin user [uid: 1]"],
  ])("the last active administrator stays one after %j", async (change, message) => {
    // An administrator who cannot sign in does not count.
    await patch({ admin: true, prohibit_login: true }, "mira");
    expect(await patch(change, "admin")).toMatchObject({ status: 400, json: { message } });
    await patch({ admin: true, active: false, prohibit_login: false }, "mira");
    expect(await patch(change, "admin")).toMatchObject({ status: 400, json: { message } });
    const { json } = await app.request("/api/v1/user", { token: app.token });
    expect(json).toMatchObject({ is_admin: true, active: true, prohibit_login: false });
    await patch({ admin: false, active: true }, "mira");
  });

  test("an administrator may be deactivated while another one is active", async () => {
    await patch({ admin: true, active: true }, "mira");
    expect((await patch({ active: false }, "mira")).status).toBe(200);
    await patch({ admin: false, active: true }, "mira");
  });

  test("PATCH /admin/users/{username} changes only the profile of an organization", async () => {
    expect((await patch({ full_name: "The team", admin: true }, "team")).json).toMatchObject({
      full_name: "The team",
      is_admin: false,
    });
    expect(await patch({ email: "team@x.de" }, "team")).toMatchObject({
      status: 422,
      json: { message: "target is an organization but not user" },
    });
  });

  test("PATCH /admin/users/{username} reads the query when there is no content type", async () => {
    const target = `${users}/mira?login_name=q&full_name=From+query&active=off`;
    const answer = await app.request(target, { token: app.token, method: "PATCH" });
    expect(answer.json).toMatchObject({ login_name: "q", full_name: "From query", active: false });
    const without = await app.request(`${users}/mira`, { token: app.token, method: "PATCH" });
    expect(without).toMatchObject({ status: 422, json: { message: "[LoginName]: Required" } });
  });

  test("PATCH /admin/users/{username} answers 404 for an unknown name before it validates the body", async () => {
    expect(await patch({ login_name: 5 }, "Nobody")).toMatchObject({
      status: 404,
      json: { message: "user redirect does not exist [name: nobody]" },
    });
  });
});

describe("POST /admin/users/{username}/rename", () => {
  const rename = (app: ForgeApp, from: string, to: unknown) =>
    app.request(`${users}/${from}/rename`, { token: app.token, json: { new_username: to } });
  const get = (app: ForgeApp, name: string) =>
    app.request(`/api/v1/users/${name}?page=1`, { token: app.token });

  test("an old user name redirects, after any number of renames, until another account takes it", async () => {
    await using app = await startForgeApp();
    await app.addUser();
    expect((await rename(app, "mira", "mirabel")).status).toBe(204);
    expect((await rename(app, "mirabel", "bel")).status).toBe(204);
    for (const former of ["mira", "MIRABEL"]) {
      const answer = await get(app, former);
      expect(answer.status).toBe(307);
      expect(answer.headers.get("location")).toBe("/api/v1/users/bel?page=1");
      expect(answer.text).toBe("");
    }
    await app.addUser({ username: "mirabel", email: "other@x.de" });
    expect((await get(app, "mirabel")).status).toBe(200);
    expect((await get(app, "mira")).headers.get("location")).toBe("/api/v1/users/bel?page=1");
  });

  test("a user can take a former name again without a redirect loop", async () => {
    await using app = await startForgeApp();
    await app.addUser();
    for (const [from, to] of [
      ["mira", "b"],
      ["b", "c"],
      ["c", "mira"],
    ] as const)
      expect((await rename(app, from, to)).status).toBe(204);
    expect((await get(app, "mira")).status).toBe(200);
    expect((await get(app, "b")).headers.get("location")).toBe("/api/v1/users/mira?page=1");
    const rows = await app.db.all(
      "SELECT lower_name FROM forge_user_redirects ORDER BY lower_name",
    );
    expect(rows).toEqual([{ lower_name: "b" }, { lower_name: "c" }]);
  });

  test("a rename to another case changes the displayed name and adds no redirect", async () => {
    await using app = await startForgeApp();
    await app.addUser();
    expect((await rename(app, "mira", "MiRa")).status).toBe(204);
    expect((await get(app, "mira")).json.login).toBe("MiRa");
    expect(await app.db.all("SELECT * FROM forge_user_redirects")).toEqual([]);
  });

  test("the redirect of a token in the query does not repeat the token", async () => {
    await using app = await startForgeApp();
    await app.addUser();
    await rename(app, "mira", "nora");
    const { headers } = await app.request(`/api/v1/users/mira?token=${app.token}&page=2`);
    expect(headers.get("location")).toBe("/api/v1/users/nora?page=2");
  });

  test("a redirect to a hidden account is 404 in plain text for anonymous callers", async () => {
    await using app = await startForgeApp();
    await app.addUser({ visibility: "private" });
    await rename(app, "mira", "nora");
    const answer = await app.request("/api/v1/users/mira/tokens");
    expect(answer).toMatchObject({ status: 404, text: "user does not exist\n" });
  });

  test.each([
    [{}, "[NewName]: Required"],
    [{ new_username: "admin" }, "user already exists [name: admin]"],
    [{ new_username: "Assets" }, "name is reserved [name: assets]"],
    [{ new_username: "a.png" }, "name pattern is not allowed [pattern: *.png]"],
    [
      { new_username: "../etc" },
      "name is invalid [../etc]: must be valid alpha or numeric or dash(-_) or dot characters",
    ],
    [
      { new_username: "x".repeat(300) },
      `name is invalid [${"x".repeat(300)}]: must be valid alpha or numeric or dash(-_) or dot characters`,
    ],
  ])("a rename with %j is 422", async (json, message) => {
    await using app = await startForgeApp();
    await app.addUser();
    const answer = await app.request(`${users}/mira/rename`, { token: app.token, json });
    expect(answer).toMatchObject({ status: 422, json: { message } });
  });

  test("a rename to the current name changes nothing, an organization is refused, and a form names the member new_name", async () => {
    await using app = await startForgeApp();
    await app.request(`${users}/admin/orgs`, { token: app.token, json: { username: "team" } });
    expect((await rename(app, "admin", "admin")).status).toBe(204);
    expect((await rename(app, "team", "other")).json.message).toBe(
      "target is an organization but not user",
    );
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const form = { token: app.token, headers, body: "new_name=root" };
    expect((await app.request(`${users}/admin/rename`, form)).status).toBe(204);
    expect((await get(app, "root")).status).toBe(200);
  });
});

describe("DELETE /admin/users/{username}", () => {
  const remove = (app: ForgeApp, name: string, query = "") =>
    app.request(`${users}/${name}${query}`, { token: app.token, method: "DELETE" });

  test("deleting a user deletes the rows that belong to the account", async () => {
    await using app = await startForgeApp();
    await app.addUser();
    const token = await app.tokenOf("mira");
    await app.request(`${users}/mira/rename`, { token: app.token, json: { new_username: "nora" } });
    expect((await remove(app, "nora")).status).toBe(204);
    expect((await app.request("/api/v1/user", { token })).status).toBe(401);
    for (const table of ["forge_emails", "forge_access_tokens", "forge_user_search"]) {
      const rows = await app.db.all(`SELECT * FROM ${table} WHERE user_id > 1`);
      expect({ table, rows }).toEqual({ table, rows: [] });
    }
    expect((await app.request("/api/v1/users/mira", { token: app.token })).status).toBe(404);
    expect((await app.addUser()).id).toBe(3);
  });

  test("deleting a user refuses the caller, the last administrator, organizations and unknown names", async () => {
    await using app = await startForgeApp();
    await app.addUser();
    await app.request(`${users}/mira/orgs`, { token: app.token, json: { username: "team" } });
    expect((await remove(app, "Admin")).json.message).toBe("you cannot delete yourself");
    expect((await remove(app, "team")).json.message).toBe("target is an organization but not user");
    expect((await remove(app, "nobody")).status).toBe(404);
    expect(await remove(app, "mira")).toMatchObject({
      status: 422,
      json: { message: "user still has membership of organizations [uid: 2]" },
    });
  });

  test("when two administrators delete each other, one of them remains", async () => {
    await using app = await startForgeApp();
    await app.addUser();
    const edit = { login_name: "mira", admin: true };
    await app.request(`${users}/mira`, { token: app.token, method: "PATCH", json: edit });
    const token = await app.tokenOf("mira");
    const answers = await Promise.all([
      remove(app, "mira"),
      app.request(`${users}/admin`, { token, method: "DELETE" }),
    ]);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    const left = await app.db.all("SELECT id FROM forge_users WHERE is_admin = 1");
    expect(left).toHaveLength(1);
  });

  test("when two administrators lock each other or themselves out, one of them remains", async () => {
    for (const change of [{ active: false }, { prohibit_login: true }, { admin: false }]) {
      for (const targets of [
        ["mira", "admin"],
        ["admin", "mira"],
      ]) {
        await using app = await startForgeApp();
        await app.addUser();
        const edit = (token: string, name: string, json: Readonly<Record<string, unknown>>) =>
          app.request(`${users}/${name}`, {
            token,
            method: "PATCH",
            json: { login_name: name, ...json },
          });
        await edit(app.token, "mira", { admin: true });
        const tokens = [app.token, await app.tokenOf("mira")];
        const answers = await Promise.all(
          targets.map((name, at) => edit(tokens[at] ?? "", name, change)),
        );
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
        const left = await app.db.all(
          "SELECT id FROM forge_users WHERE is_admin = 1 AND is_active = 1 AND prohibit_login = 0",
        );
        expect(left).toHaveLength(1);
      }
    }
  });

  test("purging a user deletes organizations without another owner", async () => {
    await using app = await startForgeApp();
    await app.addUser();
    for (const username of ["alone", "shared"])
      await app.request(`${users}/mira/orgs`, { token: app.token, json: { username } });
    await app.db.run(
      `INSERT INTO forge_team_members (team_id, user_id, org_id)
       SELECT t.id, 1, t.org_id FROM forge_teams t JOIN forge_users u ON u.id = t.org_id WHERE u.name = 'shared'`,
    );
    expect((await remove(app, "mira", "?purge=true")).status).toBe(204);
    const orgs = await app.request("/api/v1/admin/orgs", { token: app.token });
    expect(orgs.json.map(({ name }: { name: string }) => name)).toEqual(["shared"]);
  });

  test("removes repositories and packages only by a purge, in order and in one transaction", async () => {
    const calls: string[] = [];
    const owned = (things: string, fails: () => boolean): AccountDependents => ({
      async assertNoneOwned(_tx, account) {
        calls.push(`${things}?`);
        throw new AppError(
          "unprocessable",
          `user still has ownership of ${things} [uid: ${account.id}]`,
        );
      },
      async removeAll(tx, account) {
        calls.push(`${things} of ${account.name}`);
        await tx.run("DELETE FROM forge_emails WHERE user_id = ?", account.id);
        if (fails()) throw new AppError("unavailable", "no");
      },
    });
    let broken = true;
    await using app = await startForgeApp({
      repositories: owned("repositories", () => false),
      packages: owned("packages", () => broken),
    });
    await app.addUser();
    expect(await remove(app, "mira")).toMatchObject({
      status: 422,
      json: { message: "user still has ownership of repositories [uid: 2]" },
    });
    expect((await remove(app, "mira", "?purge=1")).status).toBe(503);
    expect(calls).toEqual(["repositories?", "repositories of mira", "packages of mira"]);
    const emails = await app.request("/api/v1/admin/emails", { token: app.token });
    expect(emails.json).toHaveLength(2);
    broken = false;
    expect((await remove(app, "mira", "?purge=on")).status).toBe(204);
  });
});
