import { DryRun, toCliError } from "../errors.ts";
import { type Message, toProblemText } from "./frame.ts";

/** Runs the actions of a screen one after the other and keeps their status message. */
export type TaskQueue = ReturnType<typeof createTaskQueue>;

/** @param notify is called when there is another message */
export function createTaskQueue(notify: () => void) {
  let message: Message | undefined;
  let underWay: Promise<void> = Promise.resolve();
  const tasks = {
    get message() {
      return message;
    },
    say(text: string, isProblem: boolean = false): void {
      message = { text, isProblem };
      notify();
    },
    /** Removes the message. */
    clearMessage(): void {
      message = undefined;
    },
    /** Runs work after all earlier work, and shows the text that it returns, or its failure. */
    attempt(work: () => Promise<string | void>): void {
      underWay = underWay.then(work).then(
        (text) => {
          if (text !== undefined) tasks.say(text);
        },
        (error: unknown) => {
          if (error instanceof DryRun) tasks.say("Nothing was sent: this is a dry run.");
          else tasks.say(toProblemText(toCliError(error)), true);
        },
      );
    },
  };
  return tasks;
}

/** Notifies listeners that the screen may have changed. */
export function createChangeListeners() {
  const listeners = new Set<() => void>();
  return {
    notify() {
      for (const listener of listeners) listener();
    },
    /** Returns the function that ends the subscription. */
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
