import { z } from "zod";
import type { Database } from "../../storage/engine/database.ts";
import {
  deleteSignInFlow,
  findSignInFlow,
  insertSignInFlow,
} from "../../storage/tables/common/sign-in-flows.ts";
import { AppError } from "../errors.ts";
import { createSecret, toSessionId } from "../pages/sessions.ts";

const identitySchema = z.object({
  issuer: z.string(),
  subject: z.string(),
  email: z.string().optional(),
  username: z.string(),
  fullName: z.string(),
  groups: z.array(z.string()),
});

const flowSchema = z.discriminatedUnion("step", [
  /** The browser is at the provider. */
  z.object({
    step: z.literal("provider"),
    site: z.string(),
    state: z.string(),
    nonce: z.string(),
    verifier: z.string(),
    to: z.string(),
    /** The account that is to be linked; undefined for a sign-in. */
    account: z.string().optional(),
  }),
  /** The provider knows the person; a code or the password of an account is missing. */
  z.object({
    step: z.literal("confirm"),
    site: z.string(),
    identity: identitySchema,
    to: z.string(),
    /** The linked account whose second factor is missing. */
    account: z.string().optional(),
  }),
]);

/** A sign-in under way. */
export type SignInFlow = Readonly<z.output<typeof flowSchema>>;

export type SignInFlows = ReturnType<typeof createSignInFlows>;

/** Time for a person to sign in at the provider, and to confirm. */
export const FLOW_MS = 10 * 60_000;

/** Keeps sign-ins under way for the browser that began them, which has the secret. */
export function createSignInFlows({
  db,
  clock,
  random,
}: {
  readonly db: Database;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
}) {
  return {
    /** Keeps a sign-in and returns the secret for the cookie of its browser. */
    async keep(flow: SignInFlow): Promise<string> {
      const secret = createSecret(random);
      const id = toSessionId(secret);
      const details = JSON.stringify(flow);
      await db.transaction((tx) =>
        insertSignInFlow(tx, { id, details, expiresAt: tx.now + FLOW_MS }),
      );
      return secret;
    },

    /** Returns a sign-in at a step. Throws `invalid_credentials` for a secret that is unknown, expired or of another step or site. */
    async open<Step extends SignInFlow["step"]>(
      secret: string | undefined,
      { site, step }: { readonly site: string; readonly step: Step },
    ): Promise<Extract<SignInFlow, { readonly step: Step }>> {
      const details =
        secret === undefined ? undefined : await findSignInFlow(db, toSessionId(secret), clock());
      const flow = details === undefined ? undefined : flowSchema.parse(JSON.parse(details));
      if (flow?.step !== step || flow.site !== site) throw ended();
      return flow as Extract<SignInFlow, { readonly step: Step }>;
    },

    /** Ends a sign-in. Throws `invalid_credentials` when it has ended: an answer of the provider counts once. */
    async end(secret: string): Promise<void> {
      if (!(await deleteSignInFlow(db, toSessionId(secret)))) throw ended();
    },
  };
}

const ended = () =>
  new AppError(
    "invalid_credentials",
    "This sign-in has ended, or began in another browser. Begin again.",
  );
