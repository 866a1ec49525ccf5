import { z } from "zod";
import type { Queries } from "../../../../storage/engine/database.ts";
import { parseColumn } from "../../../../storage/engine/json-column.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import { type ActionRun, findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { readVariables } from "../secrets/variables.service.ts";
import type { OwnedRepository } from "../../events.ts";
import type { ForgeUrls } from "../../urls.ts";
import type { ExpressionValue } from "../../../workflows/expressions/values.ts";
import { toInputsContext } from "../../../workflows/dispatch-inputs.ts";
import { isMapping, type Mapping } from "../../../workflows/mapping.ts";
import type { Workflow } from "../../../workflows/workflow.ts";
import { toGithubContext } from "./run-contexts.ts";
import type { UserId, RunId } from "../../../../storage/tables/forge/ids.ts";

// The values of a file may be any JSON, because `parseWorkflow` has checked them.
const json = z.custom<ExpressionValue>((value) => value !== undefined);
const mapping = z.custom<Mapping>(isMapping);
const texts = z.array(z.string());
const concurrency = z.object({ group: z.string(), cancelInProgress: json }).optional();

const call = z
  .object({
    uses: z.string(),
    line: z.number(),
    with: mapping,
    secrets: z.union([z.literal("inherit"), z.record(z.string(), z.string())]),
    address: z.string().optional(),
  })
  .optional();
const callInterface = z
  .object({
    inputs: z.record(
      z.string(),
      z.object({
        type: z.enum(["string", "boolean", "number"]),
        isRequired: z.boolean(),
        default: json,
      }),
    ),
    secrets: z.record(z.string(), z.object({ isRequired: z.boolean() })),
    outputs: z.record(z.string(), z.string()),
  })
  .optional();

const oneWorkflow = z.object({
  name: z.string(),
  runName: z.string(),
  triggers: z.record(z.string(), z.custom<Workflow["triggers"][string]>(isMapping)),
  env: mapping,
  defaults: mapping,
  permissions: json,
  concurrency,
  jobs: z.array(
    z.object({
      key: z.string(),
      name: z.string(),
      needs: texts,
      condition: z.string().optional(),
      runsOn: json,
      matrix: json,
      failFast: json,
      maxParallel: json,
      timeoutMinutes: json,
      continueOnError: json,
      concurrency,
      call,
      source: mapping,
    }),
  ),
  callInterface,
});

/** The workflow as `createRunStarter` stores it. JSON has no undefined: members without a value are absent. */
const workflowSchema: z.ZodType<Workflow> = oneWorkflow.extend({
  calls: z.record(z.string(), oneWorkflow).optional(),
});

/** A run with the workflow and the contexts that decide which of its jobs run. */
export interface OpenRun {
  readonly run: ActionRun;
  readonly owned: OwnedRepository;
  readonly workflow: Workflow;
  readonly github: Mapping;
  readonly inputs: Mapping;
  readonly vars: Mapping;
}

/** Loads a run with its workflow and contexts; undefined when its repository was deleted or its file is invalid. */
export async function openRun(
  db: Queries,
  urls: ForgeUrls,
  runId: RunId,
): Promise<OpenRun | undefined> {
  const run = await findRun(db, runId);
  const repository = run && (await findRepositoryById(db, run.repositoryId));
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (run?.definition === undefined || repository === undefined || owner === undefined)
    return undefined;
  const nameOf = async (id: UserId | undefined) =>
    (id === undefined ? undefined : await findUserById(db, id))?.name ?? "Ghost";
  const actorName = await nameOf(run.actorId);
  const triggerName =
    run.triggerActorId === undefined ? actorName : await nameOf(run.triggerActorId);
  const workflow = parseColumn(workflowSchema, run.definition, "forge_action_runs.definition");
  const owned = { repository, owner };
  const github: Mapping = {
    ...toGithubContext({ run, owned, actorName, workflowName: workflow.name, urls }),
    triggering_actor: triggerName,
  };
  const inputs = toInputsContext(workflow, github["event"]);
  const vars = await readVariables(db, repository);
  return { run, owned, workflow, github, inputs, vars };
}
