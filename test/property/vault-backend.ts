import type { Verdict } from "./vault-model.ts";

/** The tokens of a client after a sign-in or refresh. */
export interface HeldTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** The vault as a client sees it: every call returns a verdict and its result. Unexpected errors are thrown. */
export interface VaultBackend extends AsyncDisposable {
  /** Epoch milliseconds. */
  readonly now: number;
  wait(ms: number): void;
  register(name: string, password: string): Promise<Verdict>;
  signIn(given: {
    readonly name: string;
    readonly password: string;
    readonly totpCode: string | undefined;
    readonly backupCode: string | undefined;
    readonly remember: boolean;
  }): Promise<{ readonly verdict: Verdict; readonly tokens?: HeldTokens }>;
  refresh(
    refreshToken: string,
  ): Promise<{ readonly verdict: Verdict; readonly tokens?: HeldTokens }>;
  signOut(cookie: string | undefined): Promise<Verdict>;
  signOutAll(accessToken: string): Promise<Verdict>;
  endSession(accessToken: string, sessionId: string): Promise<Verdict>;
  changePassword(
    accessToken: string,
    passwords: { readonly current: string; readonly next: string },
    cookie: string | undefined,
  ): Promise<Verdict>;
  setUpTotp(accessToken: string): Promise<{ readonly verdict: Verdict; readonly secret?: string }>;
  enableTotp(
    accessToken: string,
    code: string,
    cookie: string | undefined,
  ): Promise<{ readonly verdict: Verdict; readonly codes?: readonly string[] }>;
  disableTotp(accessToken: string, cookie: string | undefined): Promise<Verdict>;
  setActive(name: string, isActive: boolean): Promise<Verdict>;
  demandReset(name: string): Promise<Verdict>;
  requestReset(name: string): Promise<Verdict>;
  /** The token of the link that was just mailed to an account's owner. */
  takeLink(name: string): Promise<string>;
  confirmReset(link: string, password: string): Promise<Verdict>;
  accepts(accessToken: string): Promise<boolean>;
}
