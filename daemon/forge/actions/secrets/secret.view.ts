import type { NamedPage } from "../../../../storage/tables/forge/actions/named-rows.ts";
import type { ActionSecret } from "../../../../storage/tables/forge/actions/secrets.ts";
import type { WireSecret } from "../../../contract/forge/actions/secrets.ts";
import { toWireTime } from "../../urls.ts";

/** A page of secrets, without their values. */
export function toSecretList({ records, total }: NamedPage<ActionSecret>) {
  return { status: 200, body: records.map(toSecretView), total } as const;
}

/** 201 for a new secret, 204 for a replaced one. */
export const toPut = (outcome: "created" | "replaced") =>
  outcome === "created" ? ({ status: 201 } as const) : ({ status: 204 } as const);

function toSecretView({ name, description, createdAt }: ActionSecret): WireSecret {
  return { name, description, created_at: toWireTime(createdAt) };
}
