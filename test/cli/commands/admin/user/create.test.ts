import { expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { optionsOf } from "../../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const who = ["--username", "bob", "--email", "bob@example.org"];
const line = ["admin", "user", "create", ...who];

test.each<[readonly string[], object]>([
  [["--password-stdin"], { passwordStdin: true }],
  [["--random-password", "--full-name", "Bob B."], { randomPassword: true, fullName: "Bob B." }],
  [["--must-change-password"], { mustChangePassword: true }],
  [["--no-must-change-password", "--restricted"], { mustChangePassword: false, restricted: true }],
])("%j becomes options", async (flags, options) => {
  expect(await optionsOf("admin user create", [...who, ...flags])).toMatchObject({
    username: "bob",
    ...options,
  });
});

test("whether the password must change is the server's to decide when neither flag is given", async () => {
  expect(await optionsOf("admin user create", who)).not.toHaveProperty("mustChangePassword");
});

test("the password is read from standard input and the user printed", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/v1/admin/users": { status: 201, body: { id: 2, login: "bob", username: "bob" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const flags = ["--password-stdin", "--no-must-change-password", "--json"];
  const ran = await runCli([...line, ...flags], { home: home.path, stdin: "pass word\n" });
  expect(ran).toMatchObject({ code: 0, err: "" });
  expect(ran.json()).toEqual({ id: 2, login: "bob", username: "bob" });
  expect(daemon.requests[0]?.json()).toEqual({
    username: "bob",
    email: "bob@example.org",
    password: "pass word",
    must_change_password: false,
  });
});

test("a made password is strong, sent, and shown once", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/v1/admin/users": ({ json }) => ({
      status: 201,
      body: { username: (json() as { username: string }).username },
    }),
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli([...line, "--random-password", "--json"], { home: home.path });
  const { password } = ran.json() as { password: string };
  expect(password).toMatch(/^[A-Z][a-z2-9]{5}(?:-[a-z2-9]{5}){2}-[a-z2-9]{5}[2-9]$/);
  expect(daemon.requests[0]?.json()).toMatchObject({ password });
});

test("nothing is sent with --dry-run, and the password is not shown", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({});
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli([...line, "--password-stdin", "--dry-run", "--json"], {
    home: home.path,
    stdin: "s3cret",
  });
  expect(ran.json()).toEqual({
    dry_run: true,
    request: {
      method: "POST",
      url: `${daemon.url}/api/v1/admin/users`,
      body: { username: "bob", email: "bob@example.org", password: "(secret)" },
    },
  });
});

test("without a terminal the missing password is named", async () => {
  const ran = await runCli([...line, "--json"], { home: "/nowhere" });
  expect(ran.error()).toMatchObject({
    code: "missing_input",
    exit_code: 2,
    message: "--password-stdin or --random-password is missing, and prompting is not possible",
    hint: "give --password-stdin or --random-password",
  });
});
