import type { BodyOf } from "../../../contract/endpoint.ts";
import {
  instanceVariables,
  organizationVariables,
  ownVariables,
  repositoryVariables,
} from "../../../contract/forge/actions/variables.ts";
import type { Route } from "../../../http/handle.ts";
import { page } from "../../../http/serve.ts";
import { serve } from "../../handle.ts";
import type { GrantedPlace } from "../../organizations/places.ts";
import type { PageWindow } from "../../page-window.ts";
import { reopenLevel, toLevel } from "./levels.service.ts";
import { toVariableView } from "./variable.view.ts";
import type { Variables } from "./variables.service.ts";

/** A request about one variable. */
interface VariableInput {
  readonly opened?: GrantedPlace;
  readonly params: { readonly variablename: string };
}

/** Returns the routes of variables, of every level. */
export function variableRoutes({ variables }: { readonly variables: Variables }): Route[] {
  const ofLevel = {
    list: async ({ opened, query }: { opened?: GrantedPlace; query: PageWindow }) => {
      const { records, total } = await variables.list(toLevel(opened), query);
      return page(records.map(toVariableView), total);
    },
    get: async ({ opened, params }: VariableInput) =>
      toVariableView(await variables.get(toLevel(opened), params.variablename)),
    create: ({ opened, params, body }: VariableInput & { readonly body: NewVariableBody }) =>
      variables.create(reopenLevel(opened), params.variablename, body),
    edit: ({ opened, params, body }: VariableInput & { readonly body: VariableEditBody }) =>
      variables.edit(reopenLevel(opened), params.variablename, body),
    delete: ({ opened, params }: VariableInput) =>
      variables.delete(reopenLevel(opened), params.variablename),
  };
  return [
    ...serve(repositoryVariables, ofLevel),
    ...serve(organizationVariables, ofLevel),
    ...serve(ownVariables, ofLevel),
    ...serve(instanceVariables, ofLevel),
  ];
}

type NewVariableBody = BodyOf<typeof instanceVariables.create>;
type VariableEditBody = BodyOf<typeof instanceVariables.edit>;
