import { expect } from "vitest";
import type { TestAnswer, TestDaemon } from "./daemon.ts";

/** People of a test daemon's forge, with tokens for everything, and what they own. Their names differ. */
export interface ForgePeople {
  /** A person who may sign in, with the password `user-password`. Returns the name. */
  newUser(): Promise<string>;
  /** Makes a repository for an account; the owner gets a thread by it. Returns its name. */
  newRepository(owner: string, fields?: object): Promise<string>;
  /** A request to a path below `/api/v1`; without a token nobody is signed in. */
  api(method: string, path: string, token?: string, json?: unknown): Promise<TestAnswer>;
  /** The same as a person that `newUser` made. */
  by(user: string, method: string, path: string, json?: unknown): Promise<TestAnswer>;
  tokenOf(user: string): string;
  /** The token of the site administrator. */
  readonly admin: string;
}

/** `daemon` is asked for each time, so that a test may start it again on the same home. */
export function createForgePeople(daemon: () => TestDaemon): ForgePeople {
  const admin = daemon().first?.forge.token ?? "";
  const tokens = new Map<string, string>();
  let names = 0;
  const tokenOf = (user: string) => tokens.get(user) ?? "";
  const api: ForgePeople["api"] = (method, path, token, json) =>
    daemon().request(`/api/v1${path}`, {
      method,
      ...(token === undefined ? {} : { token }),
      ...(json === undefined ? {} : { json }),
    });
  return {
    admin,
    api,
    tokenOf,
    by: (user, method, path, json) => api(method, path, tokenOf(user), json),
    async newUser() {
      const username = `user${(names += 1)}`;
      await api("POST", "/admin/users", admin, {
        username,
        email: `${username}@example.org`,
        password: "user-password",
        must_change_password: false,
      });
      const made = await daemon().request(`/api/v1/users/${username}/tokens`, {
        basic: `${username}:user-password`,
        json: { name: "test", scopes: ["all"] },
      });
      tokens.set(username, made.json.sha1);
      return username;
    },
    async newRepository(owner, fields = {}) {
      const name = `repo${(names += 1)}`;
      const made = await api("POST", `/admin/users/${owner}/repos`, admin, { name, ...fields });
      expect(made.status).toBe(201);
      return name;
    },
  };
}
