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
import { createTotpSecret, findTotpStep, toProvisioningUri } from "../../utilities/totp.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound, userNotFound } from "../refusals.ts";
import { assertOwnPassword } from "./own-password.service.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

export type SecondFactors = ReturnType<typeof createSecondFactors>;

export interface SecondFactorsDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly sealer: Sealer;
  /** The server's name in authenticator apps. */
  readonly instanceName: string;
}

const PURPOSE = "forge-totp";

/** The second factor: codes of an authenticator app (TOTP) that a password sign-in needs as well. */
export function createSecondFactors(deps: SecondFactorsDeps) {
  const { db, clock, random, sealer, instanceName } = deps;
  const alreadyOn = () => new AppError("conflict", "two-factor authentication is already enabled");
  return {
    /**
     * Starts an enrolment with a new secret; `confirm` completes it. Throws `forbidden` if the caller did not sign in with
     * their own password, `conflict` if a second factor is already enabled.
     */
    async start(
      caller: ForgeCaller,
    ): Promise<{ readonly secret: string; readonly otpauthUrl: string }> {
      const user = assertOwnPassword(caller);
      const secret = createTotpSecret(random);
      const sealed = sealer.seal(PURPOSE, secret, contextOf(user.id));
      try {
        await db.transaction((tx) => startTwoFactor(tx, user.id, sealed));
      } catch (error) {
        throw isConflict(error) ? alreadyOn() : error;
      }
      const account = user.name;
      return { secret, otpauthUrl: toProvisioningUri({ secret, issuer: instanceName, account }) };
    },

    /** Enables the second factor. Throws as `start` does, and `unprocessable` for a wrong code. */
    async confirm(caller: ForgeCaller, code: string): Promise<void> {
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

    /** Disables it; the sign-in itself used a code. Throws `forbidden` as `start` does, `not_found` if it is not enabled. */
    async disable(caller: ForgeCaller): Promise<void> {
      await turnOff(assertOwnPassword(caller).id);
    },

    /** Disables the second factor of a user who lost it. Throws `not_found` if the user has no second factor. */
    async reset(username: string): Promise<void> {
      const user = await findUserByName(db, username);
      if (user === undefined) throw userNotFound(username);
      await turnOff(user.id);
    },

    /** Consumes a code. Returns true for a current, unused code, and for exactly one of several concurrent callers. */
    async use(user: ForgeUser, code: string): Promise<boolean> {
      const factor = await findTwoFactor(db, user.id);
      if (factor?.confirmedAt === undefined) return false;
      const step = findStep(factor, code);
      return step !== undefined && useStep(db, user.id, factor.sealedSecret, step);
    },
  };

  async function turnOff(userId: UserId): Promise<void> {
    await db.transaction(async (tx) => {
      const user = await findUserById(tx, userId);
      if (!user?.twoFactorEnabled) throw notFound();
      await deleteTwoFactor(tx, userId);
      await updateUser(tx, user, { twoFactorEnabled: false });
    });
  }

  function findStep(factor: ForgeTwoFactor, code: string): number | undefined {
    const secret = sealer.openText(PURPOSE, factor.sealedSecret, contextOf(factor.userId));
    return findTotpStep({ secret, code, now: clock(), lastStep: factor.lastStep });
  }
}

/** Reseals a user's secret, as a rotation of the master key needs it. */
export function sealSecretAgain(sealed: string, userId: number | string, again: SealAgain): string {
  return again(PURPOSE, sealed, contextOf(userId));
}

const contextOf = (userId: number | string): string => `forge_two_factors/${userId}`;
