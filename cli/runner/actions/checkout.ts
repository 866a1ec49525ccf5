import { posix } from "node:path";
import type { Mapping } from "../../../daemon/workflows/mapping.ts";
import { removeFolder } from "../files/job-folders.ts";
import { StepError } from "../job/step-error.ts";
import { type Performed, type StepRun } from "../job/step-run.ts";

/** Returns whether an action is the public checkout, which is built into the runner. */
export function isCheckout(uses: string): boolean {
  return /^(?:https:\/\/[^/]+\/)?actions\/checkout@/.test(uses);
}

/** Inputs that the built-in checkout does not support. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ["submodules", "submodules"],
  ["lfs", "Git LFS"],
]);

/** Fetches a repository of the forge into the workspace, by the token of the job. @throws StepError */
export async function checkOut(
  { session, contexts, signal }: StepRun,
  inputs: Readonly<Record<string, string>>,
): Promise<Performed> {
  const { log, repositories } = session;
  const github = contexts["github"] as Mapping;
  for (const [name, feature] of REFUSED)
    if (!["", "false"].includes(inputs[name] ?? ""))
      throw new StepError(`the built-in checkout does not fetch ${feature}`);
  if ((inputs["ssh-key"] ?? "") !== "")
    throw new StepError("the built-in checkout fetches over HTTP and takes no ssh-key");
  if ((inputs["sparse-checkout"] ?? "") !== "")
    log.write("::warning::sparse-checkout is ignored: all files are checked out");
  const own = String(github["repository"] ?? "");
  const repository = inputs["repository"] || own;
  const isOwn = repository.toLowerCase() === own.toLowerCase();
  const requestedRef = inputs["ref"] ?? "";
  const ref = requestedRef !== "" ? requestedRef : isOwn ? String(github["ref"] ?? "") : undefined;
  const depth = Number(inputs["fetch-depth"] || 1);
  if (!Number.isSafeInteger(depth) || depth < 0)
    throw new StepError("fetch-depth must be 0 or a positive number");
  const folder = await repositories.newPrivateFolder(session.newName("checkout-"));
  try {
    const fetched = await repositories.fetch(folder, {
      repository,
      ref: ref === "" ? undefined : ref,
      commit: requestedRef === "" && isOwn ? String(github["sha"] ?? "") : undefined,
      depth,
      token: inputs["token"] ?? String(github["token"] ?? ""),
      keepToken: isOn(inputs["persist-credentials"]),
      signal,
    });
    if (fetched === undefined)
      throw new StepError(
        `cannot fetch ${requestedRef === "" ? repository : `${requestedRef} of ${repository}`}: it does not exist, or the token of the job may not read it`,
      );
    const { files, ...outputs } = fetched;
    const checkout = { repository: repository.toLowerCase(), files };
    await install({ session, signal }, { folder, inputs, checkout });
    log.write(`Checked out ${repository} at ${fetched.commit}`);
    return { isSuccess: true, outputs };
  } finally {
    // Its configuration may hold the token, also after a failure.
    await removeFolder(folder);
  }
}

/**
 * Moves a checkout into the workspace. As with the public action, the folder then has the files of the commit alone; with
 * `clean: false` other files stay in a folder where the same repository was checked out before.
 */
async function install(
  { session, signal }: Pick<StepRun, "session" | "signal">,
  {
    folder,
    inputs,
    checkout,
  }: {
    readonly folder: string;
    readonly inputs: Readonly<Record<string, string>>;
    readonly checkout: { readonly repository: string; readonly files: readonly string[] };
  },
): Promise<void> {
  const target = inputs["path"] || ".";
  const key = posix.normalize(target).replace(/\/$/, "");
  const former = session.checkouts.get(key);
  const isKept = !isOn(inputs["clean"]) && former?.repository === checkout.repository;
  const files = new Set(checkout.files);
  const stale = isKept ? former.files.filter((file) => !files.has(file)) : undefined;
  session.checkouts.delete(key);
  await session.place.install({ folder, target, stale, signal });
  session.checkouts.set(key, checkout);
}

/** Reads an input that is on when it is absent, as the public action does: any other text than "true" is off. */
function isOn(input: string | undefined): boolean {
  return (input || "true").toLowerCase() === "true";
}
