import type { TestAnswer, TestDaemon, TestRequest } from "../daemon.ts";
import { STRONG } from "./vault-accounts.ts";

/** A person who uses the vault over HTTP: keeps their tokens, and has a separate client address. */
export interface VaultPerson {
  readonly handle: string;
  readonly email: string;
  password: string;
  accessToken: string;
  /** The value of the refresh cookie; empty without one. */
  refreshToken: string;
  register(): Promise<TestAnswer>;
  signIn(more?: Readonly<Record<string, unknown>>): Promise<TestAnswer>;
  refresh(): Promise<TestAnswer>;
  /** A request with the access token and, like the command line, with the cookie on every path. */
  request(path: string, init?: TestRequest): Promise<TestAnswer>;
}

/** Creates a person. Each address is used by one person, so that limits per address do not mix. */
export function createPerson(daemon: TestDaemon, handle: string, address: string): VaultPerson {
  const person: VaultPerson = {
    handle,
    email: `${handle}@example.org`,
    password: STRONG,
    accessToken: "",
    refreshToken: "",

    register: () =>
      send("/api/auth/register", {
        json: { handle, email: person.email, password: person.password },
      }),

    async signIn(more = {}) {
      return keep(
        await send("/api/auth/login", {
          json: { email: person.email, password: person.password, ...more },
        }),
      );
    },

    refresh: async () => keep(await withCookie("/api/auth/refresh", { method: "POST" })),

    request: (path, init = {}) => withCookie(path, { bearer: person.accessToken, ...init }),
  };
  return person;

  function withCookie(path: string, init: TestRequest): Promise<TestAnswer> {
    const cookie =
      person.refreshToken === "" ? {} : { Cookie: `refresh_token=${person.refreshToken}` };
    return send(path, { ...init, headers: { ...cookie, ...init.headers } });
  }

  function send(path: string, init: TestRequest): Promise<TestAnswer> {
    // The test comes from loopback, which is a trusted proxy: so the header decides the client's address.
    const headers = { "User-Agent": "croft-test", "X-Forwarded-For": address, ...init.headers };
    return daemon.request(path, { ...init, headers });
  }

  function keep(answer: TestAnswer): TestAnswer {
    const cookie = /refresh_token=([^;]*)/.exec(answer.headers.get("set-cookie") ?? "")?.[1];
    if (cookie !== undefined) person.refreshToken = cookie;
    if (typeof answer.json?.access_token === "string")
      person.accessToken = answer.json.access_token;
    return answer;
  }
}
