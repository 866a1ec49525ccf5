import { repositoryActionEndpoints } from "../../contract/forge/actions/repository-actions.ts";
import type { WireRun } from "../../contract/forge/actions/shapes.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { Form } from "../../pages/form.tsx";
import { toPath } from "../../pages/page.ts";
import {
  findRefusal,
  formRefusals,
  type ForgePageAnswer,
  type ForgePageContext,
  type RepositoryParams,
  toSentence,
  toSignIn,
} from "./forge-page.ts";

const runs = repositoryActionEndpoints;
/** The changes of a run by the last part of their address. */
const changes = {
  cancel: runs.cancelRun,
  rerun: runs.rerunRun,
  "rerun-failed": runs.rerunFailedJobs,
  approve: runs.approveRun,
} as const;
export const runChanges = Object.keys(changes) as (keyof typeof changes)[];

type RunParams = RepositoryParams & { readonly run: string };
export type ShowAgain<Params> = (
  context: ForgePageContext,
  params: Params,
  failure?: string,
) => Promise<ForgePageAnswer>;

/** Changes a run and shows it again. */
export function changeRun(change: keyof typeof changes, show: ShowAgain<RunParams>) {
  return async (context: ForgePageContext, params: RunParams): Promise<ForgePageAnswer> => {
    const home = toPath(params.owner, params.repo, "actions", "runs", params.run);
    if (context.session === undefined) return toSignIn(home);
    const refusal = await findRefusal(formRefusals, () =>
      context.call(changes[change], { params }),
    );
    if (refusal !== undefined) return show(context, params, toSentence(refusal));
    return { kind: "redirect", to: home };
  };
}

/** The buttons for a run, for those who may write. */
export function RunButtons({
  context: { session },
  repository,
  run,
}: {
  context: ForgePageContext;
  repository: WireRepository;
  run: WireRun;
}) {
  if (!mayStart(session, repository) || run.needs_approval === true) return null;
  const home = toPath(repository.owner.login, repository.name, "actions", "runs", String(run.id));
  const isOver = run.status === "completed";
  const buttons = isOver
    ? ([
        ["rerun", "Run all jobs again"],
        ...(run.conclusion === "success" ? [] : [["rerun-failed", "Run failed jobs again"]]),
      ] as const)
    : ([["cancel", "Cancel"]] as const);
  return (
    <div className="actions">
      {buttons.map(([change, text]) => (
        <Form
          key={change}
          action={`${home}/${change}`}
          token={session?.formToken}
          className="inline"
        >
          <button type="submit">{text}</button>
        </Form>
      ))}
    </div>
  );
}

/** Whether a person may start workflows of a repository. */
export const mayStart = (session: ForgePageContext["session"], repository: WireRepository) =>
  session !== undefined && repository.permissions?.push === true && !repository.archived;
