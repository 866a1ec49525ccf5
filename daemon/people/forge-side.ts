// daemon/people: the pages that bring the accounts of forge and vault together for administrators and invited people. The two APIs
// stay unrelated: each page calls the operations of both, as the callers that the browser has signed in to each. Start here (how
// the pages of the vault's site reach the forge), then people-pages.tsx and invitation-page.tsx.
import type { PasswordDemands } from "../contract/password-rules.ts";
import type { ServerRequest } from "../http/handle.ts";
import type { CallOperation } from "../pages/operations.ts";

/** The forge, as these pages reach it. */
export interface ForgeSide {
  /** Returns calls as the site administrator whom the browser has signed in; undefined without one. */
  callAsAdministrator(request: ServerRequest): Promise<CallOperation | undefined>;
  /** Returns calls as an anonymous caller. */
  callAsAnyone(request: ServerRequest): CallOperation;
  /** Returns whether the code of an invitation can still set a password. */
  isUsable(code: string): Promise<boolean>;
  readonly passwordDemands: PasswordDemands;
  /** Returns which rule a password breaks, as a sentence about "the new password"; undefined for a good one. */
  findBroken(password: string): Promise<string | undefined>;
}

/** Opens the forge at the first page that needs it. */
export type OpenForgeSide = () => Promise<ForgeSide>;
