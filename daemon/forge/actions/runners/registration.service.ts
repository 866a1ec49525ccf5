import { createHash, timingSafeEqual } from "node:crypto";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import type { OpenLevel } from "../secrets/levels.service.ts";
import type { SealAgain, Sealer } from "../../../../storage/keys/keyring.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import {
  type ActionLevel,
  fromLevelName,
  toLevelName,
} from "../../../../storage/tables/forge/actions/levels.ts";
import {
  type ActionRunner,
  countRunners,
  findActiveToken,
  findRunnerByUuid,
  findTokenByHash,
  insertRunner,
  replaceToken,
  updateRunner,
} from "../../../../storage/tables/forge/actions/runners.ts";
import {
  type RegistrationTokenId,
  toRegistrationTokenId,
} from "../../../../storage/tables/forge/ids.ts";

/** Refuses a call of a runner. The message is part of the protocol. */
export class RunnerRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RunnerRefusal";
  }
}

export interface RegistrationDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array;
  readonly newUuid: () => string;
  readonly sealer: Sealer;
}

/** The properties that a runner reports. */
export interface RunnerDescription {
  readonly name: string;
  readonly version: string;
  readonly labels: readonly string[];
  readonly capabilities: readonly string[];
  readonly isEphemeral: boolean;
}

const TOKEN_BYTES = 20;
/** Longest name, label, version and capability. */
const FIELD_CHARACTERS_MAX = 255;
const LABELS_MAX = 100;
/** Most runners of one repository or owner: a token registers any number, also one that was given away. */
const LEVEL_RUNNERS_MAX = 100;
/** Most runners that serve all repositories. */
const INSTANCE_RUNNERS_MAX = 1_000;
const PURPOSE = "action-registration";
/** Minimum interval between updates of the last contact: runners poll every second or two. */
const CONTACT_EVERY_MS = 30_000;

/** Registers and authenticates runners. */
export type Registration = ReturnType<typeof createRegistration>;

export function createRegistration({ db, clock, random, newUuid, sealer }: RegistrationDeps) {
  const makeToken = () => Buffer.from(random(TOKEN_BYTES)).toString("hex");
  return {
    /** Returns the active token of a level. Creates a new one when it is missing, or when `renew` invalidates it. */
    async getToken(openLevel: OpenLevel, renew: boolean): Promise<string> {
      return db.transaction(async (tx) => {
        const name = toLevelName(await openLevel(tx));
        const active = renew ? undefined : await findActiveToken(tx, name);
        if (active?.sealedToken !== undefined)
          return sealer.openText(PURPOSE, active.sealedToken, toRow(active.id));
        const token = makeToken();
        await replaceToken(tx, {
          level: name,
          hash: hashOf(token),
          seal: (id) => sealer.seal(PURPOSE, token, toRow(id)),
        });
        return token;
      });
    },

    /** Registers a runner of the token's level. Returns it with its own token, which is not stored. */
    async register(
      registrationToken: string,
      described: RunnerDescription,
    ): Promise<{ readonly runner: ActionRunner; readonly token: string }> {
      const name = toField(described.name);
      if (registrationToken === "" || name === "")
        throw new RunnerRefusal("missing runner token, name");
      const token = makeToken();
      return db.transaction(async (tx) => {
        const found = await findTokenByHash(tx, hashOf(registrationToken));
        if (found === undefined) throw new RunnerRefusal("runner registration token not found");
        if (!found.isActive)
          throw new RunnerRefusal(
            "runner registration token has been invalidated, please use the latest one",
          );
        const level = fromLevelName(found.level);
        // The owner or repository of the token may have been deleted.
        if (!(await exists(tx, level)))
          throw new RunnerRefusal("runner registration token not found");
        const isInstance = level.ownerId === undefined && level.repositoryId === undefined;
        const most = isInstance ? INSTANCE_RUNNERS_MAX : LEVEL_RUNNERS_MAX;
        if ((await countRunners(tx, level)) >= most)
          throw new RunnerRefusal(`there are ${most} runners already; delete those out of use`);
        const runner = await insertRunner(tx, {
          uuid: newUuid(),
          tokenHash: hashOf(token),
          name,
          ...level,
          ...toDeclared(described),
          isEphemeral: described.isEphemeral,
        });
        return { runner, token };
      });
    },

    /** Returns the runner of the credentials and records the contact. */
    async authenticate(uuid: string, token: string): Promise<ActionRunner> {
      const runner = await findRunnerByUuid(db, uuid);
      const hash = Buffer.from(hashOf(token));
      if (runner === undefined || !timingSafeEqual(hash, Buffer.from(runner.tokenHash)))
        throw new RunnerRefusal("rpc error: code = Unauthenticated desc = unregistered runner");
      if (clock() - runner.lastContactAt >= CONTACT_EVERY_MS)
        await updateRunner(db, runner.id, { lastContactAt: clock() });
      return runner;
    },

    /** Replaces version, labels and capabilities of a runner. */
    async declare(
      runner: ActionRunner,
      described: Omit<RunnerDescription, "name" | "isEphemeral">,
    ): Promise<ActionRunner> {
      const declared = toDeclared(described);
      await updateRunner(db, runner.id, declared);
      return { ...runner, ...declared };
    },
  };
}

async function exists(db: Queries, { ownerId, repositoryId }: ActionLevel): Promise<boolean> {
  if (repositoryId !== undefined) return (await findRepositoryById(db, repositoryId)) !== undefined;
  return ownerId === undefined || (await findUserById(db, ownerId)) !== undefined;
}

/** Seals a registration token again, for a rotation of the master key. */
export function sealTokenAgain(value: string, key: string | number, again: SealAgain): string {
  return again(PURPOSE, value, toRow(toRegistrationTokenId(key)));
}

const toRow = (id: RegistrationTokenId) => `forge_action_registration_tokens/${id}`;

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");

function toDeclared({
  version,
  labels,
  capabilities,
}: Omit<RunnerDescription, "name" | "isEphemeral">) {
  return {
    version: toField(version),
    labels: toLabels(labels),
    capabilities: capabilities.slice(0, LABELS_MAX).map(toField),
  };
}

/** Truncates a text of a runner and removes control characters. */
const toField = (text: string): string =>
  [...text.replaceAll(/\p{Cc}/gu, "")].slice(0, FIELD_CHARACTERS_MAX).join("");

/** Returns labels without the part after the colon, which only the runner interprets. */
function toLabels(labels: readonly string[]): readonly string[] {
  const names = labels.map((label) => toField(label.split(":", 1).join()).trim());
  return [...new Set(names)].filter((name) => name !== "").slice(0, LABELS_MAX);
}
