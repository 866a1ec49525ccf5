import { join, posix } from "node:path";
import type { ExpressionValue } from "../../../daemon/workflows/expressions/values.ts";
import { toToolkitVariables } from "../job/environment.ts";
import { StepError } from "../job/step-error.ts";
import { type Performed, runProgram, type StepRun, toReason, withinTime } from "../job/step-run.ts";
import { type Frame, toContexts } from "../job/session.ts";
import { type ActionFile, readActionFile } from "./action-file.ts";
import { checkOut, isCheckout } from "./checkout.ts";
import { findRealPath, JobFileError, readJobFile, replaceJobFile } from "../files/job-files.ts";

/** Composite actions within composite actions. */
const DEPTH_MAX = 10;

/** An action with its folder, as steps see it. */
interface FoundAction {
  readonly file: ActionFile;
  readonly stepFolder: string;
  /** Members of the `github` context. */
  readonly github: Readonly<Record<string, string>>;
}

/** Runs the action of a `uses` step. @throws StepError for an action that cannot be fetched */
export async function runAction(
  run: StepRun,
  uses: string,
  passed: Readonly<Record<string, string>>,
): Promise<Performed> {
  if (isCheckout(uses)) return checkOut(run, lowerKeys(passed));
  const action = await findAction(run, uses);
  const inputs = await toInputs(run, action.file, lowerKeys(passed), uses);
  return action.file.runs.using === "composite"
    ? runComposite(run, action, inputs)
    : runNode(run, action, inputs);
}

async function findAction({ session, signal }: StepRun, uses: string): Promise<FoundAction> {
  const { folders, place, repositories } = session;
  if (uses.startsWith("./")) {
    const folder = join(folders.workspace, uses);
    const file = await readActionFile(folders.workspace, folder);
    if (file === undefined)
      throw new StepError(`${uses} has no action.yml; has the repository been checked out?`);
    const stepFolder = place.toStepPath(folder);
    return { file, stepFolder, github: { action_path: stepFolder } };
  }
  if (uses.startsWith("docker://"))
    throw new StepError(`${uses}: actions that are container images are not supported`);
  const [, repository, path = "", ref] = REMOTE.exec(uses) ?? [];
  if (repository === undefined || ref === undefined)
    throw new StepError(
      `${JSON.stringify(uses)} names no action: ./PATH, or OWNER/NAME@REF of this forge`,
    );
  const root = await repositories.fetchAction(repository, ref);
  if (root === undefined)
    throw new StepError(
      `${uses} is not on this forge, and the built-in runner fetches actions from no other place; push the repository of the action to ${repository} here`,
    );
  const folder = join(root, path);
  const file = await readActionFile(root, folder);
  if (file === undefined) throw new StepError(`${uses} has no action.yml`);
  if (file.runs.using === "node") {
    const { main, pre, post } = file.runs;
    const scripts = [main, pre, post].filter((each) => each !== undefined);
    await acceptForge(
      root,
      scripts.map((script) => join(path, script)),
    );
  }
  const stepFolder = posix.join(await place.offerAction(root, signal), path);
  return {
    file,
    stepFolder,
    github: { action_path: stepFolder, action_repository: repository, action_ref: ref },
  };
}

const REMOTE = /^([\w.-]+\/[\w.-]+)((?:\/[^@]+)?)@(.+)$/;

async function toInputs(
  run: StepRun,
  { inputs }: ActionFile,
  passed: Readonly<Record<string, string>>,
  uses: string,
): Promise<Record<string, string>> {
  const { session, frame, contexts } = run;
  const values: Record<string, string> = { ...passed };
  for (const input of inputs) {
    const name = input.name.toLowerCase();
    if (values[name] !== undefined) continue;
    values[name] = await session.evaluation.text(toTemplate(input.default), contexts);
    if (input.isRequired && values[name] === "" && input.default === "")
      session.log.write(`::warning::${uses}: the input ${input.name} is required`);
  }
  const known = new Set(inputs.map(({ name }) => name.toLowerCase()));
  const unknown = Object.keys(passed).filter((name) => !known.has(name));
  if (unknown.length > 0 && frame.depth === 0)
    session.log.write(`::warning::${uses} has no input ${unknown.join(", ")}`);
  return values;
}

async function runComposite(
  run: StepRun,
  { file: { runs }, github }: FoundAction,
  inputs: Readonly<Record<string, string>>,
): Promise<Performed> {
  const { session, frame, env } = run;
  if (runs.using !== "composite") throw new Error("the action is not a composite one");
  if (frame.depth >= DEPTH_MAX)
    throw new StepError(`composite actions are nested at most ${DEPTH_MAX} deep`);
  const inner: Frame = {
    results: new Map(),
    inputs,
    env: { ...frame.env, ...env },
    github,
    defaults: { shell: undefined, workingDirectory: undefined },
    depth: frame.depth + 1,
    timeIsOver: run.timeIsOver,
    hasFailed: false,
  };
  await run.runSteps(inner, runs.steps);
  const outputs = await session.evaluation.texts(runs.outputs, toContexts(session, inner));
  return { isSuccess: !inner.hasFailed && !run.signal.aborted, outputs };
}

async function runNode(
  run: StepRun,
  { file: { runs, name }, stepFolder, github }: FoundAction,
  inputs: Readonly<Record<string, string>>,
): Promise<Performed> {
  const { session, frame, contexts } = run;
  if (runs.using !== "node") throw new Error("the action is no JavaScript action");
  const { place } = session;
  let state: Readonly<Record<string, string>> = {};
  const variables = Object.fromEntries(
    Object.entries(inputs).map(([input, value]) => [
      `INPUT_${input.replaceAll(" ", "_").toUpperCase()}`,
      value,
    ]),
  );
  const own = {
    ...contexts,
    github: { ...(contexts["github"] as Record<string, ExpressionValue>), ...github },
  };
  const start = (file: string, signal: AbortSignal) =>
    runProgram(
      { ...run, contexts: own, signal },
      {
        argv: [...place.node, posix.join(stepFolder, file)],
        cwd: place.workspace,
        env: {
          ...toToolkitVariables(contexts),
          ...variables,
          ...Object.fromEntries(
            Object.entries(state).map(([key, value]) => [`STATE_${key}`, value]),
          ),
        },
        onState: (values) => (state = { ...state, ...values }),
      },
    );
  const { pre, preIf, post, postIf, main } = runs;
  if (post !== undefined)
    session.posts.push({
      name: `Post ${name || run.step.name}`,
      condition: postIf,
      frame,
      run: async (signal) => (await start(post, signal)).isSuccess,
    });
  // The files of a local action exist only now, so its `pre` script runs before the step instead of before the job.
  const status = session.cancelled.aborted ? "cancelled" : frame.hasFailed ? "failure" : "success";
  if (pre !== undefined && (await session.evaluation.condition(preIf, own, status))) {
    const prepared = await start(pre, run.signal);
    if (!prepared.isSuccess) return prepared;
  }
  return start(main, run.signal);
}

/**
 * Runs the `post` scripts of the actions, the last one first. Returns whether all succeeded. A failing script does
 * not prevent the others, because they clean up after their steps.
 */
export async function runPosts(session: StepRun["session"], jobFrame: Frame): Promise<boolean> {
  let areAllWell = true;
  for (const { name, condition, frame, run } of session.posts.toReversed()) {
    const status = session.cancelled.aborted
      ? "cancelled"
      : jobFrame.hasFailed
        ? "failure"
        : "success";
    let isShown = false;
    try {
      const contexts = toContexts(session, frame);
      if (!(await session.evaluation.condition(condition, contexts, status))) continue;
      session.log.write(`::group::${name}`);
      isShown = true;
      const wasCancelled = session.cancelled.aborted;
      const limits = { limit: undefined, outer: undefined, wasCancelled };
      areAllWell = (await withinTime(session, limits, run)) && areAllWell;
    } catch (error) {
      session.log.write(`::error::${toReason(error)}`);
      areAllWell = false;
    } finally {
      if (isShown) session.log.write("::endgroup::");
    }
  }
  return areAllWell;
}

function toTemplate(value: ExpressionValue): string {
  return value === null || typeof value === "object" ? "" : String(value);
}

function lowerKeys(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** Larger files are not bundles of an action. */
const BUNDLE_BYTES_MAX = 64 * 1024 * 1024;
/** Only the artifact client has this error, and throws it for servers that it takes for GitHub Enterprise. */
const REFUSAL = "GHESNotSupportedError";
/**
 * The last of the three tests of the server's host that the artifact client makes. It is in capitals nowhere else: HTTP
 * clients in the same bundles test for `.localhost`.
 */
const HOST_TEST = /(\.endsWith\(\s*)(?:'\.LOCALHOST'|"\.LOCALHOST"|`\.LOCALHOST`)(\s*\))/g;

/**
 * Lets the artifact client in the scripts of a fetched action accept this forge: without a change it works with hosts of
 * GitHub alone. A script without that client stays as it is, and so does one outside of `root`.
 */
export async function acceptForge(root: string, scripts: readonly string[]): Promise<void> {
  for (const script of scripts) {
    const path = await findRealPath(root, join(root, script));
    // Node reports a script that is missing.
    if (path === undefined) continue;
    const text = await readBundle(root, path);
    if (!text.includes(REFUSAL) || text.search(HOST_TEST) === -1) continue;
    // Every host ends in an empty text.
    await replaceJobFile(path, text.replaceAll(HOST_TEST, '$1""$2'));
  }
}

async function readBundle(root: string, path: string): Promise<string> {
  try {
    return (await readJobFile(root, path, BUNDLE_BYTES_MAX)) ?? "";
  } catch (error) {
    // It is no bundle.
    if (error instanceof JobFileError) return "";
    throw error;
  }
}
