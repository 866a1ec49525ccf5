import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { optionsOf } from "../../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const setup = {
  provisioning_uri: "otpauth://totp/croft:mira%40example.org?secret=ABC&issuer=croft",
  secret: "ABC",
};

test("the lines become options", async () => {
  expect(await optionsOf("vault totp enable", ["123456"])).toEqual({
    code: "123456",
  });
  expect(await optionsOf("vault totp enable", [])).toEqual({ code: undefined });
});

describe("setting the second factor up", () => {
  test("totp setup prints secret and address, without a QR code outside a terminal", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ "GET /api/auth/totp/setup": { body: setup } });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "totp", "setup"], { home: home.path });
    expect(ran.out).toBe(`secret\tABC\naddress\t${setup.provisioning_uri}\n`);
    const json = await runCli(["vault", "totp", "setup", "--json"], { home: home.path });
    expect(json.json()).toEqual(setup);
  });

  test.each([
    [80, true],
    [30, false],
  ])(
    "setting the second factor up on a terminal of %i columns shows a QR code: %s",
    async (columns, isShown) => {
      await using home = await temporaryHome();
      await using daemon = await fakeDaemon({ "GET /api/auth/totp/setup": { body: setup } });
      await signIn(home.path, { url: daemon.url, vault: {} });
      const ran = await runCli(["vault", "totp", "setup"], {
        home: home.path,
        terminal: true,
        columns,
      });
      expect(ran.out.includes("▀")).toBe(isShown);
      for (const line of ran.out.split("\n").filter((one) => one.includes("▀")))
        expect(line.length).toBeLessThanOrEqual(columns);
      expect(ran.out).toContain("ABC");
    },
  );
});

describe("turning the second factor on", () => {
  test("sends the digits and the cookie, and prints the backup codes", async () => {
    await using home = await temporaryHome();
    const body = { backup_codes: ["aaaaa-bbbbb", "ccccc-ddddd"], sessions_revoked: 1 };
    await using daemon = await fakeDaemon({ "POST /api/auth/totp/enable": { body } });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "totp", "enable", "123 456"], { home: home.path });
    expect(ran.out).toBe("backup codes\taaaaa-bbbbb,ccccc-ddddd\n");
    expect(ran.err).toContain("One other session has ended.");
    expect(daemon.requests[0]?.json()).toEqual({ code: "123456" });
    expect(daemon.requests[0]?.headers.cookie).toBe("refresh_token=refresh-1");
  });

  test("enabling the second factor with a wrong code exits 12, and without a code prompts or names the flag", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/totp/enable": { status: 400, body: { detail: "Incorrect code" } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const wrong = await runCli(["vault", "totp", "enable", "000000", "--json"], {
      home: home.path,
    });
    expect(wrong.error()).toMatchObject({ message: "Incorrect code" });
    expect(wrong.code).toBe(12);
    const none = await runCli(["vault", "totp", "enable", "--json"], { home: home.path });
    expect(none.error()).toMatchObject({ code: "missing_input" });
  });
});

test("turning it off takes a yes", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "DELETE /api/auth/totp": { body: { message: "TOTP disabled.", sessions_revoked: 0 } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const refused = await runCli(["vault", "totp", "disable", "--json"], { home: home.path });
  expect(refused.error()).toMatchObject({ code: "missing_input", hint: "give --yes" });
  expect(daemon.requests).toEqual([]);
  const ran = await runCli(["vault", "totp", "disable", "--yes", "--json"], { home: home.path });
  expect(ran.json()).toEqual({ message: "TOTP disabled.", sessions_revoked: 0 });
});
