import { createHmac, createSecretKey, generateKeyPairSync } from "node:crypto";
import { exportSPKI, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, test } from "vitest";
import { setVaultUserActive } from "../../../../../storage/tables/vault/users.ts";
import {
  client,
  identify,
  openTestAccounts,
  OTHER_STRONG,
  register,
  signIn,
  STRONG,
  type TestAccounts,
} from "../../../../support/vault/vault-accounts.ts";

const refused = {
  code: "unauthenticated",
  message: "Invalid or expired token",
};

async function signedIn() {
  const accounts = await openTestAccounts();
  await register(accounts);
  const tokens = await signIn(accounts);
  return { accounts, tokens, token: tokens.accessToken };
}

const key = (accounts: TestAccounts) => accounts.deps.keys.deriveAll("vault-access-token")[0]!;
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>;

describe("an access token", () => {
  test("contains account, role, expiry, session and client", async () => {
    const { accounts, token } = await signedIn();
    const now = Math.floor(accounts.now / 1000);
    expect(claimsOf(token)).toEqual({
      sub: expect.any(String),
      role: "user",
      iat: now,
      exp: now + 900,
      jti: expect.any(String),
      sid: expect.any(String),
      fgp: expect.any(String),
      ver: 0,
    });
    await accounts.db.close();
  });

  test("an access token is good until the second it expires", async () => {
    const { accounts, tokens } = await signedIn();
    accounts.now += 899_999;
    await identify(accounts, tokens);
    accounts.now += 1;
    await expect(identify(accounts, tokens)).rejects.toMatchObject(refused);
    await accounts.db.close();
  });
});

describe("the client it was issued to", () => {
  test.each([
    ["another User-Agent", { userAgent: "curl" }],
    ["a missing User-Agent", { userAgent: "" }],
    ["the User-Agent in another case", { userAgent: "Croft-Test" }],
    ["another Accept-Language", { acceptLanguage: "de" }],
    ["a missing Accept-Language", { acceptLanguage: "" }],
    ["languages in another order", { acceptLanguage: "en;q=0.9, de" }],
    ["the two headers swapped", { userAgent: "en", acceptLanguage: "croft-test" }],
    ["a shifted boundary", { userAgent: "croft-test\nen", acceptLanguage: "" }],
  ])("%s is refused", async (_name, changed) => {
    const { accounts, token } = await signedIn();
    await expect(accounts.authentication.identify(token, client(changed))).rejects.toMatchObject(
      refused,
    );
    await accounts.db.close();
  });

  test("an access token is accepted from another address of its client", async () => {
    const { accounts, token } = await signedIn();
    const caller = await accounts.authentication.identify(
      token,
      client({ address: "198.51.100.1" }),
    );
    expect(caller.address).toBe("198.51.100.1");
    await accounts.db.close();
  });
});

describe("a token from before a change of the account", () => {
  async function changed() {
    const { accounts, tokens } = await signedIn();
    const caller = await identify(accounts, tokens);
    await accounts.passwords.change(
      caller,
      { current: STRONG, next: OTHER_STRONG },
      client({ refreshToken: tokens.refreshToken }),
    );
    return { accounts, tokens, caller };
  }

  test("a token from before a change of the account is refused and one from after it accepted, though all lie in one second", async () => {
    const { accounts, tokens } = await changed();
    await expect(identify(accounts, tokens)).rejects.toMatchObject(refused);
    const after = await accounts.sessions.refresh(client({ refreshToken: tokens.refreshToken }));
    await identify(accounts, after);
    await identify(accounts, await signIn(accounts, { password: OTHER_STRONG }));
    await accounts.db.close();
  });

  test.each([-86_400_000, -1000, 1000, 86_400_000])(
    "stays refused when the clock jumps by %i ms",
    async (jump) => {
      const { accounts, tokens } = await changed();
      accounts.now += jump;
      await expect(identify(accounts, tokens)).rejects.toMatchObject(refused);
      await accounts.db.close();
    },
  );

  test("a token from before a change of the account is refused by every process that shares the database", async () => {
    const { accounts, tokens } = await signedIn();
    await using other = await openTestAccounts({ db: accounts.db });
    other.now = accounts.now;
    await identify(other, tokens);
    const caller = await identify(accounts, tokens);
    await accounts.passwords.change(caller, { current: STRONG, next: OTHER_STRONG }, client());
    await expect(identify(other, tokens)).rejects.toMatchObject(refused);
  });

  test("a token from before a change of the account is refused after deactivation, and again after the account is back", async () => {
    const { accounts, tokens } = await signedIn();
    const { userId } = await identify(accounts, tokens);
    const set = (isActive: boolean) =>
      accounts.db.transaction((tx) => setVaultUserActive(tx, userId, isActive));
    await set(false);
    await expect(identify(accounts, tokens)).rejects.toMatchObject(refused);
    await set(true);
    await expect(identify(accounts, tokens)).rejects.toMatchObject(refused);
    await accounts.db.close();
  });

  test("a token from before a change of the account is refused when the role is another one by now", async () => {
    const { accounts, tokens } = await signedIn();
    await accounts.db.run("UPDATE vault_users SET role = 'admin'");
    await expect(identify(accounts, tokens)).rejects.toMatchObject(refused);
    await accounts.db.close();
  });

  test("a token from before a change of the account is refused when the account is deleted", async () => {
    const { accounts, tokens } = await signedIn();
    await accounts.db.run("DELETE FROM vault_users");
    await expect(identify(accounts, tokens)).rejects.toMatchObject(refused);
    await accounts.db.close();
  });
});

describe("a forged or mangled token", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const sign = (
    claims: Record<string, unknown>,
    header: Record<string, unknown>,
    secret: Uint8Array,
  ) => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const input = `${part(header)}.${part(claims)}`;
    return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
  };
  const good = { alg: "HS256", typ: "JWT" };

  /** Each makes a token out of a good one; `secret` is the server's own key, which an attacker does not have. */
  type Forgery = (
    token: string,
    claims: Record<string, unknown>,
    secret: Uint8Array,
  ) => string | Promise<string>;
  const forgeries: Record<string, Forgery> = {
    "without a signature (alg none)": (_token, claims) => new UnsecuredJWT(claims).encode(),
    "alg none in other cases": (token) =>
      `${Buffer.from('{"alg":"nOnE","typ":"JWT"}').toString("base64url")}.${token.split(".")[1]}.`,
    "signed with another key": (_token, claims) => sign(claims, good, new Uint8Array(32).fill(1)),
    "signed with the empty key": (_token, claims) => sign(claims, good, new Uint8Array(0)),
    "signed by RSA": (_token, claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: "RS256", typ: "JWT" }).sign(rsa.privateKey),
    "an RSA public key used as the HMAC secret": async (_token, claims) =>
      sign(claims, good, Buffer.from(await exportSPKI(rsa.publicKey))),
    "signed with the same key by another algorithm": (_token, claims, secret) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: "HS512", typ: "JWT" })
        .sign(createSecretKey(Buffer.concat([secret, secret]))),
    "with a kid that is a path": (_token, claims, secret) =>
      sign(claims, { ...good, kid: "../../dev/null" }, secret),
    "with a jku": (_token, claims, secret) =>
      sign(claims, { ...good, jku: "https://attacker.example/keys" }, secret),
    "with its own key in the header": (_token, claims, secret) =>
      sign(claims, { ...good, jwk: { kty: "oct", k: "AAAA" } }, secret),
    "with a critical extension": (_token, claims, secret) =>
      sign(claims, { ...good, crit: ["b64"], b64: false }, secret),
    "of another type": (_token, claims, secret) => sign(claims, { ...good, typ: "reset" }, secret),
    "without a type": (_token, claims, secret) => sign(claims, { alg: "HS256" }, secret),
    expired: (_token, claims, secret) =>
      sign({ ...claims, exp: (claims["iat"] as number) - 1 }, good, secret),
    "without an expiry": (_token, claims, secret) =>
      sign({ ...claims, exp: undefined }, good, secret),
    "with an expiry that is text": (_token, claims, secret) =>
      sign({ ...claims, exp: "9999999999" }, good, secret),
    "issued in the future": (_token, claims, secret) =>
      sign({ ...claims, iat: (claims["iat"] as number) + 60 }, good, secret),
    "not valid yet": (_token, claims, secret) =>
      sign({ ...claims, nbf: (claims["iat"] as number) + 60 }, good, secret),
    "for another audience": (_token, claims, secret) =>
      sign({ ...claims, aud: "elsewhere" }, good, secret),
    "from another issuer": (_token, claims, secret) =>
      sign({ ...claims, iss: "elsewhere" }, good, secret),
    "with a role that does not exist": (_token, claims, secret) =>
      sign({ ...claims, role: "root" }, good, secret),
    "with the role of an administrator": (_token, claims, secret) =>
      sign({ ...claims, role: "admin" }, good, secret),
    "of a session that is not the user's": (_token, claims, secret) =>
      sign({ ...claims, sub: "0198c0de-0000-7000-8000-000000000000" }, good, secret),
    "whose claims are a list": (_token, _claims, secret) => sign([] as never, good, secret),
    "with two payloads of one name": (token, _claims, secret) => {
      const header = token.split(".")[0]!;
      const text = Buffer.from(token.split(".")[1]!, "base64url").toString();
      const payload = Buffer.from(text.replace("{", '{"role":"admin","aud":"x",')).toString(
        "base64url",
      );
      const input = `${header}.${payload}`;
      return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
    },
    "with a changed payload": (token, claims) => {
      const [header, , signature] = token.split(".");
      const payload = Buffer.from(JSON.stringify({ ...claims, role: "admin" })).toString(
        "base64url",
      );
      return [header, payload, signature].join(".");
    },
    "with another spelling of the signature": (token) => {
      // The last character carries two bits that no byte uses.
      const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
      const at = alphabet.indexOf(token.at(-1)!);
      return token.slice(0, -1) + alphabet.charAt(at ^ 1);
    },
    "with padding": (token) => `${token}=`,
    "in the alphabet of plain base64": (token) =>
      token.replaceAll("-", "+").replaceAll("_", "/") + "+",
    "cut short": (token) => token.slice(0, -1),
    "with a part too many": (token) => `${token}.e30`,
    "with a line break": (token) => `${token}\n`,
    "that is huge": (token) => `${token.split(".")[0]}.${"A".repeat(100_000)}.${"A".repeat(43)}`,
    "that is empty": () => "",
    "that is not a token": () => "Bearer",
  };

  test.each(Object.entries(forgeries))("%s is refused", async (_name, forge) => {
    const { accounts, token } = await signedIn();
    const forged = await forge(token, claimsOf(token), key(accounts));
    expect(forged).not.toBe(token);
    await expect(accounts.authentication.identify(forged, client())).rejects.toMatchObject(refused);
    await accounts.db.close();
  });

  test("the token that the forgeries are made from is valid", async () => {
    const { accounts, token } = await signedIn();
    const same = sign(claimsOf(token), good, key(accounts));
    await accounts.authentication.identify(same, client());
    await accounts.db.close();
  });
});

test("a token that was signed before a key rotation is good until it expires", async () => {
  const { accounts, tokens } = await signedIn();
  const [old] = accounts.deps.keys.deriveAll("vault-access-token");
  await using rotated = await openTestAccounts({
    db: accounts.db,
    keys: { ...accounts.deps.keys, deriveAll: () => [new Uint8Array(32).fill(9), old!] },
  });
  rotated.now = accounts.now;
  await identify(rotated, tokens);
  const fresh = await signIn(rotated);
  await identify(rotated, fresh);
  await expect(identify(accounts, fresh)).rejects.toMatchObject(refused);
});
