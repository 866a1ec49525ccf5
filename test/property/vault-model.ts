// A minimal model of the documented rules for accounts and sessions: no hashes, no signatures, no database. The
// property test runs the same commands against this and against the services, and compares every answer.

const MINUTE_MS = 60_000;
const ACCESS_MS = 15 * MINUTE_MS;
const REFRESH_MS = 16 * 60 * MINUTE_MS;
const REMEMBERED_MS = 30 * 24 * 60 * MINUTE_MS;
const WINDOW_MS = 15 * MINUTE_MS;
const PENDING_MS = 15 * MINUTE_MS;
const STEP_MS = 30_000;

/** A secret as the model knows it: its number. Codes and backup codes are named by secret and step or place. */
export type SecretId = number;

interface ModelUser {
  readonly name: string;
  password: number;
  isActive: boolean;
  mustChange: boolean;
  /** Access tokens with another number are refused. */
  version: number;
  totp: SecretId | undefined;
  lastStep: number;
  pending: { readonly secret: SecretId; readonly until: number } | undefined;
  /** Backup codes left, by the secret they came with and their place. */
  readonly codes: Set<string>;
}

interface ModelSession {
  readonly user: ModelUser;
  ended: boolean;
  /** The refresh token that can be exchanged, by its number, and when it runs out. */
  live: { readonly token: number; readonly until: number };
}

/** The session of a refresh token, and the number of the token. */
interface ModelRefresh {
  readonly session: ModelSession;
  readonly token: number;
}
interface ModelAccess {
  readonly session: ModelSession;
  readonly version: number;
  readonly until: number;
}
interface ModelLink {
  readonly user: ModelUser;
  readonly password: number;
  readonly passwordChanges: number;
  readonly until: number;
}

/** The second factor that a sign-in brings. */
export type Factor =
  | { readonly kind: "none" }
  | { readonly kind: "totp"; readonly secret: SecretId | undefined; readonly step: number }
  | { readonly kind: "backup"; readonly code: string };

/** The result of a command, in words that both sides use. */
export type Verdict = string;

const OK = "ok";

export class VaultModel {
  now: number;
  readonly #users = new Map<string, ModelUser>();
  readonly #refreshes: ModelRefresh[] = [];
  readonly #accesses: ModelAccess[] = [];
  readonly #links: ModelLink[] = [];
  readonly #changes = new Map<ModelUser, number>();
  readonly #windows = new Map<string, { count: number; until: number }>();
  #tokens = 0;

  constructor(now: number) {
    this.now = now;
  }

  user(name: string): ModelUser | undefined {
    return this.#users.get(name);
  }

  /** Whom a token was issued to, good or not. */
  owner(access: number): ModelUser | undefined {
    return this.#accesses[access]?.session.user;
  }

  get step(): number {
    return Math.floor(this.now / STEP_MS);
  }

  register(name: string, password: number): Verdict {
    if (this.#users.has(name)) return "conflict";
    this.#users.set(name, {
      name,
      password,
      isActive: true,
      mustChange: false,
      version: 0,
      totp: undefined,
      lastStep: 0,
      pending: undefined,
      codes: new Set(),
    });
    return OK;
  }

  signIn(name: string, password: number, factor: Factor, remember: boolean): Verdict {
    if (!this.#count(`login ${name}`)) return "limited";
    const user = this.#users.get(name);
    if (user === undefined || user.password !== password) return "Incorrect email or password";
    if (!user.isActive) return "Account deactivated";
    if (user.mustChange) return "password_change_required";
    if (user.totp !== undefined) {
      if (factor.kind === "none") return "totp_required";
      if (factor.kind === "totp") {
        const isNear = Math.abs(factor.step - this.step) <= 1;
        if (factor.secret !== user.totp || !isNear || factor.step <= user.lastStep)
          return "Incorrect code";
        user.lastStep = factor.step;
      } else if (!user.codes.delete(factor.code)) return "Invalid or already used code";
    }
    const token = ++this.#tokens;
    const until = this.now + (remember ? REMEMBERED_MS : REFRESH_MS);
    const session: ModelSession = { user, ended: false, live: { token, until } };
    this.#issue(session, token);
    return OK;
  }

  refresh(index: number): Verdict {
    const known = this.#refreshes[index];
    if (known === undefined) return "Invalid or expired refresh token";
    const { session, token } = known;
    if (session.ended || session.live.token !== token) {
      session.ended = true;
      return "Session revoked";
    }
    if (session.live.until <= this.now) return "Invalid or expired refresh token";
    if (!session.user.isActive) return "User not found or deactivated";
    const next = ++this.#tokens;
    session.live = { token: next, until: this.now + REFRESH_MS };
    this.#issue(session, next);
    return OK;
  }

  signOut(index: number): Verdict {
    const known = this.#refreshes[index];
    if (known !== undefined) known.session.ended = true;
    return OK;
  }

  signOutAll(access: number): Verdict {
    const user = this.#caller(access);
    if (user === undefined) return "unauthenticated";
    return `ended ${this.#endSessions(user, undefined)}`;
  }

  endSession(access: number, target: number): Verdict {
    const user = this.#caller(access);
    if (user === undefined) return "unauthenticated";
    const session = this.#accesses[target]?.session;
    if (session === undefined || session.user !== user || session.ended) return "not_found";
    session.ended = true;
    return OK;
  }

  changePassword(access: number, current: number, next: number, cookie: number): Verdict {
    const user = this.#caller(access);
    if (user === undefined) return "unauthenticated";
    if (!this.#count(`password ${user.name}`)) return "limited";
    if (user.password !== current) return "Current password is incorrect";
    this.#setPassword(user, next);
    return `ended ${this.#endSessions(user, this.#spared(user, cookie))}`;
  }

  setUpTotp(access: number, secret: SecretId): Verdict {
    const user = this.#caller(access);
    if (user === undefined) return "unauthenticated";
    if (user.totp !== undefined) return "refused";
    user.pending = { secret, until: this.now + PENDING_MS };
    return OK;
  }

  enableTotp(access: number, secret: SecretId | undefined, step: number, cookie: number): Verdict {
    const user = this.#caller(access);
    if (user === undefined) return "unauthenticated";
    const { pending } = user;
    const isNear = Math.abs(step - this.step) <= 1;
    if (user.totp !== undefined || pending === undefined || pending.until <= this.now)
      return "refused";
    if (pending.secret !== secret || !isNear) return "refused";
    user.totp = secret;
    user.lastStep = step;
    user.pending = undefined;
    user.version += 1;
    user.codes.clear();
    for (let place = 0; place < 10; place += 1) user.codes.add(`${secret}/${place}`);
    return `ended ${this.#endSessions(user, this.#spared(user, cookie))}`;
  }

  disableTotp(access: number, cookie: number): Verdict {
    const user = this.#caller(access);
    if (user === undefined) return "unauthenticated";
    if (user.totp === undefined) return "ended 0";
    user.totp = undefined;
    user.pending = undefined;
    user.version += 1;
    user.codes.clear();
    return `ended ${this.#endSessions(user, this.#spared(user, cookie))}`;
  }

  setActive(name: string, isActive: boolean): Verdict {
    const user = this.#users.get(name);
    if (user === undefined) return "not_found";
    if (user.isActive === isActive) return OK;
    user.isActive = isActive;
    user.version += 1;
    if (isActive) this.#endSessions(user, undefined);
    return OK;
  }

  demandReset(name: string): Verdict {
    const user = this.#users.get(name);
    if (user === undefined) return "not_found";
    user.mustChange = true;
    user.version += 1;
    this.#endSessions(user, undefined);
    return OK;
  }

  /** Requests a mailed link; the response is the same for every caller. */
  requestReset(name: string): Verdict {
    const user = this.#users.get(name);
    if (user !== undefined)
      this.#links.push({
        user,
        password: user.password,
        passwordChanges: this.#changes.get(user) ?? 0,
        until: this.now + 60 * MINUTE_MS,
      });
    return OK;
  }

  confirmReset(link: number, next: number): Verdict {
    const known = this.#links[link];
    // Links name time in whole seconds.
    const isGood =
      known !== undefined &&
      Math.floor(this.now / 1000) < Math.floor(known.until / 1000) &&
      known.user.isActive &&
      (this.#changes.get(known.user) ?? 0) === known.passwordChanges;
    if (!isGood) return "Invalid or expired reset link";
    this.#setPassword(known.user, next);
    this.#endSessions(known.user, undefined);
    return OK;
  }

  /** Whether an access token opens anything. */
  accepts(access: number): boolean {
    return this.#caller(access) !== undefined;
  }

  #caller(access: number): ModelUser | undefined {
    const known = this.#accesses[access];
    if (known === undefined || known.session.ended) return undefined;
    const { user } = known.session;
    const isGood =
      Math.floor(this.now / 1000) < Math.floor(known.until / 1000) &&
      known.version === user.version &&
      user.isActive;
    return isGood ? user : undefined;
  }

  #issue(session: ModelSession, token: number): void {
    this.#refreshes.push({ session, token });
    const { version } = session.user;
    this.#accesses.push({ session, version, until: this.now + ACCESS_MS });
  }

  #spared(user: ModelUser, cookie: number): ModelSession | undefined {
    const known = this.#refreshes[cookie];
    if (known === undefined || known.session.user !== user || known.session.ended) return undefined;
    const { live } = known.session;
    return live.token === known.token && live.until > this.now ? known.session : undefined;
  }

  /** Ends all sessions of a user but one, and counts those that could still have been used. */
  #endSessions(user: ModelUser, spared: ModelSession | undefined): number {
    let ended = 0;
    for (const session of new Set(this.#refreshes.map((each) => each.session))) {
      if (session.user !== user || session.ended || session === spared) continue;
      session.ended = true;
      if (session.live.until > this.now) ended += 1;
    }
    return ended;
  }

  #setPassword(user: ModelUser, password: number): void {
    // The same password again is another hash: links to the old one are spent.
    this.#changes.set(user, (this.#changes.get(user) ?? 0) + 1);
    user.password = password;
    user.mustChange = false;
    user.version += 1;
  }

  #count(key: string): boolean {
    let window = this.#windows.get(key);
    if (window === undefined || window.until <= this.now)
      this.#windows.set(key, (window = { count: 0, until: this.now + WINDOW_MS }));
    window.count += 1;
    return window.count <= 10;
  }
}
