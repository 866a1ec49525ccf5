import type { ActionVariable } from "../../../../storage/tables/forge/actions/variables.ts";
import type { WireVariable } from "../../../contract/forge/actions/variables.ts";

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
