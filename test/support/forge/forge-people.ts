import { expect } from "vitest";
import type { TestAnswer, TestDaemon } from "../daemon.ts";

/** People of a test daemon's forge, with tokens of all scopes, and their belongings. */
export interface ForgePeople {
  /** A person who may sign in, with the password `user-password`, by an unused name. Returns the name. */
  newUser(name?: string, fields?: object): Promise<string>;
  /** The token for everything of a person that `newUser` made. */
  tokenOf(user: string): string;
  /** Creates another token of a user, by an unused name. */
  newToken(user: string, scopes: readonly string[], name?: string): Promise<string>;
  /** Makes a repository for an account; the owner gets a thread by it. Returns its name. */
  newRepository(owner: string, fields?: object): Promise<string>;
  /** A request to a path below `/api/v1`, by the site administrator or with another token; anonymous with "". */
  api(method: string, path: string, json?: unknown, token?: string): Promise<TestAnswer>;
  /** The same by a person that `newUser` made. */
  by(user: string, method: string, path: string, json?: unknown): Promise<TestAnswer>;
  /** The token of the site administrator. */
  readonly admin: string;
}

/** `daemon` is called for each request: it may start later, and again on the same home. */
export function createForgePeople(daemon: () => TestDaemon): ForgePeople {
  let admin: string | undefined;
  const tokens = new Map<string, string>();
  let names = 0;
  const tokenOf = (user: string) => tokens.get(user) ?? "";
  const adminToken = () => (admin ??= daemon().first?.forge.token ?? "");
  const api: ForgePeople["api"] = (method, path, json, token = adminToken()) =>
    daemon().request(`/api/v1${path}`, {
      method,
      ...(token === "" ? {} : { token }),
      ...(json === undefined ? {} : { json }),
    });
  const newToken: ForgePeople["newToken"] = async (user, scopes, name = `token${(names += 1)}`) => {
    const made = await daemon().request(`/api/v1/users/${user}/tokens`, {
      basic: `${user}:user-password`,
      json: { name, scopes },
    });
    expect(made.status).toBe(201);
    return made.json.sha1;
  };
  return {
    get admin() {
      return adminToken();
    },
    api,
    tokenOf,
    newToken,
    by: (user, method, path, json) => api(method, path, json, tokenOf(user)),
    async newUser(name = `user${(names += 1)}`, fields = {}) {
      const made = await api("POST", "/admin/users", {
        username: name,
        email: `${name}@example.org`,
        password: "user-password",
        must_change_password: false,
        ...fields,
      });
      expect(made.status).toBe(201);
      tokens.set(name, await newToken(name, ["all"]));
      return name;
    },
    async newRepository(owner, fields = {}) {
      const name = `repo${(names += 1)}`;
      const made = await api("POST", `/admin/users/${owner}/repos`, { name, ...fields });
      expect(made.status).toBe(201);
      return name;
    },
  };
}
