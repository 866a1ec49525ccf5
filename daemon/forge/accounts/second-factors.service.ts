import { generateURI, ScureBase32Plugin, verifySync } from "otplib";
import { type Database, isConflict } from "../../../storage/engine/database.ts";
import {
  confirmTwoFactor,
  deleteTwoFactor,
  findTwoFactor,
  type ForgeTwoFactor,
  startTwoFactor,
  useStep,
} from "../../../storage/tables/forge/accounts/two-factors.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
  updateUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { SealAgain, Sealer } from "../../../storage/keys/keyring.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound, userNotFound } from "../refusals.ts";

/** Codes of an authenticator app, asked for besides the password. */
export interface SecondFactors {
  /**
   * Starts an enrolment: a fresh secret, which counts once a code of it is confirmed. Refuses with `forbidden` who did
   * not sign in with the password, `conflict` when a second factor is on already.
   */
  start(caller: ForgeCaller): Promise<{ readonly secret: string; readonly otpauthUrl: string }>;
  /** Turns the second factor on. Refuses as `start` does, and with `unprocessable` a code that does not fit. */
  confirm(caller: ForgeCaller, code: string): Promise<void>;
  /** Turns it off; the sign-in itself took a code. Refuses with `forbidden` as `start`, `not_found` when it is off. */
  disable(caller: ForgeCaller): Promise<void>;
  /** Takes it from a user who lost it. Refuses with `not_found` when the user has none. */
  reset(username: string): Promise<void>;
  /** Whether `code` is a current code of the user that was not used before. Exactly one of several callers gets true. */
  use(user: ForgeUser, code: string): Promise<boolean>;
}

export interface SecondFactorsDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly sealer: Sealer;
  /** The server's name in authenticator apps. */
  readonly instanceName: string;
}

const SECRET_BYTES = 20;
const STEP_SECONDS = 30;
const PURPOSE = "forge-totp";

export function createSecondFactors(deps: SecondFactorsDeps): SecondFactors {
  const { db, clock, random, sealer, instanceName } = deps;
  const base32 = new ScureBase32Plugin();
  const alreadyOn = () => new AppError("conflict", "two-factor authentication is already enabled");
  return {
    async start(caller) {
      const user = assertOwnPassword(caller);
      const secret = base32.encode(random(SECRET_BYTES));
      const sealed = sealer.seal(PURPOSE, secret, contextOf(user.id));
      try {
        await db.transaction((tx) => startTwoFactor(tx, user.id, sealed));
      } catch (error) {
        throw isConflict(error) ? alreadyOn() : error;
      }
      const otpauthUrl = generateURI({ issuer: instanceName, label: user.name, secret });
      return { secret, otpauthUrl };
    },

    async confirm(caller, code) {
      const user = assertOwnPassword(caller);
      const factor = await findTwoFactor(db, user.id);
      if (factor?.confirmedAt !== undefined) throw alreadyOn();
      const step = factor && findStep(factor, code);
      if (factor === undefined || step === undefined)
        throw new AppError("unprocessable", "the code does not fit");
      await db.transaction(async (tx) => {
        const current = await findUserById(tx, user.id);
        if (current === undefined || !(await useStep(tx, user.id, factor.sealedSecret, step)))
          throw new AppError("unprocessable", "the code does not fit");
        await confirmTwoFactor(tx, user.id);
        await updateUser(tx, current, { twoFactorEnabled: true });
      });
    },

    async disable(caller) {
      await turnOff(assertOwnPassword(caller).id);
    },

    async reset(username) {
      const user = await findUserByName(db, username);
      if (user === undefined) throw userNotFound(username);
      await turnOff(user.id);
    },

    async use(user, code) {
      const factor = await findTwoFactor(db, user.id);
      if (factor?.confirmedAt === undefined) return false;
      const step = findStep(factor, code);
      return step !== undefined && useStep(db, user.id, factor.sealedSecret, step);
    },
  };

  async function turnOff(userId: number): Promise<void> {
    await db.transaction(async (tx) => {
      const user = await findUserById(tx, userId);
      if (!user?.twoFactorEnabled) throw notFound();
      await deleteTwoFactor(tx, userId);
      await updateUser(tx, user, { twoFactorEnabled: false });
    });
  }

  /** The time step of a code: this one, the one before or the one after, and later than every used one. */
  function findStep(factor: ForgeTwoFactor, code: string): number | undefined {
    if (!/^\d{6}$/.test(code)) return undefined;
    const result = verifySync({
      secret: sealer.openText(PURPOSE, factor.sealedSecret, contextOf(factor.userId)),
      token: code,
      epoch: Math.floor(clock() / 1000),
      epochTolerance: STEP_SECONDS,
      ...(factor.lastStep > 0 ? { afterTimeStep: factor.lastStep } : {}),
    });
    return result.valid && "timeStep" in result ? result.timeStep : undefined;
  }
}

/** The sealed secret of a user, sealed again. */
export function sealSecretAgain(sealed: string, userId: number | string, again: SealAgain): string {
  return again(PURPOSE, sealed, contextOf(userId));
}

const contextOf = (userId: number | string): string => `forge_two_factors/${userId}`;

/** Who holds a token only, or acts for somebody else, must not change how that person signs in. */
function assertOwnPassword(caller: ForgeCaller): ForgeUser {
  if (caller.method !== "basic_password" || caller.actor.id !== caller.user.id)
    throw new AppError("forbidden", "sign in with Basic authentication and your own password");
  return caller.user;
}
