import { hash } from "node:crypto";
import type { Database } from "../../../storage/engine/database.ts";
import {
  countApplications,
  deleteApplication,
  findApplication,
  insertApplication,
  listApplications,
  type OauthApplication,
  updateApplication,
} from "../../../storage/tables/forge/accounts/oauth.ts";
import { toOauthApplicationId } from "../../../storage/tables/forge/ids.ts";
import type { Page } from "../../../storage/tables/table.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { assertRedirectUris } from "./redirect-uri.ts";

/** An application to register, or what it becomes. */
export interface ApplicationRequest {
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly isConfidential: boolean;
  readonly skipsConsent: boolean;
}

/** An application with its secret, which is not stored. */
export interface MadeApplication {
  readonly application: OauthApplication;
  readonly secret: string;
}

export interface OauthApplicationsDeps {
  readonly db: Database;
  readonly random: (bytes: number) => Uint8Array;
  readonly newUuid: () => string;
}

const SECRET_BYTES = 32;
/** Applications of a user. */
const APPLICATIONS_MAX = 100;

export type OauthApplications = ReturnType<typeof createOauthApplications>;

/** Applications that sign in by OAuth 2. Each function but `list` and `create` throws `not_found` for one of another user. */
export function createOauthApplications({ db, random, newUuid }: OauthApplicationsDeps) {
  return {
    list: (caller: ForgeCaller, window: PageWindow): Promise<Page<OauthApplication>> =>
      listApplications(db, caller.user.id, toRows(window)),

    async get(caller: ForgeCaller, id: number): Promise<OauthApplication> {
      const found = await findApplication(db, caller.user.id, toOauthApplicationId(id));
      if (found === undefined) throw notFound();
      return found;
    },

    /** Registers an application. Refuses invalid addresses and one more than the maximum with `invalid_argument`. */
    async create(caller: ForgeCaller, asked: ApplicationRequest): Promise<MadeApplication> {
      assertRedirectUris(asked.redirectUris);
      const { secret, secretHash } = makeSecret();
      const application = await db.transaction(async (tx) => {
        const ownerId = caller.user.id;
        if ((await countApplications(tx, ownerId)) >= APPLICATIONS_MAX)
          throw new AppError("invalid_argument", `at most ${APPLICATIONS_MAX} applications`);
        return insertApplication(tx, { ...asked, ownerId, secretHash, clientId: newUuid() });
      });
      return { application, secret };
    },

    /** Changes an application and gives it another secret; the last one stops working. */
    async update(
      caller: ForgeCaller,
      id: number,
      asked: ApplicationRequest,
    ): Promise<MadeApplication> {
      assertRedirectUris(asked.redirectUris);
      const { secret, secretHash } = makeSecret();
      const at = { ownerId: caller.user.id, id: toOauthApplicationId(id) };
      const application = await db.transaction((tx) =>
        updateApplication(tx, at, { ...asked, secretHash }),
      );
      if (application === undefined) throw notFound();
      return { application, secret };
    },

    /** Deletes an application; all of its tokens end. */
    async remove(caller: ForgeCaller, id: number): Promise<void> {
      const own = toOauthApplicationId(id);
      const isDeleted = await db.transaction((tx) => deleteApplication(tx, caller.user.id, own));
      if (!isDeleted) throw notFound();
    },
  };

  function makeSecret() {
    const secret = `gto_${Buffer.from(random(SECRET_BYTES)).toString("base64url")}`;
    return { secret, secretHash: hash("sha256", secret, "hex") };
  }
}
