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
export type Dialogs = ReturnType<typeof createDialogs>;

/** @param notify is called when something changes without a key */
export function createDialogs(notify: () => void) {
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
    /** The first line shown of the help; undefined while it is closed. */
    get helpTop() {
      return helpTop;
    },
    /** Asks for confirmation; anything but `y` is no. */
    confirm(text: string, yes: () => void) {
      confirmation = { text, yes };
    },
    ask(asking: Asking) {
      prompt = { asking, field: toField(asking.text) };
    },
    openHelp() {
      helpTop = 0;
    },
    /** The help has no more lines to scroll. */
    limitHelp(most: number) {
      if (helpTop !== undefined) helpTop = Math.min(helpTop, Math.max(0, most));
    },
    /** Handles a key; returns false when no dialog is open. Pasted text is for fields only. */
    take(key: Key, height: number): boolean {
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
