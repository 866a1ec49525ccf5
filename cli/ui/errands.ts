import { DryRun, toCliError } from "../errors.ts";
import { toProblemText } from "./frame.ts";

/** What the person is told in the line above the keys. */
export interface Message {
  readonly text: string;
  readonly isProblem: boolean;
}

/** What a screen does for the person, one thing after the other, and what it says about it. */
export interface Errands {
  readonly message: Message | undefined;
  say(text: string, isProblem?: boolean): void;
  /** Takes the message away. */
  hush(): void;
  /** Does something after whatever was asked for before, and says the text that comes of it, or what went wrong. */
  attempt(work: () => Promise<string | void>): void;
}

/** @param announce is called when there is another message */
export function createErrands(announce: () => void): Errands {
  let message: Message | undefined;
  let underWay: Promise<void> = Promise.resolve();
  const errands: Errands = {
    get message() {
      return message;
    },
    say(text, isProblem = false) {
      message = { text, isProblem };
      announce();
    },
    hush() {
      message = undefined;
    },
    attempt(work) {
      underWay = underWay.then(work).then(
        (text) => {
          if (text !== undefined) errands.say(text);
        },
        (error: unknown) => {
          if (error instanceof DryRun) errands.say("Nothing was sent: this is a dry run.");
          else errands.say(toProblemText(toCliError(error)), true);
        },
      );
    },
  };
  return errands;
}
