import type { Route } from "./http/handle.ts";
import type { CronTask } from "./jobs/cron-task.ts";
import type { JobKind } from "./jobs/job-kind.ts";
import type { PageRoute } from "./pages/page.ts";

/** What a feature adds to its API. A feature returns those members that it has; the composition collects them. */
export interface Feature<Caller> {
  /** For other features and for the composition. */
  readonly services?: object;
  /** Operations of the API. */
  readonly routes?: readonly Route[];
  readonly pages?: readonly PageRoute<Caller>[];
  readonly jobs?: readonly JobKind[];
  /** The code of scheduled tasks, which `daemon/forge/tasks.ts` and `daemon/vault/tasks.ts` declare. */
  readonly tasks?: readonly CronTask[];
  /** Begins background work, when the daemon has started. */
  start?(): void;
  /** Ends event streams and held requests, which would otherwise keep a stopping daemon waiting. */
  beginStop?(): void;
  close?(): Promise<void>;
}

/** Members that the composition collects from features. */
type ListMember<F> = {
  [Name in keyof F]-?: NonNullable<F[Name]> extends readonly unknown[] ? Name : never;
}[keyof F];

/** Returns what all features have in a member, in the order of the features. */
export function collect<F extends object, Name extends ListMember<F>>(
  features: readonly F[],
  name: Name,
): NonNullable<F[Name]> extends readonly (infer Each)[] ? Each[] : never {
  return features.flatMap((feature) => feature[name] ?? []) as never;
}

/** Closes features in the opposite order, so that none loses what it still needs. */
export async function closeAll(features: readonly Pick<Feature<never>, "close">[]): Promise<void> {
  for (const feature of features.toReversed()) await feature.close?.();
}
