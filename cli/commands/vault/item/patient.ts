import type { Client } from "../../../client/client.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { Progress } from "../../../output/progress.ts";

/** A server that wants a longer pause is not waited for. */
const longestPauseSeconds = 15 * 60;
/** Pauses for one request. After so many, others take all that the server gives. */
const pausesMax = 20;

/**
 * The same context with a client that waits where the daemon or a provider takes no more requests for now: whoever moves
 * hundreds of files meets such limits as a matter of course. Only refusals that say when to try again are waited for,
 * and what runs at the same time waits as well. A connection that has to be reconnected is not asked for the rest.
 */
export function toPatient(cli: CliContext, progress: Progress): CliContext {
  let pause: Promise<void> | undefined;
  const shut = new Map<unknown, CliError>();

  async function repeat<T>(
    input: { readonly params?: unknown } | undefined,
    request: () => Promise<T>,
    canRepeat = true,
  ): Promise<T> {
    const params = input?.params as { readonly connection_id?: unknown } | undefined;
    const connection = params?.connection_id;
    for (let pauses = 0; ; pauses++) {
      await pause;
      const refusal = shut.get(connection);
      if (refusal !== undefined) throw refusal;
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        if (error.code === "reauth_required") shut.set(connection, error);
        const seconds = error.details.retryAfterSeconds;
        if (seconds === undefined || seconds > longestPauseSeconds) throw error;
        if (!canRepeat || pauses === pausesMax) throw error;
        pause ??= wait(seconds);
      }
    }
  }

  async function wait(seconds: number): Promise<void> {
    progress.waiting(seconds);
    try {
      await cli.system.sleep(seconds * 1000, cli.signal);
    } finally {
      pause = undefined;
    }
  }

  const client: Client = {
    ...cli.client,
    call: (operation, input, options) =>
      repeat(input, () => cli.client.call(operation, input, options)),
    download: (operation, input, options) =>
      repeat(input, () => cli.client.download(operation, input, options)),
    upload: (operation, input, form) =>
      repeat(input, () => cli.client.upload(operation, input, form), form.canRestart),
  };
  // Not a copy: the members of a context are made when they are first used.
  return Object.create(cli, { client: { value: client } }) as CliContext;
}
