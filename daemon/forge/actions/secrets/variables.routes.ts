import {
  createInstanceVariable,
  createOrganizationVariable,
  createOwnVariable,
  createRepositoryVariable,
  deleteInstanceVariable,
  deleteOrganizationVariable,
  deleteOwnVariable,
  deleteRepositoryVariable,
  editInstanceVariable,
  editOrganizationVariable,
  editOwnVariable,
  editRepositoryVariable,
  getInstanceVariable,
  getOrganizationVariable,
  getOwnVariable,
  getRepositoryVariable,
  listInstanceVariables,
  listOrganizationVariables,
  listOwnVariables,
  listRepositoryVariables,
} from "../../../contract/forge/actions/variables.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import { toVariableList, toVariableView } from "./variable.view.ts";
import type { ActionLevels } from "./levels.service.ts";
import type { Variables } from "./variables.service.ts";

/** Returns the routes of variables, of every level. */
export function variableRoutes({
  levels,
  variables,
}: {
  readonly levels: ActionLevels;
  readonly variables: Variables;
}): Route[] {
  return [
    handle(listRepositoryVariables, async ({ caller, params, query }) =>
      toVariableList(await variables.list(await levels.ofRepository(params, caller), query)),
    ),
    handle(getRepositoryVariable, async ({ caller, params }) => ({
      status: 200,
      body: toVariableView(
        await variables.get(await levels.ofRepository(params, caller), params.variablename),
      ),
    })),
    handle(createRepositoryVariable, async ({ caller, params, body }) => {
      await variables.create(
        (db) => levels.ofRepository(params, caller, db),
        params.variablename,
        body,
      );
      return { status: 201 };
    }),
    handle(editRepositoryVariable, async ({ caller, params, body }) => {
      await variables.edit(
        (db) => levels.ofRepository(params, caller, db),
        params.variablename,
        body,
      );
      return { status: 204 };
    }),
    handle(deleteRepositoryVariable, async ({ caller, params }) => {
      await variables.delete((db) => levels.ofRepository(params, caller, db), params.variablename);
      return { status: 204 };
    }),
    handle(listOrganizationVariables, async ({ caller, params, query }) =>
      toVariableList(await variables.list(await levels.ofOrganization(params.org, caller), query)),
    ),
    handle(getOrganizationVariable, async ({ caller, params }) => ({
      status: 200,
      body: toVariableView(
        await variables.get(await levels.ofOrganization(params.org, caller), params.variablename),
      ),
    })),
    handle(createOrganizationVariable, async ({ caller, params, body }) => {
      await variables.create(
        (db) => levels.ofOrganization(params.org, caller, db),
        params.variablename,
        body,
      );
      return { status: 201 };
    }),
    handle(editOrganizationVariable, async ({ caller, params, body }) => {
      await variables.edit(
        (db) => levels.ofOrganization(params.org, caller, db),
        params.variablename,
        body,
      );
      return { status: 204 };
    }),
    handle(deleteOrganizationVariable, async ({ caller, params }) => {
      await variables.delete(
        (db) => levels.ofOrganization(params.org, caller, db),
        params.variablename,
      );
      return { status: 204 };
    }),
    handle(listOwnVariables, async ({ caller, query }) =>
      toVariableList(await variables.list(levels.ofUser(caller), query)),
    ),
    handle(getOwnVariable, async ({ caller, params }) => ({
      status: 200,
      body: toVariableView(await variables.get(levels.ofUser(caller), params.variablename)),
    })),
    handle(createOwnVariable, async ({ caller, params, body }) => {
      await variables.create(() => levels.ofUser(caller), params.variablename, body);
      return { status: 201 };
    }),
    handle(editOwnVariable, async ({ caller, params, body }) => {
      await variables.edit(() => levels.ofUser(caller), params.variablename, body);
      return { status: 204 };
    }),
    handle(deleteOwnVariable, async ({ caller, params }) => {
      await variables.delete(() => levels.ofUser(caller), params.variablename);
      return { status: 204 };
    }),
    handle(listInstanceVariables, async ({ query }) =>
      toVariableList(await variables.list(levels.ofInstance, query)),
    ),
    handle(getInstanceVariable, async ({ params }) => ({
      status: 200,
      body: toVariableView(await variables.get(levels.ofInstance, params.variablename)),
    })),
    handle(createInstanceVariable, async ({ params, body }) => {
      await variables.create(() => levels.ofInstance, params.variablename, body);
      return { status: 201 };
    }),
    handle(editInstanceVariable, async ({ params, body }) => {
      await variables.edit(() => levels.ofInstance, params.variablename, body);
      return { status: 204 };
    }),
    handle(deleteInstanceVariable, async ({ params }) => {
      await variables.delete(() => levels.ofInstance, params.variablename);
      return { status: 204 };
    }),
  ];
}
