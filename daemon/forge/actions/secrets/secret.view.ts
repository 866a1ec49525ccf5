import type { ActionSecret } from "../../../../storage/tables/forge/actions/secrets.ts";
import type { WireSecret } from "../../../contract/forge/actions/secrets.ts";
import { toWireTime } from "../../urls.ts";

/** A secret, without its value. */
export function toSecretView({ name, description, createdAt }: ActionSecret): WireSecret {
  return { name, description, created_at: toWireTime(createdAt) };
}
