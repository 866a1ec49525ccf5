import type { ActionSecret } from "../../../../storage/tables/forge/actions/secrets.ts";
import type { WireSecret } from "../../../contract/forge/actions/secrets.ts";
import { toWireTime } from "../../urls.ts";

/** A page of secrets, without their values. */
export function toSecretList({
  secrets,
  total,
}: {
  readonly secrets: readonly ActionSecret[];
  readonly total: number;
}) {
  return { status: 200, body: secrets.map(toSecretView), total } as const;
}

/** 201 for a new secret, 204 for a replaced one. */
export const toPut = (outcome: "created" | "replaced") =>
  outcome === "created" ? ({ status: 201 } as const) : ({ status: 204 } as const);

function toSecretView({ name, description, createdAt }: ActionSecret): WireSecret {
  return { name, description, created_at: toWireTime(createdAt) };
}
