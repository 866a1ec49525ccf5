import type { NamedPage } from "../../../../storage/tables/forge/actions/named-rows.ts";
import type { ActionVariable } from "../../../../storage/tables/forge/actions/variables.ts";
import type { WireVariable } from "../../../contract/forge/actions/variables.ts";

/** A page of variables. */
export function toVariableList({ records, total }: NamedPage<ActionVariable>) {
  return { status: 200, body: records.map(toVariableView), total } as const;
}

/** A variable; the ids of other levels are 0. */
export function toVariableView(variable: ActionVariable): WireVariable {
  return {
    owner_id: variable.ownerId ?? 0,
    repo_id: variable.repositoryId ?? 0,
    name: variable.name,
    data: variable.value,
    description: variable.description,
  };
}
