import type { Queries } from "../../../../storage/engine/database.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import { findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUrls } from "../../urls.ts";
import { isMapping } from "../workflows/mapping.ts";
import type { Workflow } from "../workflows/workflow.ts";
import type { OpenRun } from "./advance-run.ts";
import { toGithubContext } from "./run-contexts.ts";

/** Loads a run with its workflow and contexts; undefined when its repository is gone or its file is invalid. */
export async function openRun(
  db: Queries,
  urls: ForgeUrls,
  runId: number,
): Promise<OpenRun | undefined> {
  const run = await findRun(db, runId);
  const repository = run && (await findRepositoryById(db, run.repositoryId));
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (run?.definition === undefined || repository === undefined || owner === undefined)
    return undefined;
  const actor = run.actorId === undefined ? undefined : await findUserById(db, run.actorId);
  const actorName = actor?.name ?? "Ghost";
  const github = toGithubContext({ run, what: { repository, owner }, actorName, urls });
  const { event } = github;
  const inputs = isMapping(event) && isMapping(event["inputs"]) ? event["inputs"] : {};
  // The run wrote it itself, from a parsed file.
  return { run, workflow: JSON.parse(run.definition) as Workflow, github, inputs };
}
