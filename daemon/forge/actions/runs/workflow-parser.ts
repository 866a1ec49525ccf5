import { createHash } from "node:crypto";
import { assertNever } from "../../../errors.ts";
import {
  createThreadPool,
  type ThreadOutcome,
  threadsUnavailable,
} from "../../../jobs/thread-pool.ts";
import { createLruCache } from "../../../utilities/lru-cache.ts";
import type { Workflow } from "../../../workflows/workflow.ts";
import { WORKFLOW_BYTES_MAX } from "../../../workflows/yaml-source.ts";
import type { InvalidWorkflow, ParsedWorkflow } from "./workflow.worker.ts";
import type { UserId } from "../../../../storage/tables/forge/ids.ts";

/** The text of a workflow file. */
export interface WorkflowText {
  /** The name or path that errors show. */
  readonly file: string;
  /** Undefined for a file that is too large. */
  readonly text: string | undefined;
  /** The owner of the repository: threads are shared fairly between owners. */
  readonly ownerId: UserId;
}

/** Parses workflow files in worker threads. */
export type WorkflowParser = ReturnType<typeof createWorkflowParser>;

/** Processor time of one file. The worst known file takes half a second, and the first one loads the parser. */
const BUDGET_MS = 2_000;
/** Maximum length of the cached workflows, as JSON: the files of a push are needed twice, those of lists often. */
const CACHE_LENGTH_MAX = 8 * 1024 * 1024;

/**
 * Creates the parser; its threads start with the first file. One owner uses one of the two threads, so that files which
 * use up their budgets delay no other owner.
 * @param budgetMs processor time of one file
 */
export function createWorkflowParser(budgetMs = BUDGET_MS) {
  const threads = createThreadPool<string, ParsedWorkflow>({
    workerUrl: new URL("./workflow.worker.ts", import.meta.url),
    workerData: undefined,
    threadsMax: 2,
    runningPerCallerMax: 1,
    queue: { lengthMax: 512, lengthPerCallerMax: 64, sizeMax: 32 * 1024 * 1024 },
    idleMs: 30_000,
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });
  const cache = createLruCache<ParsedWorkflow>({
    valueLengthMax: CACHE_LENGTH_MAX / 4,
    lengthMax: CACHE_LENGTH_MAX,
  });

  return {
    /**
     * Parses a file; returns the reason with file and line when it is invalid or takes too much time or memory. Throws
     * `unavailable` with `Retry-After` when too many files wait or no thread can start.
     */
    async parse({ file, text, ownerId }: WorkflowText): Promise<Workflow | string> {
      if (text === undefined)
        return `${file}:1: a workflow has at most ${WORKFLOW_BYTES_MAX} bytes`;
      const key = createHash("sha256").update(text).digest("base64");
      const parsed = cache.get(key) ?? toParsed(await run(text, ownerId));
      cache.set(key, parsed, parsed.length);
      const { workflow } = parsed;
      return "reason" in workflow ? `${file}:${workflow.line}: ${workflow.reason}` : workflow;
    },
    /** Terminates the threads. */
    close: (): Promise<void> => threads.close(),
  };

  function run(text: string, ownerId: UserId): Promise<ThreadOutcome<ParsedWorkflow>> {
    return threads.run(text, { budgetMs, caller: String(ownerId), size: text.length });
  }
}

function toParsed(outcome: ThreadOutcome<ParsedWorkflow>): ParsedWorkflow {
  switch (outcome.kind) {
    case "done":
      return outcome.value;
    case "timed_out":
      return toInvalid("the file takes too long to parse");
    case "out_of_memory":
      return toInvalid("the file takes too much memory to parse");
    case "failed":
      throw outcome.error;
    case "queue_full":
    case "not_started":
      throw threadsUnavailable(outcome);
    default:
      return assertNever(outcome);
  }
}

function toInvalid(reason: string): ParsedWorkflow {
  const workflow: InvalidWorkflow = { line: 1, reason };
  return { workflow, length: reason.length };
}
