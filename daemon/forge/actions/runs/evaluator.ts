import { evaluateInThread } from "../../../workflows/evaluation.ts";
import { z } from "zod";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import { findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { type RunId, toRunId } from "../../../../storage/tables/forge/ids.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../../jobs/job-kind.ts";
import type { Enqueue } from "../../../jobs/queue.ts";
import type { Compute } from "../../compute.ts";
import {
  type EvaluationRequest,
  type EvaluationResult,
  evaluateRequest,
} from "../../../workflows/evaluation.ts";
import { createWork, type Work, WorkExceeded } from "../../../workflows/expressions/work.ts";

/** An evaluation that a transaction needs. */
export interface Evaluation {
  readonly runId: RunId;
  /** Names the evaluation within the run. */
  readonly key: string;
  /** Bytes that are read before the work begins, such as outputs. */
  readonly bytes: number;
  readonly build: () => Promise<EvaluationRequest>;
}

/** Evaluates expressions of runs in transactions without delaying other requests. */
export interface Evaluator {
  /**
   * Evaluates at once what takes few steps. All evaluations of a transaction share the budget. Beyond it returns
   * undefined: a job evaluates in a worker thread and then advances the run with the result.
   */
  evaluate(tx: Transaction, evaluation: Evaluation): Promise<EvaluationResult | undefined>;
}

/** Steps of all evaluations of one transaction: some 5 ms. */
const STEPS_MAX = 500_000;
/** Maximum number of evaluations that one job of the queue makes; others wait for their turn again. */
const BATCH_MAX = 8;

const KIND = "forge.actions.evaluate";
const payloadSchema = z.object({ runId: z.number() });

/** The evaluations of one transaction. */
interface Batch {
  readonly work: Work;
  isExceeded: boolean;
  readonly results: ReadonlyMap<string, EvaluationResult>;
  /** Collects what is evaluated after the transaction; undefined when a job of the queue does it. */
  readonly deferred: Map<string, EvaluationRequest> | undefined;
  readonly enqueued: Set<RunId>;
}

export interface EvaluatorDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly compute: Pick<Compute, "run">;
  readonly stepsMax?: number;
}

export function createEvaluator({
  db,
  enqueue,
  compute,
  stepsMax = STEPS_MAX,
}: EvaluatorDeps): Evaluator & {
  /** Returns the kind of job that evaluates in threads. @param advance decides the jobs of a run */
  createJob(advance: (tx: Transaction, runId: RunId) => Promise<void>): JobKind;
} {
  const batches = new WeakMap<Transaction, Batch>();

  const begin = (tx: Transaction, { results, deferred }: Pick<Batch, "results" | "deferred">) => {
    const work = createWork(stepsMax);
    const batch = { work, isExceeded: false, results, deferred, enqueued: new Set<RunId>() };
    batches.set(tx, batch);
    return batch;
  };

  return {
    async evaluate(tx, { runId, key, bytes, build }) {
      const batch = batches.get(tx) ?? begin(tx, { results: new Map(), deferred: undefined });
      const known = batch.results.get(toKey(runId, key));
      if (known !== undefined) return known;
      if (!batch.isExceeded)
        try {
          batch.work.spend(bytes);
          return evaluateRequest(await build(), batch.work);
        } catch (error) {
          if (!(error instanceof WorkExceeded)) throw error;
          batch.isExceeded = true;
        }
      const { deferred, enqueued } = batch;
      if (deferred === undefined) {
        if (enqueued.has(runId)) return undefined;
        enqueued.add(runId);
        await enqueue(tx, { kind: KIND, payload: { runId }, key: String(runId) });
      } else if (deferred.size < BATCH_MAX) deferred.set(toKey(runId, key), await build());
      return undefined;
    },

    createJob: (advance) => ({
      kind: KIND,
      concurrency: 2,
      async run(payload) {
        const runId = toRunId(parsePayload(payloadSchema, payload).runId);
        const run = await findRun(db, runId);
        const repository = run && (await findRepositoryById(db, run.repositoryId));
        if (repository === undefined) return;
        const deferred = new Map<string, EvaluationRequest>();
        await db.transaction(async (tx) => {
          deferred.clear();
          begin(tx, { results: new Map(), deferred });
          await advance(tx, runId);
        });
        const results = new Map<string, EvaluationResult>();
        for (const [key, request] of deferred)
          results.set(key, await evaluate(request, String(repository.ownerId)));
        if (results.size === 0) return;
        await db.transaction(async (tx) => {
          begin(tx, { results, deferred: undefined });
          await advance(tx, runId);
        });
      },
    }),
  };

  async function evaluate(request: EvaluationRequest, account: string): Promise<EvaluationResult> {
    const computed = await compute.run(evaluateInThread, request, account);
    return computed.kind === "done"
      ? computed.value
      : { kind: "failed", reason: `evaluating the expressions takes ${computed.reason}` };
  }
}

const toKey = (runId: RunId, key: string) => `${runId}/${key}`;
