/** A step that failed for a reason that its author can remedy. The message is shown in the log. */
export class StepError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StepError";
  }
}
