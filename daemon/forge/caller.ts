// daemon/forge: the forge API's features. May import: daemon/contract, daemon/errors.ts, daemon/http/handle.ts (types), storage.
// Never imports daemon/vault. Start in api.ts (who calls, how errors look), then admin/, templates/ or rendering/.
import type { ForgeUser } from "../../storage/tables/forge/accounts/users.ts";

/** The authenticated caller of a forge route (forge behaviour, 2.1 to 2.4). */
export interface ForgeCaller {
  /** The user on whose behalf the caller acts: the owner of the credentials, or one whom a site administrator impersonates. */
  readonly user: ForgeUser;
  /** The owner of the credentials. */
  readonly actor: ForgeUser;
  readonly method: "token" | "basic_password" | "basic_token";
  /** Undefined for a password. */
  readonly tokenId?: number;
  /** The token's scope in normal form; undefined for a password, which is unrestricted. */
  readonly scope: string | undefined;
}
