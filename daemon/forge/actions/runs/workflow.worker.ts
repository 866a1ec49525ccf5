import { serveThread } from "../../../jobs/serve-thread.ts";
import { parseWorkflow, type Workflow } from "../../../workflows/workflow.ts";
import { WorkflowError } from "../../../workflows/yaml-source.ts";
import { nextCronTime } from "./cron-times.ts";

/** Why a file is invalid, and the line, which counts from 1. */
export interface InvalidWorkflow {
  readonly line: number;
  readonly reason: string;
}

export interface ParsedWorkflow {
  readonly workflow: Workflow | InvalidWorkflow;
  /** Length of the workflow as JSON: aliases can make it many times longer than the file. */
  readonly length: number;
}

// Entry of a worker thread that parses untrusted workflow files.
serveThread(async (text: string): Promise<ParsedWorkflow> => {
  const workflow = parse(text);
  return { workflow, length: JSON.stringify(workflow).length };
});

function parse(text: string): Workflow | InvalidWorkflow {
  try {
    const workflow = parseWorkflow(text);
    const times = workflow.triggers["schedule"]?.cron ?? [];
    const wrong = times.find((time) => nextCronTime(time, 0) === undefined);
    return wrong === undefined
      ? workflow
      : { line: 1, reason: `on.schedule has the invalid time ${JSON.stringify(wrong)}` };
  } catch (error) {
    if (error instanceof WorkflowError) return { line: error.line, reason: error.message };
    throw error;
  }
}
