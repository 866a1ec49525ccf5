import { jwtVerify, SignJWT } from "jose";
import type { Keyring } from "../../../../storage/keys/keyring.ts";
import {
  type TaskId,
  type RunId,
  type JobId,
  toTaskId,
  toRunId,
  toJobId,
} from "../../../../storage/tables/forge/ids.ts";

/** The job that a runtime token belongs to. */
export interface RuntimeIdentity {
  readonly taskId: TaskId;
  readonly runId: RunId;
  readonly jobId: JobId;
}

const PURPOSE = "action-runtime-token";
const ISSUER = "croft-actions";
/** Longer than any job runs, because the end of the task already invalidates the token. */
const LIFETIME = "30d";

/** Tokens by which the artifact client of a job signs in. The client reads run and job from the claim `scp`. */
export type RuntimeTokens = ReturnType<typeof createRuntimeTokens>;

export function createRuntimeTokens({
  keyring,
}: {
  readonly keyring: Pick<Keyring, "derive" | "deriveAll">;
}) {
  return {
    sign: ({ taskId, runId, jobId }: RuntimeIdentity): Promise<string> =>
      new SignJWT({ scp: `Actions.Results:${runId}:${jobId}` })
        .setProtectedHeader({ alg: "HS256" })
        .setIssuer(ISSUER)
        .setSubject(String(taskId))
        .setIssuedAt()
        .setExpirationTime(LIFETIME)
        .sign(keyring.derive(PURPOSE)),

    /** Returns the job of a token; undefined for an invalid token. Does not check whether the task is still running. */
    async verify(token: string): Promise<RuntimeIdentity | undefined> {
      for (const key of keyring.deriveAll(PURPOSE)) {
        // jose throws a different error for each reason; all of them mean an invalid token here.
        const verified = await jwtVerify(token, key, {
          issuer: ISSUER,
          algorithms: ["HS256"],
        }).catch(() => undefined);
        if (verified === undefined) continue;
        const { scp, sub = "" } = verified.payload;
        const [, run, job] = /^Actions\.Results:(\d{1,15}):(\d{1,15})$/.exec(String(scp)) ?? [];
        if (run === undefined || job === undefined || !/^\d{1,15}$/.test(sub)) return undefined;
        return { taskId: toTaskId(sub), runId: toRunId(run), jobId: toJobId(job) };
      }
      return undefined;
    },
  };
}
