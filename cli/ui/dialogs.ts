import type { Question } from "./frame.ts";
import { type Key, edit, type Field, toField } from "./keys.ts";
import { moveOf } from "./scrolling.ts";

/** A prompt for one line. */
export interface Asking {
  readonly label: string;
  /** What Enter does, for the line of keys, such as `renames`. */
  readonly enter: string;
  /** The initial text of the field. */
  readonly text: string;
  /** Not called for an empty line. */
  readonly onEnter: (text: string) => void;
  readonly onChange?: (text: string) => void;
  readonly onEscape?: () => void;
  /** Completes the text on Tab. */
  readonly complete?: (text: string) => Promise<string>;
}

/** Dialogs over a screen that receive its keys: a confirmation, a text field, the help. */
export interface Dialogs {
  readonly question: Question | undefined;
  /** The first line shown of the help; undefined while it is closed. */
  readonly helpTop: number | undefined;
  /** Asks for confirmation; anything but `y` is no. */
  confirm(text: string, yes: () => void): void;
  ask(asking: Asking): void;
  openHelp(): void;
  /** The help has no more lines to scroll. */
  limitHelp(most: number): void;
  /** Handles a key; returns false when no dialog is open. Pasted text is for fields only. */
  take(key: Key, height: number): boolean;
}

/** @param notify is called when something changes without a key */
export function createDialogs(notify: () => void): Dialogs {
  let confirmation: { readonly text: string; readonly yes: () => void } | undefined;
  let prompt: { readonly asking: Asking; readonly field: Field } | undefined;
  let helpTop: number | undefined;

  return {
    get question(): Question | undefined {
      if (confirmation !== undefined) return { kind: "confirm", text: confirmation.text };
      if (prompt === undefined) return undefined;
      const { label, enter } = prompt.asking;
      return { kind: "field", label, enter, field: prompt.field };
    },
    get helpTop() {
      return helpTop;
    },
    confirm(text, yes) {
      confirmation = { text, yes };
    },
    ask(asking) {
      prompt = { asking, field: toField(asking.text) };
    },
    openHelp() {
      helpTop = 0;
    },
    limitHelp(most) {
      if (helpTop !== undefined) helpTop = Math.min(helpTop, Math.max(0, most));
    },
    take(key, height) {
      if (confirmation !== undefined) answer(key, confirmation.yes);
      else if (prompt !== undefined) type(key, prompt.asking, prompt.field);
      else if (key.kind === "paste") return true;
      else if (helpTop !== undefined) {
        // Any key that does not scroll closes it.
        const moved = moveOf(key, { cursor: helpTop, top: 0 }, height);
        helpTop = moved === undefined ? undefined : Math.max(0, moved);
      } else return false;
      return true;
    },
  };

  function answer(key: Key, yes: () => void): void {
    confirmation = undefined;
    if (key.kind === "text" && key.text.toLowerCase() === "y") yes();
  }

  function type(key: Key, asking: Asking, field: Field): void {
    const name = key.kind === "key" ? key.name : undefined;
    if (name === "enter") {
      prompt = undefined;
      if (field.text.trim() !== "") asking.onEnter(field.text);
    } else if (name === "escape") {
      prompt = undefined;
      asking.onEscape?.();
    } else if (name === "tab") {
      asking.complete?.(field.text).then(
        (text) => {
          // Unless the user has continued typing.
          if (prompt?.field === field) prompt = { asking, field: toField(text) };
          notify();
        },
        () => undefined,
      );
    } else {
      prompt = { asking, field: edit(field, key) };
      asking.onChange?.(prompt.field.text);
    }
  }
}
